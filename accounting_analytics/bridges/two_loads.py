"""The bridge between two loads of one period, by journal entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.bridges.bridged_lines import SideLines, entry_ids, join_sides, payees_of_entries
from accounting_analytics.bridges.causes import ADDED_LATER, AMENDED, DELETED, RECATEGORIZED, Cause
from accounting_analytics.bridges.result import Bridge, shown_steps
from accounting_analytics.bridges.sentences import BridgeWords
from accounting_analytics.bridges.steps import BridgeStep, category_name
from accounting_analytics.changed_lines import KIND, find_changed_lines
from accounting_analytics.errors import IncompleteLoadError, InputError
from accounting_analytics.exact_sums import amount_column, collect
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.ledger_tree import LedgerTree
from accounting_analytics.load_metadata import read_load_metadata
from accounting_analytics.local_books import ledgers_of, lines_of
from accounting_analytics.money import arrow_type
from accounting_analytics.periods import Period, choose_zone
from accounting_analytics.statements.columns import days_label
from accounting_analytics.statements.line_sums import LinePart, LineSource, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LABELS = ("the earlier load", "the later load")
_TOTAL = "Net change in cash"


def bridge_loads(before: Any, after: Any, ledgers: Any, period: Period | None, largest: int) -> Bridge:  # noqa: ANN401 (any frame)
    """Bridge the net cash flow of two loads of one period."""
    tree = LedgerTree.from_frame(ledgers_of(after, ledgers))
    old, new = _sources(lines_of(before), lines_of(after), tree, period)
    days = _common_days(old, new) if period is None else Period(period.start_date, period.end_date, new.time_zone)
    span = Span(days.start_date, days.end_date, is_flow=True)
    sides = [_side(old, span, tree, 1), _side(new, span, tree, -1)]
    keys = [list(zip(entry_ids(side.frame), side.frame["ledger_id"], strict=True)) for side in sides]
    payments = [side.payments(of_side) for side, of_side in zip(sides, keys, strict=True)]
    causes = _causes(old, new)
    names = LedgerNames(tree.names, tree.hierarchy)
    payees = [dict(zip(of_side, side.payees, strict=True)) for side, of_side in zip(sides, keys, strict=True)]
    steps = []
    for entry, ledger_id in dict.fromkeys((*payments[0], *payments[1])):
        pair = entry, ledger_id
        of_before, of_after = (one.get(pair, ()) for one in payments)
        if sum(one.units for one in of_before) == sum(one.units for one in of_after):
            continue
        steps.append(
            BridgeStep(
                f"{ledger_id}{KEY_SEPARATOR}{entry}",
                ledger_id,
                category_name(names, ledger_id),
                payees[1].get(pair) or payees[0].get(pair, ""),
                Cause(causes.get(entry, AMENDED), (*of_before, *of_after)),
                of_before,
                of_after,
                entry,
            )
        )
    steps.sort(key=lambda one: (-abs(one.units), one.key))
    ranks = {(one.entry_id, one.ledger_id): rank for rank, one in enumerate(steps)}
    lines = join_sides(sides, [[ranks.get(one, -1) for one in of_side] for of_side in keys])
    title = f"{_TOTAL}, {days_label(days)}"
    words = BridgeWords(title, *_LABELS, "cash", new.scale)
    notes = tuple(dict.fromkeys((*old.notes, *new.notes)))
    shown = shown_steps(tuple(steps), largest)
    return Bridge(title, *_LABELS, shown, new.scale, new.time_zone, notes, words, tuple(steps), lines)


def _sources(
    before: Any,  # noqa: ANN401 (any frame narwhals knows)
    after: Any,  # noqa: ANN401 (any frame narwhals knows)
    tree: LedgerTree,
    period: Period | None,
) -> tuple[LineSource, LineSource]:
    """Read both loads, which must count days and amounts in the same way."""
    stated = [(read_load_metadata(one) or {}).get("time_zone") for one in (before, after)]
    own = None if period is None else period.time_zone
    zones = [choose_zone(one or own).name for one in stated]
    if own is not None and own not in zones:
        raise InputError(f"period counts days in {own}, but the loads in {zones[0]}: pass a period of their zone")
    old, new = (LineSource(one, tree.cash, tree.cash, zones[0], asked=period) for one in (before, after))
    for what, values in (("days", zones), ("fraction digits", [old.scale, new.scale])):
        if values[0] != values[1]:
            raise InputError(f"the two loads have different {what}, {values[0]} and {values[1]}: load them alike")
    return old, new


def _common_days(old: LineSource, new: LineSource) -> Period:
    """Days of both loads, which must be the same where they are stated."""
    if old.states_days and new.states_days and old.loaded != new.loaded:
        raise InputError(
            f"the loads have different days, {old.loaded} and {new.loaded}: pass period=, the days to compare"
        )
    if old.states_days != new.states_days:
        return old.loaded if old.states_days else new.loaded
    first = min(old.loaded.start_date, new.loaded.start_date)
    return Period(first, max(old.loaded.end_date, new.loaded.end_date), new.time_zone)


def _side(source: LineSource, span: Span, tree: LedgerTree, factor: int) -> SideLines:
    """Cash flow lines of a load, summed with a factor."""
    if why := source.missing(span):
        raise IncompleteLoadError(f"the loads cannot be compared: {why}; load these days with all ledgers")
    sums = source.sums({span})[span]
    tree.require(sums)
    ledger_ids = tuple(one for one in tree.ordered if one not in set(tree.cash))
    units = factor * sum(sums.get(one, 0) for one in ledger_ids)
    entries = source.entries([LinePart(factor, span, ledger_ids)], units)
    return SideLines.of_entries(entries, -factor, payees_of_entries(source.lines(span), tree.cash), source.scale)


def _causes(old: LineSource, new: LineSource) -> Mapping[str, str]:
    """Cause by journal entry, from all lines of both loads."""
    tables = [_exact_table(one) for one in (old, new)]
    changed = find_changed_lines(*tables, time_zone=new.time_zone, scale=new.scale)
    in_old, in_new = (set(one["journal_entry_id"].to_pylist()) for one in tables)
    kinds: dict[str, set[str]] = {}
    for entry, kind in zip(changed["journal_entry_id"].to_pylist(), changed[KIND].to_pylist(), strict=True):
        kinds.setdefault(entry, set()).add(kind)
    return {
        entry: _cause(of_entry, is_old=entry in in_old, is_new=entry in in_new) for entry, of_entry in kinds.items()
    }


def _cause(kinds: set[str], *, is_old: bool, is_new: bool) -> str:
    """Cause of an entry with these kinds of changed lines."""
    if not is_old or not is_new:
        return ADDED_LATER if is_new else DELETED
    return RECATEGORIZED if kinds == {RECATEGORIZED} else AMENDED


def _exact_table(source: LineSource) -> pa.Table:
    """Lines as a table of exact amounts."""
    held = collect(source.exact.lines)
    units, scale = held["units"], source.scale
    is_cast = not source.exact.in_units
    amounts = pc.cast(units, arrow_type(scale)) if is_cast else amount_column(units.to_numpy(), scale, as_decimals=True)
    names: Sequence[str] = [one for one in held.column_names if one != "units"]
    return held.select(names).append_column("signed_amount", amounts)
