"""The check after every run: the report moved by exactly what was predicted, and by nothing else."""

from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.recategorization import verify_report_change


@pytest.fixture
def applied(books, plan, tmp_path):
    """Return the report before, and the outcomes of a run that did everything."""
    before = books.report()
    return before, aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)


def test_report_moved_as_previewed(books, plan, applied):
    """Totals and balances stay; each ledger moved by the predicted amount."""
    before, outcomes = applied
    preview = plan.preview(before)
    changed = verify_report_change(plan, before, books.report(), outcomes=outcomes)
    assert (changed["after"] == changed["predicted"]).all()
    columns = (changed[name] for name in ("ledger_id", "before", "after"))
    moved = {ledger_id: now - was for ledger_id, was, now in zip(*columns, strict=True)}
    assert moved == dict(zip(preview["ledger_id"], preview["change"], strict=True))
    assert moved[books.meals] == Decimal("-39.75")


def test_change_of_somebody_else_is_named(books, plan, applied):
    """A change that the plan did not predict is found and named."""
    before, outcomes = applied
    books.client.recategorize_transaction(books.bank, "txn_3", updated_category_ledger_id=books.rent)
    with pytest.raises(BooksDoNotTieError, match="otherwise than planned"):
        verify_report_change(plan, before, books.report(), outcomes=outcomes)


def test_only_what_was_done_is_expected(books, build, plan, tmp_path):
    """With the outcomes given, refused items are not expected to have moved; without them they are missed."""
    before = books.report()
    refuse = build.Faulty(on_put=build.only(2, 422))
    with books.connected(refuse) as client:
        outcomes = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert (outcomes["outcome"] == "refused").sum() == 1
    after = books.report()
    assert len(verify_report_change(plan, before, after, outcomes=outcomes)) > 0
    with pytest.raises(BooksDoNotTieError):
        verify_report_change(plan, before, after)


def test_nothing_done_nothing_changed(books, plan, tmp_path):
    """After a dry run the report is the same, and that is what is expected."""
    before = books.report()
    outcomes = aa.apply_plan(books.client, plan, journal=tmp_path / "journal")
    assert verify_report_change(plan, before, books.report(), outcomes=outcomes).empty


def test_balance_that_moved_is_named(books, build, plan, applied):
    """A posting by somebody else meanwhile moves a balance; recategorizing cannot, so it is named."""
    before, outcomes = applied
    books.post(build.purchase(9, "NEW", "1.00", books.bank, books.outflow))
    with pytest.raises(BooksDoNotTieError, match="ending_cash_balance"):
        verify_report_change(plan, before, books.report(), outcomes=outcomes)


def test_balances_that_moved_against_each_other_are_named(books, build, plan, applied):
    """Totals that stay do not hide two accounts that moved: a transfer meanwhile is found."""
    before, outcomes = applied
    transfer = build.purchase(9, "TRANSFER", "25.00", books.bank, books.savings)
    books.post(transfer)
    after = books.report()
    assert after.ending_cash_balance == before.ending_cash_balance
    with pytest.raises(BooksDoNotTieError, match=r"ending balance of (Bank|Savings)"):
        verify_report_change(plan, before, after, outcomes=outcomes)


def test_reports_and_outcomes_must_belong_together(books, plan, applied):
    """Reports of two periods, and outcomes of another plan, are refused."""
    before, outcomes = applied
    other = aa.load_cash_flow_report(books.client, "2025-03-01", "2025-03-30")
    with pytest.raises(InputError, match="one period"):
        verify_report_change(plan, before, other)
    with pytest.raises(InputError, match="not those of this plan"):
        verify_report_change(plan, before, books.report(), outcomes=outcomes.head(1))
