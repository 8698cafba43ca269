"""Key ratios for a bank: liquidity, dependence on customers, debt and earnings."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.chart_of_accounts import FinancialAccountType, LedgerType, SubType
from accounting_analytics.core.column_conversion import exact_amounts, negated
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import TERMINAL_WIDTH, did_you_mean, quote
from accounting_analytics.core.periods import DAY, Period, day_label, days_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import (
    KEY_SEPARATOR,
    OWN,
    PERCENT,
    Figure,
    Quotient,
    figure_of_entries,
    figure_of_quotient,
    figure_of_terms,
    float_amounts,
)
from accounting_analytics.reports.figures.figure_table import (
    FigureCell,
    TableHead,
    entries_behind,
    figure_table_html,
    table_of_figures,
)
from accounting_analytics.reports.figures.table_text import TextColumn, figure_lines
from accounting_analytics.reports.payees.customers_and_payees import (
    PARTY,
    PROCESSOR,
    CustomerLedgers,
    largest_parties,
    rows_of_parties,
)
from accounting_analytics.reports.statements.columns import StatementColumn, shifted
from accounting_analytics.reports.statements.four_statements import balance_sheet, cash_flow_statement, income_statement
from accounting_analytics.reports.statements.statement_figures import sides_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement import Statement

_YEAR, _QUARTER, _MONTHS = 365, 90, 12
_TIMES, _IN_YEARS, _IN_QUARTERS = Quotient(1, 2, ""), Quotient(_YEAR, 1, " days"), Quotient(_QUARTER, 1, " days")
_VALUE = "value"
_NAME_THEM = (
    "it is not known: name the ledgers of depreciation, because no ledger states that it is one: depreciation=, or "
    "--depreciation LEDGER in a shell"
)
_NO_DEBT = "no ledger is a loan or a non-current liability"
_OPERATING = (SubType.COST_OF_GOODS_SOLD, SubType.OPERATING_EXPENSES)
_EBITDA = (
    "Operating income before the named ledgers of depreciation. Interest and other expenses are not in it; taxes that "
    "are booked as operating expenses are."
)


class KeyRatio(NamedTuple):
    """A ratio, or an amount that a bank asks for beside them.

    Attributes
    ----------
    key, name : str
        What finds it, and what it is called.
    figure : Figure
        Its value, made of its terms.
    definition : str
        What it is, in sentences.
    """

    key: str
    name: str
    figure: Figure
    definition: str

    @property
    def meaning(self) -> str:
        """The definition, and if the ratio is not known, the reason."""
        why = self.figure.calculation.removeprefix("it is ") if self.figure.units is None else ""
        return f"{self.definition} {why[:1].upper()}{why[1:]}." if why else self.definition


@dataclass(frozen=True, repr=False, eq=False)
class KeyRatios(Result):
    """Key ratios, as :func:`key_ratios` returns them; ``result["current_ratio"]`` is a figure with its ``.terms``.

    Parameters
    ----------
    end_date : date
        The day at whose end they are.
    ratios : tuple of KeyRatio
        The ratios and amounts.
    scale : int
        Fraction digits of the amounts.
    company, currency : str or None
        What the books name.
    notes : tuple of str
        Remarks for the reader.
    """

    end_date: dt.date
    ratios: tuple[KeyRatio, ...]
    scale: int
    company: str | None
    currency: str | None
    notes: tuple[str, ...]

    def __getitem__(self, key: str | tuple[str, str]) -> Figure:
        """Return the figure of a ratio, or of the row and column of one of its terms."""
        name = KEY_SEPARATOR.join(key) if isinstance(key, tuple) else key
        found = {ratio.key: ratio.figure for ratio in self.ratios} | self._by_key
        if name not in found:
            keys = [ratio.key for ratio in self.ratios]
            hint = did_you_mean(name, keys) or f"there are {', '.join(keys)}"
            raise InputError(f"no ratio is {quote(key)}; {hint}")
        return found[name]

    @cached_property
    def _by_key(self) -> dict[str, Figure]:
        """The ratios and all their terms by key."""
        found: dict[str, Figure] = {}
        waiting = [ratio.figure for ratio in self.ratios]
        for figure in waiting:  # the list grows in the loop
            found.setdefault(figure.key, figure)
            waiting += [term for term in figure.terms if term.key not in found]
        return found

    def rows(self) -> list[tuple[str, int, Figure, str]]:
        """List each ratio with its meaning, and below it its terms, each once."""
        found: list[tuple[str, int, Figure, str]] = []
        shown = {ratio.figure.key for ratio in self.ratios}
        for ratio in self.ratios:
            found.append((ratio.name, 0, ratio.figure, ratio.meaning))
            terms = [term for term in ratio.figure.terms if term.key not in shown and ratio.figure.units is not None]
            shown |= {term.key for term in terms}
            found += [(term.label, 1, term, "") for term in terms]
        return found

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each ratio: ``ratio``, ``value`` (as its ``text``), ``definition`` and ``key``."""
        figures = [ratio.figure for ratio in self.ratios]
        frame = pd.DataFrame(
            {
                "ratio": [ratio.name for ratio in self.ratios],
                "value": float_amounts(figures),
                "text": [figure.text for figure in figures],
                "definition": [ratio.meaning for ratio in self.ratios],
                "key": [ratio.key for ratio in self.ratios],
            }
        )
        frame = frame.astype(dict.fromkeys(("ratio", "text", "definition", "key"), "str"))
        frame.attrs |= {"scale": self.scale, "notes": self.notes}
        return frame

    @property
    def _heading(self) -> str:
        """Company, day and currency."""
        heading = f"Key ratios at the end of {day_label(self.end_date)}"
        return ", ".join(filter(None, [self.company, heading, self.currency]))

    def summary(self) -> str:
        """One line of text: company, day, and the ratios that are known."""
        known = [f"{ratio.name} {ratio.figure.text}" for ratio in self.ratios[:2] if ratio.figure.units is not None]
        return f"{self._heading}: {', '.join(known)}." if known else f"{self._heading}: none of the first is known."

    def _table(self) -> FigureTable:
        """Make the table of ratios, their terms and meanings."""
        rows = self.rows()
        figures = [(label, [figure]) for label, _, figure, _ in rows]
        made = table_of_figures(
            "Key ratios",
            (),
            ["Value"],
            figures,
            entries_behind(figures),
            scale=self.scale,
            call="ratios[{row!r}, {column!r}].entries",
        )
        shown = [
            row._replace(level=level, kind=_kind(level), cells=[*row.cells, FigureCell(meaning)])
            for row, (_, level, _, meaning) in zip(made.rows, rows, strict=True)
        ]
        heads = [*made.heads, TableHead("What it is", is_comparison=False, is_text=True)]
        return made._replace(rows=shown, heads=heads)

    def _parts(self) -> Iterator[ResultPart]:
        rows = [_Label(label, level) for label, level, _, _ in self.rows()]
        texts = [figure.text for _, _, figure, _ in self.rows()]
        lines = figure_lines(rows, [TextColumn("Value", texts)], TERMINAL_WIDTH)
        yield ResultPart(lines[1:], html=lambda: figure_table_html(self._table()))
        yield ResultPart([f"- {ratio.name}: {ratio.meaning}" for ratio in self.ratios], html=str)

    def _content(self) -> Mapping[str, Any]:
        ratios = [
            {
                "key": ratio.key,
                "ratio": ratio.name,
                "value": ratio.figure.exact(),
                "text": ratio.figure.text,
                "definition": ratio.meaning,
                "terms": [
                    {"sign": sign, "label": term.label, "amount": term.exact()}
                    for sign, term in zip(ratio.figure.signs, ratio.figure.terms, strict=True)
                ],
            }
            for ratio in self.ratios
        ]
        return {
            "company": self.company,
            "currency": self.currency,
            "end_date": self.end_date,
            "ratios": ratios,
        }


