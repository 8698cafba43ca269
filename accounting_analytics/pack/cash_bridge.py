"""The cash bridge as a table: what each payee of a category changed, from the period before to this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.bridges import bridge
from accounting_analytics.errors import InputError
from accounting_analytics.figure_tables import TableHead
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.pack.pack_tables import PackRow, TableBuilder, page_spans, text_cell

if TYPE_CHECKING:
    from accounting_analytics.bridges import Bridge
    from accounting_analytics.pack.pack_columns import PackPeriods
    from accounting_analytics.pack.pack_tables import PackLines, PackTable
    from accounting_analytics.statements import Statement

NAME = "cash_bridge"
BEFORE, AFTER, CHANGE = "before", "after", "change"
_TOTAL, _UNCHANGED = "net_cash_flow", "unchanged"
_LARGEST = 8


def make_bridge(statement: Statement, periods: PackPeriods) -> Bridge | None:
    """Explain the change of cash since the period before; None where that is not known."""
    this, before = (statement.column(f"{periods.key}{suffix}") for suffix in ("", " prior"))
    try:
        return bridge(before, this, largest=_LARGEST)
    except InputError:
        return None


def table_key(key: str) -> str:
    """Key in the table of a figure of the bridge: of a side, of the change, or of a step and its sides."""
    if key in {BEFORE, AFTER, CHANGE}:
        return f"{_TOTAL}{KEY_SEPARATOR}{key}"
    row, _, side = key.rpartition(KEY_SEPARATOR)
    return key if side in {BEFORE, AFTER} and KEY_SEPARATOR in row else f"{key}{KEY_SEPARATOR}{CHANGE}"


def cash_bridge_table(found: Bridge, statement: Statement, entries: PackLines, periods: PackPeriods) -> PackTable:
    """Make the table of the steps of a bridge, with payees without change as one row."""
    heads = {
        BEFORE: TableHead(found.before, is_comparison=False),
        AFTER: TableHead(found.after, is_comparison=False),
        CHANGE: TableHead("Change", is_comparison=True),
        "cause": TableHead("Why", is_comparison=False, is_text=True),
    }
    table = TableBuilder(NAME, entries, heads)
    changes: list[tuple[str, str]] = []
    of_statement = statement.figures
    row = next(one for key, one in of_statement.layout.by_key.items() if key.rstrip("_") == _TOTAL)
    summed = PackRow(row.factor, row.measure, row.ledger_ids)
    for step in found.steps:
        figures = found.sides(step.key)
        made = [
            table.sum_of_lines(step.key, side, entries.numbers_of(figure.entries), figure)
            for side, figure in ((BEFORE, figures.before), (AFTER, figures.after))
        ]
        terms = [("+", f"{step.key}{KEY_SEPARATOR}{AFTER}"), ("-", f"{step.key}{KEY_SEPARATOR}{BEFORE}")]
        change = table.sum_of_terms(step.key, CHANGE, terms)
        table.row(step.key, step.label, [*made, change, text_cell(step.cause.name)])
        changes.append(("-", step.key))
    totals = [
        table.sum_of_days(_TOTAL, side, summed, page_spans(of_statement, "flow", of_statement.columns.by_key[key]))
        for side, key in ((BEFORE, f"{periods.key} prior"), (AFTER, periods.key))
    ]
    rest = [
        table.sum_of_terms(
            _UNCHANGED,
            side,
            [
                ("+", f"{_TOTAL}{KEY_SEPARATOR}{side}"),
                *((sign, f"{key}{KEY_SEPARATOR}{side}") for sign, key in changes),
            ],
        )
        for side in (BEFORE, AFTER)
    ]
    sides = [("+", f"{_UNCHANGED}{KEY_SEPARATOR}{AFTER}"), ("-", f"{_UNCHANGED}{KEY_SEPARATOR}{BEFORE}")]
    if any(cell.mark != "zero" for cell in rest):
        table.row(
            _UNCHANGED, "Payees without change", [*rest, table.sum_of_terms(_UNCHANGED, CHANGE, sides), text_cell("")]
        )
    terms = [("+", f"{_TOTAL}{KEY_SEPARATOR}{AFTER}"), ("-", f"{_TOTAL}{KEY_SEPARATOR}{BEFORE}")]
    change = table.sum_of_terms(_TOTAL, CHANGE, terms)
    table.row(_TOTAL, row.label, [*totals, change, text_cell("")], kind="total")
    return table.build("Cash bridge", found.notes)
