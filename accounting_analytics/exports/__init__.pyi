from .export_folder import require_replaceable
from .manifest import ExportedFile, Manifest
from .parquet import export_parquet
from .registry import FORMATS, Export, find_export

__all__ = [
    "FORMATS",
    "Export",
    "ExportedFile",
    "Manifest",
    "export_parquet",
    "find_export",
    "require_replaceable",
]
