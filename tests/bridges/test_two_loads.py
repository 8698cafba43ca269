"""Bridges between two loads of one period: by journal entry, with what happened to each."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal

import hypothesis
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from payee_books import LEDGERS, BookEntry, entries_of, frame_of

import accounting_analytics as aa
from accounting_analytics.errors import InputError
from accounting_analytics.periods import Period

PERIOD = Period.of("2025-02-01", "2025-02-28", "UTC")


@st.composite
def changed_books(draw):
    """Draw entries, the same after some were changed, and what was done to each."""
    entries = draw(entries_of(size=12))
    after, done = [], {}
    for entry in entries:
        kind = draw(st.sampled_from(["kept", "kept", "deleted", "amended", "recategorized", "moved"]))
        if kind == "deleted":
            done[entry.entry_id] = "deleted"
            continue
        units = entry.units
        if kind == "amended":
            extra = draw(st.integers(1, 9999))
            units = ((units[0][0], units[0][1] + extra), *units[1:-1], (units[-1][0], units[-1][1] - extra))
        if kind == "recategorized":
            target = draw(st.sampled_from([one for one in ("rent", "wages", "loan") if one != units[0][0]]))
            units = ((target, units[0][1]), *units[1:])
        day = draw(st.dates(dt.date(2025, 1, 1), dt.date(2025, 3, 31))) if kind == "moved" else entry.day
        after.append(entry._replace(day=day, units=units))
        if (day, units) != (entry.day, entry.units):
            done[entry.entry_id] = "recategorized" if kind == "recategorized" else "amended"
    added = [one._replace(entry_id=f"new{number}") for number, one in enumerate(draw(entries_of(size=3)))]
    return entries, [*after, *added], done | dict.fromkeys((one.entry_id for one in added), "added later")


def naive_flows(entries):
    """Cash flow of each category and journal entry in February, in units."""
    flows = defaultdict(int)
    for entry in entries:
        if entry.day.month == 2 and any(ledger in {"bank", "card"} for ledger, _ in entry.units):
            for ledger, units in entry.units:
                if ledger not in {"bank", "card"}:
                    flows[ledger, entry.entry_id] -= units
    return flows


@hypothesis.settings.get_profile("slow")
@hypothesis.given(books=changed_books())
def test_steps_are_the_changed_entries_and_sum_exactly(books):
    """Each entry is a step in each category that it changed, with what happened to it."""
    before, after, done = books
    bridge = aa.bridge(frame_of(before), frame_of(after), ledgers=LEDGERS, period=PERIOD, largest=1000)
    old, new = naive_flows(before), naive_flows(after)
    expected = {key: new[key] - old[key] for key in {*old, *new} if new[key] != old[key]}
    assert {(step.ledger_id, step.entry_id): step.units for step in bridge.steps} == expected
    assert {step.entry_id: step.cause.name for step in bridge.steps} == {entry: done[entry] for _, entry in expected}
    change = Decimal(sum(new.values()) - sum(old.values())) / 100
    assert bridge["change"].exact() == bridge["after"].exact() - bridge["before"].exact() == change
    seen = [line for step in bridge.steps for line in zip(*_marked(bridge[step.key].entries), strict=True)]
    assert len(seen) == len(set(seen))


def _marked(entries):
    """Ids and amounts: a line may be in both loads, once with each sign."""
    return entries["id"], entries["figure_amount"]


def paid(entry_id, day, units, ledger="rent"):
    """Return an entry paid from the bank."""
    return BookEntry(dt.date.fromisoformat(day), "OAK", ((ledger, units), ("bank", -units)), entry_id=entry_id)


OLD = [paid("kept", "2025-02-03", 1000), paid("changed", "2025-02-04", 500), paid("gone", "2025-02-05", 700)]
NEW = [OLD[0], paid("changed", "2025-02-04", 500, "wages"), paid("late", "2025-02-06", 900)]


@pytest.mark.parametrize(
    "engine", [lambda frame: frame, pa.Table.from_pandas, pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy()]
)
def test_engines(engine):
    """Frames of every engine have the same bridge."""
    bridge = aa.bridge(engine(frame_of(OLD)), engine(frame_of(NEW)), ledgers=LEDGERS, period=PERIOD)
    assert [(step.label, step.cause.name, step.units) for step in bridge.steps] == [
        ("Rent: entry late", "added later", -900),
        ("Rent: entry gone", "deleted", 700),
        ("Rent: entry changed", "recategorized", 500),
        ("Wages: entry changed", "recategorized", -500),
    ]
    than = "than in the earlier load"
    assert bridge.explain().splitlines()[2:6] == [
        f"Rent, entry late, OAK: 9.00 more paid {than}: added later, not in the earlier load (entry of 6 Feb 2025).",
        f"Rent, entry gone, OAK: 7.00 less paid {than}: deleted, not in the later load (entry of 5 Feb 2025).",
        f"Rent, entry changed, OAK: 5.00 less paid {than}: recategorized (entry of 4 Feb 2025).",
        f"Wages, entry changed, OAK: 5.00 more paid {than}: recategorized (entry of 4 Feb 2025).",
    ]


def test_loads_that_cannot_be_compared_are_refused():
    """Loads of other days need a period, and frames need a chart of accounts."""
    with pytest.raises(InputError, match="ledgers are missing"):
        aa.bridge(frame_of(OLD), frame_of(NEW))
    stated = aa.Period(PERIOD.start_date, PERIOD.end_date, "America/New_York")
    lines = frame_of(NEW)
    lines.attrs["load"] = {"time_zone": "UTC"}
    with pytest.raises(InputError, match="period counts days in America/New_York, but the loads in UTC"):
        aa.bridge(lines, lines, ledgers=LEDGERS, period=stated)
    coarse = frame_of(OLD)
    coarse.attrs["scale"] = 3
    with pytest.raises(InputError, match="different fraction digits, 3 and 2"):
        aa.bridge(coarse, frame_of(NEW), ledgers=LEDGERS)
