"""Amounts and books at the limits: 18 digits, scales from 0 to 10, no cash, filtered and partial reports."""

import dataclasses
from decimal import Decimal

import pandas as pd
import pytest
from long_cases import also_long
from planted_books import Line, line_frame

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.exports import verify_export
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.exports.star_schema.build import build_star_schema, connect

DAYS = ("2025-01-01", "2025-01-31")
NAMES = ("bank", "sales")


def make_lines(amounts, scale):
    """Return an entry for each amount: into the bank account, from sales."""
    return line_frame(
        [
            Line(
                f"le_{number}_{name}",
                name,
                f"je_{number}",
                pd.Timestamp(f"2025-01-{number + 2:02}T12:00Z"),
                signed,
                None,
            )
            for number, amount in enumerate(amounts)
            for name, signed in zip(NAMES, (amount, amount.copy_negate()), strict=True)
        ],
        scale,
        exact=True,
    )


def make_books(amounts, scale=2, *, cash=("bank",)):
    """Return the books of a bank account and sales."""
    columns = {name: [None, None] for name in Ledgers.dtypes() if name not in ("found_by", "parent_known")}
    columns |= {"id": list(NAMES), "name": ["Bank", "Sales"], "sort_code": ["1", "2"]}
    columns |= {"debit_credit": ["debit", "credit"], "report_cash_flow": [name in cash for name in NAMES]}
    return aa.Books(make_lines(amounts, scale), Ledgers.from_columns(columns), DAYS, time_zone="UTC")


def loaded_report(books, **changes):
    """Return the report of books as if the service had made it."""
    return dataclasses.replace(aa.recompute_cash_flow(books), origin="loaded", **changes)


@pytest.mark.parametrize("scale", [10, *also_long(0, 2)])
def test_amounts_of_18_digits_are_exact_at_every_scale(tmp_path, scale):
    largest = Decimal(10**18 - 1).scaleb(-scale)
    unit = Decimal(1).scaleb(-scale)
    manifest = aa.export(make_books([largest - unit, unit], scale), tmp_path / "out")
    assert manifest.scale == scale
    sums = {file.table: file.sums for file in manifest.files}
    assert Decimal(sums["fact_line_entry"]["amount"]) == 2 * largest
    assert Decimal(sums["fact_cash_flow_line"]["amount"]) == largest
    assert verify_export(tmp_path / "out").verified


def test_amounts_and_balances_of_19_digits_are_refused(tmp_path):
    books = make_books([Decimal("9999999999999999.99"), Decimal("0.01")])
    with pytest.raises(FrameError, match=r"28 values of opening_balance with more than 18 digits.*bank, 2025-01-04"):
        aa.export(books, tmp_path / "out")
    with pytest.raises(FrameError, match=r"fact_line_entry: 2 values of amount with more than 18 .*le_0_bank"):
        aa.export(make_books([Decimal("10000000000000000.00")]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_zero_has_no_sign(tmp_path):
    manifest = aa.export(make_books([Decimal("0.00")]), tmp_path / "out")
    assert {text for file in manifest.files for text in file.sums.values()} <= {"0.00", "0"}
    assert verify_export(tmp_path / "out").verified


def test_books_without_cash_have_lines_but_no_flows(tmp_path):
    manifest = aa.export(make_books([Decimal("1.50")], cash=()), tmp_path / "out")
    facts = {name: rows for name, rows in manifest.tables.items() if name.startswith("fact_")}
    assert facts.pop("fact_line_entry") == 2
    assert set(facts.values()) == {0}
    assert verify_export(tmp_path / "out").verified


def test_reports_of_some_tags_are_refused(tmp_path):
    """Lines of some tags do not belong to its balances."""
    books = make_books([Decimal("1.50")])
    report = loaded_report(books, tag_ids=("tag_1",))
    with pytest.raises(InputError, match=r"only lines with the tags tag_1.*load it without tag_ids"):
        aa.export(books.with_reports([report]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_books_without_a_report_are_not_compared(tmp_path):
    """The report is recomputed, so nothing is proven, and the manifest and every month say so."""
    manifest = aa.export(make_books([Decimal("1.50")]), tmp_path / "out")
    assert (manifest.verdict, manifest.partial) == (
        "Not compared: the books have no report of the service of these days.",
        False,
    )
    assert manifest.tables["fact_cash_flow_line"] == 1


def test_partial_reports_are_stated(tmp_path):
    books = make_books([Decimal("1.50")])
    report = loaded_report(books, partial=True)
    assert aa.export(books.with_reports([report]), tmp_path / "out").partial


def test_anchored_balances_continue_from_given_ones():
    books = make_books([Decimal("1.50")]).with_opening((DAYS[0], {"bank": Decimal("100.00")}))
    exported = ExportedBooks.from_books(books, books.period)
    assert exported.report.anchored
    with connect() as database:
        build_star_schema(database, exported)
        balances = database.execute("select min(closing_balance), max(closing_balance) from fact_daily_balance")
        assert balances.fetchall() == [(Decimal("100.00"), Decimal("101.50"))]


def test_loads_of_fewer_days_are_stated(quarter, tmp_path):
    manifest = aa.export(quarter, tmp_path / "out", ("2025-01-01", "2025-04-30"))
    assert manifest.partial
    assert any("which does not include all of" in note for note in manifest.notes)
