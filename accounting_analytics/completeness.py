"""The certificate of a load: debits equal credits, and no line that an entry names is missing."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.errors import FrameError
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import LineEntries, total

if TYPE_CHECKING:
    from decimal import Decimal

_SHOWN_PROBLEMS = 20


@dataclass(frozen=True)
class Certificate:
    """What a load proves about itself.

    Parameters
    ----------
    lines, entries : int
        Line entries and journal entries seen.
    debits, credits : Decimal
        Sums of the two sides.
    problems : DataFrame
        ``journal_entry_id, problem, line_entry_id, difference``: an entry whose debits and credits differ, or a line
        that its entry names and the load does not have.
    named_lines_checked : bool
        Whether entries came with the ids of their lines (`expand` had ``journal_entry``); without them a missing line
        shows only where its entry does not balance.
    """

    lines: int
    entries: int
    debits: Decimal
    credits: Decimal
    problems: pd.DataFrame
    named_lines_checked: bool

    @property
    def complete(self) -> bool:
        """Whether nothing was found missing."""
        return self.problems.empty

    def summary(self) -> str:
        """One line for a human."""
        counts = f"{self.lines:,} lines of {self.entries:,} journal entries"
        if not self.complete:
            first = self.problems.iloc[0]
            return (
                f"NOT COMPLETE: {len(self.problems):,} problem(s) in {counts}; first: entry "
                f"{first['journal_entry_id']}: {first['problem']}"
            )
        named = "every named line is here" if self.named_lines_checked else "no line ids to check"
        return f"complete: {counts}; debits = credits = {format_amount(self.debits)}; {named}"

    def _repr_html_(self) -> str:
        shown = "" if self.complete else self.problems.head(_SHOWN_PROBLEMS).to_html(index=False, escape=True)
        more = len(self.problems) - _SHOWN_PROBLEMS
        return f"<p>{html.escape(self.summary())}</p>{shown}{f'<p>and {more:,} more</p>' if more > 0 else ''}"


def check_completeness(line_entries: pd.DataFrame) -> Certificate:
    """Certify that the lines of every journal entry are all here.

    Parameters
    ----------
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries` of **all** ledgers of a period.

    Raises
    ------
    FrameError
        The frame is not LineEntries.
    """
    for name in ("id", "journal_entry_id", "signed_amount", "amount", "debit_credit"):
        if name not in line_entries:
            msg = f"{LineEntries.__name__}: column is missing: {name}"
            raise FrameError(msg)
    named = "journal_entry_line_entry_ids" in line_entries
    problems = [_unbalanced(line_entries), *([_unseen(line_entries)] if named else [])]
    signed = line_entries["signed_amount"]
    return Certificate(
        lines=len(line_entries),
        entries=line_entries["journal_entry_id"].nunique(),
        debits=total(signed[signed > 0]),
        credits=-total(signed[signed < 0]),
        problems=pd.concat(problems, ignore_index=True),
        named_lines_checked=named,
    )


def _unbalanced(line_entries: pd.DataFrame) -> pd.DataFrame:
    """Entries whose signed amounts do not sum to zero."""
    gaps = line_entries.groupby("journal_entry_id", sort=True)["signed_amount"].sum()
    gaps = gaps[gaps != 0]
    return pd.DataFrame(
        {
            "journal_entry_id": gaps.index.astype(str),
            "problem": "debits and credits differ",
            "line_entry_id": pd.Series([None] * len(gaps), dtype="str"),
            "difference": gaps.array,
        }
    )


def _unseen(line_entries: pd.DataFrame) -> pd.DataFrame:
    """Lines that their entry names and the load does not have."""
    entries = line_entries.drop_duplicates("journal_entry_id")
    named = entries[["journal_entry_id", "journal_entry_line_entry_ids"]].explode("journal_entry_line_entry_ids")
    ids = named["journal_entry_line_entry_ids"].astype("str")
    missing = named[ids.notna() & ~ids.isin(line_entries["id"])]
    return pd.DataFrame(
        {
            "journal_entry_id": missing["journal_entry_id"].array,
            "problem": "a line the entry names is missing",
            "line_entry_id": missing["journal_entry_line_entry_ids"].astype("str").array,
            "difference": pd.Series([None] * len(missing), dtype=line_entries["signed_amount"].dtype),
        }
    )
