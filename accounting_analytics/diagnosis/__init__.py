"""The doctor: whether this machine is ready, the service lets us in, and its answers agree with each other.

Checks are plain functions, each with one finding: a verdict, what it means, what to do next. Those of the books are
metamorphic: nothing is known of what the right figures are, but two ways of asking for the same must give the same.
"""

from accounting_analytics.diagnosis.checkup import doctor
from accounting_analytics.diagnosis.diagnosis import Diagnosis
from accounting_analytics.diagnosis.finding import Finding, Part, Verdict

__all__ = ["Diagnosis", "Finding", "Part", "Verdict", "doctor"]
