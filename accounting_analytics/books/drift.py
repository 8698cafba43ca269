"""What changed between two versions of local books: lines added, removed, recategorized, amended, in exact money."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, Figure, checked_entries, find_row
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.loader.line_entries import to_line_frame
from accounting_analytics.loader.line_tables import with_local_dates
from accounting_analytics.messages import quote
from accounting_analytics.money import arrow_type, format_amount, from_minor_units, to_float, to_floats, to_minor_units
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from decimal import Decimal

    import numpy.typing as npt

    Rows = npt.NDArray[Any]

KINDS = ("added", "removed", "recategorized", "amended")
_ADDED, _REMOVED, _RECATEGORIZED, _AMENDED = KINDS
_FOLLOWING = ("ledger_name", "opposing_ledger_ids", "journal_entry_line_entry_ids")
"""Columns that also change where another line of the entry, or the ledger, does."""
_CHANGE = ("kind", "change", "month", "figure_amount")
_COLUMNS = ["month", "ledger_id", "ledger_name", "kind", "amount", "entries", "lines"]


@dataclass(frozen=True, repr=False)
class Drift(Result):
    """Changes of the line entries between two versions of local books.

    A line is the one with the same id. It is recategorized if nothing but its ledger is another one; any other
    difference amends it. A line whose opposing ledgers alone differ is listed only if its entry has no other change.

    Parameters
    ----------
    before, after : str
        The two versions.
    notes : tuple of str
        Remarks.
    """

    before: str
    after: str
    _frame: pd.DataFrame
    _changes: pa.Table
    _ledgers: pd.DataFrame
    _time_zone: str
    _scale: int
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each month, ledger and kind: ``added``, ``removed``, ``recategorized`` or ``amended``.

        ``amount`` is the change of the ledger's sum of ``signed_amount``; ``entries`` and ``lines`` count the journal
        entries and lines that it is of.
        """
        return self._frame

    @property
    def lines(self) -> pd.DataFrame:
        """Lines that changed, as they were (``change`` is ``before``) and as they are (``after``)."""
        return self._entries(np.ones(self._changes.num_rows, dtype=bool))

    @property
    def figures(self) -> list[Figure]:
        """The change of each ledger in each month, largest first within a month."""
        keys = dict.fromkeys(zip(self.frame["month"], self.frame["ledger_id"], strict=True))
        return [self._figure(month, ledger_id) for month, ledger_id in keys]

    def __getitem__(self, key: str) -> Figure:
        """Figure of ``2025-03|Rent`` (id or name of a ledger), of a kind of it (``2025-03|Rent|added``), or of cash.

        The figure of a month alone, ``2025-03``, is the change of the ledgers that report cash flow.
        """
        month, _, rest = key.partition(KEY_SEPARATOR) if isinstance(key, str) else ("", "", "")
        in_month = self.frame[self.frame["month"] == month]
        if in_month.empty:
            months = ", ".join(self.frame["month"].unique()) or "none"
            raise InputError(f"no change is in {quote(key)}; the months with changes are: {months}")
        if not rest:
            return self._cash(month)
        name, separator, kind = rest.rpartition(KEY_SEPARATOR)
        if not separator or kind not in KINDS:
            name, kind = rest, ""
        names = dict(zip(in_month["ledger_id"], in_month["ledger_name"], strict=True))
        return self._figure(month, find_row(LedgerNames(names, Hierarchy({})), name), kind)

    def summary(self) -> str:
        """One line: how many lines changed between which versions."""
        if self.frame.empty:
            return f"No line changed between {self.before} and {self.after}."
        lines, entries = (pc.count_distinct(self._changes[name]).as_py() for name in ("id", "journal_entry_id"))
        months = self.frame["month"].nunique()
        return (
            f"{lines:,} line(s) of {entries:,} journal entries in {months} month(s) changed between {self.before} and "
            f"{self.after}."
        )

    def _parts(self) -> Iterator[ResultPart]:
        exact = self._exact_frame()
        rows = exact[["month", "ledger_name", "kind", "amount", "entries"]].itertuples(index=False)
        lines = [
            f"{month}  {name}: {format_amount(amount)}, {entries} journal entries, {kind}"
            for month, name, kind, amount, entries in rows
        ]
        yield ResultPart(lines, exact.drop(columns="ledger_id"))

    def _content(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after, "changes": self._exact_frame(), "notes": self.notes}

    def _exact_frame(self) -> pd.DataFrame:
        """Rows with Decimals, whose text has every digit."""
        amounts = [from_minor_units(round(amount * 10**self._scale), self._scale) for amount in self.frame["amount"]]
        return self.frame.assign(amount=pd.Series(amounts, self.frame.index, dtype=object))

    def _figure(self, month: str, ledger_id: str, kind: str = "") -> Figure:
        """Change of a ledger in a month, or a kind of it."""
        chosen = self._are("month", [month]) & self._are("ledger_id", [ledger_id])
        if kind:
            chosen &= self._are("kind", [kind])
        key = KEY_SEPARATOR.join(filter(None, (month, ledger_id, kind)))
        name = self._names().get(ledger_id, ledger_id)
        return self._of_lines(key, f"{name}, {month}{f', {kind}' if kind else ''}", chosen)

    def _cash(self, month: str) -> Figure:
        """Change of the ledgers that report cash flow."""
        cash = self._ledgers.loc[self._ledgers["report_cash_flow"], "id"]
        return self._of_lines(month, f"Cash, {month}", self._are("month", [month]) & self._are("ledger_id", cash))

    def _of_lines(self, key: str, label: str, chosen: Rows) -> Figure:
        """Figure of some of the lines."""
        exact = _total(self._changes.filter(pa.array(chosen))["figure_amount"], self._scale)
        made_of = f"the lines of {self.after} less those of {self.before}"
        load = partial(self._checked_entries, chosen, exact)
        return Figure(key, label, to_float(exact, self._scale), made_of, _exact=exact, _load_entries=load)

    def _checked_entries(self, chosen: Rows, exact: Decimal) -> pd.DataFrame:
        return checked_entries(self._entries(chosen), to_minor_units(exact, self._scale), self._scale)

    def _entries(self, chosen: Rows) -> pd.DataFrame:
        """Frame of some of the lines."""
        frames = []
        for change in ("before", "after"):  # each version has a line once
            table = self._changes.filter(pa.array(chosen & self._are("change", [change])))
            frame = to_line_frame(table.drop_columns(list(_CHANGE)), self._scale, self._time_zone)
            extra = {name: table[name].to_pandas() for name in _CHANGE if name != "figure_amount"}
            frames.append(frame.assign(**extra, figure_amount=to_floats(table["figure_amount"])))
        found = pd.concat(frames).sort_values(["datetime", "id"], ignore_index=True, kind="stable")
        found.attrs = {"scale": self._scale, "notes": self.notes}
        return found

    def _are(self, column: str, values: Collection[str]) -> Rows:
        found: Rows = pc.is_in(self._changes[column], value_set=pa.array(values, pa.string())).to_numpy()
        return found

    def _names(self) -> dict[str, str]:
        return dict(zip(self._ledgers["id"], self._ledgers["name"], strict=True))


