"""`Statement`: rows and columns of figures, with their line entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.amount_units import currency_label
from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.column_conversion import BOOLEAN
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import TERMINAL_WIDTH, quote
from accounting_analytics.core.periods import Period, day_label, days_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, OWN, Figure, find_row, float_amounts
from accounting_analytics.reports.figures.figure_table import LEGEND, figure_table_html
from accounting_analytics.reports.statements.columns import BUDGET
from accounting_analytics.reports.statements.statement_files import write_csv, write_workbook
from accounting_analytics.reports.statements.table import figure_table
from accounting_analytics.reports.statements.text import statement_text

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

_IS_FAVOURABLE = {"favourable": True, "unfavourable": False}


@dataclass(frozen=True, repr=False, eq=False)
class Statement(Result):
    """A statement: rows of ledgers and totals, columns of periods and comparisons, and the entries of each figure.

    ``statement["Rent", "2026-03"]`` is a :class:`~accounting_analytics.Figure`; a row is found by its id, unique path
    or unique name, and a parent's name means its total. Amounts of the income statement and the balance sheet are
    positive on the normal side of their type, those of the cash flow statement where cash comes in.

    Parameters
    ----------
    title : str
        Name of the statement.
    columns : tuple of StatementColumn
        The columns as shown: periods, each with its comparisons, then total and average.
    rows : tuple of Row
        The rows as shown, headings included. Ledgers without movement are left out and counted in `notes`.
    scale : int
        Fraction digits of the amounts.
    company, currency : str or None
        Names in the heading.
    time_zone : str
        Zone that days are counted in.
    since : date or None
        First day of the sums of a statement of balances that do not reach back to the beginning of the books: it shows
        the movement since then.
    notes : tuple of str
        Remarks for the reader.
    """

    title: str
    columns: tuple[StatementColumn, ...]
    rows: tuple[Row, ...]
    scale: int
    company: str | None
    currency: str | None
    time_zone: str
    since: dt.date | None
    notes: tuple[str, ...]
    _figures: StatementFigures
    _names: LedgerNames

    def __getitem__(self, key: str | tuple[str, str]) -> Figure:
        """Return the figure of a row and a column.

        The key of a figure also finds it. In a statement with one column, the row alone is enough.
        """
        if isinstance(key, tuple) and len(key) == 2:  # noqa: PLR2004 (row and column)
            return self.figures.figure(self._row_key(key[0]), self._column_key(key[1]))
        if isinstance(key, str) and key.rpartition(KEY_SEPARATOR)[0] in self.figures.layout.by_key:
            row, _, column = key.rpartition(KEY_SEPARATOR)
            return self.figures.figure(row, self._column_key(column))
        row = self._row_key(key)
        if len(self.columns) > 1:
            raise InputError(f"statement[{quote(key)}] needs a column too: {self._listed_columns()}")
        return self.figures.figure(row, self.columns[0].key)

    @property
    def figures(self) -> StatementFigures:
        """All figures, shown or not, for results that are calculated from figures."""
        return self._figures

    @property
    def amounts_in(self) -> AmountsIn | None:
        """The unit that amounts are shown in: ``k`` thousands, ``M`` millions; files and frames have all digits."""
        return self.figures.amounts_in

    def row(self, name: str, *, own: bool = False) -> dict[str, Figure]:
        """Return the figures of a row by column key.

        The figures of a ledger are totals with its descendants, or with `own` its own amounts.
        """
        key = self._row_key(name)
        if own:
            key = f"{OWN}{key}"
            if key not in self.figures.layout.by_key:
                raise InputError(f"{quote(name)} is a total, not a ledger, so it has no amounts of its own")
        return {column.key: self.figures.figure(key, column.key) for column in self.columns}

    def column(self, key: str) -> ChosenColumn:
        """Choose a column by key or heading, for a picture of its payees."""
        return ChosenColumn(self, self.figures.columns.by_key[self._column_key(key)])

    def value(self, row_key: str, column_key: str) -> Decimal | None:
        """Return the exact amount or percentage of a cell, or None if it is not known."""
        return self.figures.figure(row_key, column_key).exact()

    def text(self, row_key: str, column_key: str) -> str:
        """Return the text of a cell: negative in parentheses, zero as a dash.

        Amounts are in the unit `amounts_in`. A heading has no text. A difference from the budget that is favourable or
        unfavourable has an F or U before it.
        """
        if row_key not in self.figures.layout.by_key:
            return ""
        row, column = self.figures.layout.by_key[row_key], self.figures.columns.by_key[column_key]
        mark = self.figures.mark(row, column) if column.kind == "difference" else ""
        text = self.figures.text(row_key, column_key)
        return f"{mark[0].upper()} {text}" if mark else text

    def is_additive(self, row_key: str, column_key: str) -> bool:
        """Test if a cell is a sum of line entries."""
        return self.figures.figure(row_key, column_key).is_additive

    @property
    def frame(self) -> pd.DataFrame:
        """The rows and columns as shown, with percentages in percent.

        Beside a difference from the budget, ``2027-01 favourable`` says if it is favourable for its row.
        """
        shown = [row for row in self.rows if row.kind != "heading"]
        columns: dict[str, Any] = {
            "label": [row.label for row in shown],
            "level": [row.level for row in shown],
            "key": [row.key for row in shown],
        }
        for column in self.columns:
            columns[column.key] = float_amounts([self.figures.figure(row.key, column.key) for row in shown])
            if column.kind == "difference":
                marks = [_IS_FAVOURABLE.get(self.figures.mark(row, column)) for row in shown]
                columns[f"{column.of} favourable"] = pd.array(marks, dtype=BOOLEAN)
        frame = pd.DataFrame(columns)
        frame.attrs |= {"scale": self.scale, "notes": self.notes}
        return frame

    def tidy(self) -> pd.DataFrame:
        """Return a row for each ledger and period, with the ledger's own amount.

        With ``compare="prior_year"`` or ``"prior"`` the amounts of the earlier days are rows too, and so is what a
        budget states for the ledger. Sum or pivot by `kind` as well, or choose one kind, so that amounts are not added
        to the amounts that they are compared with::

            income.tidy().query("kind == 'period'")
            income.tidy().pivot_table(index="path", columns=["of_column", "kind"], values="amount", aggfunc="sum")

        Returns
        -------
        DataFrame
            ``section``, ``ledger_id``, ``name`` and ``path`` of the ledger; ``column``, the key of its column;
            ``kind``: ``period``, or ``prior``, ``prior_year`` and ``budget`` of a comparison; ``of_column``, the key of
            the period that it is compared with, for a period its own; ``start_date`` and ``end_date``, the days of the
            amount; ``amount``, null where there is no budget. A ledger without an amount in any of them is left out;
            changes, shares, totals and averages follow from these.
        """
        columns = [
            column for column in self.columns if column.is_of_days or (column.kind == BUDGET and column.of != "total")
        ]
        figures = {
            row: [self.figures.own_figure(row, column) for column in columns]
            for row in self.figures.layout.by_key.values()
            if self.figures.is_own(row)
        }
        cells = [
            (row, column, figure)
            for row, of_row in figures.items()
            if any(figure.units for figure in of_row)
            for column, figure in zip(columns, of_row, strict=True)
        ]
        frame = pd.DataFrame(
            {
                "section": [row.section for row, _, _ in cells],
                "ledger_id": [row.ledger_ids[0] for row, _, _ in cells],
                "name": [self.figures.ledgers.name(row.ledger_ids[0]) for row, _, _ in cells],
                "path": [row.path for row, _, _ in cells],
                "column": [column.key for _, column, _ in cells],
                "kind": [column.kind for _, column, _ in cells],
                "of_column": [column.of or column.key for _, column, _ in cells],
                "start_date": _days(column.periods[0][1].start_date for _, column, _ in cells),
                "end_date": _days(column.periods[0][1].end_date for _, column, _ in cells),
                "amount": float_amounts([figure for _, _, figure in cells]),
            }
        )
        frame.attrs |= {"scale": self.scale, "notes": self.notes}
        return frame

    def to_excel(self, path: str | Path) -> None:
        """Write an Excel workbook: figures, formulas that follow them, and the entries behind each figure.

        Parameters
        ----------
        path : str or Path
            A file that ends in ``.xlsx``, which is replaced completely or left unchanged.

        Raises
        ------
        InputError
            xlsxwriter (the extra ``excel``) is missing, the entries are more than a sheet has rows, or the file cannot
            be written.
        """
        lines = [text for text in (self.company, self.title, self.subtitle()) if text]
        write_workbook(self.figures, self.title, lines, self.notes, to_path(path, "path"))

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file with the label, key, level, kind and exact amounts of each row.

        An unknown amount is empty. Beside a difference from the budget, ``2027-01 favourable`` is ``favourable``,
        ``unfavourable`` or empty.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced completely or left unchanged.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        write_csv(self.figures, to_path(path, "path"))

    def summary(self) -> str:
        """Return one line of text: the statement, its days, and its last total."""
        last = [row for row in self.rows if row.kind in {"total", "balance"} and not row.level][-1:]
        column = self.columns[0]
        figures = [f"{row.label} {self.text(row.key, column.key)}" for row in last]
        more = f" in {column.label}" if len(self.columns) > 1 else ""
        return f"{self.heading()}: {', '.join(figures)}{more}."

    def heading(self) -> str:
        """Return the company, title, days and currency."""
        return ", ".join(filter(None, [self.company, f"{self.title} {self.subtitle()}"]))

    def subtitle(self) -> str:
        """Return the days, the currency, and the unit of amounts."""
        shown = [period for column in self.columns if column.kind == "period" for _, period in column.periods]
        days = Period(
            min(period.start_date for period in shown), max(period.end_date for period in shown), self.time_zone
        )
        text = days_label(days)
        if self.figures.rules.of_balances:
            text = f"at the end of {day_label(days.end_date)}"
        if self.since:
            text = f"movement since {day_label(self.since)}, to {day_label(days.end_date)}"
        currency = currency_label(self.currency, self.amounts_in)
        return ", ".join(filter(None, [text, f"days in {self.time_zone}", currency]))

    def _parts(self) -> Iterator[ResultPart]:
        """Yield nothing, because a statement has one text and one table."""
        return iter(())

    def explain(self) -> str:
        """Return the statement with its notes as plain text in 80 columns.

        Columns that do not fit are in blocks below.
        """
        has_letters = any(column.kind == "difference" for column in self.columns)
        return statement_text(self, TERMINAL_WIDTH, [f"{LEGEND}."] if has_letters else [])

    def __str__(self) -> str:
        return self.explain()

    def _content(self) -> dict[str, Any]:
        rows = [
            {
                "key": row.key,
                "label": row.label,
                "kind": row.kind,
                "level": row.level,
                "section": row.section,
                "amounts": {
                    column.key: self.value(row.key, column.key) for column in self.columns if row.kind != "heading"
                },
                **self._marks(row),
            }
            for row in self.rows
        ]
        columns = [
            {
                "key": column.key,
                "label": column.label,
                "kind": column.kind,
                "periods": [[period.start_date, period.end_date] for _, period in column.periods],
            }
            for column in self.columns
        ]
        return {
            "title": self.title,
            "company": self.company,
            "currency": self.currency,
            "time_zone": self.time_zone,
            "since": self.since,
            "columns": columns,
            "rows": rows,
        }

    def _marks(self, row: Row) -> dict[str, dict[str, bool | None]]:
        """Tell by column key whether each budget difference is favourable."""
        differences = [column for column in self.columns if column.kind == "difference" and row.kind != "heading"]
        marks = {column.key: _IS_FAVOURABLE.get(self.figures.mark(row, column)) for column in differences}
        return {"favourable": marks} if marks else {}

    def _repr_html_(self) -> str:
        title = ", ".join(filter(None, [self.company, self.title]))
        return figure_table_html(figure_table(self.figures, title, self.subtitle(), self.notes))

    def _row_key(self, text: object) -> str:
        """Find a row by key, or by a ledger's name or path.

        Ledgers with amounts are preferred to ledgers of the same name without amounts.
        """
        rows = self.figures.layout.by_key
        if isinstance(text, str) and text in rows:
            return text
        found = self._names.matches(text)
        in_statement = [ledger_id for ledger_id in found if ledger_id in rows]
        if found and not in_statement:
            ledger_id = min(found)
            raise InputError(f"ledger {self._names.path(ledger_id)} (id {ledger_id}) is not in this statement")
        shown = {row.key for row in self.rows}
        with_amounts = [ledger_id for ledger_id in in_statement if ledger_id in shown or self._has_amount(ledger_id)]
        for unique in (with_amounts, in_statement):
            if len(unique) == 1:
                return unique[0]
        if in_statement:
            raise InputError(self._names.ambiguity(text, frozenset(with_amounts or in_statement)))
        if isinstance(text, str) and text in self.figures.columns.by_key:
            raise InputError(f"{quote(text)} is a column: name a row before it, as in statement['Rent', {text!r}]")
        return find_row(self._names, text)

    def _has_amount(self, row_key: str) -> bool:
        """Test if a row has an amount in any column."""
        row = self.figures.layout.by_key[row_key]
        return any(self.figures.units(row, column) for column in self.columns)

    def _column_key(self, text: object) -> str:
        if isinstance(text, str):
            if text in self.figures.columns.by_key:
                return text
            labelled = [column.key for column in self.columns if column.label == text]
            if len(labelled) == 1:
                return labelled[0]
        raise InputError(f"no column is {quote(text)}; there are {self._listed_columns()}")

    def _listed_columns(self) -> str:
        return ", ".join(repr(column.key) for column in self.columns)


@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumn:
    """A column of a statement, for a picture of its payees.

    Attributes
    ----------
    statement : Statement
        The statement.
    column : StatementColumn
        The column.
    """

    statement: Statement
    column: StatementColumn

    def __repr__(self) -> str:
        return f"{self.statement.title}, column {self.column.key!r} ({self.column.label})"


def _days(days: Iterable[dt.date]) -> pd.Series[Any]:
    return pd.Series(list(days), dtype="datetime64[us]")
