"""The tables of a pack that are not statements: key figures, bridge, balances, payees, open amounts, changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import DAY, Period, day_label, days_label
from accounting_analytics.pack.pack_table import (
    PackRow,
    PackTable,
    amount_head,
    figure_of_lines,
    make_table,
    text_head,
)
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_entries, figure_of_terms
from accounting_analytics.reports.payees.ageing import BUCKETS
from accounting_analytics.reports.payees.bridge import bridge
from accounting_analytics.reports.payees.customers_and_payees import (
    OTHER_RECEIPTS,
    PARTY,
    PROCESSOR,
    TRANSFERRED,
    UNDECIDED,
    largest_parties,
    rows_of_parties,
)
from accounting_analytics.reports.statements.daily_balances import DailyBalances
from accounting_analytics.reports.statements.rows import NOT_CATEGORIZED, OPENING_BALANCES, OPENINGS_NOTE

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Sequence

    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.pack.books_of_pack import ComparedPeriod
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.payees.ageing import Ageing
    from accounting_analytics.reports.payees.bridge import Bridge
    from accounting_analytics.reports.payees.customers_and_payees import CustomerLedgers
    from accounting_analytics.reports.payees.recurring import RecurringPayment, RecurringPayments
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.statement import Statement
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

KEY_FIGURES, SENTENCES, BRIDGE, ACCOUNTS, BY_DAY, FLOWS = (
    "key_figures",
    "sentences",
    "cash_bridge",
    "cash_accounts",
    "cash_by_day",
    "flows",
)
PAYEES, CUSTOMERS, UNCATEGORIZED, CHANGES = "payees", "customers", "uncategorized", "changes"
RECURRING, AGEING, REPORTED = "recurring", "ageing", "reported_cash"
BY_ENTRY = (
    "Cash in and out are counted by journal entry: what is withheld from a payment, such as taxes from wages, is in "
    "neither, and a transfer between own accounts that is booked as two entries is in both."
)
_MAX_DAYS = 93
"""Longer periods have a balance at the end of each month, not of each day."""
_STEPS, _PAYEES, _ENTRIES, _CHANGES, _CATEGORIES, _RECURRING = 8, 10, 20, 40, 2, 30
"""Most steps, payees, journal entries, changes, categories and recurring payments that a table names."""
_TOTAL, _OTHERS = "total", "others"
_OF_PAYEES = "All who were paid are listed, whatever for: suppliers, staff, taxes, lenders, owners; also uncategorized."
_OF_CUSTOMERS = (
    "A customer is the counterparty of a receipt that is operating revenue, taxes on it included, or settles a "
    "receivable. What a payment processor collects is of many customers: its account has a row."
)


@dataclass(frozen=True)
class CashLines:
    """A cash flow statement, its lines, and daily balances. Each is read once."""

    statement: Statement
    source: LineSource
    _daily: dict[Period, DailyBalances] = field(default_factory=dict)

    def column(self, key: str) -> StatementColumn:
        """Return the column with a key."""
        return self.statement.figures.columns.by_key[key]

    def side(self, column: StatementColumn, sign: int) -> pd.DataFrame | None:
        """Return lines of entries that bring cash in, or take it out, or None."""
        return self.statement.figures.cash_side(column, sign)

    def figure(self, key: str, label: str, entries: pd.DataFrame | None) -> Figure:
        """Make the figure of line entries. It is not known if `entries` is None."""
        options: dict[str, Any] = {"scale": self.source.scale}
        if entries is None:
            return Figure(key, label, None, "it is not known: lines of these days were not loaded", **options)
        return figure_of_entries(key, label, entries, **options)

    def name(self, ledger_id: str) -> str:
        """Return the name of a ledger."""
        return self.statement.figures.ledgers.name(ledger_id)

    def units(self, entries: pd.DataFrame) -> int:
        """Sum line entries in units."""
        return int(self.figure("", "", entries).units or 0)

    def uncategorized(self, column_key: str) -> pd.DataFrame | None:
        """Return the cash flow lines without a category, or None if there are none."""
        row = self.statement.figures.layout.by_key.get("uncategorized")
        found = None if row is None else self.statement.figures.flow_entries([row], self.column(column_key))
        return found if found is not None and len(found) else None

    def balances(self, period: Period) -> DailyBalances:
        """Return cash by day, not before the first day of the books."""
        if period not in self._daily:
            first = max(period.start_date, self.statement.figures.rules.opening.first_entry or period.start_date)
            days = Period(min(first, period.end_date), period.end_date, period.time_zone)
            self._daily[period] = DailyBalances(self.statement.figures, self.source, days)
        return self._daily[period]

    @property
    def cash(self) -> list[str]:
        """The cash ledgers."""
        return sorted(self.source.cash, key=self.statement.figures.ledgers.path)


def key_figures(cash: CashLines, income: Statement) -> PackTable:
    """Make the table of key figures: at most thirteen rows, for the period and the compared periods."""
    statement = cash.statement
    columns = statement.columns

    def of(statement: Statement, key: str, label: str, row_key: str, level: int = 0) -> PackRow | None:
        row = statement.figures.layout.by_key.get(row_key)
        if row is None:
            return None
        label = label or row.label
        found = [statement.figures.figure(row_key, column.key) for column in columns]
        named = [
            figure_of_lines(figure, f"{key}{KEY_SEPARATOR}{column.key}", f"{label}, {column.label}")
            for figure, column in zip(found, columns, strict=True)
        ]
        return PackRow(label, named, level=level)

    flows = [
        PackRow(
            label,
            [
                cash.figure(f"{key}{KEY_SEPARATOR}{column.key}", f"{label}, {column.label}", cash.side(column, sign))
                for column in columns
            ],
        )
        for key, label, sign in (("cash_in", "Cash in", 1), ("cash_out", "Cash out", -1))
    ]
    has_balances = "ending_cash_balance" in statement.figures.layout.by_key
    label = "Lowest cash at the end of a day"
    lowest = PackRow(label, [_lowest(cash, column, label) for column in columns]) if has_balances else None
    sales = income.figures.layout.share_of
    has_sales = any(income.figures.figure(sales, column.key).units for column in columns)
    rows = [
        of(statement, "cash_at_end", "Cash at the end", "ending_cash_balance"),
        of(statement, "cash_in_accounts", "", "cash_in_accounts", 1),
        of(statement, "cash_owed", "", "cash_owed", 1),
        of(statement, "net_cash_flow", "Net change in cash", "net_cash_flow"),
        of(statement, OPENING_BALANCES, "", OPENING_BALANCES) if has_openings(statement) else None,
        *flows,
        lowest,
        of(income, "revenues", "Operating revenues", sales),
        of(income, "gross_margin", "Gross margin", "gross_margin") if has_sales else None,
        of(income, "net_income", "Net income", "net_income"),
        of(income, "net_margin", "Net margin", "net_margin") if has_sales else None,
        of(income, "not_categorized", NOT_CATEGORIZED, "not_categorized"),
    ]
    heads = [amount_head(column.label) for column in columns]
    opening = statement.figures.rules.opening
    compared = (period for column in columns for _, period in column.periods)
    notes = [BY_ENTRY, *opening.notes_on(compared)]
    return make_table(KEY_FIGURES, "Key figures", heads, [row for row in rows if row is not None], notes)


def has_openings(statement: Statement) -> bool:
    """Return whether a column has entries of opening balances."""
    return any(row.measure == "opened" for row in statement.rows)


def lowest_day(cash: CashLines, column: StatementColumn) -> dt.date | None:
    """Find the first day with the lowest cash, or None if balances are not known."""
    statement = cash.statement
    known = statement.figures.layout.by_key.get("ending_cash_balance")
    if known is None or statement.since or statement.figures.figure(known.key, column.key).units is None:
        return None
    ((_, period),) = column.periods
    daily = cash.balances(period)
    units = daily.total(cash.cash)[1:]
    return daily.days[units.index(min(units))]


def _lowest(cash: CashLines, column: StatementColumn, label: str) -> Figure:
    day = lowest_day(cash, column)
    if day is None:
        return cash.figure(f"lowest_cash{KEY_SEPARATOR}{column.key}", f"{label}, {column.label}", None)
    key = f"lowest_cash{KEY_SEPARATOR}{column.key} lowest"
    ((_, period),) = column.periods
    return cash.balances(period).figure(key, f"{label}, {day_label(day)}", cash.cash, day)


def make_bridge(books: Books, periods: PackPeriods) -> Bridge | None:
    """Explain the change of cash since the prior period, or return None if it is not known."""
    try:
        return bridge(books, periods.this, against=periods.before, largest=_STEPS)
    except InputError:
        return None


_BEFORE, _AFTER, _CHANGE, _LAST = "before", "after", "change", "last"
_NET, _UNCHANGED = "net_cash_flow", "unchanged"


def bridge_key(key: str) -> str:
    """Return the key that a figure of the bridge has in the table."""
    if key in {_BEFORE, _AFTER, _CHANGE}:
        return f"{_NET}{KEY_SEPARATOR}{key}"
    row, _, side = key.rpartition(KEY_SEPARATOR)
    return key if side in {_BEFORE, _AFTER, _LAST} and KEY_SEPARATOR in row else f"{key}{KEY_SEPARATOR}{_CHANGE}"


def cash_bridge(found: Bridge, cash: CashLines, periods: PackPeriods) -> PackTable:
    """Make the table of a bridge. Counterparties without a change share a row."""

    def row(key: str, label: str, of_sides: Sequence[Figure], cause: str = "", kind: str = "ledger") -> PackRow:
        before, after = of_sides
        terms = [("+", after), ("-", before)]
        change = figure_of_terms(f"{key}{KEY_SEPARATOR}{_CHANGE}", f"{label}, change", terms)
        return PackRow(label, [before, after, change, cause], kind)

    of_steps = [(step, found.sides(step.key)) for step in found.steps]
    rows = [
        row(
            step.key,
            step.label,
            [sides.before, sides.after],
            ", ".join(filter(None, [step.cause.name, step.cause.rhythm])),
        )
        for step, sides in of_steps
    ]
    net = next(row for key, row in cash.statement.figures.layout.by_key.items() if key.rstrip("_") == _NET)
    columns = {_BEFORE: f"{periods.key} prior", _AFTER: periods.key}
    totals = {
        side: figure_of_lines(
            cash.statement.figures.figure(net.key, column),
            f"{_NET}{KEY_SEPARATOR}{side}",
            f"{net.label}, {cash.column(column).label}",
        )
        for side, column in columns.items()
    }
    rest = [
        figure_of_terms(
            f"{_UNCHANGED}{KEY_SEPARATOR}{side}",
            f"Counterparties without change, {cash.column(columns[side]).label}",
            [("+", totals[side]), *(("-", sides.before if side == _BEFORE else sides.after) for _, sides in of_steps)],
        )
        for side in (_BEFORE, _AFTER)
    ]
    if any(figure.units for figure in rest):
        rows.append(row(_UNCHANGED, "Counterparties without change", rest))
    rows.append(row(_NET, net.label, [totals[_BEFORE], totals[_AFTER]], kind="total"))
    heads = [
        amount_head(found.before),
        amount_head(found.after),
        amount_head("Change", is_comparison=True),
        text_head("Why"),
    ]
    made = make_table(BRIDGE, "Cash bridge", heads, rows, found.notes)
    last = {sides.last.key: sides.last for _, sides in of_steps if sides.last}
    return made._replace(figures={**made.figures, **last})


def cash_accounts(cash: CashLines, period: Period) -> PackTable:
    """Make the table of each cash account's balance at start and end.

    Accounts whose balance is always zero are left out.
    """
    daily, names = cash.balances(period), cash.statement.figures.ledgers
    before = daily.days[0] - DAY
    texts = {
        "start": f"Start of {day_label(daily.days[0])}",
        "change": "Change",
        "end": f"End of {day_label(period.end_date)}",
    }

    def row(key: str, name: str, ledger_ids: Sequence[str], kind: str = "ledger", title: str = "") -> PackRow:
        make = {
            side: daily.figure(f"{key}{KEY_SEPARATOR}{side}", f"{name}, {texts[side]}", ledger_ids, day)
            for side, day in (("start", before), ("end", period.end_date))
        }
        terms = [("+", make["end"]), ("-", make["start"])]
        change = figure_of_terms(f"{key}{KEY_SEPARATOR}change", f"{name}, {texts['change']}", terms)
        if make["end"].is_additive:
            selections = [
                part._replace(factor=factor * part.factor)
                for factor, figure in ((1, make["end"]), (-1, make["start"]))
                for part in figure.selections
            ]
            load = partial(cash.source.entries, selections, int(change.units or 0))
            made_of = "the sum of line entries of these days"
            change = replace(change, terms=(), signs=(), calculation=made_of, selections=selections, _load_entries=load)
        return PackRow(name, [make["start"], change, make["end"]], kind, title=title)

    has_balance = {ledger_id: any(units) for ledger_id, units in daily.units.items()}
    rows = [
        row(ledger_id, names.name(ledger_id), [ledger_id], title=names.path(ledger_id))
        for ledger_id in cash.cash
        if has_balance[ledger_id]
    ]
    rows.append(row("cash", "Cash", cash.cash, "total"))
    left_out = list(has_balance.values()).count(False)
    notes = [f"{count_of(left_out, 'account')} without balances left out."] if left_out else []
    heads = [amount_head(text, is_comparison=key == "change") for key, text in texts.items()]
    return make_table(ACCOUNTS, "Cash accounts", heads, rows, notes)


def cash_by_day(cash: CashLines, period: Period) -> PackTable:
    """Make the table of cash by day, or by month of a long period."""
    daily = cash.balances(period)
    days = daily.days if len(daily.days) <= _MAX_DAYS else [month.end_date for month in period.months()]
    rows = [
        PackRow(
            day_label(day),
            [daily.figure(f"cash{KEY_SEPARATOR}{day}", f"Cash, end of {day_label(day)}", cash.cash, day)],
        )
        for day in days
    ]
    return make_table(BY_DAY, "Cash balance by day", [amount_head("Cash")], rows)


def flows_by_month(cash: CashLines, statement: Statement, months: Sequence[Period]) -> PackTable:
    """Make the table of cash in and out by month."""
    rows = []
    flows = CashLines(statement, cash.source)
    columns = {column.periods[0][1]: column for column in statement.columns}
    for month in months:
        key, label = f"{month.start_date:%Y-%m}", days_label(month)
        made = [
            cash.figure(f"{key}{KEY_SEPARATOR}{side}", f"Cash {side}, {label}", flows.side(columns[month], sign))
            for side, sign in (("in", 1), ("out", -1))
        ]
        net = figure_of_terms(f"{key}{KEY_SEPARATOR}net", f"Net, {label}", [("+", figure) for figure in made])
        rows.append(PackRow(label, [*made, net]))
    heads = [amount_head(text) for text in ("Cash in", "Cash out", "Net")]
    return make_table(FLOWS, "Cash in and out by month", heads, rows, [BY_ENTRY])


def top_parties(
    cash: CashLines, periods: PackPeriods, name: str, customers: CustomerLedgers | None = None
) -> PackTable:
    """Make the table of the counterparties that were paid most, or of the largest customers.

    The total of payees is cash out, and the total of customers is cash in.
    """
    sign, title, note = {PAYEES: (-1, "Top payees", _OF_PAYEES), CUSTOMERS: (1, "Top customers", _OF_CUSTOMERS)}[name]
    columns = periods.key_columns()[:3]
    moved = {column.key: _RowLines.of_side(cash, column, sign, customers) for column in columns}
    this = moved[columns[0].key]
    largest = largest_parties(this.rows, sign, cash.source.scale)[:_PAYEES]
    accounts = sorted({row for of_column in moved.values() for row in of_column.rows if row.startswith(PROCESSOR)})
    labels = {
        **{row: row.removeprefix(PARTY) for row in largest},
        _OTHERS: "All others" if customers is None else "All other customers",
        **{row: f"Customers through {cash.name(row.removeprefix(PROCESSOR))}" for row in accounts},
        UNDECIDED: "Not categorized",
        OTHER_RECEIPTS: "Other receipts",
        TRANSFERRED: "Transfers between own accounts",
    }
    rows = []
    for key, label in labels.items():
        made = [
            moved[column.key].figure(cash, key, f"{label}, {column.label}", column.key, labels) for column in columns
        ]
        if any(figure.units for figure in made):
            categories = _categories(cash, this.rows.get(key)) if key in {*largest, *accounts} else ""
            rows.append(_payee_row(key, label, made, categories))
    if rows:
        totals = []
        for place, column in zip((0, 1, 3), columns, strict=True):
            terms = [("+", cell) for cell in (row.cells[place] for row in rows) if isinstance(cell, Figure)]
            totals.append(figure_of_terms(f"{_TOTAL}{KEY_SEPARATOR}{column.key}", f"Total, {column.label}", terms))
        rows.append(_payee_row(_TOTAL, "Cash out" if sign < 0 else "Cash in", totals, "", "total"))
    of_this, before, year_before = (amount_head(column.label) for column in columns)
    heads = [of_this, before, amount_head("Change", is_comparison=True), year_before, text_head("Category")]
    return make_table(name, title, heads, rows, [note] if rows else ["No payments in these days."])


class _RowLines(NamedTuple):
    """Lines that move cash in one direction, by row. `lines` is None if they are not known."""

    lines: pd.DataFrame | None
    rows: dict[str, pd.DataFrame]

    @classmethod
    def of_side(
        cls, cash: CashLines, column: StatementColumn, sign: int, customers: CustomerLedgers | None
    ) -> _RowLines:
        """Read the lines of a column's period."""
        lines = cash.side(column, sign)
        if lines is None:
            return cls(None, {})
        rows = rows_of_parties(lines, cash.source, cash.statement.figures.transfers, customers)
        return cls(lines, {str(row): of_row for row, of_row in lines.groupby(rows)})

    def figure(self, cash: CashLines, row: str, label: str, column_key: str, named: Collection[str]) -> Figure:
        """Sum the lines of a row. The row of others sums all parties without their own row."""
        lines = self.lines
        if lines is not None:
            parts = [
                lines_of_row for key, lines_of_row in self.rows.items() if (key if key in named else _OTHERS) == row
            ]
            lines = pd.concat(parts).sort_index() if parts else lines.head(0)
        return cash.figure(f"{row}{KEY_SEPARATOR}{column_key}", label, lines)


