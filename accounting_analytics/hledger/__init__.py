"""Books for hledger: line entries as a journal, and a second opinion on reports by the installed program."""

from accounting_analytics.hledger.comparison import SecondOpinion, second_opinion
from accounting_analytics.hledger.journal import export_journal
from accounting_analytics.hledger.program import INSTALL, is_hledger_installed

__all__ = ["INSTALL", "SecondOpinion", "export_journal", "is_hledger_installed", "second_opinion"]
