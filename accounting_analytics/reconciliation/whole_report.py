"""Explanations of a whole report that does not tie: assumptions that fit exactly, else candidate entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.local_books import VersionedBooks
from accounting_analytics.reconciliation.candidates import find_candidates
from accounting_analytics.reconciliation.given_books import GivenBooks
from accounting_analytics.reconciliation.hypotheses import (
    Hypothesis,
    find_cash,
    find_cuts,
    find_double_loads,
    find_zones,
)
from accounting_analytics.reconciliation.line_hypotheses import (
    DifferingLines,
    find_entries,
    find_exchanged_ledgers,
    find_opening,
    find_signs,
    find_tags,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.reconciliation.candidates import Candidate
    from accounting_analytics.reconciliation.differences import Difference

_MAX_VERSIONS = 20


def explain_whole_report(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    differences: Sequence[Difference],
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows, or local books)
    frames: tuple[Any, Any],
) -> tuple[tuple[Hypothesis, ...], tuple[Candidate, ...]]:
    """Find assumptions under which every figure agrees, or candidate entries where only balances differ.

    `frames` are the line entries and ledgers to recompute from; `line_entries` may be books with earlier versions.
    """
    books = GivenBooks.from_frames(reported, recomputed, *frames)
    if books is None:
        return (), ()
    changes = DifferingLines.from_differences(differences)
    found = tuple(_assumptions(books, changes))
    if not found and isinstance(line_entries, VersionedBooks):
        found = tuple(_find_versions(books, line_entries))
    found = found or tuple(find_entries(books, changes))
    return found, () if found else tuple(find_candidates(books, differences))


def _assumptions(books: GivenBooks, changes: DifferingLines) -> Iterator[Hypothesis]:
    """Yield what fits; the lines that differ are a cause of their own only where no assumption about all lines fits."""
    found = [
        *find_zones(books),
        *find_cuts(books),
        *find_cash(books),
        *find_double_loads(books, [one.journal_entry_id or "" for one in changes.repeated]),
    ]
    yield from found
    yield from find_opening(books, changes, others=not found)
    if not found:
        yield from find_signs(books, changes)
        yield from find_tags(books)
        yield from find_exchanged_ledgers(books)


def _find_versions(books: GivenBooks, versions: VersionedBooks) -> Iterator[Hypothesis]:
    """Try earlier versions of local books, the newest first."""
    history = versions.history()
    current = versions.version or 0
    earlier = history[history["kept"] & (history["version"] < current)].head(_MAX_VERSIONS)
    for number, at in zip(earlier["version"], earlier["at"], strict=True):
        older = versions.as_of(int(number))
        given = GivenBooks.from_frames(books.reported, books.recomputed, older.line_entries(), older.ledgers())
        if given is not None and given.fits():
            yield Hypothesis(
                "version",
                f"The report agrees with version {number} of the local books, of {at:%Y-%m-%d %H:%M} UTC: it is older "
                f"than version {current}, or later changes are not in it.",
            )
            return