def compare_lines(
    before: pa.Table,
    after: pa.Table,
    ledgers: pd.DataFrame,
    *,
    time_zone: str,
    scale: int,
    before_label: str,
    after_label: str,
    notes: tuple[str, ...] = (),
) -> Drift:
    """Compare two tables of exact line entries by id."""
    old, new = _rows_by_id(before, after)
    kinds = _kinds(before, after, old, new)
    changed = kinds != ""
    amount = arrow_type(scale)
    parts = []
    for name, table, rows, sign in (("before", before, old, -1), ("after", after, new, 1)):
        chosen = changed & (rows >= 0)
        lines = table.take(pa.array(rows[chosen]))
        signed = lines["signed_amount"] if sign > 0 else pc.negate(lines["signed_amount"])
        extra = (
            pa.array(kinds[chosen], pa.string()),
            pa.repeat(name, lines.num_rows),
            _months(lines, time_zone),
            signed.cast(amount),
        )
        for column, values in zip(_CHANGE, extra, strict=True):
            lines = lines.append_column(column, values)
        parts.append(lines)
    changes = pa.concat_tables(parts)
    names = dict(zip(ledgers["id"], ledgers["name"], strict=True))
    frame = _sums(changes, names, scale)
    return Drift(before_label, after_label, frame, changes, ledgers, time_zone, scale, notes)


