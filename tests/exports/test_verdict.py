"""How a report agrees with its line entries: month by month as for the whole period, in memory that does not grow."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import accounting_analytics as aa
from accounting_analytics.exports.books import ExportedBooks, describe_agreement
from accounting_analytics.exports.star_schema.build import StarSchema
from accounting_analytics.exports.star_schema.query_database import StarDatabase
from accounting_analytics.schemas import Ledgers, LineEntries

WHOLE = 10**9
"""Least lines of a batch, so that there is one."""


@pytest.fixture(scope="module")
def books(frames):
    """Return the books of the demo's first quarter."""
    return ExportedBooks.from_frames(**frames)


def changed_cell(table, row, column, change):
    """Return the table with another value in one cell."""
    values = table[column].tolist()
    values[row] = change(values[row])
    return table.assign(**{column: pd.Series(values, dtype=table[column].dtype, index=table.index)})


def with_line(row, column, change):
    """Return a function that changes one cell of the lines of a report."""
    return lambda report: replace(report, lines=changed_cell(report.lines, row, column, change))


def line_of_another_year(report):
    """Return a line like one of the report, outside its period."""
    line = report.lines.iloc[[7]]
    return line.assign(line_id="other", datetime=line["datetime"] + pd.Timedelta(days=365))


CHANGES = {
    "nothing": (lambda report: report, "Reported and recomputed cash flow agree to the last digit."),
    "order of lines": (
        lambda report: replace(report, lines=report.lines.iloc[::-1].reset_index(drop=True)),
        "Reported and recomputed cash flow agree to the last digit.",
    ),
    "name of the account": (
        with_line(7, "cash_flow_ledger_name", lambda _: "Elsewhere"),
        "Reported and recomputed cash flow agree to the last digit.",
    ),
    "time within a second": (
        with_line(7, "datetime", lambda instant: instant + pd.Timedelta(milliseconds=1)),
        "Reported and recomputed cash flow agree to the last digit.",
    ),
    "amount of a line": (with_line(7, "amount", lambda amount: amount + 1), "1 difference"),
    "ledger of a line": (with_line(7, "ledger_id", lambda _: "other"), "2 differences"),
    "month of a line": (with_line(7, "datetime", lambda instant: instant + pd.Timedelta(days=31)), "1 difference"),
    "year of a line": (with_line(7, "datetime", lambda instant: instant + pd.Timedelta(days=365)), "1 difference"),
    "line of another year added": (
        lambda report: replace(
            report, lines=pd.concat([report.lines, line_of_another_year(report)], ignore_index=True)
        ),
        "1 difference",
    ),
    "line left out": (lambda report: replace(report, lines=report.lines.drop(index=7)), "1 difference"),
    "all lines left out": (
        lambda report: replace(report, lines=report.lines.head(0)),
        "The figures compared agree to the last digit; lines not compared",
    ),
    "net cash flow": (
        lambda report: replace(report, ledgers=changed_cell(report.ledgers, 3, "net_cash_flow", lambda one: one + 1)),
        "2 differences",
    ),
    "balance": (
        lambda report: replace(
            report, ending_balances=changed_cell(report.ending_balances, 0, "cash_balance", lambda one: one + 1)
        ),
        "1 difference",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_months_at_a_time_give_the_same_verdict_as_the_whole_period(change, books):
    """Whatever differs, and wherever, the verdict is that of the comparison of the whole period."""
    make, expected = CHANGES[change]
    changed = books._replace(report=make(books.report))
    verdict, is_proven = describe_agreement(changed, least_lines=1)
    assert verdict.startswith(expected)
    assert (verdict, is_proven) == describe_agreement(changed, least_lines=WHOLE)
    assert is_proven == ("difference" not in verdict)
    reconciled = aa.reconcile(changed.report, recomputed(changed)).verdict
    assert verdict.casefold() == f"{reconciled}.".casefold()


def recomputed(books):
    """Return the report recomputed from all lines."""
    period, balances = books.period, books.report.starting_balances
    days = (period.start_date, period.end_date)
    return aa.recompute_cash_flow(
        books.lines, books.ledgers, *days, time_zone=period.time_zone, starting_balances=balances
    )


def monthly_books(months):
    """Return books of so many months of 6,000 lines."""
    ends = pd.date_range("2024-01-01", periods=months + 1, freq="MS", tz="UTC")
    entries = 3000 * months
    number = np.arange(2 * entries) // 2
    is_cash = np.arange(2 * entries) % 2 == 0
    entry_ids = pd.Series(number).map("entry-{:032d}".format)
    side = np.where(is_cash, "credit", "debit")
    amounts = (1 + number % 9973) / 100
    columns = {
        "id": entry_ids + side,
        "ledger_id": np.where(is_cash, "bank", "food"),
        "ledger_name": np.where(is_cash, "Bank", "Food"),
        "journal_entry_id": entry_ids,
        "journal_entry_description": entry_ids,
        "datetime": ends[0] + (ends[-1] - ends[0]) * (number / entries),
        "amount": amounts,
        "debit_credit": side,
        "signed_amount": np.where(is_cash, -amounts, amounts),
        "description": entry_ids,
        "transaction_id": entry_ids,
        **dict.fromkeys(("related_line_entry_id", "editable", "tag_ids")),
    }
    dtypes = LineEntries.dtypes(2)
    lines = pd.DataFrame(columns).astype({name: dtypes[name] for name in columns})
    chart = {
        "id": ["bank", "food"], "name": ["Bank", "Food"], "report_cash_flow": [True, False], "sort_code": ["1", "2"],
    }  # fmt: skip
    absent = {name: [None, None] for name in Ledgers.dtypes() if name not in {*chart, "found_by", "parent_known"}}
    ledgers = Ledgers.from_columns({**absent, **chart})
    report = aa.recompute_cash_flow(lines, ledgers, ends[0].date(), (ends[-1] - pd.Timedelta(days=1)).date())
    return ExportedBooks.from_frames(lines, ledgers, replace(report, origin="loaded"))


def most_memory(work, *arguments):
    """Return the most bytes that Arrow tables needed at one time while the work was done."""
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counted)
    try:
        work(*arguments)
    finally:
        pa.set_memory_pool(usual)
    return counted.max_memory()


def build_facts(star, least_lines):
    """Build the facts of all months, and keep none."""
    for _ in star.facts_by_month(least_lines):
        pass


def test_memory_does_not_grow_with_the_months():
    """Month by month, verdict and facts of six months need little more memory than those of two."""
    few, many = monthly_books(2), monthly_books(6)
    stars = [StarSchema.from_books(books, books.same_proofs("agrees")) for books in (few, many)]
    for work, smaller, larger in ((describe_agreement, few, many), (build_facts, *stars)):
        month = most_memory(work, smaller, 1)
        assert most_memory(work, larger, 1) < 1.2 * month
    assert most_memory(describe_agreement, many, WHOLE) > 1.5 * most_memory(describe_agreement, few, 1)


def test_facts_are_made_of_one_month_at_a_time(monkeypatch):
    """No query has lines of several months, so that the memory of DuckDB does not grow with them either."""
    books, given = monthly_books(6), []
    star = StarSchema.from_books(books, books.same_proofs("agrees"))
    add = StarDatabase.add

    def counted(database, **tables):
        given.extend(len(rows) for name, rows in tables.items() if name in {"line", "report_line", "cash_movement"})
        add(database, **tables)

    monkeypatch.setattr(StarDatabase, "add", counted)
    build_facts(star, 1)
    assert max(given) < 6300
    build_facts(star, WHOLE)
    assert max(given) == 36000
