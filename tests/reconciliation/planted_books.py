"""Random books, and a report of them by plain loops over lines that shares no code with the package's calculations."""

import datetime as dt
import random
from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import accounting_analytics as aa
from accounting_analytics.core.schemas import (
    CashBalances,
    CashFlowLedgers,
    CashFlowLines,
    ExactReport,
    Ledgers,
    LineEntries,
)

PARENTS = {"rent": "costs", "meals": "costs", "tips": "meals", "savings": "bank"}
CASH = ("bank", "savings", "card")
CATEGORIES = ("rent", "meals", "tips", "sales", "receivable", "loan")
LEDGERS = ("bank", "savings", "card", "receivable", "loan", "opening", "sales", "costs", "rent", "meals", "tips")
ZERO = Decimal(0)


class Line(NamedTuple):
    """A line entry."""

    id: str
    ledger: str
    entry: str
    at: dt.datetime
    amount: Decimal
    text: str


class Planted(NamedTuple):
    """Random books and the days and zone of their report."""

    lines: list
    start: dt.date
    end: dt.date
    zone: str

    @property
    def days(self):
        return self.start, self.end

    def local(self, line):
        return line.at.astimezone(ZoneInfo(self.zone)).date()

    def in_period(self, line):
        return self.start <= self.local(line) <= self.end

    def cash_entries(self):
        """Entries with a flow in the period, by id."""
        entries = defaultdict(list)
        for line in self.lines:
            if self.in_period(line):
                entries[line.entry].append(line)
        return {
            key: lines
            for key, lines in entries.items()
            if any(one.ledger in CASH for one in lines) and any(one.ledger not in CASH for one in lines)
        }


class _Poster:
    """Posts entries whose amounts occur once."""

    def __init__(self, rng):
        self.rng, self.lines, self.count, self._used = rng, [], 0, set()

    def amount(self):
        while True:
            found = Decimal(self.rng.randrange(100, 999_999)) / 100
            if found not in self._used:
                self._used.add(found)
                return found

    def post(self, at, amounts, text):
        self.count += 1
        for position, (ledger, signed) in enumerate(amounts):
            self.lines.append(Line(f"l{self.count}_{position}", ledger, f"e{self.count}", at, signed, text))

    def post_any(self, at):
        """Post a payment or receipt, a split, a transfer or an invoice."""
        rng = self.rng
        first, second = rng.sample(CATEGORIES, 2)
        whole, cash, kind, sign = self.amount(), rng.choice(CASH), rng.random(), rng.choice([1, -1])
        text = f"Counterparty {rng.randrange(40)}"
        if kind < 0.12:
            other = rng.choice([one for one in CASH if one != cash])
            self.post(at, [(cash, -whole), (other, whole)], "Transfer")
        elif kind < 0.2:
            self.post(at, [("receivable", whole), ("sales", -whole)], "Invoice")
        elif kind < 0.35:
            part = (whole / 3).quantize(Decimal("0.01"))
            amounts = [(cash, -sign * whole), (first, sign * part), (second, sign * (whole - part))]
            self.post(at, amounts, text)
        else:
            self.post(at, [(cash, -sign * whole), (first, sign * whole)], text)


def random_books(seed):
    """Books of four months: an opening, payments, splits, transfers, invoices, at any hour of the day."""
    rng = random.Random(seed)  # noqa: S311 (reproducible books, no secret)
    zone = rng.choice(["America/New_York", "UTC", "Europe/Berlin", "Asia/Tokyo", "America/Los_Angeles"])
    poster = _Poster(rng)
    first = dt.datetime(2025, 1, 2, 12, tzinfo=dt.UTC)
    for cash in CASH:
        opening = poster.amount()
        poster.post(first, [(cash, opening), ("opening", -opening)], "Opening balance")
    for _ in range(160):
        poster.post_any(first + dt.timedelta(days=1, seconds=rng.randrange(118 * 86400)))
    start = dt.date(2025, rng.choice([2, 3]), 1)
    end = (start + dt.timedelta(days=40)).replace(day=1) - dt.timedelta(days=1)
    return Planted(sorted(poster.lines, key=lambda one: (one.at, one.id)), start, end, zone)


def ledger_frame(cash=CASH, *, transfers="", **others):
    """Chart of accounts, with the required ledgers of opening balances and of transfers, if it has one."""
    sub_types = {"opening": "equity", transfers: "transfers_between_accounts"}
    columns = {
        "id": list(LEDGERS),
        "name": [ledger.title() for ledger in LEDGERS],
        "type": [None] * len(LEDGERS),
        "sub_type": [sub_types.get(ledger) for ledger in LEDGERS],
        "is_required": [ledger in sub_types for ledger in LEDGERS],
        "report_cash_flow": [ledger in cash for ledger in LEDGERS],
        "parent_id": [PARENTS.get(ledger) for ledger in LEDGERS],
        "sort_code": [f"{position:02}" for position in range(len(LEDGERS))],
    }
    return Ledgers.from_columns(columns | {name: [value] * len(LEDGERS) for name, value in others.items()})


