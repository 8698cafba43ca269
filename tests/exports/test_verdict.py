"""How a report agrees with its line entries."""

from dataclasses import replace

import pandas as pd
import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.exports.exported_books import ExportedBooks
from accounting_analytics.exports.star_schema import build_star_schema, connect


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


LONG = ("order of lines", "month of a line", "line of another year added")


@pytest.mark.parametrize("change", [*sorted(CHANGES.keys() - {*LONG}), *also_long(*LONG)])
def test_the_verdict_is_that_of_the_reconciliation(change, books):
    """Whatever differs, and wherever, is counted."""
    make, expected = CHANGES[change]
    changed = books._replace(report=make(books.report))
    with connect() as database:
        build_star_schema(database, changed)
        stated = "select distinct verdict, proven_at_utc is not null from dim_load"
        ((verdict, is_proven),) = database.execute(stated).fetchall()
    assert verdict.startswith(expected)
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
