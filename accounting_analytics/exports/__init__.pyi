from .export_books import check_output, export, export_parquet
from .formats import FORMATS
from .manifest import ExportedFile, ExportedMonth, Manifest
from .questions import QUESTIONS, Question
from .verification import ExportDifference, ExportVerification, verify_export
from .version_folder import VersionFolder

__all__ = [
    "FORMATS",
    "QUESTIONS",
    "ExportDifference",
    "ExportVerification",
    "ExportedFile",
    "ExportedMonth",
    "Manifest",
    "Question",
    "VersionFolder",
    "check_output",
    "export",
    "export_parquet",
    "verify_export",
]
