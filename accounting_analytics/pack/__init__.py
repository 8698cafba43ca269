"""The monthly pack of a company: what changed and why, its statements and proof, its files and its PDF."""

from accounting_analytics.pack.monthly_pack import monthly_pack
from accounting_analytics.pack.result import MonthlyPack

__all__ = ["MonthlyPack", "monthly_pack"]
