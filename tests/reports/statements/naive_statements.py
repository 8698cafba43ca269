"""Statements calculated a second time, in plain Python: loops over lines with integers, from the rulings alone.

It shares no code with the package, so that an agreement of the two shows something. A figure here is the lines that
it sums, each with its sign: ``{line id: units}``.
"""

import calendar
import datetime as dt
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo

INCOME, BALANCE, TRIAL, CASH = "income", "balance sheet", "trial balance", "cash flow"
INCOME_SECTIONS = {
    "revenue": ("operating_revenues", "other_income"),
    "expense": ("cost_of_goods_sold", "operating_expenses", "other_expenses"),
}
BALANCE_SECTIONS = {
    "asset": ("current_assets", "non-current_assets"),
    "liability": ("current_liabilities", "non-current_liabilities"),
    "equity": ("equity",),
}
SUSPENSE, TRANSFERS, OPENING = "suspense", "transfers", "opening_balances"
CREDIT_TYPES = {"liability", "equity", "revenue"}
DAY = dt.timedelta(days=1)


class NaiveLedger(NamedTuple):
    """A ledger of the chart."""

    id: str
    name: str
    type: str
    sub_type: str
    debit_credit: str = "debit"
    parent: str | None = None
    is_cash: bool = False
    is_required: bool = False
    account: str | None = None

    @property
    def is_uncategorized(self):
        """Whether it is one of the two required ledgers of what has no category."""
        return self.is_required and self.sub_type not in {"transfers_between_accounts", "equity"}

    @property
    def is_opening(self):
        return self.is_required and self.sub_type == "equity"


class NaiveLine(NamedTuple):
    """A line with its units, positive for debit."""

    id: str
    ledger: str
    entry: str
    instant: dt.datetime
    units: int


class Days(NamedTuple):
    """First and last day, both inclusive; no first day means all days up to the last."""

    first: dt.date | None
    last: dt.date


