"""The doctor: checks of this machine, the service, and its responses.

Checks are plain functions that return a verdict, its meaning, and advice. Checks of the books are metamorphic: the
right figures are not known, but two ways to request the same figures must give equal results.
"""

from accounting_analytics.diagnosis.doctor import doctor
from accounting_analytics.diagnosis.findings import Diagnosis, Finding, Part, Verdict

__all__ = ["Diagnosis", "Finding", "Part", "Verdict", "doctor"]
