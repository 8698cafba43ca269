"""The formats of an export, without imports, so that help is fast."""

FORMATS = {"parquet": "a folder", "duckdb": "a file .duckdb", "csv": "a folder"}
"""Output of each format."""
