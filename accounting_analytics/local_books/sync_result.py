"""The result of a sync: comparisons, changes, and lines that were not read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accounting_analytics.core.messages import count_of
from accounting_analytics.core.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from accounting_analytics.local_books.version_changes import Drift


@dataclass(frozen=True, repr=False)
class SyncResult(Result):
    """Result of a sync of local books.

    Parameters
    ----------
    version : int
        The version that was written.
    months : DataFrame
        Every month: its lines, whether they agree with the service's report (``ties``) and every journal entry is
        complete, whether the sync read all its days again, and when all of them were last read and compared.
    changes : Drift or None
        Lines that changed since the version before; None for the first one.
    alarms : tuple of str
        Closed periods that have changed since they were closed.
    verdict : str
        Proof of the sync, as a sentence.
    requests : int
        Requests that were sent to the service, including repeated ones.
    unread_months : tuple of str
        Months that were not read again whole. No report shows a change of texts and tags there, or of a transfer
        between cash accounts that stays in its month.
    unread_entries : tuple of str
        Months of these whose entries without cash were not all read again either.
    notes : tuple of str
        Remarks.
    """

    version: int
    months: pd.DataFrame
    changes: Drift | None
    alarms: tuple[str, ...]
    verdict: str
    requests: int
    unread_months: tuple[str, ...] = ()
    unread_entries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ties(self) -> bool:
        """True if every month agrees with the service's report."""
        return bool(self.months["ties"].all())

    @property
    def complete(self) -> bool:
        """True if every journal entry is complete."""
        return bool(self.months["complete"].all())

    @property
    def frame(self) -> pd.DataFrame:
        """The months."""
        return self.months

    def summary(self) -> str:
        """Write one line of text: version, proof and changes."""
        lines = int(self.months["lines"].sum())
        changes = f"{lines:,} lines loaded" if self.changes is None else self._describe_changes(self.changes)
        alarms = f" {count_of(len(self.alarms), 'closed period')} changed." if self.alarms else ""
        return f"Version {self.version}: {self.verdict}. {changes.rstrip('.')}.{alarms} {self.requests:,} requests."

    def _describe_changes(self, changes: Drift) -> str:
        """Describe the changes, and the parts that were not read again."""
        found = changes.summary() if len(changes.frame) else "No changed line was found."
        if self.unread_entries:
            found += f" Entries without cash of {_describe_months(self.unread_entries)} were not all read again."
        if self.unread_months:
            months = _describe_months(self.unread_months)
            found += f" Texts, tags, and transfers between cash accounts within {months} were not read again."
        return found

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart([f"ALARM: {alarm}" for alarm in self.alarms])
        differing = self.months.loc[~(self.months["ties"] & self.months["complete"])]
        yield ResultPart([f"{row.month}: {row.problem}" for row in differing.itertuples()], self.months, max_rows=None)
        again = self.months.loc[self.months["read_again"], "month"]
        if len(again) and self.changes is not None:
            months = f"all {len(again)} months" if len(again) == len(self.months) else ", ".join(again)
            yield ResultPart([f"Read again whole: {months}"])
        if self.changes is not None and len(self.changes.frame):
            yield ResultPart(self.changes.explain().splitlines(), self.changes.frame)

    def _content(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "ties": self.ties,
            "complete": self.complete,
            "verdict": self.verdict,
            "requests": self.requests,
            "unread_months": self.unread_months,
            "unread_entries": self.unread_entries,
            "alarms": self.alarms,
            "months": self.months,
            "changes": None if self.changes is None else self.changes.frame,
        }


def _describe_months(months: tuple[str, ...]) -> str:
    return months[0] if len(months) == 1 else f"{len(months)} months, {months[0]} to {months[-1]},"