def _rows_by_id(before: pa.Table, after: pa.Table) -> tuple[Rows, Rows]:
    """Row of each id in both tables, -1 where it has none: the ids of the one, then those that only the other has."""
    old_ids, new_ids = (pd.Index(table["id"].to_pandas()) for table in (before, after))
    in_new = new_ids.get_indexer(old_ids)
    added = np.flatnonzero(old_ids.get_indexer(new_ids) < 0)
    old = np.concatenate([np.arange(len(old_ids)), np.full(len(added), -1)])
    return old, np.concatenate([in_new, added])


def _kinds(before: pa.Table, after: pa.Table, old: Rows, new: Rows) -> Rows:
    """Kind of change of each line, empty where there is none."""
    common = (old >= 0) & (new >= 0)
    pairs = (before.take(pa.array(old[common])), after.take(pa.array(new[common])))
    differs = {name: _differ(*(table[name] for table in pairs)) for name in before.column_names}
    none = np.zeros(common.sum(), dtype=bool)
    own = np.logical_or.reduce(
        [none, *(rows for name, rows in differs.items() if name not in (*_FOLLOWING, "ledger_id"))]
    )
    following = np.logical_or.reduce([none, *(differs[name] for name in _FOLLOWING if name in differs)])
    kinds = np.full(len(old), "", dtype=object)
    kinds[new < 0], kinds[old < 0] = _REMOVED, _ADDED
    kinds[common] = np.select([own, differs["ledger_id"]], [_AMENDED, _RECATEGORIZED], "")
    entries = np.full(len(old), "", dtype=object)
    entries[old >= 0] = before["journal_entry_id"].to_numpy()[old[old >= 0]]
    entries[old < 0] = after["journal_entry_id"].to_numpy()[new[old < 0]]
    alone = np.zeros(len(old), dtype=bool)
    alone[common] = following
    alone &= (kinds == "") & ~np.isin(entries, entries[kinds != ""])
    kinds[alone] = _AMENDED
    return kinds


def _differ(old: pa.ChunkedArray, new: pa.ChunkedArray) -> Rows:
    """Whether values are different; two nulls are the same."""
    different = pc.fill_null(pc.not_equal(old, new), pc.xor(pc.is_null(old), pc.is_null(new)))
    found: Rows = different.to_numpy()
    return found


def _months(lines: pa.Table, time_zone: str) -> pa.ChunkedArray:
    """Local month of each line: ``2026-01``."""
    return pc.strftime(with_local_dates(lines, time_zone)["local_date"], format="%Y-%m")


def _sums(changes: pa.Table, names: dict[str, str], scale: int) -> pd.DataFrame:
    """Sum the changes by month, ledger and kind; the largest first within a month."""
    aggregations = [("figure_amount", "sum"), ("journal_entry_id", "count_distinct"), ("id", "count_distinct")]
    rows = changes.group_by(["month", "ledger_id", "kind"]).aggregate(aggregations).to_pylist()
    rows.sort(
        key=lambda row: (row["month"], -abs(row["figure_amount_sum"]), names.get(row["ledger_id"], ""), row["kind"])
    )
    found = {
        "month": [row["month"] for row in rows],
        "ledger_id": [row["ledger_id"] for row in rows],
        "ledger_name": [names.get(row["ledger_id"], row["ledger_id"]) for row in rows],
        "kind": [row["kind"] for row in rows],
        "amount": [to_float(row["figure_amount_sum"], scale) for row in rows],
        "entries": [row["journal_entry_id_count_distinct"] for row in rows],
        "lines": [row["id_count_distinct"] for row in rows],
    }
    texts = {name: pd.Series(found[name], dtype="str") for name in _COLUMNS[:4]}
    numbers = {"amount": pd.Series(found["amount"], dtype="float64")}
    counts = {name: pd.Series(found[name], dtype="int64") for name in ("entries", "lines")}
    frame = pd.DataFrame({**texts, **numbers, **counts})
    frame.attrs["scale"] = scale
    return frame


def _total(amounts: pa.ChunkedArray, scale: int) -> Decimal:
    return pc.sum(amounts).as_py() or from_minor_units(0, scale)
