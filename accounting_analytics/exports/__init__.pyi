from .manifest import ExportedFile, Manifest
from .parquet import export_parquet
from .questions import QUESTIONS, Question
from .registry import FORMATS, Export, find_export
from .verification import ExportDifference, ExportVerification, verify_export
from .version_folder import VersionFolder

__all__ = [
    "FORMATS",
    "QUESTIONS",
    "Export",
    "ExportDifference",
    "ExportVerification",
    "ExportedFile",
    "Manifest",
    "Question",
    "VersionFolder",
    "export_parquet",
    "find_export",
    "verify_export",
]
