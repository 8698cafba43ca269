"""Files for everyone else: one module a target."""

from accounting_analytics.exports.parquet import Manifest, export_parquet, require_replaceable

__all__ = ["Manifest", "export_parquet", "require_replaceable"]
