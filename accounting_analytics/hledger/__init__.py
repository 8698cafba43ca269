"""Books for hledger: line entries as a journal, and a second opinion on reports by the installed program."""

from accounting_analytics.hledger.comparison import SecondOpinion, second_opinion
from accounting_analytics.hledger.journal import export_journal

__all__ = ["SecondOpinion", "export_journal", "second_opinion"]
