"""The doctor: whether this machine is ready, the service gives access, and its responses agree with each other.

Checks are plain functions that return a verdict, what it means, and what to do next. Checks of the books are
metamorphic: the right figures are not known, but two ways to request the same figures must return the same.
"""

from accounting_analytics.diagnosis.doctor import doctor
from accounting_analytics.diagnosis.findings import Diagnosis, Finding, Part, Verdict

__all__ = ["Diagnosis", "Finding", "Part", "Verdict", "doctor"]