def _payee_row(key: str, label: str, amounts: Sequence[Figure], category: str, kind: str = "ledger") -> PackRow:
    """Make a row of three periods and a change.

    The change is between the first two periods.
    """
    this, before, year_before = amounts
    terms = [("+", this), ("-", before)]
    change = figure_of_terms(f"{key}{KEY_SEPARATOR}{_CHANGE}", f"{label}, change", terms)
    return PackRow(label, [this, before, change, year_before, category], kind)


def _categories(cash: CashLines, lines: pd.DataFrame | None) -> str:
    """Name the ledgers of lines."""
    ids: Iterable[str] = [] if lines is None else lines["ledger_id"].unique()
    names = [cash.name(ledger_id) for ledger_id in ids]
    more = f" and {len(names) - _CATEGORIES} more" if len(names) > _CATEGORIES else ""
    return ", ".join(names[:_CATEGORIES]) + more


class OpenEntry(NamedTuple):
    """A journal entry without a category, with its day, account and text."""

    lines: pd.DataFrame
    day: str
    account: str
    text: str


def open_entries(cash: CashLines, column_key: str) -> list[OpenEntry]:
    """List journal entries with uncategorized lines, the largest first."""
    lines = cash.uncategorized(column_key)
    if lines is None:
        return []
    of_cash = cash.source.frame
    is_open = of_cash["journal_entry_id"].isin(set(lines["journal_entry_id"]))
    of_cash = of_cash[is_open & of_cash["ledger_id"].isin(list(cash.source.cash))]
    accounts = dict(iter(of_cash.groupby(of_cash["journal_entry_id"].astype(object))))
    found = []
    for entry, own in lines.groupby(lines["journal_entry_id"].astype(object), sort=False):
        others = accounts.get(entry, of_cash.head(0))
        names = ", ".join(map(cash.name, others["ledger_id"].unique()))
        found.append(OpenEntry(own, day_label(own["local_date"].iloc[0].date()), names, _text_of(others, own)))
    return sorted(found, key=lambda entry: -abs(cash.units(entry.lines)))


