"""Candidate entries where only balances differ: no line says which entry it is, but few have just this amount."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

from accounting_analytics.exact_sums import ExactLines, collect, is_on, is_within
from accounting_analytics.money import to_minor_units
from accounting_analytics.periods import local_date, zone
from accounting_analytics.reconciliation.differences import amount_or_zero, amounts_by_ledger

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.exact_sums import Days
    from accounting_analytics.reconciliation.differences import Difference
    from accounting_analytics.reconciliation.given_books import GivenBooks

MAX_CANDIDATES = 3
_BALANCES = frozenset({"starting_balance", "ending_balance"})


class Candidate(NamedTuple):
    """An entry that would explain a difference of balances, and how."""

    journal_entry_id: str
    sentence: str


class _Movement(NamedTuple):
    """What an entry moves on the ledgers whose balances differ, in minor units."""

    entry_id: str
    at: dt.datetime
    text: str
    units: dict[str, int]


def find_candidates(books: GivenBooks, differences: Sequence[Difference]) -> list[Candidate]:
    """Find at most three entries whose amounts are just what the balances differ by, the latest first."""
    kinds = {one.what for one in differences}
    if kinds & {"line", "net_cash_flow"} or not kinds & _BALANCES:
        return []
    starting, ending = _gaps(books, "starting"), _gaps(books, "ending")
    period = books.period
    if starting and not books.recomputed.anchored:
        days, gaps, when = period.instants_before(), starting, "before the period"
    else:
        change = {one: ending.get(one, 0) - starting.get(one, 0) for one in {**ending, **starting}}
        days, gaps, when = period.instants(), {one: units for one, units in change.items() if units}, "of the period"
    if not gaps:
        return []
    found = sorted(_explained(_movements(books, days, gaps), gaps, when, books), key=lambda one: one[0], reverse=True)
    return [candidate for _, candidate in found[:MAX_CANDIDATES]]


def _gaps(books: GivenBooks, side: str) -> dict[str, int]:
    """Subtract recomputed from reported balances, in minor units, where they differ."""
    reported, recomputed = (
        amounts_by_ledger(getattr(one, f"{side}_balances"), "cash_balance")
        for one in (books.reported, books.recomputed)
    )
    gaps = {
        one: to_minor_units(amount_or_zero(reported, one) - amount_or_zero(recomputed, one), books.scale)
        for one in {**reported, **recomputed}
    }
    return {one: units for one, units in gaps.items() if units}


def _movements(books: GivenBooks, days: Days, gaps: Mapping[str, int]) -> Iterator[_Movement]:
    """Collect what entries of some days move on the ledgers whose balances differ."""
    exact = ExactLines.from_frame(books.line_entries, books.scale)
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    lines = exact.lines.filter(is_within(days) & is_on(list(gaps)))
    for row in collect(lines.filter(~nw.col("journal_entry_id").is_null())).to_pylist():
        rows[row["journal_entry_id"]].append(row)
    for entry_id, of_entry in rows.items():
        units: defaultdict[str, int] = defaultdict(int)
        for row in of_entry:
            units[row["ledger_id"]] += exact.to_units(row["units"])
        text = of_entry[0]["journal_entry_description"] or ""
        yield _Movement(entry_id, max(row["datetime"] for row in of_entry), text, dict(units))


def _explained(
    movements: Iterator[_Movement], gaps: Mapping[str, int], when: str, books: GivenBooks
) -> Iterator[tuple[tuple[bool, dt.datetime, str], Candidate]]:
    """Describe the entries that explain the gaps, with what to sort them by."""
    is_between = len(gaps) == 2 and not sum(gaps.values())  # noqa: PLR2004 (two accounts)
    tz = zone(books.period.time_zone)
    other_names = _entries_with_another_name(books)
    for one in movements:
        moved = {ledger_id: units for ledger_id, units in one.units.items() if units}
        if moved == {ledger_id: -units for ledger_id, units in gaps.items()}:
            what = "the balances lack it"
        elif moved == gaps:
            what = "the balances count it twice"
        elif is_between and len(moved) == 1 and moved.items() <= {one: -units for one, units in gaps.items()}.items():
            (account,) = moved
            (other,) = gaps.keys() - moved.keys()
            what = f"the report may have it on {books.names([other])} instead of {books.names([account])}"
        else:
            continue
        text = f' "{one.text}"' if one.text else ""
        sentence = f"Entry {one.entry_id} of {local_date(one.at, tz)}{text}, {when}, has just this amount: {what}."
        yield (one.entry_id in other_names, one.at, one.entry_id), Candidate(one.entry_id, sentence)


def _entries_with_another_name(books: GivenBooks) -> set[str]:
    """Entries whose lines name another cash account in the report."""
    names = [
        dict(zip(one.lines["line_id"], one.lines["cash_flow_ledger_name"], strict=True))
        for one in (books.reported, books.recomputed)
    ]
    entries = dict(zip(books.recomputed.lines["line_id"], books.recomputed.lines["journal_entry_id"], strict=True))
    return {entries[one] for one in names[0].keys() & names[1].keys() if names[0][one] != names[1][one]}
