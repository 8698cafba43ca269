"""The result of the check of a pack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.messages import count_of, first_lines, printable, shorten
from accounting_analytics.core.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_SHOWN = 120
_PROVES = (
    "What this proves: the figures follow from the entries in the page, and, with a fingerprint from elsewhere, the "
    "file is the one that was sent. It does not prove that the entries are those of the books."
)


class PackFault(NamedTuple):
    """A part of a pack's page that is not as it has to be.

    Attributes
    ----------
    what : str
        What was checked.
    where : str
        Table, key and line of the page, or the part of its data.
    shown, recomputed : str
        What the page shows, and what it has to show.
    """

    what: str
    where: str
    shown: str
    recomputed: str

    def __str__(self) -> str:
        where = f", {shorten(self.where, limit=_MAX_SHOWN)}" if self.where else ""
        shown = f": shown {shorten(self.shown, limit=_MAX_SHOWN)}" if self.shown else ""
        return f"{self.what}{where}{shown}, recomputed {shorten(self.recomputed, limit=_MAX_SHOWN)}"


@dataclass(frozen=True, repr=False)
class PackVerification(Result):
    """Result of the check of a pack.

    Parameters
    ----------
    path : Path
        The checked file.
    company, start_date, end_date, verdict : str
        What its data state.
    fingerprint : str
        SHA-256 of the file, as ``sha256sum`` prints it.
    compared_with : str or None
        Fingerprint that it was compared with, if one was given.
    figures : int
        Figures on the page that were recomputed from entries.
    stated : int
        Amounts on the page that come from elsewhere, such as the service's report; compared with its data alone.
    entries : int
        Line entries in the page.
    unchecked : tuple of str
        Amounts on the page that are not marked as figures, so that nothing can be said about them.
    differences : tuple of PackFault
        Everything that is not as it has to be.
    """

    path: Path
    company: str
    start_date: str
    end_date: str
    verdict: str
    fingerprint: str
    compared_with: str | None
    figures: int
    stated: int
    entries: int
    unchecked: tuple[str, ...]
    differences: tuple[PackFault, ...]

    @property
    def verified(self) -> bool:
        """True if no check failed."""
        return not self.differences

    @property
    def faults(self) -> pd.DataFrame:
        """The failed checks: what was checked, where, the shown text, and the recomputed text."""
        return pd.DataFrame(self.differences, columns=list(PackFault._fields), dtype="object")

    @property
    def frame(self) -> pd.DataFrame:
        """The faults."""
        return self.faults

    @property
    def notes(self) -> tuple[str, ...]:
        """Parts that were not compared."""
        notes = []
        if self.compared_with is None:
            notes.append(
                "No fingerprint was given, so an alteration that figures do not contradict is not found, and in a "
                "browser the page may run scripts of the person who wrote it: compare that of the run's log or the "
                "workbook, or pass it."
            )
        if self.stated:
            notes.append(
                f"{count_of(self.stated, 'amount')} expected, or of the service's report, compared with the data of "
                "the page alone."
            )
        if self.unchecked:
            shown = ", ".join(first_lines(self.unchecked, limit=5))
            notes.append(f"{count_of(len(self.unchecked), 'amount')} on the page cannot be checked: {shown}.")
        return tuple(notes)

    def summary(self) -> str:
        """Say in one line if the page is as it was written, as far as checked."""
        if not self.verified:
            return f"NOT VERIFIED: {count_of(len(self.differences), 'check')} of {self.path} failed."
        figures = f"{self.figures:,} figures of {self.path} recomputed from {self.entries:,} line entries"
        if self.compared_with is None:
            return f"No fault found: {figures}; compare its fingerprint with the one that you received."
        return f"Verified: {figures}, and its fingerprint is the given one."

    def _parts(self) -> Iterator[ResultPart]:
        """Show the company, the fingerprint, the faults, and what the check covers."""
        company = printable(self.company) or "company not stated"
        yield ResultPart(
            [
                f"Pack: {company}, {self.start_date} to {self.end_date}, {self.verdict}",
                f"Fingerprint: {self.fingerprint}",
            ]
        )
        if self.differences:
            yield ResultPart(first_lines([f"- {fault}" for fault in self.differences]), self.faults)
        else:
            yield ResultPart([_PROVES])

    def _content(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "verified": self.verified,
            "company": self.company,
            "start_date": self.start_date,
            "end_date": self.end_date,
            "verdict": self.verdict,
            "fingerprint": self.fingerprint,
            "compared_with": self.compared_with,
            "figures": self.figures,
            "stated": self.stated,
            "entries": self.entries,
            "unchecked": list(self.unchecked),
            "faults": self.faults,
        }