def _text_of(*frames: pd.DataFrame) -> str:
    """Return the first text that the lines of an entry have."""
    texts = [
        str(text)
        for frame in frames
        for name in ("transaction_description", "journal_entry_description", "description")
        if name in frame
        for text in frame[name]
        if isinstance(text, str) and text.strip()
    ]
    return next(iter(texts), "without text")


def uncategorized(found: Sequence[OpenEntry], cash: CashLines) -> PackTable:
    """Make the table of the largest uncategorized entries. All smaller entries share a row."""
    amount = "amount"
    rows = [
        PackRow(
            entry.text,
            [entry.day, entry.account, cash.figure(f"entry {number}{KEY_SEPARATOR}{amount}", entry.text, entry.lines)],
        )
        for number, entry in enumerate(found[:_ENTRIES], start=1)
    ]
    if rest := found[_ENTRIES:]:
        label, lines = f"{len(rest):,} smaller", pd.concat([entry.lines for entry in rest])
        rows.append(PackRow(label, ["", "", cash.figure(f"{_OTHERS}{KEY_SEPARATOR}{amount}", label, lines)]))
    if rows:
        label = count_of(len(found), "transaction")
        terms = [("+", cell) for row in rows for cell in row.cells if isinstance(cell, Figure)]
        rows.append(
            PackRow(label, ["", "", figure_of_terms(f"{_TOTAL}{KEY_SEPARATOR}{amount}", label, terms)], "total")
        )
    note = "Received is positive, paid in parentheses; of a split the part without a category."
    heads = [text_head("Date"), text_head("Account"), amount_head("Amount")]
    notes = [note] if rows else ["Every transaction has a category."]
    return make_table(UNCATEGORIZED, "What is not categorized", heads, rows, notes)