def _kind(level: int) -> str:
    """Choose the kind of a row.

    A ratio must look different from its terms.
    """
    return "ledger" if level else "balance"


class _Label(NamedTuple):
    """A row of the text of the ratios."""

    label: str
    level: int
    kind: str = "ledger"


def key_ratios(books: Books, as_of: DateLike | None = None, *, depreciation: Iterable[str] = ()) -> KeyRatios:
    """Calculate the ratios that a bank asks for: liquidity, days to collect and pay, concentration, debt, EBITDA.

    Each ratio is a figure of two others, whose line entries are behind it. One whose days are not all of the books,
    whose balances are not known, or whose base is zero or negative is not known, and says why.

    Parameters
    ----------
    books : Books
        The books of a year or more; those that begin later have ratios of less.
    as_of : date-like, optional
        The day at whose end they are, and with which the days before end; by default that of the latest line of the
        period.
    depreciation : iterable of str, optional
        Ledgers of depreciation and amortization by id, unique name or path, with those below them: expenses above
        operating income. Without them EBITDA is not known.

    Returns
    -------
    KeyRatios
        ``current_ratio``, ``days_cash``, ``days_receivable``, ``days_payable``, ``largest_customer``, ``debt``,
        ``debt_paid``, ``debt_coverage``, ``ebitda`` of twelve months, and, where ledgers of depreciation are named,
        ``ebitda_period`` of the period of the books, if it is another. ``.frame`` has their definitions.

    Raises
    ------
    InputError
        A ledger of depreciation is unknown, or operating income is before it; or the lines are a person's choice.
    IncompleteLoadError
        The day, or a ledger, was not loaded, or the lines up to it do not balance.

    Examples
    --------
    ::

        ratios = aa.key_ratios(books, "2026-05-31", depreciation=["Depreciation"])
        ratios["current_ratio"].terms[1].entries
    """
    books = to_books(books)
    books.require_loaded("a calculation of key ratios")
    books.source.in_pandas("a calculation of key ratios")
    named = to_texts(depreciation)
    made = _RatioFigures(books, books.last_day(as_of), _depreciation_ledgers(books, named) if named else None)
    ratios = (*made.liquidity(), made.concentration(), *made.debt(), *made.ebitda())
    notes = (*books.source.notes_until(made.day), *books.own_notes)
    return KeyRatios(made.day, ratios, books.scale, books.company, books.currency, notes)


