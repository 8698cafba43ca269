"""Tables of figures, and their HTML, in which figures unfold with scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.errors import BooksDoNotTieError, IncompleteLoadError
from accounting_analytics.core.messages import printable
from accounting_analytics.core.text_and_html_tables import NOT_TYPESET, TABLE_STYLE
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, NOT_KNOWN, ZERO, Figure
from accounting_analytics.reports.figures.numbered_lines import EntryTable, PageLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.reports.figures.numbered_lines import LineTable, Range

    NumberedLines = LineTable | EntryTable


Rows = Sequence[tuple[str, Sequence[Figure]]]
"""Labelled rows of figures."""
MAX_LINES = 9_000
"""Most line entries in the data of a table. With more, a press on a figure shows the call that returns its entries."""
MAX_ENTRIES_BYTES = 300_000
"""Largest JSON of entries in a page. If it is larger, a press on a figure shows the call that returns its entries."""
_HTML_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class EntriesData(NamedTuple):
    """The lines and terms behind the figures of a table.

    Attributes
    ----------
    scale : int
        Fraction digits of the amounts.
    lines : PageLines
        Lines with signed units, debits positive.
    figures : mapping
        By row and column, the ranges of lines that a figure adds (1) or subtracts (-1): sign, first and last number.
    terms : mapping
        Sign (``+``, ``-`` or ``/``), label and text of the terms of each derived figure's key.
    call : str
        The Python expression that returns the entries of a figure, with ``{row!r}`` and ``{column!r}``.
    """

    scale: int
    lines: PageLines
    figures: Mapping[str, Mapping[str, Sequence[Range]]]
    terms: Mapping[str, Sequence[tuple[str, str, str]]]
    call: str


def entries_json(entries: EntriesData) -> str:
    """Write the entries as JSON for a script element.

    If the text is too large, the entries are left out, then also the terms. The call always remains.
    """
    call = {"call": entries.call}
    terms = {split_key(key): terms for key, terms in entries.terms.items()}
    columns = list(dict.fromkeys([column for of_row in entries.figures.values() for column in of_row]))
    columns += dict.fromkeys(column for _, column in terms if column not in columns)
    made = {**_labels_and_terms(terms, columns), "columns": columns, **call}
    for content in ({**_lines_and_ranges(entries, columns), **made}, made):
        text = _script_json(content)
        if len(text.encode()) <= MAX_ENTRIES_BYTES:
            return text
    return _script_json(call)


def _labels_and_terms(
    terms: Mapping[tuple[str, str], Sequence[tuple[str, str, str]]], columns: Sequence[str]
) -> dict[str, Any]:
    """Collect unique labels, and terms that refer to labels by number."""
    labels: dict[str, int] = {}
    numbers = {column: number for number, column in enumerate(columns)}
    found: dict[str, dict[int, list[tuple[str, int, str]]]] = {}
    for (row, column), of_figure in terms.items():
        found.setdefault(row, {})[numbers[column]] = [
            (sign, labels.setdefault(printable(label), len(labels)), printable(text)) for sign, label, text in of_figure
        ]
    return {"labels": list(labels), "terms": found}


def _lines_and_ranges(entries: EntriesData, columns: Sequence[str]) -> dict[str, Any]:
    """Collect the line entries, and each figure's list of ranges."""
    figures = {
        row: [
            [number for line_range in of_row[column] for number in line_range] if column in of_row else None
            for column in columns
        ]
        for row, of_row in entries.figures.items()
    }
    return {"scale": entries.scale, **entries.lines._asdict(), "figures": figures}


