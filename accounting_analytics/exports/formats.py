"""The formats that books can be exported to; read without imports, so that the help of the command is fast."""

FORMATS = {"parquet": "a folder", "duckdb": "a file .duckdb", "csv": "a folder"}
"""What the output of each format is."""
