"""Single assumptions about a whole report, each of which counts only if it makes every figure agree exactly.

Each is first tried on the sums of cash, which takes no time, and then by recomputing the report under it.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from accounting_analytics.money import to_minor_units
from accounting_analytics.periods import LOCALTIME, UTC, Period, local_date, time_zone_names, zone
from accounting_analytics.reconciliation.differences import amount_or_zero, amounts_by_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.reconciliation.given_books import GivenBooks, Mask

_DAY = dt.timedelta(days=1)
_MAX_NAMED = 3
_MAX_CUTS = 20
_MAX_WIDER = 6
"""Days before and after repeated lines that may have been loaded twice as well."""
_KNOWN_ZONES = (
    *(UTC, "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Europe/London"),
    *("Europe/Berlin", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney"),
)
"""Zones that are named first where several have the same days."""


class Hypothesis(NamedTuple):
    """An assumption under which every figure compared agrees.

    Attributes
    ----------
    kind : str
        What is assumed to be different: ``zone``, ``end date``, ``as of``, ``cash``, ``double load``, ``opening
        balance``, ``sign``, ``tag``, ``exchanged ledgers``, ``version``, ``categories`` or ``missing entries``.
    sentence : str
        What the report looks like.
    entry_ids, time_zones : tuple of str
        Journal entries it is about, and zones whose days fit.
    """

    kind: str
    sentence: str
    entry_ids: tuple[str, ...] = ()
    time_zones: tuple[str, ...] = ()


def find_zones(books: GivenBooks) -> Iterator[Hypothesis]:
    """Try the days of every other zone of the interface; zones whose days hold the same lines are tried once."""
    period = books.period
    by_instants: defaultdict[tuple[object, object], list[str]] = defaultdict(list)
    for name in time_zone_names() - {LOCALTIME}:
        days = Period(period.start_date, period.end_date, name)
        by_instants[days.instants_before(), days.instants()].append(name)
    by_lines: defaultdict[tuple[bytes, bytes], list[str]] = defaultdict(list)
    for (before, within), names in by_instants.items():
        masks = books.within(before), books.within(within)  # type: ignore[arg-type]
        by_lines[masks[0].tobytes(), masks[1].tobytes()] += names
    found: list[str] = []
    for (before_bytes, within_bytes), names in by_lines.items():
        masks = np.frombuffer(before_bytes, np.bool_), np.frombuffer(within_bytes, np.bool_)
        if period.time_zone not in names and books.may_fit(*masks) and books.fits(time_zone=names[0]):
            found += names
    if found:
        ranked = sorted(found, key=lambda name: (_rank(name), name))
        others = " and ".join(ranked[1:_MAX_NAMED])
        more = f" ({len(ranked):,} zones divide these lines in the same way, such as {others})" if others else ""
        sentence = f"The report's days look like those of {ranked[0]}, not of {period.time_zone}{more}."
        yield Hypothesis("zone", sentence, (), tuple(ranked))


def _rank(name: str) -> int:
    return _KNOWN_ZONES.index(name) if name in _KNOWN_ZONES else len(_KNOWN_ZONES) + name.startswith("Etc/")


def find_cuts(books: GivenBooks) -> Iterator[Hypothesis]:
    """Try the report without the last lines: without the last day, or as of an earlier day or instant."""
    period, tz = books.period, zone(books.period.time_zone)
    last_day = books.within(Period(period.end_date, period.end_date, period.time_zone).instants())
    before, within = books.within(period.instants_before()), books.within(period.instants())
    is_exclusive = books.may_fit(before, within & ~last_day) and books.fits(_without(books, last_day))
    if is_exclusive:
        yield Hypothesis(
            "end date",
            f"The report's end date looks exclusive: it has no lines of {period.end_date}, the last day (or it was "
            "made before them).",
        )
    for cut in _possible_cuts(books, within):
        omitted = within & (books.when >= cut)
        first = local_date(dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=int(cut)), tz)
        if is_exclusive and first == period.end_date:
            continue
        if books.fits(_without(books, omitted)):
            entry_ids = _entry_ids(books, omitted)
            count = f"{len(entry_ids):,} entr{'y' if len(entry_ids) == 1 else 'ies'}"
            shown = within & (books.when < cut)
            same_day = shown.any() and _last_day(books, shown) == first
            when = f"{first}, before its last lines" if same_day else f"{first - _DAY}"
            verb = "is" if len(entry_ids) == 1 else "are"
            later = "later" if same_day else "after it"
            yield Hypothesis(
                "as of",
                f"The report looks stale, as of {when}: {count} dated {later} {verb} missing.",
                entry_ids,
            )
            return


def _possible_cuts(books: GivenBooks, within: Mask) -> list[int]:
    """Instants up to which the change of every cash account is the reported one, the latest first."""
    starting = amounts_by_ledger(books.reported.starting_balances, "cash_balance")
    ending = amounts_by_ledger(books.reported.ending_balances, "cash_balance")
    times, position = np.unique(books.when[within], return_inverse=True)
    fits = np.ones(len(times), np.bool_)
    for ledger_id in books.tree.cash:
        change = amount_or_zero(ending, ledger_id) - amount_or_zero(starting, ledger_id)
        units = np.where(books.entries.on([ledger_id])[within], books.entries.units[within], 0)
        by_time = np.zeros(len(times), books.entries.units.dtype)
        np.add.at(by_time, position, units)
        earlier = np.cumsum(by_time) - by_time
        fits &= (earlier == to_minor_units(change, books.scale)).astype(np.bool_)
    return [int(one) for one in times[fits][::-1][:_MAX_CUTS]]


def find_cash(books: GivenBooks) -> Iterator[Hypothesis]:
    """Try ledgers in or out of cash: those that one balance list has alone, or whose net cash flow differs."""
    period, own = books.period, set(books.tree.cash)
    before, within = books.within(period.instants_before()), books.within(period.instants())
    listed = set(books.reported.ending_balances["ledger_id"]) & books.tree.names.keys()
    nets = [amounts_by_ledger(one.ledgers, "net_cash_flow") for one in (books.reported, books.recomputed)]
    differing = {one for one in {**nets[0], **nets[1]} if (nets[0].get(one) or 0) != (nets[1].get(one) or 0)}
    tried = {frozenset(own ^ {one}) for one in (differing & books.tree.names.keys()) | (own ^ listed)}
    for cash in sorted(tried | {frozenset(listed)}, key=lambda one: (len(one ^ own), sorted(one))):
        if cash == own or not books.may_fit(before, within, books.entries.on(cash)):
            continue
        flags = pa.array([one in cash for one in books.ledgers["id"].to_pylist()])
        position = books.ledgers.column_names.index("report_cash_flow")
        if books.fits(ledgers=books.ledgers.set_column(position, "report_cash_flow", flags)):
            parts = [
                *([f"counts {books.names(sorted(cash - own))} as cash"] if cash - own else []),
                *([f"does not count {books.names(sorted(own - cash))} as cash"] if own - cash else []),
            ]
            other = "the chart of accounts does not" if cash - own else "the chart of accounts does"
            yield Hypothesis("cash", f"The report {' and '.join(parts)}; {other}.")
            return


def find_double_loads(books: GivenBooks, repeated_ids: Iterable[str]) -> Iterator[Hypothesis]:
    """Try lines counted twice: all, those of the period, or those of the days whose lines the report repeats."""
    period = books.period
    before, within = books.within(period.instants_before()), books.within(period.instants())
    repeated = within & books.of_entries(set(repeated_ids))
    tried: list[tuple[Mask, str, bool]] = [
        (within, f"all lines of {period.start_date} to {period.end_date}", False),
        (before | within, f"all lines up to {period.end_date}", False),
    ]
    if repeated.any():
        last = _last_day(books, repeated)
        up_to = within & books.within(Period(period.start_date, last, period.time_zone).instants())
        tried += [(books.within(days.instants()), f"all lines of {days.start_date} to {days.end_date}", False)
                  for days in _repeated_days(books, within, repeated)]  # fmt: skip
        tried += [(before | up_to, f"all lines up to {last}", False), (repeated, "", True)]
    for chosen, lines, is_entries in tried:
        factor = np.where(chosen, 2, 1)
        if chosen.any() and books.may_fit(before, within, factor=factor) and books.fits(books.with_factor(chosen, 2)):
            if is_entries:
                ids = _entry_ids(books, chosen)
                yield Hypothesis("double load", f"The report counts twice: {describe_entries(books, ids)}.", ids)
            else:
                yield Hypothesis(
                    "double load", f"The report counts {lines} twice, as if two loads had been concatenated."
                )
            return


def _repeated_days(books: GivenBooks, within: Mask, repeated: Mask) -> Iterator[Period]:
    """Yield days that hold all repeated lines and no other flow; a transfer may widen them, which shows in balances."""
    period = books.period
    flows = within & books.of_entries(set(books.recomputed.lines["journal_entry_id"])) & ~repeated
    others = {_day(books, int(one)) for one in books.when[flows]}
    first, last = _first_day(books, repeated), _last_day(books, repeated)
    lowest = max((one + _DAY for one in others if one < first), default=period.start_date)
    highest = min((one - _DAY for one in others if one > last), default=period.end_date)
    starts = [first - number * _DAY for number in range(min((first - lowest).days, _MAX_WIDER) + 1)]
    ends = [last + number * _DAY for number in range(min((highest - last).days, _MAX_WIDER) + 1)]
    for start in starts:
        for end in ends:
            yield Period(start, end, period.time_zone)


def describe_entries(books: GivenBooks, entry_ids: Iterable[str]) -> str:
    """Name the first few entries by id, day and text, and count the others."""
    wanted = list(dict.fromkeys(entry_ids))
    tz = zone(books.period.time_zone)
    rows = books.lines.filter(pa.array(books.of_entries(set(wanted[:_MAX_NAMED])))).to_pylist()
    texts = {}
    for row in rows:
        text = f' "{row["journal_entry_description"]}"' if row["journal_entry_description"] else ""
        texts[row["journal_entry_id"]] = f"entry {row['journal_entry_id']} of {local_date(row['datetime'], tz)}{text}"
    named = [texts.get(one, f"entry {one}") for one in wanted[:_MAX_NAMED]]
    more = len(wanted) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _without(books: GivenBooks, omitted: Mask) -> pa.Table:
    return books.lines.filter(pa.array(~omitted))


def _entry_ids(books: GivenBooks, chosen: Mask) -> tuple[str, ...]:
    return tuple(dict.fromkeys(books.lines["journal_entry_id"].filter(pa.array(chosen)).to_pylist()))


def _first_day(books: GivenBooks, chosen: Mask) -> dt.date:
    return _day(books, int(books.when[chosen].min()))


def _last_day(books: GivenBooks, chosen: Mask) -> dt.date:
    return _day(books, int(books.when[chosen].max()))


def _day(books: GivenBooks, microseconds: int) -> dt.date:
    instant = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=microseconds)
    return local_date(instant, zone(books.period.time_zone))
