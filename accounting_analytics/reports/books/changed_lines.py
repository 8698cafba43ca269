"""Lines that differ between two tables of line entries, and their sums by ledger.

Rows of both tables are paired by the id of the line. Where little changed, the pairs are a few ranges of rows in the
same order in both tables. Such ranges are compared column by column without a copy.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import exact_frame
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import PRECISION, arrow_type, exact_amount, format_amount
from accounting_analytics.core.periods import day_label
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]
    Kinds = npt.NDArray[np.str_]

KINDS = ("added", "removed", "recategorized", "amended")
_ADDED, _REMOVED, _RECATEGORIZED, _AMENDED = KINDS
BEFORE, AFTER = "before", "after"
CHANGE, KIND, MONTH, AMOUNT = "change", "kind", "month", "figure_amount"
"""Added columns of a changed line: its version, the kind of its change, its local month, and its signed amount, negated
in the old version."""
_FOLLOWING = ("opposing_ledger_ids", "related_line_entry_id", "journal_entry_line_entry_ids")
"""Columns that also differ where only another line of the journal entry has changed."""
_OF_LEDGER = ("ledger_name", "editable")
"""Columns that describe the ledger. They are not compared, because a new name of a ledger changes no line."""
_KEPT_BY_RECATEGORIZATION = ("signed_amount", "amount", "debit_credit", "datetime", "journal_entry_id")
_NAMED = 3
"""A message names at most this many changed lines."""
_PAIRS_PER_RANGE = 100
"""Least average number of pairs in a range: with fewer, copying the rows is faster."""


class LedgerChange(NamedTuple):
    """Change of a ledger in a month: columns of :class:`~accounting_analytics.schemas.LedgerDrift`."""

    month: str
    ledger_id: str
    ledger_name: str
    kind: str
    amount: Decimal
    entries: int
    lines: int

    def keys(self, ledger: str) -> tuple[str, str, str]:
        """Return the keys of the figures of a change: month, ledger and kind."""
        of_ledger = KEY_SEPARATOR.join((self.month, ledger))
        return self.month, of_ledger, KEY_SEPARATOR.join((of_ledger, self.kind))


class _Pairs(NamedTuple):
    """Row numbers of lines in both tables, and in one table."""

    old: Rows
    new: Rows
    removed: Rows
    added: Rows


def find_changed_lines(before: pa.Table, after: pa.Table, *, time_zone: str, scale: int) -> pa.Table:
    """Find the lines that differ: first the lines of `before`, then the lines of `after`.

    Only columns of both tables are compared. Where a damaged table has an id twice, one line with the id is compared,
    and the other lines count as added or removed.
    """
    pairs = _pair_by_id(before["id"], after["id"])
    changed, kinds = _compare(before, after, pairs)
    lines = pa.concat_tables(
        [
            _mark(before, pairs.old[changed], BEFORE, kinds),
            _mark(before, pairs.removed, BEFORE, _REMOVED),
            _mark(after, pairs.new[changed], AFTER, kinds),
            _mark(after, pairs.added, AFTER, _ADDED),
        ],
        promote_options="default",
    )
    local = lines["datetime"].to_pandas().dt.tz_convert(time_zone).dt.tz_localize(None)
    months = pc.strftime(pa.array(local, pa.timestamp("us")), format="%Y-%m")
    signed = lines["signed_amount"]
    amounts = pc.if_else(pc.equal(lines[CHANGE], AFTER), signed, pc.negate(signed))
    return lines.append_column(MONTH, months).append_column(AMOUNT, amounts.cast(arrow_type(scale)))


def changed_rows(before: pd.DataFrame, after: pd.DataFrame, scale: int, time_zone: str) -> pd.DataFrame:
    """Return the old and new versions of changed lines between two loads, by day."""
    tables = (_exact_table(frame, scale) for frame in (before, after))
    marks = find_changed_lines(*tables, time_zone=time_zone, scale=scale).select([CHANGE, KIND, "id"]).to_pandas()
    sides = ((BEFORE, before), (AFTER, after))
    rows = [marks[marks[CHANGE] == side].merge(frame, on="id") for side, frame in sides]
    found: pd.DataFrame = pd.concat(rows).sort_values(["datetime", "id"], kind="stable", ignore_index=True)
    return found


def _exact_table(frame: pd.DataFrame, scale: int) -> pa.Table:
    """Convert lines to Arrow with one exact amount."""
    exact = exact_frame(frame.drop(columns=["amount", "local_date"], errors="ignore"), ["signed_amount"], scale=scale)
    return pa.Table.from_pandas(exact.frame, preserve_index=False)


def describe_changes(rows: pd.DataFrame, scale: int, time_zone: str) -> str:
    """Say how many lines changed, and describe the first ones."""
    counts = rows.groupby(KIND)["id"].nunique()
    if counts.empty:
        return "no line differs from those that were read before"
    total = ", ".join(f"{count_of(counts[kind], 'line')} {kind}" for kind in KINDS if kind in counts)
    first = [_describe_line(lines, scale, time_zone) for _, lines in islice(rows.groupby("id", sort=False), _NAMED)]
    return f"{total} (changed_lines lists them): {'; '.join(first)}"


def _describe_line(sides: pd.DataFrame, scale: int, time_zone: str) -> str:
    line = sides.iloc[-1]
    day, amount = line["datetime"].tz_convert(time_zone).date(), exact_amount(line["signed_amount"], scale)
    ledgers = " to ".join(sides["ledger_name"].fillna(sides["ledger_id"]).unique())
    return f"{day_label(day)} {line['journal_entry_description']} {format_amount(amount)}, {ledgers}"


def sum_by_ledger(lines: pa.Table, names: Mapping[str, str]) -> list[LedgerChange]:
    """Sum changed lines by month, ledger and kind."""
    amounts = lines[AMOUNT]
    # 128-bit sums wrap around silently past 38 digits
    wide = lines.append_column("amount_sum", amounts.cast(pa.decimal256(2 * PRECISION, amounts.type.scale)))
    sums = wide.group_by([MONTH, "ledger_id", KIND]).aggregate(
        [("amount_sum", "sum"), ("journal_entry_id", "count_distinct"), ("id", "count_distinct")]
    )
    changes = [
        LedgerChange(
            row[MONTH],
            row["ledger_id"],
            names.get(row["ledger_id"], row["ledger_id"]),
            row[KIND],
            row["amount_sum_sum"],
            row["journal_entry_id_count_distinct"],
            row["id_count_distinct"],
        )
        for row in sums.to_pylist()
    ]
    return sorted(
        changes,
        key=lambda change: (
            change.month,
            change.amount.copy_abs().copy_negate(),
            change.ledger_name,
            change.kind,
            change,
        ),
    )


def _mark(table: pa.Table, rows: Rows, change: str, kinds: Kinds | str) -> pa.Table:
    """Select rows, and add columns that say how they changed."""
    lines = _select(table, rows).append_column(CHANGE, pa.repeat(change, len(rows)))
    return lines.append_column(KIND, pa.array(np.broadcast_to(kinds, len(rows)), pa.string()))


def _pair_by_id(old_ids: pa.ChunkedArray, new_ids: pa.ChunkedArray) -> _Pairs:
    """Pair the rows of both tables that have the same id."""
    found = pc.fill_null(pc.index_in(new_ids, value_set=old_ids), -1).to_numpy()
    row_after = np.full(len(old_ids), -1)
    row_after[found[found >= 0]] = np.flatnonzero(found >= 0)
    old = np.flatnonzero(row_after >= 0)
    is_added = np.ones(len(new_ids), dtype=bool)
    is_added[row_after[old]] = False
    return _Pairs(old, row_after[old], np.flatnonzero(row_after < 0), np.flatnonzero(is_added))


def _compare(before: pa.Table, after: pa.Table, pairs: _Pairs) -> tuple[Rows, Kinds]:
    """Find the pairs that changed, and the kind of each change."""
    old, new = _select(before, pairs.old), _select(after, pairs.new)
    names = [name for name in old.column_names if name in new.column_names and name not in _OF_LEDGER]
    differ = {name: _differ(old[name], new[name]) for name in names}
    own = np.logical_or.reduce([flags for name, flags in differ.items() if name not in _FOLLOWING])
    following = np.logical_or.reduce([own, *(flags for name, flags in differ.items() if name in _FOLLOWING)]) & ~own
    entries = pa.concat_arrays(
        table["journal_entry_id"].take(pa.array(np.concatenate([rows[own], alone]))).combine_chunks()
        for table, rows, alone in ((before, pairs.old, pairs.removed), (after, pairs.new, pairs.added))
    )
    # a line that only follows another changed line of its entry has not changed
    following[following] = ~_to_numpy(pc.is_in(new["journal_entry_id"].filter(following), value_set=entries))
    changed = np.flatnonzero(own | following)
    differ_more = np.logical_or.reduce([differ[name] for name in _KEPT_BY_RECATEGORIZATION if name in differ])
    is_recategorized = (differ["ledger_id"] & ~differ_more)[changed]
    return changed, np.where(is_recategorized, _RECATEGORIZED, _AMENDED)


def _select(table: pa.Table, rows: Rows) -> pa.Table:
    """Select rows. A few ranges of rows are sliced without a copy."""
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    if len(starts) * _PAIRS_PER_RANGE > len(rows):
        return table.take(pa.array(rows))
    lengths = np.diff(starts, append=len(rows))
    slices = (table.slice(rows[start], length) for start, length in zip(starts, lengths, strict=True))
    return pa.concat_tables([table.slice(0, 0), *slices])


def _differ(old: pa.ChunkedArray, new: pa.ChunkedArray) -> Flags:
    """Mark the rows whose values differ. Two nulls are equal."""
    if old.equals(new):
        return np.zeros(len(old), dtype=bool)
    return _to_numpy(pc.coalesce(pc.not_equal(old, new), pc.xor(pc.is_null(old), pc.is_null(new))))


def _to_numpy(flags: pa.ChunkedArray) -> Flags:
    found: Flags = flags.to_numpy()
    return found
