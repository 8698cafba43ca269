from .export_books import check_output, export
from .formats import FORMATS
from .manifest import ExportDifference, ExportedFile, ExportVerification, Manifest, verify_export
from .questions import QUESTIONS, Question

__all__ = [
    "FORMATS",
    "QUESTIONS",
    "ExportDifference",
    "ExportVerification",
    "ExportedFile",
    "Manifest",
    "Question",
    "check_output",
    "export",
    "verify_export",
]
