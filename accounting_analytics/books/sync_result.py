"""What a sync of local books compared, read again and changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import Version

_COLUMNS = ("month", "lines", "ties", "complete", "read_again", "read_at", "compared_at", "problem")


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
    ties : bool
        Whether every month agrees with the service's report.
    complete : bool
        Whether every journal entry is complete.
    changes : Drift or None
        Lines that changed since the version before; None for the first one.
    alarms : tuple of str
        Closed periods that have changed since they were closed.
    verdict : str
        What was proven, as a sentence.
    notes : tuple of str
        Remarks.
    """

    version: int
    months: pd.DataFrame
    ties: bool
    complete: bool
    changes: Drift | None
    alarms: tuple[str, ...]
    verdict: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        version: Version,
        read_again: frozenset[str],
        changes: Drift | None,
        alarms: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Describe a version that was just written."""
        record, parts = version.record, version.commit.parts
        rows = [
            (
                month,
                parts[month].rows,
                one.ties,
                one.complete,
                month in read_again,
                one.read_at,
                one.compared_at,
                one.problem,
            )
            for month, one in sorted(record.months.items())
        ]
        months = pd.DataFrame(rows, columns=list(_COLUMNS))
        instants = {
            name: pd.to_datetime(months[name], utc=True).astype("datetime64[us, UTC]")
            for name in ("read_at", "compared_at")
        }
        return cls(
            version.number,
            months.assign(**instants),
            record.ties,
            record.complete,
            changes,
            alarms,
            record.summary(),
            notes,
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The months."""
        return self.months

    def summary(self) -> str:
        """One line: the version, what was proven, and what changed."""
        lines = int(self.months["lines"].sum())
        changes = f"{lines:,} lines loaded" if self.changes is None else self.changes.summary()
        alarms = f" {len(self.alarms)} closed period(s) changed." if self.alarms else ""
        return f"Version {self.version}: {self.verdict}. {changes.rstrip('.')}.{alarms}"

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
            "alarms": self.alarms,
            "months": self.months,
            "changes": None if self.changes is None else self.changes.frame,
            "notes": self.notes,
        }
