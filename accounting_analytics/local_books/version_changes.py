"""`Drift`: exact changes between two versions of local books, by month and ledger."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.chart_of_accounts import Hierarchy, LedgerType
from accounting_analytics.core.column_conversion import in_floats
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import count_of, first_lines
from accounting_analytics.core.money import (
    EXACT,
    format_amount,
    from_minor_units,
    pandas_dtype,
    sum_by_key,
    to_minor_units,
)
from accounting_analytics.core.periods import Period
from accounting_analytics.core.results import MAX_HTML_ROWS, Result, ResultPart
from accounting_analytics.core.schemas import EntryDrift, LedgerDrift, LineEntries
from accounting_analytics.loading.arrow_lines import lines_within, to_exact_frame, with_local_dates
from accounting_analytics.reports.books.changed_lines import (
    AFTER,
    AMOUNT,
    BEFORE,
    CHANGE,
    KIND,
    KINDS,
    MONTH,
    LedgerChange,
    find_changed_lines,
    sum_by_ledger,
)
from accounting_analytics.reports.books.payees import counterparties_of_entries, open_item_ledgers
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, checked_entries, find_row
from accounting_analytics.reports.figures.figure_table import entries_behind, figure_table_html, table_of_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal

    from accounting_analytics.local_books.storage import BooksFolder
    from accounting_analytics.local_books.versions import ClosedPeriod, Version

_ADDED, _REMOVED, _RECATEGORIZED, _AMENDED = KINDS
_MARKS = [CHANGE, KIND, AMOUNT]
_TEXTS = ("transaction_description", "journal_entry_description")
_OF_ENTRY = ("id", "ledger_id", "journal_entry_id", *_TEXTS, "datetime", "signed_amount")
"""Columns of the lines that describe an entry."""
_CREDIT_TYPES = (LedgerType.LIABILITY, LedgerType.EQUITY, LedgerType.REVENUE)


@dataclass(frozen=True, repr=False, eq=False)
class Drift(Result):
    """Changes of the line entries between two versions of local books.

    Amounts have the sign of the statements: an increase on the normal side of a ledger's type is positive, so that
    sales that grew are a positive change. The figure of a month is the change of cash, which is positive if cash
    increased.

    Lines are compared by id. A line is ``recategorized`` if it is on another ledger with the same amount, side, time
    and journal entry; any other difference makes it ``amended``. If only ids of other lines or ledgers differ in a line
    (``opposing_ledger_ids``, ``related_line_entry_id``, ``journal_entry_line_entry_ids``), it is listed, as amended,
    only if its journal entry has no other change. Fields of the ledger (``ledger_name``, ``editable``) are not
    compared.

    Parameters
    ----------
    before, after : str
        The two versions.
    time_zone : str
        Zone that months and days are counted in.
    scale : int
        Fraction digits of the amounts.
    notes : tuple of str
        Remarks for the reader.
    """

    before: str
    after: str
    time_zone: str
    scale: int
    notes: tuple[str, ...]
    _changes: tuple[LedgerChange, ...]
    _lines: pa.Table
    _entry_lines: pa.Table
    _cash: frozenset[str]
    _credit: frozenset[str]
    _open_items: Mapping[str, str]

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.LedgerDrift`: one row for each month, ledger and kind of change."""
        return LedgerDrift.with_floats(self.exact())

    @property
    def lines(self) -> pd.DataFrame:
        """Changed lines before (``change`` is ``before``) and ``after``, with their kind."""
        lines = self._exact_lines(self._lines)
        return LineEntries.with_floats(lines).assign(**{AMOUNT: in_floats(lines[AMOUNT])})

    @property
    def by_entry(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.EntryDrift`: one row for each journal entry with a changed line.

        The cash movement of an entry includes all its lines, so that the changes of all entries sum to the change of
        cash in all months, if no period was given.
        """
        changed = self._lines.select(["journal_entry_id", "id", "ledger_id", KIND]).to_pandas()
        lines_once = changed.drop_duplicates(["id", KIND])
        names = changed["ledger_id"].map({change.ledger_id: change.ledger_name for change in self._changes})
        ledgers = names.groupby(changed["journal_entry_id"]).agg(lambda of_entry: ", ".join(of_entry.unique()))
        lines = with_local_dates(self._entry_lines, self.time_zone).to_pandas()
        entries = lines.drop_duplicates("journal_entry_id").sort_values(["datetime", "journal_entry_id"])
        ids, payees = list(entries["journal_entry_id"]), counterparties_of_entries(lines, self._cash, self._open_items)
        counts = pd.crosstab(lines_once["journal_entry_id"], lines_once[KIND])
        counts = counts.reindex(index=ids, columns=list(KINDS), fill_value=0)
        before, after = (self._cash_of_entries(lines[lines[CHANGE] == version]) for version in (BEFORE, AFTER))
        zero = from_minor_units(0, self.scale)
        columns = {
            "journal_entry_id": ids,
            "local_date": list(entries["local_date"]),
            "description": list(entries["journal_entry_description"]),
            "counterparty": [payees.get(entry_id) for entry_id in ids],
            "ledgers": [ledgers[entry_id] for entry_id in ids],
            "kind": [
                _entry_kind(counts.loc[entry_id], is_old=entry_id in before, is_new=entry_id in after)
                for entry_id in ids
            ],
            "lines_added": list(counts[_ADDED]),
            "lines_removed": list(counts[_REMOVED]),
            "lines_changed": list(counts[_RECATEGORIZED] + counts[_AMENDED]),
            "before": [before.get(entry_id, zero) for entry_id in ids],
            "after": [after.get(entry_id, zero) for entry_id in ids],
            "change": [EXACT.subtract(after.get(entry_id, zero), before.get(entry_id, zero)) for entry_id in ids],
        }
        return EntryDrift.from_columns(columns, self.scale)

    def _cash_of_entries(self, lines: pd.DataFrame) -> dict[str, Decimal]:
        """Sum the cash movement of each entry. It is zero if the entry moved no cash."""
        is_cash = lines["ledger_id"].isin(self._cash)
        amounts = lines["signed_amount"].where(is_cash, from_minor_units(0, self.scale))
        return sum_by_key(zip(lines["journal_entry_id"], amounts, strict=True))

    @property
    def months(self) -> list[str]:
        """Months that have a changed line."""
        return sorted({change.month for change in self._changes})

    @property
    def line_counts(self) -> dict[str, int]:
        """Number of changed lines of each kind."""
        counted = self._lines.group_by(KIND).aggregate([("id", "count_distinct")])
        found = zip(counted[KIND].to_pylist(), counted["id_count_distinct"].to_pylist(), strict=True)
        return dict.fromkeys(KINDS, 0) | dict(found)

    @property
    def figures(self) -> list[Figure]:
        """The change of each ledger in each month, in the order of the frame."""
        return [
            self._figure(key) for key in dict.fromkeys(change.keys(change.ledger_id)[1] for change in self._changes)
        ]

    def __getitem__(self, key: str) -> Figure:
        """Return the figure of a month, ledger, or kind of change."""
        forms = "a month, a ledger or a kind in .frame, written like 2025-03, 2025-03|Rent or 2025-03|Rent|amended"
        return self._figure(find_row(self._names, key, f"give {forms}" if self._changes else "no line changed"))

    def summary(self) -> str:
        """Write one line of text: the number of changes, and the versions."""
        if not self._changes:
            return f"No line changed between {self.before} and {self.after}."
        lines, entries, months = (
            count_of(pc.count_distinct(self._lines[name]).as_py(), noun)
            for name, noun in (("id", "line"), ("journal_entry_id", "journal entry"), (MONTH, "month"))
        )
        return f"Changes between {self.before} and {self.after}: {lines} of {entries} in {months}."

    def _parts(self) -> Iterator[ResultPart]:
        texts = [
            f"{change.month}  {change.ledger_name}: {format_amount(change.amount)}, "
            f"{count_of(change.entries, 'entry')}, {change.kind}"
            for change in self._changes
        ]
        yield ResultPart(first_lines(texts), html=self._changes_html)

    def _changes_html(self) -> str:
        """Write the changes of ledgers as HTML, in which their lines unfold."""
        rows = [
            (f"{change.month}  {change.ledger_name}, {change.kind}", [self._figure(change.keys(change.ledger_id)[2])])
            for change in self._changes[:MAX_HTML_ROWS]
        ]
        if not rows:
            return ""
        table = table_of_figures(
            "Changes of ledgers",
            [f"{self.before} to {self.after}", f"months in {self.time_zone}"],
            ["Change"],
            rows,
            entries_behind(rows),
            scale=self.scale,
            call='drift[{row!r} + "|" + {column!r}].entries',
        )
        more = len(self._changes) - len(rows)
        notes = [f"{more:,} more changes; .frame has all"] if more else []
        return figure_table_html(table._replace(notes=notes))

    def _content(self) -> dict[str, Any]:
        return {
            "before": self.before,
            "after": self.after,
            "time_zone": self.time_zone,
            "changes": self.exact(),
        }

    def exact(self) -> pd.DataFrame:
        """Return the rows of the frame with Arrow decimals."""
        columns = {name: [getattr(change, name) for change in self._changes] for name in LedgerChange._fields}
        return LedgerDrift.exact_from_columns(columns, self.scale)

    @cached_property
    def _sums(self) -> dict[str, Decimal]:
        """Sum the exact change of each key."""
        amounts: list[tuple[str, Decimal]] = []
        for change in self._changes:
            month, *others = change.keys(change.ledger_id)
            cash = -change.amount if change.ledger_id in self._credit else change.amount
            amounts.append((month, cash if change.ledger_id in self._cash else from_minor_units(0, self.scale)))
            amounts += [(key, change.amount) for key in others]
        return sum_by_key(amounts)

    @cached_property
    def _names(self) -> LedgerNames:
        """Find keys by texts that people write, such as ledger names."""
        names: dict[str, str] = {}
        for change in self._changes:
            names |= zip(change.keys(change.ledger_id), change.keys(change.ledger_name), strict=True)
        return LedgerNames(names, Hierarchy({}))

    def _figure(self, key: str) -> Figure:
        exact = self._sums[key]
        units = to_minor_units(exact, self.scale)
        month, *rest = self._names.name(key).split(KEY_SEPARATOR, 1)
        label = f"{rest[0].replace(KEY_SEPARATOR, ', ')}, {month}" if rest else f"Change of cash, {month}"
        return Figure(
            key,
            label,
            units,
            f"the lines of {self.after} less those of {self.before}",
            scale=self.scale,
            _load_entries=partial(self._entries, key, units),
        )

    def _entries(self, key: str, units: int) -> pd.DataFrame:
        """Return the lines behind a figure. Refuse lines with another sum."""
        month, *rest = key.split(KEY_SEPARATOR)
        chosen = {MONTH: [month], "ledger_id": rest[:1] or self._cash, KIND: rest[1:] or KINDS}
        lines = self._lines
        for name, values in chosen.items():
            lines = lines.filter(pc.is_in(lines[name], value_set=pa.array(values, pa.string())))
        if not rest:  # cash is a debit balance, also on a card
            lines = _negated(lines, self._credit)
        return checked_entries(self._exact_lines(lines), units, self.scale)

    def _exact_lines(self, lines: pa.Table) -> pd.DataFrame:
        """Convert lines to a frame with exact amounts and their changes."""
        frames = []
        for change in (BEFORE, AFTER):  # within a version, no line is repeated
            table = lines.filter(pc.equal(lines[CHANGE], change))
            marks = table.select(_MARKS).to_pandas(types_mapper={table[AMOUNT].type: pandas_dtype(self.scale)}.get)
            frame = to_exact_frame(table.drop_columns([MONTH, *_MARKS]), self.scale, self.time_zone)
            frames.append(frame.join(marks))
        found = pd.concat(frames).sort_values(["datetime", "id"], ignore_index=True, kind="stable")
        found.attrs = {"scale": self.scale, "notes": self.notes}
        return found


def compare_versions(folder: BooksFolder, before: Version, after: Version, period: Period | None = None) -> Drift:
    """Compare the lines of two versions, and read only months whose files changed."""
    months = before.changed_months(after)
    return compare_lines(
        folder.read_lines(before, months),
        folder.read_lines(after, months),
        folder.read_ledgers(after),
        time_zone=after.time_zone,
        scale=after.scale,
        before_label=before.label,
        after_label=after.label,
        period=period,
    )


def changes_of_closed_periods(folder: BooksFolder, version: Version) -> Iterator[tuple[ClosedPeriod, Drift]]:
    """Yield each closed period of a version, with the changes since it was closed."""
    versions = folder.versions()
    for closed_period in version.closed:
        days = Period(closed_period.start_date, closed_period.end_date, version.time_zone)
        yield closed_period, compare_versions(folder, versions[closed_period.version], version, days)


def compare_lines(
    before: pa.Table,
    after: pa.Table,
    ledgers: pd.DataFrame,
    *,
    time_zone: str,
    scale: int,
    before_label: str,
    after_label: str,
    period: Period | None = None,
    notes: Iterable[str] = (),
) -> Drift:
    """Compare two tables of exact lines. With a period, only changes within it are returned.

    Equal months may be left out of the tables. A line that was moved to another month is amended in both months: it
    leaves one and enters the other.
    """
    lines = find_changed_lines(before, after, time_zone=time_zone, scale=scale)
    if period is not None:
        lines = lines_within(lines, period)
    entry_lines = _lines_of_entries(before, after, lines["journal_entry_id"].unique())
    credit = frozenset(ledgers.loc[ledgers["type"].isin(_CREDIT_TYPES), "id"])
    lines = _negated(lines, credit)
    changes = sum_by_ledger(lines, dict(zip(ledgers["id"], ledgers["name"], strict=True)))
    cash = frozenset(ledgers.loc[ledgers["report_cash_flow"], "id"])
    open_items = open_item_ledgers(ledgers)
    return Drift(
        *(before_label, after_label, time_zone, scale, tuple(notes), tuple(changes), lines, entry_lines, cash, credit),
        open_items,
    )


def _lines_of_entries(before: pa.Table, after: pa.Table, entry_ids: pa.Array) -> pa.Table:
    """Return all lines of some entries, from both tables."""
    sides = []
    for change, table in ((AFTER, after), (BEFORE, before)):
        lines = table.filter(pc.is_in(table["journal_entry_id"], value_set=entry_ids))
        lines = lines.select([name for name in _OF_ENTRY if name in lines.column_names])
        sides.append(lines.append_column(CHANGE, pa.repeat(change, lines.num_rows)))
    return pa.concat_tables(sides, promote_options="default")


def _entry_kind(counts: pd.Series[int], *, is_old: bool, is_new: bool) -> str:
    """Return the kind of an entry's change.

    The kind depends on changed lines, and on the versions that have the entry.
    """
    if not is_old or not is_new:
        return _ADDED if is_new else _REMOVED
    return _RECATEGORIZED if counts[_RECATEGORIZED] == counts.sum() else _AMENDED


def _negated(lines: pa.Table, ledger_ids: Iterable[str]) -> pa.Table:
    """Negate the amounts of changed lines on some ledgers."""
    chosen = pc.is_in(lines["ledger_id"], value_set=pa.array(sorted(ledger_ids), pa.string()))
    amounts = pc.if_else(chosen, pc.negate(lines[AMOUNT]), lines[AMOUNT])
    return lines.set_column(lines.column_names.index(AMOUNT), AMOUNT, amounts)