UNKNOWN = ("ledger_name", "description", "transaction_id", "related_line_entry_id", "editable", "tag_ids")
"""Columns of lines that are null here."""


def line_frame(lines, scale=2, *, exact=False):
    """Line entries as a load returns them; or with Arrow decimals, as an analyst may have them."""
    columns = {
        "id": [one.id for one in lines],
        "ledger_id": [one.ledger for one in lines],
        "journal_entry_id": [one.entry for one in lines],
        "journal_entry_description": [one.text for one in lines],
        "datetime": [one.at for one in lines],
        "amount": [one.amount.copy_abs() for one in lines],
        "debit_credit": ["debit" if one.amount >= 0 else "credit" for one in lines],
        "signed_amount": [one.amount for one in lines],
        **dict.fromkeys(UNKNOWN, [None] * len(lines)),
    }
    make = LineEntries.exact_from_columns if exact else LineEntries.from_columns
    return LineEntries.require_valid(make(columns, scale))


class Reading(NamedTuple):
    """How a report reads the books: its zone, and what is cash."""

    zone: str | None = None
    cash: tuple = CASH


def naive_report(books, lines=None, reading=None):
    """Cash flow report by SEMANTICS 3, line by line; it states the period of the books whatever it read."""
    reading = reading or Reading()
    tz = ZoneInfo(reading.zone or books.zone)
    starting, ending = dict.fromkeys(reading.cash, ZERO), dict.fromkeys(reading.cash, ZERO)
    entries = defaultdict(list)
    for line in books.lines if lines is None else lines:
        day = line.at.astimezone(tz).date()
        is_before = day < books.start
        if line.ledger in reading.cash and day <= books.end:
            ending[line.ledger] += line.amount
            starting[line.ledger] += line.amount if is_before else ZERO
        if not is_before and day <= books.end:
            entries[line.entry].append(line)
    rows, own = [], defaultdict(lambda: ZERO)
    for of_entry in entries.values():
        moved = defaultdict(lambda: ZERO)
        for line in of_entry:
            if line.ledger in reading.cash:
                moved[line.ledger] += line.amount
        if not moved:
            continue
        name = min(moved, key=lambda one: (-abs(moved[one]), LEDGERS.index(one))).title()
        for line in of_entry:
            if line.ledger in reading.cash:
                continue
            rows.append((line, name))
            own[line.ledger] -= line.amount
    rows.sort(key=lambda one: (LEDGERS.index(one[0].ledger), one[0].at, one[0].id))
    return _report(books, rows, own, (starting, ending))


def _report(books, rows, own, cash_balances):
    """Put the tables of a report together."""
    starting, ending = cash_balances

    def totals(amounts):
        summed = dict(amounts)
        for ledger, amount in amounts.items():
            above = PARENTS.get(ledger)
            while above:
                summed[above] = summed.get(above, ZERO) + amount
                above = PARENTS.get(above)
        return summed

    def balances(amounts):
        ids = sorted(amounts, key=LEDGERS.index)
        summed = totals(amounts)
        return CashBalances.exact_from_columns(
            {
                "ledger_id": ids,
                "ledger_name": [one.title() for one in ids],
                "sort_code": [f"{LEDGERS.index(one):02}" for one in ids],
                "cash_balance": [amounts[one] for one in ids],
                "total_cash_balance": [summed[one] for one in ids],
            }
        )

    summed = totals(own)
    ids = sorted(summed, key=LEDGERS.index)
    ledgers = {
        "ledger_id": ids,
        "name": [one.title() for one in ids],
        "net_cash_flow": [own.get(one, ZERO) for one in ids],
        "total_net_cash_flow": [summed[one] for one in ids],
    }
    lines = {
        "line_id": [line.id for line, _ in rows],
        "ledger_id": [line.ledger for line, _ in rows],
        "amount": [-line.amount for line, _ in rows],
        "datetime": [line.at for line, _ in rows],
        "cash_flow_ledger_name": [name for _, name in rows],
        "journal_entry_id": [line.entry for line, _ in rows],
        "journal_entry_description": [line.text for line, _ in rows],
    }
    return aa.CashFlowReport(
        aa.Period(books.start, books.end, books.zone),
        ExactReport(
            ledgers=CashFlowLedgers.exact_from_columns(ledgers),
            lines=CashFlowLines.exact_from_columns(lines),
            starting_balances=balances(starting),
            ending_balances=balances(ending),
            starting_cash_balance=sum(starting.values(), ZERO),
            ending_cash_balance=sum(ending.values(), ZERO),
        ),
        origin="loaded",
    )


def figures(report):
    """All figures of a report, comparable whatever its order and rows of zero."""
    tables = report.exact()
    nets = {row.ledger_id: row[3:5] for row in tables.ledgers.itertuples() if any(row[3:5])}
    balances = [
        {row.ledger_id: row.cash_balance for row in table.itertuples() if row.cash_balance}
        for table in (tables.starting_balances, tables.ending_balances)
    ]
    fields = ["line_id", "ledger_id", "amount", "datetime", "journal_entry_id"]
    sums = (tables.sums, sorted(map(tuple, tables.lines[fields].to_numpy().tolist())))
    return nets, balances, sums
