"""Statements by month against those of hledger, to the cent, and the naive ones that other tests compare with."""

import datetime as dt
import importlib.util
from pathlib import Path
from typing import NamedTuple

import pytest
from books_strategy import ledger_frame, line_table
from hledger_journals import (
    CASES,
    anchored,
    generated,
    journal_of,
    journal_of_books,
    monthly_report,
    postings,
    require,
)
from naive_statements import BALANCE, CASH, INCOME, OPENING, NaiveBooks, NaiveLedger, NaiveLine, columns, units
from statement_checks import FUNCTIONS, row_key, row_units, whole_units

import accounting_analytics as aa

pytestmark = pytest.mark.hledger

END = "ending_cash_balance"
SAMPLE = Path(__file__).parents[3] / "data" / "sample.journal"
KINDS = {
    "assets": ("asset", "current_assets"),
    "liabilities": ("liability", "current_liabilities"),
    "equity": ("equity", "equity"),
    "income": ("revenue", "operating_revenues"),
    "expenses": ("expense", "operating_expenses"),
}


class Case(NamedTuple):
    """A journal and the same books; `paths` has the account of each ledger."""

    journal: Path
    commodity: str
    naive: NaiveBooks
    paths: dict[str, str]

    def months(self):
        """Days of each month with a line, and those between."""
        days = self.naive.days.values()
        return columns(min(days).replace(day=1), max(days), "month")[0]

    def statement(self, kind, **options):
        """Statement of the package by month, of the same lines."""
        months = self.months()
        frames = line_table(self.naive).to_pandas(), ledger_frame(self.naive)
        days, opening = (months[0].first, months[-1].last), None if kind == INCOME else months[0].first
        books = aa.Books(*frames, days, time_zone=self.naive.zone, opening=opening)
        return getattr(aa, FUNCTIONS[kind])(books, **options)

    def report(self, name, *options):
        return monthly_report(self.journal, self.commodity, name, *options)


def books_of(journal, commodity, cash):
    """Books of a journal; an account is a ledger with its path as its id."""
    found = list(postings(journal, commodity))
    accounts = {account for _, _, account, _ in found}
    above = {":".join(one.split(":")[:depth]) for one in accounts for depth in range(1, one.count(":") + 1)}
    ledgers = []
    for path in sorted(accounts | above):
        parent, _, name = path.rpartition(":")
        kind = KINDS[path.partition(":")[0].lower()]
        ledgers.append(NaiveLedger(path, name, *kind, parent=parent or None, is_cash=path in cash))
    noon = dt.time(12, tzinfo=dt.UTC)
    lines = [
        NaiveLine(f"le{number:05}", account, entry, dt.datetime.combine(day, noon), amount)
        for number, (day, entry, account, amount) in enumerate(found)
    ]
    return Case(journal, commodity, NaiveBooks(ledgers, lines, "UTC"), {one: one for one in accounts | above})


def demo_case(demo_books, folder):
    names = aa.LedgerNames.from_frame(demo_books.ledgers)
    paths = {one: names.path(one) for one in demo_books.ledgers["id"]}
    journal = folder / "demo.journal"
    journal.write_text(journal_of_books(demo_books.naive, paths), encoding="utf-8")
    return Case(journal, "$", demo_books.naive, paths)


@pytest.fixture(scope="module", params=["sample", *CASES, "demo"])
def case(request, tmp_path_factory):
    """Return a journal and its books: the sample, two of bean-example, the demo."""
    folder = tmp_path_factory.mktemp("books")
    if request.param == "demo":
        return demo_case(request.getfixturevalue("demo_books"), folder)
    if request.param == "sample":
        return books_of(SAMPLE, "$", {"assets:bank:checking", "assets:bank:savings", "liabilities:credit card"})
    require("beancount", importlib.util.find_spec("beancount"))
    seed, cash = CASES[request.param]
    journal = folder / "books.journal"
    journal.write_text(journal_of(generated(seed, folder / "books.bean")), encoding="utf-8")
    return books_of(journal, "USD", cash)


def assert_rows(expected, found, months):
    """Check the units of each account and month; accounts that hledger leaves out have none."""
    blank = [0] * len(months)
    assert {account: row for account, row in expected.items() if row != blank} == {
        account: row for account, row in found.items() if row != blank
    }


def whole_trees(case, statement, subreport):
    """Ledgers of a subreport by account, of which all descendants are in one section."""
    for ledger_id, path in case.paths.items():
        below = {one for one, other in case.paths.items() if f"{other}:".startswith(f"{path}:")}
        is_on = case.naive.section(statement, ledger_id) is not None
        is_wanted = not subreport or case.naive.ledgers[ledger_id].type == KINDS[subreport][0]
        if is_on and is_wanted and below == set(case.naive.subtree(statement, ledger_id)):
            yield path, ledger_id


def naive_rows(case, statement, subreport):
    """Totals of ledgers by account, each a list by month."""
    months = case.months()
    return {
        path: [units(case.naive.total(statement, one, days)) for days in months]
        for path, one in whole_trees(case, statement, subreport)
    }


def statement_rows(case, statement, kind, subreport):
    """Totals of the ledgers that the package's statement shows by account, each a list by month."""
    keys = {path: row_key(statement, one) for path, one in whole_trees(case, kind, subreport)}
    return {path: row_units(statement, key) for path, key in keys.items() if key is not None}


