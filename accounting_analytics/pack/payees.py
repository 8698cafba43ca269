"""Top payees: whom most was paid to in the period, and before, less what came back from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.bridges.payments import payees_of_entries
from accounting_analytics.figure_tables import TableHead
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.pack.pack_tables import PackRow, TableBuilder, text_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.pack.pack_columns import PackPeriods
    from accounting_analytics.pack.pack_tables import PackLines, PackTable

NAME = "payees"
_LARGEST, _MAX_CATEGORIES = 10, 2
_REST, _TOTAL = "others", "total"
_CHANGE = "change"
_NOTE = (
    "Amounts paid, less what came back; without transfers between own accounts. Earlier columns are of the same payees."
)


def payees_table(entries: PackLines, flows: Sequence[str], periods: PackPeriods) -> PackTable:
    """Make the table of the payees that most was paid to; `flows` are the ledgers that count."""
    columns = periods.key_columns()[:3]
    this, before, year_before = columns
    heads = {
        this.key: TableHead(this.label, is_comparison=False),
        before.key: TableHead(before.label, is_comparison=False),
        _CHANGE: TableHead("Change", is_comparison=True),
        year_before.key: TableHead(year_before.label, is_comparison=False),
        "category": TableHead("Category", is_comparison=False, is_text=True),
    }
    table = TableBuilder(NAME, entries, heads)
    payee_of = _payee_of_lines(entries)
    row = PackRow(1, "flow", tuple(flows))
    numbers: dict[str, dict[str, list[int]]] = {}
    for column in columns:
        ((_, period),) = column.periods
        for number in entries.matching(row, [(1, period.start_date.isoformat(), period.end_date.isoformat())]):
            of_payee = numbers.setdefault(payee_of.get(number, ""), {})
            of_payee.setdefault(column.key, []).append(number)
    paid = {payee: entries.units(of_columns.get(this.key, ())) for payee, of_columns in numbers.items()}
    ordered = sorted((one for one in paid if paid[one] > 0), key=lambda one: (-paid[one], one))
    shown = [one for one in ordered if one][:_LARGEST]
    others = [one for one in ordered if one not in shown]
    for payee in shown:
        row_texts = (f"payee:{payee}", payee, _categories(entries, numbers[payee][this.key]))
        _add(table, heads, row_texts, numbers[payee])
    if others:
        merged: dict[str, list[int]] = {}
        for one in others:
            for key, found in numbers[one].items():
                merged.setdefault(key, []).extend(found)
        _add(table, heads, (_REST, f"{len(others):,} others", ""), merged)
    keys = [*(f"payee:{one}" for one in shown), *([_REST] if others else [])]
    if keys:
        cells = [
            table.sum_of_terms(_TOTAL, one, [("+", f"{key}{KEY_SEPARATOR}{one}") for key in keys])
            for one in list(heads)[:-1]
        ]
        table.row(_TOTAL, "Total", [*cells, text_cell("")], kind="total")
    return table.build("Top payees", [_NOTE] if keys else ["No payments in these days."])


def _add(
    table: TableBuilder,
    heads: dict[str, TableHead],
    row: tuple[str, str, str],
    numbers: dict[str, list[int]],
) -> None:
    """Add the row of a payee."""
    (key, label, category), (this, before, _, year_before, _) = row, heads
    cells = {one: table.sum_of_lines(key, one, numbers.get(one, [])) for one in (this, before, year_before)}
    terms = [("+", f"{key}{KEY_SEPARATOR}{this}"), ("-", f"{key}{KEY_SEPARATOR}{before}")]
    change = table.sum_of_terms(key, _CHANGE, terms)
    table.row(key, label, [cells[this], cells[before], change, cells[year_before], text_cell(category)])


def _payee_of_lines(entries: PackLines) -> dict[int, str]:
    """Payee of each line by its number."""
    lines = entries.source.frame
    payees = payees_of_entries(lines, entries.cash)
    ids = zip(lines["id"], lines["journal_entry_id"], strict=True)
    return {entries.numbers[one]: payees.get(entry, "") for one, entry in ids if one in entries.numbers}


def _categories(entries: PackLines, numbers: Sequence[int]) -> str:
    """Names of the ledgers of some lines."""
    names = list(dict.fromkeys(entries.ledger_name(one) for one in numbers))
    more = f" and {len(names) - _MAX_CATEGORIES} more" if len(names) > _MAX_CATEGORIES else ""
    return ", ".join(names[:_MAX_CATEGORIES]) + more