def _depreciation_ledgers(books: Books, named: Sequence[str]) -> set[str]:
    """Find the named ledgers of depreciation. Refuse ledgers that are not in operating income."""
    chart = books.ledgers.set_index("id")
    operating = set(chart.index[chart["type"].eq(LedgerType.EXPENSE) & chart["sub_type"].isin(_OPERATING)])
    found: set[str] = set()
    for text in named:
        try:
            ledger_id = books.names.find(text)
        except InputError as error:
            raise InputError(f"depreciation: {error}") from None
        below = {ledger_id, *books.names.hierarchy.with_descendants(ledger_id)} & operating
        if not below:
            row = chart.loc[ledger_id]
            raise InputError(
                f"depreciation: {quote(books.names.path(ledger_id))} is of type {row['type']}, {row['sub_type']}, and "
                "operating income is before that: name ledgers of operating expenses or cost of goods sold, or leave "
                "it out"
            )
        found |= below
    return found


class _RatioFigures:
    """The figures of the ratios.

    Statements have columns of the last day, and of days up to the last day.

    Parameters
    ----------
    books : Books
        The books.
    day : date
        The last day.
    depreciation : set of str or None
        Ids of the ledgers of depreciation; None where none are named.
    """

    def __init__(self, books: Books, day: dt.date, depreciation: set[str] | None) -> None:
        self.day, self._books, self._depreciation = day, books, depreciation
        self._end = self._column("end", day, day_label(day))
        self._year, self._quarter = (
            self._column(f"{count} days", _days_before(day, count), f"{count} days to {day_label(day)}")
            for count in (_YEAR, _QUARTER)
        )
        first = shifted(Period(day, day, books.time_zone), _MONTHS).start_date + DAY
        self._months = self._column("12 months", first, f"twelve months to {day_label(day)}")
        start = books.period.start_date
        is_other = start < day <= books.period.end_date and start != first
        days = Period(start, day, books.time_zone) if is_other else None
        self._period = None if days is None else self._column("period", start, days_label(days))
        own = [] if self._period is None else [self._period]
        self._income = income_statement(books, columns=[self._end, self._year, self._months, *own])
        self._cash = cash_flow_statement(books, columns=[self._end, self._year, self._quarter])
        self._balance = balance_sheet(books, columns=[self._end])

    def _column(self, key: str, first: dt.date, label: str) -> StatementColumn:
        """Make a column of the days from `first` to the last day."""
        return StatementColumn(key, label, "period", periods=((1, Period(first, self.day, self._books.time_zone)),))

    def liquidity(self) -> Iterator[KeyRatio]:
        """Yield the current ratio, and the days of cash, receivables and payables."""
        yield self._ratio(
            ("current_ratio", "Current ratio"),
            (self._at_end(SubType.CURRENT_ASSETS), self._at_end(SubType.CURRENT_LIABILITIES), _TIMES),
            "Current assets by current liabilities, at the end. What is not categorized is in neither.",
        )
        yield self._ratio(
            ("days_cash", "Days of cash on hand"),
            (self._cash_at_end(), self._cash_out(), _IN_QUARTERS),
            f"Cash at the end by cash out of the last {_QUARTER} days, times {_QUARTER}.",
        )
        yield self._ratio(
            ("days_receivable", "Days of receivables"),
            (
                self._open_items(LedgerType.ASSET, "Receivables", FinancialAccountType.ACCOUNTS_RECEIVABLE),
                self._flow(self._income, self._income.figures.layout.share_of, self._year),
                _IN_YEARS,
            ),
            f"Receivables at the end by operating revenues of the last {_YEAR} days, times {_YEAR}.",
        )
        yield self._ratio(
            ("days_payable", "Days of payables"),
            (
                self._open_items(LedgerType.LIABILITY, "Payables", FinancialAccountType.ACCOUNTS_PAYABLE),
                self._costs(),
                _IN_YEARS,
            ),
            f"Payables at the end by cost of goods sold and operating expenses of {_YEAR} days, times {_YEAR}.",
        )

    def concentration(self) -> KeyRatio:
        """Return the share of the largest customer."""
        name, of_largest, receipts = self._receipts()
        return self._ratio(
            ("largest_customer", ", ".join(filter(None, ["Share of the largest customer", name]))),
            (of_largest, receipts, PERCENT),
            f"What the customer who paid most paid in the last {_YEAR} days, in percent of what all customers paid: "
            "receipts that are operating revenue, taxes on it included, or settle a receivable.",
        )

    def debt(self) -> Iterator[KeyRatio]:
        """Yield debt, payments on debt, and operating cash flow divided by these payments."""
        loans = self._loans()
        owed, paid = self._balance_of(loans, "Debt", _NO_DEBT), self._paid_on(loans)
        yield KeyRatio(
            "debt", "Debt", owed, "What is owed at the end on ledgers of loans and of non-current liabilities."
        )
        what = f"What payments took off these ledgers in the last {_YEAR} days, without interest."
        yield KeyRatio("debt_paid", f"Paid on debt, {self._year.label}", paid, what)
        yield self._ratio(
            ("debt_coverage", "Operating cash flow by paid on debt"),
            (self._flow(self._cash, "operating", self._year), paid, _TIMES),
            f"Cash flow of operating categories in the last {_YEAR} days, after interest, by what was paid on debt.",
        )

    def ebitda(self) -> Iterator[KeyRatio]:
        """Yield EBITDA of twelve months, and of the period of the books if it differs."""
        name, months, period = "EBITDA", self._months, self._period
        yield KeyRatio("ebitda", f"{name}, {months.label}", self._ebitda_of("ebitda", months), _EBITDA)
        if period is not None and self._depreciation is not None:
            figure = self._ebitda_of("ebitda_period", period)
            yield KeyRatio("ebitda_period", f"{name}, {period.label}", figure, "The same, of the period of the books.")

    def _ratio(self, named: tuple[str, str], quotient_of: tuple[Figure, Figure, Quotient], definition: str) -> KeyRatio:
        """Divide two figures. The ratio is known if both figures are known and the divisor is positive."""
        (key, name), (part, whole, form) = named, quotient_of
        make = partial(
            Figure,
            f"{key}{KEY_SEPARATOR}{_VALUE}",
            f"{name}, {day_label(self.day)}",
            terms=(part, whole),
            signs=("+", "/"),
            scale=self._books.scale,
        )
        unknown = [figure for figure in (part, whole) if figure.units is None]
        if unknown:
            figure = make(None, unknown[0].calculation, kind="quotient", quotient=form)
        else:
            figure = figure_of_quotient(make, int(part.units or 0), int(whole.units or 0), whole.label, form)
        return KeyRatio(key, name, figure, definition)

    def _unknown(self, key: str, label: str, why: str) -> Figure:
        """Make a figure that is not known, with the reason."""
        return Figure(key, label, None, f"it is not known: {why}", scale=self._books.scale)

    def _too_short(self, column: StatementColumn) -> str:
        """Say why the books lack days of a column, or return ""."""
        ((_, days),) = column.periods
        begins = self._books.opening.first_entry or self._books.extent.days.start_date
        if begins <= days.start_date:
            return ""
        return f"the books begin on {day_label(begins)}, and the {column.label} on {day_label(days.start_date)}"

    def _flow(self, statement: Statement, row_key: str, column: StatementColumn) -> Figure:
        """Return the figure of a row.

        The figure is unknown if the books lack days of the column.
        """
        row, key = _total_row(statement, row_key), f"{row_key}{KEY_SEPARATOR}{column.key}"
        if row is None:
            return self._unknown(key, column.label, f"the {statement.title.lower()} has no {row_key} in these days")
        figure = statement.figures.figure(row.key, column.key)
        why = self._too_short(column)
        return self._unknown(figure.key, figure.label, why) if why else figure

    def _at_end(self, sub_type: SubType) -> Figure:
        """Return the last day's ending balance of a sub_type's ledgers."""
        name, key = sub_type.replace("_", " "), f"{sub_type}{KEY_SEPARATOR}{self._end.key}"
        row = _total_row(self._balance, sub_type)
        if why := self._no_balances or ("" if row else f"no ledger is of {name}"):
            return self._unknown(key, f"Total {name}, {self._end.label}", why)
        assert row is not None  # noqa: S101 (or there was a reason)
        return self._balance.figures.figure(row.key, self._end.key)

    @property
    def _no_balances(self) -> str:
        """Say why balances are not known, or return ""."""
        since = self._balance.since
        return f"amounts up to a day are movements since {day_label(since)}, not balances" if since else ""

    def _cash_at_end(self) -> Figure:
        """Return cash at the end of the last day."""
        row = _total_row(self._cash, "ending_cash_balance")
        if row is not None and not self._cash.since:
            return self._cash.figures.figure(row.key, self._end.key)
        label = f"Cash at the end, {self._end.label}"
        return self._unknown(f"cash{KEY_SEPARATOR}{self._end.key}", label, self._no_balances or "no ledger is cash")

    def _entries(self, key: str, label: str, column: StatementColumn, lines: pd.DataFrame | None) -> Figure:
        """Make the figure of line entries.

        The figure is unknown if the books lack days of the column.
        """
        named = f"{key}{KEY_SEPARATOR}{column.key}", f"{label}, {column.label}"
        why = self._too_short(column) or ("lines of these days were not loaded" if lines is None else "")
        if why or lines is None:
            return self._unknown(*named, why)
        return figure_of_entries(*named, lines, scale=self._books.scale)

    def _cash_out(self) -> Figure:
        """Return cash out as a positive figure."""
        lines = self._cash.figures.cash_side(self._quarter, -1)
        if lines is not None:
            amounts = exact_amounts(lines["figure_amount"], self._books.scale, lines["id"]).column
            lines = lines.assign(figure_amount=negated(amounts))
        return self._entries("cash_out", "Cash out", self._quarter, lines)

    def _costs(self) -> Figure:
        """Add up a year's cost of goods sold and operating expenses."""
        parts = [self._flow(self._income, total, self._year) for total in _OPERATING]
        named = (
            f"costs{KEY_SEPARATOR}{self._year.key}",
            f"Goods sold and operating expenses, {self._year.label}",
        )
        if parts[0].units is None:
            return Figure(*named, None, parts[0].calculation, scale=self._books.scale)
        return figure_of_terms(*named, [("+", figure) for figure in parts])

    def _receipts(self) -> tuple[str, Figure, Figure]:
        """Sum receipts of the largest customer and of all customers."""
        lines, what = self._cash.figures.cash_side(self._year, 1), "Receipts of customers"
        if lines is None or self._too_short(self._year):
            of_largest, receipts = (self._entries(key, label, self._year, lines) for key, label in _RECEIPTS.items())
            return "", of_largest, receipts
        customers = CustomerLedgers.of_books(self._books)
        rows = rows_of_parties(lines, self._books.source, self._cash.figures.transfers, customers)
        of_customers = rows.str.startswith((PARTY, PROCESSOR))
        receipts = self._entries("receipts", what, self._year, lines[of_customers])
        by_row = {str(row): of_row for row, of_row in lines.groupby(rows)}
        largest = next(iter(largest_parties(by_row, 1, self._books.scale)), None)
        if largest is None:
            key, label = f"customer{KEY_SEPARATOR}{self._year.key}", f"{_RECEIPTS['customer']}, {self._year.label}"
            return "", self._unknown(key, label, "no receipt of these days names a customer"), receipts
        name = largest.removeprefix(PARTY)
        return name, self._entries("customer", f"Receipts of {name}", self._year, by_row[largest]), receipts

    def _open_items(self, kind: LedgerType, name: str, account_type: FinancialAccountType) -> Figure:
        """Return the balance of receivables, or of payables."""
        chart = self._books.ledgers
        ids = chart.loc[chart["type"].eq(kind) & chart["id"].isin(list(self._books.source.open_items)), "id"]
        return self._balance_of(list(ids), name, f"no ledger is an account of type {account_type}")

    def _loans(self) -> list[str]:
        """Return the ids of ledgers of loans and other non-current liabilities."""
        chart = self._books.ledgers
        is_loan = chart["financial_account_type"].eq(FinancialAccountType.LOAN)
        is_debt = is_loan | chart["sub_type"].eq(SubType.NON_CURRENT_LIABILITIES)
        return list(chart.loc[chart["type"].eq(LedgerType.LIABILITY) & is_debt & ~chart["report_cash_flow"], "id"])

    def _balance_of(self, ledger_ids: Collection[str], name: str, why_none: str) -> Figure:
        """Sum the balances of ledgers."""
        named = f"{name.lower()}{KEY_SEPARATOR}{self._end.key}", f"{name}, {self._end.label}"
        if why := self._no_balances or ("" if ledger_ids else why_none):
            return self._unknown(*named, why)
        figures = [_of_ledger(self._balance, ledger_id, self._end) for ledger_id in ledger_ids]
        moved = [figure for figure in figures if figure.units != 0]
        return figure_of_terms(*named, [("+", figure) for figure in moved or figures[:1]])

    def _paid_on(self, loans: Collection[str]) -> Figure:
        """Sum the cash that was paid on loans in the year."""
        key, label = "debt_paid", "Paid on debt"
        if not loans:
            named = f"{key}{KEY_SEPARATOR}{self._year.key}", f"{label}, {self._year.label}"
            return self._unknown(*named, _NO_DEBT)
        of_cash = self._cash.figures
        lines = of_cash.flow_entries(
            [of_cash.layout.by_key[f"{OWN}{ledger_id}"] for ledger_id in loans], self._year, sign=-1
        )
        paid = None if lines is None else sides_of(lines, self._books.scale)[1]
        return self._entries(key, label, self._year, paid)

    def _ebitda_of(self, key: str, column: StatementColumn) -> Figure:
        """Add depreciation to operating income, both of the days of a column."""
        named = f"{key}{KEY_SEPARATOR}{column.key}", f"EBITDA, {column.label}"
        if self._depreciation is None:
            return Figure(*named, None, _NAME_THEM, scale=self._books.scale)
        income = self._flow(self._income, "operating_income", column)
        of_ledgers = [_of_ledger(self._income, ledger_id, column) for ledger_id in sorted(self._depreciation)]
        terms = [("+", income), *(("+", figure) for figure in of_ledgers if figure.units)]
        return income if income.units is None else figure_of_terms(*named, terms)


_RECEIPTS = {"customer": "Receipts of the largest customer", "receipts": "Receipts of customers"}


def _days_before(day: dt.date, count: int) -> dt.date:
    """Find the first day of `count` days that end with `day`.

    The first day is never before the first day of the calendar.
    """
    return dt.date.fromordinal(max(day.toordinal() - count + 1, 1))


def _total_row(statement: Statement, key: str) -> Row | None:
    """Find the row of a total of a statement.

    The key of the row ends with an underscore if a ledger has the same id.
    """
    rows = statement.figures.layout.by_key.values()
    return next((row for row in rows if row.key.rstrip("_") == key and row.kind not in {"ledger", "own"}), None)


def _of_ledger(statement: Statement, ledger_id: str, column: StatementColumn) -> Figure:
    """Return a ledger's own amount, without the ledgers below it."""
    row = statement.figures.layout.by_key[ledger_id]
    is_own = row.is_known and row.ledger_ids == (ledger_id,)
    return statement.figures.figure(ledger_id if is_own else f"{OWN}{ledger_id}", column.key)
