"""Statements of supplied balances, of reports that do not tie, and of books with unusual ids."""

from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError

CENTS = {"Operating Account": Decimal(100), "Owner Capital": Decimal(-100)}


def test_a_trial_balance_rolls_supplied_balances_to_days_that_are_not_known(books):
    """A column after the load is not known, as a figure and on the page."""
    lines, ledgers, _ = books
    statement = aa.trial_balance(lines, ledgers, "2026-05-01", "2026-06-30", starting_balances=CENTS)
    assert statement["Operating Account", "2026-06 debit"].exact() is None
    assert "not known" in statement._repr_html_()


def test_supplied_balances_of_other_ledgers_are_refused_and_absent_ones_noted(books):
    """A balance is never lost, and one that was not supplied is said to be taken as zero."""
    lines, ledgers, report = books
    others = report.starting_balances.assign(ledger_id=lambda frame: frame["ledger_id"] + "_old")
    with pytest.raises(FrameError, match="not in ledgers: led_card_old"):
        aa.cash_flow_statement(lines, ledgers, "2026-05-01", "2026-05-31", starting_balances=others)
    statement = aa.cash_flow_statement(lines, ledgers, "2026-05-01", "2026-05-31", starting_balances=CENTS)
    assert any("start at zero: led_card, led_processor, led_savings" in note for note in statement.notes)


def test_a_report_that_does_not_tie_keeps_its_ending_balance(books):
    """The balance at the end is the reported one, and what the flows do not explain is noted."""
    _, ledgers, report = books
    balances = report.ending_balances.copy()
    balances.loc[balances["ledger_id"] == "led_operating", ["cash_balance", "total_cash_balance"]] += 7
    balances[["cash_balance", "total_cash_balance"]] = balances[["cash_balance", "total_cash_balance"]].round(2)
    exact = report.exact_sums().ending_cash_balance + 7
    reported = replace(report, ending_balances=balances, ending_cash_balance=exact)
    statement = aa.cash_flow_statement(reported, ledgers)
    assert statement["Cash at the end"].exact() == exact
    assert not statement["Cash at the end"].is_additive
    assert "The flows do not explain 7.00 of the change in cash." in statement.notes


def test_a_report_of_other_cash_ledgers_is_refused(books):
    """Amounts that would be in no row are not dropped."""
    _, ledgers, report = books
    chart = ledgers.assign(report_cash_flow=ledgers["report_cash_flow"] & (ledgers["id"] != "led_savings"))
    with pytest.raises(InputError, match="disagree about what is cash: led_savings"):
        aa.cash_flow_statement(report, chart)


def test_a_share_is_of_the_total_and_not_of_a_ledger_with_its_key(books):
    """The id of a ledger may be the key of a total."""
    lines, ledgers, _ = books
    renamed = [frame.replace({"led_deposits": "total_assets"}) for frame in (lines, ledgers)]
    renamed[0].attrs = {}
    statement = aa.balance_sheet(*renamed, "2026-01-01", "2026-01-31", books_start="2025-01-01", compare="share")
    assert statement["led_operating", "2026-01 share"].terms[1].label == "Total assets, 31 Jan 2026"


def test_statements_of_other_amounts_are_not_equal(books):
    """Statements with the same rows and columns are not the same."""
    lines, ledgers, _ = books
    doubled = lines.assign(amount=lines["amount"] * 2, signed_amount=lines["signed_amount"] * 2)
    one, other = (aa.income_statement(frame, ledgers, "2026-05-01", "2026-05-31") for frame in (lines, doubled))
    assert one == one  # noqa: PLR0124 (a statement is itself)
    assert one != other


def test_books_that_begin_before_the_stated_day_are_refused(books):
    """A balance without the entries before the stated day is another number; lines or ledgers show that there are."""
    lines, ledgers, _ = books
    given = pd.DataFrame(ledgers)
    given.attrs = {}
    for chart in (ledgers, given):
        with pytest.raises(InputError, match="books_start is 2025-06-01, but there are entries before that day"):
            aa.balance_sheet(lines, chart, "2026-05-01", "2026-05-31", books_start="2025-06-01")


def test_a_statement_of_tagged_lines_says_so(books):
    """Amounts of some lines do not pass for those of all."""
    lines, ledgers, report = books
    frame = lines.copy()
    frame.attrs = lines.attrs | {"load": lines.attrs["load"] | {"filters": {"is_cashflow": True, "tag_ids": ["blue"]}}}
    for source in (frame, replace(report, tag_ids=("blue",))):
        assert "Only lines with all these tags are counted: blue." in aa.cash_flow_statement(source, ledgers).notes
