"""Tables of figures in HTML: a tree of rows under heads of columns, where a press on a figure unfolds its entries."""

from accounting_analytics.figure_tables.figure_sheet import MAX_LABEL_WIDTH, FigureSheet, Terms
from accounting_analytics.figure_tables.line_table import EntryTable, LineTable, ShownLine, runs_of
from accounting_analytics.figure_tables.rows_of_figures import Rows, entries_behind, sums_of, table_of_figures
from accounting_analytics.figure_tables.table import (
    MAX_ENTRIES_BYTES,
    MAX_LINES,
    EntriesData,
    FigureCell,
    FigureRow,
    FigureTable,
    TableHead,
    cell_of,
    entries_of,
    figure_table_html,
    figure_table_script,
    figure_table_style,
    shared_figure_table_html,
    split_key,
)

__all__ = [
    "MAX_ENTRIES_BYTES",
    "MAX_LABEL_WIDTH",
    "MAX_LINES",
    "EntriesData",
    "EntryTable",
    "FigureCell",
    "FigureRow",
    "FigureSheet",
    "FigureTable",
    "LineTable",
    "Rows",
    "ShownLine",
    "TableHead",
    "Terms",
    "cell_of",
    "entries_behind",
    "entries_of",
    "figure_table_html",
    "figure_table_script",
    "figure_table_style",
    "runs_of",
    "shared_figure_table_html",
    "split_key",
    "sums_of",
    "table_of_figures",
]