def month_end(day):
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def shifted(day, months):
    """Return the day some months earlier; a last day, and a day that the month does not have, is its last day."""
    number = 12 * day.year + day.month - 1 - months
    year, month = divmod(number, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return dt.date(year, month + 1, last if day == month_end(day) else min(day.day, last))


def shifted_days(days, months):
    return Days(days.first and shifted(days.first, months), shifted(days.last, months))


def fiscal_year_start(day, first_month=1):
    return dt.date(day.year if day.month >= first_month else day.year - 1, first_month, 1)


def columns(start, end, unit, first_month=1):
    """Months, quarters or years of a fiscal year from one day to another, and which of them are whole."""
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    found = []
    day = start
    while day <= end:
        year = fiscal_year_start(day, first_month)
        months = 12 * (day.year - year.year) + day.month - year.month
        first = shifted(year, -(months // length * length))
        last = shifted(first, -length) - DAY
        found.append((Days(max(first, start), min(last, end)), start <= first and last <= end))
        day = last + DAY
    return [days for days, _ in found], [is_whole for _, is_whole in found]


class NaiveBooks:
    """All lines of some books, and their chart of accounts."""

    def __init__(self, ledgers, lines, zone, first_month=1):
        self.ledgers = {ledger.id: ledger for ledger in ledgers}
        self.lines = list(lines)
        self.days = {line.id: line.instant.astimezone(ZoneInfo(zone)).date() for line in self.lines}
        self.of_ledger = {one: [line for line in self.lines if line.ledger == one] for one in self.ledgers}
        self.zone, self.first_month = zone, first_month
        self.entries_with_cash = {line.entry for line in self.lines if self.ledgers[line.ledger].is_cash}
        self.entries_of_openings = {line.entry for line in self.lines if self.ledgers[line.ledger].is_opening}

    def __repr__(self):
        """Show what a failing example has."""
        used = {line.ledger for line in self.lines}
        return "\n".join(["", *(str(one) for one in self.ledgers.values() if one.id in used), *map(str, self.lines)])

    def section(self, statement, ledger_id):
        """Section of a ledger in a statement; None if it is not on it."""
        ledger = self.ledgers[ledger_id]
        if statement == CASH:
            return None if ledger.is_cash or ledger.is_opening else self._cash_section(ledger)
        if statement == TRIAL:
            return "all"
        if ledger.is_uncategorized:
            return SUSPENSE
        sections = INCOME_SECTIONS if statement == INCOME else BALANCE_SECTIONS
        if ledger.type not in sections:
            return None
        if ledger.type == "asset" and ledger.sub_type == "transfers_between_accounts":
            return TRANSFERS
        return ledger.sub_type if ledger.sub_type in sections[ledger.type] else f"{ledger.type}_other"

    @staticmethod
    def _cash_section(ledger):
        if ledger.sub_type == "transfers_between_accounts":
            return TRANSFERS
        if ledger.is_uncategorized:
            return "uncategorized"
        if ledger.account == "loan" or ledger.sub_type in {"non-current_liabilities", "equity"}:
            return "financing"
        return "investing" if ledger.sub_type == "non-current_assets" else "operating"

    def sign(self, statement, ledger_id):
        """Sign of a debit in a statement's row of a ledger."""
        ledger = self.ledgers[ledger_id]
        if statement == CASH:
            return -1
        if statement == TRIAL:
            return 1
        if self.section(statement, ledger_id) == SUSPENSE:  # received less paid, or what is still an asset
            return -1 if statement == INCOME else 1
        return -1 if ledger.type in CREDIT_TYPES else 1

    def subtree(self, statement, ledger_id):
        """Return a ledger and those below it; a child of another section is not below."""
        section = self.section(statement, ledger_id)
        found = [ledger_id]
        for above in found:
            children = [ledger.id for ledger in self.ledgers.values() if ledger.parent == above]
            found.extend(one for one in children if self.section(statement, one) == section)
        return found

    def in_section(self, statement, section):
        return [one for one in self.ledgers if self.section(statement, one) == section]

    def sections(self, statement):
        """Sections of a statement that have a ledger."""
        return dict.fromkeys(filter(None, (self.section(statement, one) for one in self.ledgers)))

    def lines_in(self, days, ledger_ids=None):
        of_ledgers = self.of_ledger if ledger_ids is None else ledger_ids
        for line in (line for ledger_id in of_ledgers for line in self.of_ledger[ledger_id]):
            if (days.first is None or days.first <= self.days[line.id]) and self.days[line.id] <= days.last:
                yield line

    def figure(self, statement, ledger_ids, days):
        """Lines of some ledgers' rows in some days, with their signs; balances take all days up to the last."""
        if statement in {BALANCE, TRIAL}:
            days = Days(None, days.last)
        ledger_ids = {one for one in ledger_ids if self.section(statement, one) is not None}
        return {
            line.id: self.sign(statement, line.ledger) * line.units
            for line in self.lines_in(days, ledger_ids)
            if statement != CASH or line.entry in self.entries_with_cash - self.entries_of_openings
        }

    def openings(self, days):
        """Lines of the entries of opening balances that bring cash in some days, positive into cash."""
        entries = self.entries_with_cash & self.entries_of_openings
        lines = (one for one in self.lines_in(days) if one.entry in entries and not self.ledgers[one.ledger].is_cash)
        return {line.id: -line.units for line in lines}

    def own(self, statement, ledger_id, days):
        """Figure of a ledger's own row."""
        return self.figure(statement, {ledger_id}, days)

    def total(self, statement, ledger_id, days):
        """Figure of a ledger with those below it."""
        return self.figure(statement, self.subtree(statement, ledger_id), days)

    def section_total(self, statement, section, days):
        return self.figure(statement, self.in_section(statement, section), days)

    def of_type(self, statement, kind):
        """Ledgers of a type on a statement, without suspense."""
        sections = {one: self.section(statement, one) for one in self.ledgers if self.ledgers[one].type == kind}
        return [one for one, section in sections.items() if section not in {None, SUSPENSE}]

    def income(self, days):
        """Units of each line of the income statement that is made of others."""

        def amount(section):
            return units(self.section_total(INCOME, section, days))

        gross = amount("operating_revenues") - amount("cost_of_goods_sold")
        return {
            "gross_profit": gross,
            "operating_income": gross - amount("operating_expenses"),
            "net_income": units(self.earnings(days)),
        }

    def earnings(self, days):
        """Revenue less expense of some days, as lines; suspense is not a part."""
        flows = {one for kind in INCOME_SECTIONS for one in self.of_type(INCOME, kind)}
        return {line.id: -line.units for line in self.lines_in(days, flows)}

    def balance_sheet(self, day):
        """Figures of the balance sheet at the end of a day that are not those of one section."""
        year = fiscal_year_start(day, self.first_month)
        days = Days(None, day)
        suspense = self.section_total(BALANCE, SUSPENSE, days)
        return {
            "total_assets": self.figure(BALANCE, self.of_type(BALANCE, "asset"), days) | suspense,
            "total_liabilities": self.figure(BALANCE, self.of_type(BALANCE, "liability"), days),
            "equity_accounts": self.figure(BALANCE, self.of_type(BALANCE, "equity"), days),
            "earnings_of_earlier_periods": self.earnings(Days(None, year - DAY)),
            "earnings_of_the_period": self.earnings(Days(year, day)),
        }

    def cash(self, days):
        """Return starting cash, opening balances, net change and ending cash of some days."""
        in_cash = {one.id for one in self.ledgers.values() if one.is_cash}

        def balance(day):
            return sum(line.units for line in self.lines_in(Days(None, day), in_cash))

        flows = sum(units(self.section_total(CASH, section, days)) for section in self.sections(CASH))
        return {
            "starting_cash_balance": balance(days.first - DAY),
            OPENING: units(self.openings(days)),
            "net_cash_flow": flows,
            "ending_cash_balance": balance(days.last),
        }

    def whole(self, statement, days):
        """Units of what a share is of: operating revenues, total assets, or all inflows of ledgers."""
        if statement == INCOME:
            return units(self.section_total(INCOME, "operating_revenues", days))
        if statement == BALANCE:
            return units(self.balance_sheet(days.last)["total_assets"])
        flows = [units(self.own(CASH, one, days)) for one in self.ledgers if not self.ledgers[one].is_cash]
        return sum(amount for amount in flows if amount > 0)

    def trial(self, day):
        """Debit and credit balance of each ledger at the end of a day."""
        balances = {one: units(self.figure(TRIAL, {one}, Days(None, day))) for one in self.ledgers}
        return {one: (max(units, 0), max(-units, 0)) for one, units in balances.items()}


def units(figure):
    return sum(figure.values())


def percent(part, whole):
    """Percentage, which is not known of zero or less."""
    return Fraction(100 * part, whole) if whole > 0 else None
