"""Tables of labelled rows of figures: below a chart, of a report, a bridge, or a drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import BooksDoNotTieError, IncompleteLoadError
from accounting_analytics.reports.figure_table import (
    MAX_LINES,
    FigureRow,
    FigureTable,
    TableHead,
    cell_of,
    entries_of,
    split_key,
)
from accounting_analytics.reports.figures import Figure
from accounting_analytics.reports.line_table import EntryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from accounting_analytics.reports.figure_table import NumberedLines

Rows = Sequence[tuple[str, Sequence[Figure]]]
"""Labelled rows of figures."""


def table_of_figures(
    title: str,
    subtitle: Sequence[str],
    heads: Sequence[str],
    rows: Rows,
    lines: NumberedLines | None,
    *,
    scale: int,
    call: str,
    name: Callable[[str], str] | None = None,
    ends_in_total: bool = False,
) -> FigureTable:
    """Make a table of figures, with the lines behind them.

    `call` is the expression that gives the entries of one, as in :class:`EntriesData`, and `name` that of a ledger.
    """
    figures = [one for _, row in rows for one in row]
    names = lines.names if isinstance(lines, EntryTable) else {}
    entries = entries_of(
        lines,
        sums_of(rows),
        figures,
        scale=scale,
        name=name or (lambda ledger_id: names.get(ledger_id, ledger_id)),
        call=call,
    )

    def has_lines(figure: Figure) -> bool:
        row, column = split_key(figure.key)
        return bool(figure.terms) or bool(entries.figures.get(row, {}).get(column))

    made = [
        FigureRow(label, 0, "ledger", [cell_of(one, has_lines=has_lines(one)) for one in row]) for label, row in rows
    ]
    if ends_in_total:
        made[-1] = made[-1]._replace(kind="total")
    named = [TableHead(head, is_comparison=False) for head in heads]
    return FigureTable(title, " \N{MIDDLE DOT} ".join(subtitle), named, made, (), entries)


def sums_of(rows: Rows) -> list[Figure]:
    """Figures of rows that are sums of line entries."""
    return [one for _, row in rows for one in row if one.is_additive and not one.terms]


def entries_behind(rows: Rows) -> EntryTable | None:
    """Line entries of the sums of rows; None where there are too many, none, or where they have changed since."""
    try:
        table = EntryTable(sums_of(rows))
    except (BooksDoNotTieError, IncompleteLoadError):
        return None
    return table if len(table.lines) <= MAX_LINES else None