def recurring(found: RecurringPayments, first_day: dt.date) -> PackTable:
    """Make the table of recurring payments whose latest lines the page has."""
    known = [payment for payment in found.payments if payment.occurrences[-1].date >= first_day]
    rows = [
        PackRow(
            payment.counterparty,
            [
                payment.category,
                f"{payment.rhythm}, {payment.found.usual_day}",
                day_label(payment.occurrences[-1].date),
                found.last(payment),
                day_label(payment.due),
                _remark(payment),
            ],
        )
        for payment in known[:_RECURRING]
    ]
    heads = [
        text_head("Category"),
        text_head("Rhythm"),
        text_head("Last paid"),
        amount_head("Amount"),
        text_head("Due"),
        text_head("Remark"),
    ]
    notes = ["Found in the loaded history: four payments or more, at least four of five on their days."]
    if rest := len(known) - len(rows):
        notes.append(f"{rest:,} more are not listed: accounting-analytics finds them with recurring_payments.")
    return make_table(RECURRING, "Recurring payments", heads, rows, notes)


def _remark(payment: RecurringPayment) -> str:
    """Describe an unusual recurring payment."""
    _, since = payment.dearer
    dearer = f"dearer since {day_label(since)}" if since else ""
    return ", ".join(filter(None, ["" if payment.status == "expected" else payment.status, dearer]))