def with_openings(case, rows):
    """Rows with the lines of entries of opening balances, which hledger counts as flows of their accounts."""
    ids = {path: ledger_id for ledger_id, path in case.paths.items()}
    ledgers = {line.id: line.ledger for line in case.naive.lines}
    opened = [case.naive.openings(days) for days in case.months()]
    found = {}
    for path, of_months in rows.items():
        below = set(case.naive.subtree(CASH, ids[path]))
        own = [sum(units for one, units in of_month.items() if ledgers[one] in below) for of_month in opened]
        found[path] = [sum(both) for both in zip(of_months, own, strict=True)]
    return found


def only(rows, accounts):
    return {account: row for account, row in rows.items() if account in accounts}


def sum_of_rows(statement, keys):
    return [sum(amounts) for amounts in zip(*(row_units(statement, key) for key in keys), strict=True)]


def test_income_statement_is_that_of_hledger(case):
    report, months = case.report("incomestatement"), case.months()
    statement = case.statement(INCOME, compare=["total"])
    for subreport, part in (("income", "revenues"), ("expenses", "expenses")):
        rows = naive_rows(case, INCOME, subreport)
        assert len(rows) >= 2
        assert_rows(only(report[part], rows), rows, months)
        assert_rows(only(report[part], rows), statement_rows(case, statement, INCOME, subreport), months)
    assert report["net"][""] == row_units(statement, "net_income")
    assert sum(report["net"][""]) == whole_units(statement.value("net_income", "total"))
    assert report["net"][""] == [case.naive.income(days)["net_income"] for days in months]


def test_balance_sheet_is_that_of_hledger(case):
    report, months = case.report("balancesheetequity"), case.months()
    statement = case.statement(BALANCE)
    sheets = [{name: units(lines) for name, lines in case.naive.balance_sheet(days.last).items()} for days in months]
    totals = {"assets": "total_assets", "liabilities": "total_liabilities", "equity": "equity_accounts"}
    for subreport, total in totals.items():
        rows = naive_rows(case, BALANCE, subreport)
        assert rows
        assert_rows(only(report[subreport], rows), rows, months)
        assert_rows(only(report[subreport], rows), statement_rows(case, statement, BALANCE, subreport), months)
        assert report[subreport][""] == [sheet[total] for sheet in sheets]
    earnings = [sheet["earnings_of_earlier_periods"] + sheet["earnings_of_the_period"] for sheet in sheets]
    assert report["net"][""] == earnings
    keys = ("earnings_of_earlier_periods", "earnings_of_the_period")
    parts = [row_units(statement, key) for key in keys]
    assert report["net"][""] == [sum(both) for both in zip(*parts, strict=True)]
    assert report["assets"][""] == row_units(statement, "total_assets")
    assert report["liabilities"][""] == row_units(statement, "total_liabilities")


def test_cash_flow_is_that_of_hledger(case):
    cash = [f"acct:{anchored(case.paths[one.id])}" for one in case.naive.ledgers.values() if one.is_cash]
    months = case.months()
    rows = naive_rows(case, CASH, "")
    statement = case.statement(CASH, compare=["total"])
    related = only(case.report("balance", "--related", "--invert", *cash)[""], rows)
    assert_rows(related, with_openings(case, rows), months)
    assert_rows(related, with_openings(case, statement_rows(case, statement, CASH, "")), months)
    found = [case.naive.cash(days) for days in months]
    for keys, options in (((END,), ["--historical"]), ((OPENING, "net_cash_flow"), [])):
        balances = case.report("balance", *options, *cash)[""][""]
        assert balances == [sum(one[key] for key in keys) for one in found]
        assert balances == sum_of_rows(statement, keys)


def test_opened_journal_has_the_statements_of_hledger(case):
    months = case.months()
    cash = {one.id for one in case.naive.ledgers.values() if one.is_cash}
    books = aa.open_journal(
        case.journal,
        (months[0].first, months[-1].last),
        time_zone=case.naive.zone,
        cash=[f"*{case.paths[one]}" for one in cash],
        commodity=case.commodity,
    )
    assert len(books.tree.cash) == len(cash)
    income, balance = aa.income_statement(books, columns="month"), aa.balance_sheet(books, columns="month")
    is_, bs = case.report("incomestatement"), case.report("balancesheetequity")
    assert row_units(income, "net_income") == is_["net"][""]
    assert row_units(balance, "total_assets") == bs["assets"][""]
    assert row_units(balance, "total_liabilities") == bs["liabilities"][""]
    names = {books.names.path(one): one for one in books.ledgers["id"]}
    leaves = [one for one in names if not any(other.startswith(f"{one}:") for other in names)]
    expected = {account: row for report in (is_, bs) for rows in report.values() for account, row in rows.items()}
    compared = 0
    for statement in (income, balance):
        for leaf in leaves:
            key = row_key(statement, names[leaf])
            accounts = [one for one in expected if one and f":{leaf}".endswith(f":{one}")]
            if key is not None and accounts:
                assert row_units(statement, key) == expected[max(accounts, key=len)], leaf
                compared += 1
    assert compared > 5
    patterns = [f"acct:{anchored(case.paths[one])}" for one in cash]
    flows = aa.cash_flow_statement(books, columns="month")
    for keys, options in (((END,), ["--historical"]), ((OPENING, "net_cash_flow"), [])):
        assert sum_of_rows(flows, keys) == case.report("balance", *options, *patterns)[""][""]