def _script_json(content: object) -> str:
    """Write JSON that cannot end the script element around it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=dict).translate(_HTML_IN_SCRIPT)


_MARKS = {"zero": "zero", "unknown": "unknown", "favourable": "up", "unfavourable": "down"}
_LETTERS = {
    mark: f'<abbr aria-label="{mark}" title="{mark}">{letter}&nbsp;</abbr>'
    for mark, letter in (("favourable", "F"), ("unfavourable", "U"))
}
LEGEND = "F favourable, U unfavourable"
_LONG_LABEL = 60  # characters; the title of a label has the whole text where the cell does not show all of it


class FigureCell(NamedTuple):
    """A figure as text, the key that unfolds it, and its mark.

    `mark` is empty, ``zero``, ``unknown``, ``favourable`` or ``unfavourable``. A cell without a key cannot be pressed,
    and a cell without a figure is text.
    """

    text: str
    key: str = ""
    mark: str = ""
    figure: Figure | None = None

    def shown_in(self, amounts_in: AmountsIn) -> FigureCell:
        """Return the cell with its amount written in thousands or millions."""
        return self if self.figure is None else self._replace(text=self.figure.text_in(amounts_in))


def cell_of(figure: Figure, mark: str = "", *, has_lines: bool = True) -> FigureCell:
    """Make the cell of a figure, with a key if it unfolds."""
    text, key = figure.text, KEY_SEPARATOR.join(split_key(figure.key))
    if text in {"", NOT_KNOWN}:
        return FigureCell(text, "", "unknown" if text else "", figure)
    if text == ZERO:
        return FigureCell(text, key if has_lines else "", "zero", figure)
    return FigureCell(text, key if figure.is_additive or figure.terms else "", mark, figure)


def split_key(key: str) -> tuple[str, str]:
    """Split the key of a figure into row and column."""
    row, separator, column = key.rpartition(KEY_SEPARATOR)
    return (row, column) if separator else (key, "")


def entries_of(
    lines: NumberedLines | None,
    sums: Iterable[Figure],
    made: Iterable[Figure],
    *,
    scale: int,
    name: Callable[[str], str],
    call: str,
    amounts_in: AmountsIn | None = None,
) -> EntriesData:
    """Collect ranges of lines for figures that are sums, and terms for other figures.

    If there are no lines, or they have changed since, a press shows the call instead, which says so.
    """
    ranges: dict[str, dict[str, list[Range]]] = {}
    try:
        if lines is not None:
            for figure in sums:
                row, column = split_key(figure.key)
                ranges.setdefault(row, {})[column] = lines.ranges(figure)
    except BooksDoNotTieError:
        lines, ranges = None, {}
    terms = {
        KEY_SEPARATOR.join(split_key(figure.key)): terms
        for figure in made
        if (terms := figure.signed_terms(amounts_in))
    }
    return EntriesData(scale, PageLines.of([] if lines is None else lines.lines, name), ranges, terms, call)


class FigureRow(NamedTuple):
    """A row of figures, its level in the tree, and its kind.

    `kind` is ``heading`` (without figures), ``ledger``, ``parent`` (a ledger whose amount repeats those below it),
    ``own``, ``subtotal``, ``total``, ``balance`` or ``percent``. `title` is shown if the pointer rests on the label.
    """

    label: str
    level: int
    kind: str
    cells: Sequence[FigureCell]
    title: str = ""


class TableHead(NamedTuple):
    """The head of a column of figures, comparisons or texts."""

    text: str
    is_comparison: bool
    is_text: bool = False


class FigureTable(NamedTuple):
    """A table of figures with its title, heads and notes.

    `heads` are the heads of the columns after the labels. `amounts_in` is the unit that amounts are shown in.
    """

    title: str
    subtitle: str
    heads: Sequence[TableHead]
    rows: Sequence[FigureRow]
    notes: Sequence[str]
    entries: EntriesData | None
    amounts_in: AmountsIn | None = None

    def shown_in(self, amounts_in: AmountsIn | None) -> FigureTable:
        """Return the table with its amounts in thousands or millions."""
        if amounts_in is None:
            return self
        rows = [row._replace(cells=[cell.shown_in(amounts_in) for cell in row.cells]) for row in self.rows]
        return self._replace(rows=rows, amounts_in=amounts_in)


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

    `call` is the expression that returns the entries of a figure, as in :class:`EntriesData`. `name` returns the name
    of a ledger.
    """
    figures = [figure for _, row in rows for figure in row]
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
        FigureRow(label, 0, "ledger", [cell_of(figure, has_lines=has_lines(figure)) for figure in row])
        for label, row in rows
    ]
    if ends_in_total:
        made[-1] = made[-1]._replace(kind="total")
    named = [TableHead(head, is_comparison=False) for head in heads]
    return FigureTable(title, " \N{MIDDLE DOT} ".join(subtitle), named, made, (), entries)


def sums_of(rows: Rows) -> list[Figure]:
    """Return the figures that are sums of line entries."""
    return [figure for _, row in rows for figure in row if figure.is_additive and not figure.terms]


def entries_behind(rows: Rows) -> EntryTable | None:
    """Return the entries behind sums, or None if they are too many or have changed."""
    try:
        table = EntryTable(sums_of(rows))
    except (BooksDoNotTieError, IncompleteLoadError):
        return None
    return table if len(table.lines) <= MAX_LINES else None


def figure_table_html(table: FigureTable) -> str:
    """Write a table as HTML that contains its style, entries and script."""
    return f"{figure_table_style()}{_markup(table)}<script>\n{figure_table_script()}</script>\n"


def shared_figure_table_html(table: FigureTable, name: str) -> str:
    """Write a table whose entries are in the data of its page.

    The page has style and script once, and ``window.accountingAnalyticsPack()`` gives the figures of a table by its
    name.
    """
    return _markup(table, name)


def figure_table_style() -> str:
    """Return the style of the tables of a page."""
    return f"{TABLE_STYLE}<style>\n{_file('figure_table.css')}</style>\n"