def ageing(found: Ageing) -> PackTable:
    """Make the table of open items by age, with days to pay."""
    rows = []
    for account in found.accounts:
        if not account.items or account.reason:
            continue
        rows.append(PackRow(account.name, kind="heading"))
        rows += [
            PackRow(label, [*figures, days], level=1)
            for (label, figures), days in zip(found.rows(account), found.usual_days(account), strict=True)
        ]
        rows[-1] = rows[-1]._replace(kind="subtotal")
    heads = [amount_head(text) for text in (*(f"{bucket} days" for bucket in BUCKETS), "Total", "Late")]
    unknown = [
        f"{account.name}: the ages are not known: {account.reason}." for account in found.accounts if account.reason
    ]
    what = (
        "In days since the entry, because no due date is known. Days to pay are the middle one and the last of the "
        "items that were paid within a year; late is what is open for longer than nine tenths of them took."
    )
    notes = [*unknown, what, *found.sentences(), *found.notes]
    return make_table(AGEING, "Receivables and payables by age", [*heads, text_head("Days to pay")], rows, notes)


def changes(drift: Drift) -> PackTable:
    """Make the table of the largest changes of ledgers since the last pack."""
    records = drift.frame.to_dict("records")
    figures = [drift[KEY_SEPARATOR.join((row["month"], row["ledger_id"], row["kind"]))] for row in records]
    largest = sorted(range(len(records)), key=lambda place: (-abs(int(figures[place].units or 0)), place))[:_CHANGES]
    rows = []
    for place in sorted(largest):
        record = records[place]
        key = f"{record['month']} {record['ledger_id']} {record['kind']}{KEY_SEPARATOR}amount"
        amount = replace(figures[place], key=key, units=figures[place].units or 0)
        texts = [record["month"], record["kind"], f"{record['entries']:,}"]
        rows.append(PackRow(record["ledger_name"], [*texts, amount]))
    rest = len(records) - len(largest)
    signs = "More of a ledger on the normal side of its type is positive: more sales, rent, cash, or debt."
    notes = [drift.summary(), signs, *([f"{rest:,} smaller changes are not listed."] if rest else [])]
    heads = [text_head("Month"), text_head("What"), text_head("Journal entries"), amount_head("Change")]
    return make_table(CHANGES, "What changed since the last pack", heads, rows, notes, is_stated=True)


