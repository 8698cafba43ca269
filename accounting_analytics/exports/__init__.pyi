from .csv_files import export_csv
from .duckdb_file import export_duckdb
from .excel_workbook import export_excel
from .manifest import ExportedFile, Manifest
from .parquet import export_parquet
from .questions import QUESTIONS, Question
from .registry import FORMATS, Export, ExportFormat, check_output, find_export
from .verification import ExportDifference, ExportVerification, verify_export
from .version_folder import VersionFolder

__all__ = [
    "FORMATS",
    "QUESTIONS",
    "Export",
    "ExportDifference",
    "ExportFormat",
    "ExportVerification",
    "ExportedFile",
    "Manifest",
    "Question",
    "VersionFolder",
    "check_output",
    "export_csv",
    "export_duckdb",
    "export_excel",
    "export_parquet",
    "find_export",
    "verify_export",
]