def figure_table_script() -> str:
    """Return the script that unfolds the figures of a page."""
    return _file("figure_table.js")


def _markup(table: FigureTable, name: str = "") -> str:
    styles = [f"{'text' if head.is_text else 'amount'}{' other' if head.is_comparison else ''}" for head in table.heads]
    heads = "".join(
        f'<th scope="col" class="{style}">{_text(head.text)}</th>'
        for head, style in zip(table.heads, styles, strict=True)
    )
    subtitle = f'<br><span class="subtitle">{_text(table.subtitle)}</span>' if table.subtitle else ""
    caption = f"<caption><div><strong>{_text(table.title)}</strong>{subtitle}</div></caption>\n"
    title = f' aria-label="{_text(table.title)}"' if name else ""
    table_name = f' data-table="{escape(name)}"' if name else ""
    return (
        f'<div class="accounting-analytics-figures {NOT_TYPESET}"{table_name}>\n'
        f'<div class="scrolled"><table class="accounting-analytics"{title}>\n'
        f"{'' if name else caption}"
        f"<thead><tr><td></td>{heads}</tr></thead>\n"
        f"{''.join(_row_groups(table, styles, is_shared=bool(name)))}</table></div>\n"
        f"{_below(table)}</div>\n"
    )


def _row_groups(table: FigureTable, styles: Sequence[str], *, is_shared: bool) -> Iterator[str]:
    """Yield groups of rows. A heading begins a group, and a subtotal ends the group."""
    group: list[str] = []
    for row in table.rows:
        if row.kind == "heading":
            yield _row_group(group)
            group = [_heading(row, len(table.heads) + 1, is_shared=is_shared)]
            continue
        group.append(_row(row, styles, is_shared=is_shared))
        if row.kind == "subtotal":
            yield _row_group(group)
            group = []
    yield _row_group(group)


def _row_group(rows: Sequence[str]) -> str:
    return f"<tbody>\n{''.join(rows)}</tbody>\n" if rows else ""


def _heading(row: FigureRow, columns: int, *, is_shared: bool) -> str:
    return (
        f'<tr class="heading"><th scope="rowgroup" colspan="{columns}"{_indent(row, is_shared=is_shared)}>'
        f"<div{_title(row)}>{_text(row.label)}</div></th></tr>\n"
    )


def _row(row: FigureRow, styles: Sequence[str], *, is_shared: bool) -> str:
    cells = "".join(_cell(cell, style, is_shared=is_shared) for cell, style in zip(row.cells, styles, strict=True))
    kind = "" if row.kind == "ledger" else f' class="{escape(row.kind)}"'
    typed = " data-text" if is_shared else ""
    head = f'<th scope="row"{_indent(row, is_shared=is_shared)}><div{_title(row)}{typed}>{_text(row.label)}</div></th>'
    return f"<tr{kind}>{head}{cells}</tr>\n"


def _cell(cell: FigureCell, style: str, *, is_shared: bool) -> str:
    """Write a cell. Its CSS class aligns the digits of negative amounts."""
    if style.startswith("text"):
        typed = " data-text" if is_shared else ""
        return f'<td class="{style}"{typed}>{_text(cell.text)}</td>'
    classes = style
    if cell.text.endswith(")"):
        classes += " negative"
    if cell.mark:
        classes += f" {_MARKS[cell.mark]}"
    key = f' data-key="{escape(cell.key)}"' if cell.key else ""
    return f'<td class="{classes}"{key}>{_LETTERS.get(cell.mark, "")}{_text(cell.text)}</td>'


def _below(table: FigureTable) -> str:
    """Write the notes, a legend of the marks, and the entries."""
    has_letters = any(cell.mark in _LETTERS for row in table.rows for cell in row.cells)
    notes = [*table.notes, *([LEGEND] if has_letters else [])]
    lines = "".join(f'<p class="note">{_text(note)}</p>\n' for note in notes)
    if table.entries is None:
        return lines
    return f'{lines}<script type="application/json">{entries_json(table.entries)}</script>\n'


def _indent(row: FigureRow, *, is_shared: bool) -> str:
    """Return the indent of a label.

    The indent also works in notebooks that drop style elements.
    """
    if is_shared:  # a page keeps its style element
        return f' style="--level:{row.level}"' if row.level else ""
    indent = f";padding-left:{1.2 * row.level:.1f}em;--level:{row.level}" if row.level else ""
    return f' style="text-align:left{indent}"'


def _title(row: FigureRow) -> str:
    title = row.title or (row.label if len(row.label) > _LONG_LABEL else "")
    return f' title="{_text(title)}"' if title else ""


def _text(text: str) -> str:
    return escape(text if text.isprintable() else printable(text))


@cache
def _file(name: str) -> str:
    """Read a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