_REPORTED = {
    "starting_cash_balance": "Cash at the start",
    "net_cash_flow": "Net change in cash",
    "ending_cash_balance": "Cash at the end",
}


def reported_cash(compared: dict[str, ComparedPeriod], cash: CashLines) -> PackTable | None:
    """Make the table of loaded reports, or None if a sync of local books compared reports."""
    figures, rows = cash.statement.figures, []
    for key, comparison in compared.items():
        if comparison.reported is None:
            continue
        rows.append(PackRow(comparison.label, kind="heading"))
        sums = comparison.reported.exact()
        for name in (name for name in _REPORTED if name in figures.layout.by_key):
            with_openings = name == _NET and bool(figures.figure(OPENING_BALANCES, key).units)
            row_label = f"{_REPORTED[name]}, with opening balances" if with_openings else _REPORTED[name]
            row_key, label = f"{name} {key}", f"{row_label}, {comparison.label}"
            reported = Figure(
                f"{row_key}{KEY_SEPARATOR}reported",
                f"{label}, reported by the service",
                to_minor_units(getattr(sums, name), cash.source.scale),
                "as the service stated it",
                scale=cash.source.scale,
            )
            found = _with_openings(figures, name, key) if with_openings else figures.figure(name, key)
            own = figure_of_lines(found, f"{row_key}{KEY_SEPARATOR}calculated {key}", f"{label}, calculated here")
            terms = [("+", reported), ("-", own)]
            difference = figure_of_terms(f"{row_key}{KEY_SEPARATOR}difference", f"{label}, difference", terms)
            rows.append(PackRow(row_label, [reported, own, difference], level=1))
    heads = [
        amount_head("Reported by the service"),
        amount_head("Calculated here"),
        amount_head("Difference", is_comparison=True),
    ]
    title = "The service's cash flow reports, and the same from line entries"
    notes = [OPENINGS_NOTE] if has_openings(cash.statement) else []
    return make_table(REPORTED, title, heads, rows, notes) if rows else None


def _with_openings(figures: StatementFigures, name: str, key: str) -> Figure:
    """Add opening balances to net cash flow, as the service counts it."""
    found, openings = figures.figure(name, key), figures.figure(OPENING_BALANCES, key)
    if found.units is None:
        return found
    units = int(found.units) + int(openings.units or 0)
    selections = [*found.selections, *openings.selections]
    load = partial(figures.source.entries, selections, units)
    return replace(found, units=units, selections=selections, _load_entries=load)
