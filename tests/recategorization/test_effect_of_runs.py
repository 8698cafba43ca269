"""Verifying after a run that the report changed by exactly the predicted amounts."""

from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.schemas import LedgerChanges


@pytest.fixture
def applied(books, plan, tmp_path):
    """Return the report before a run, and the outcomes of the run, all done."""
    before = books.report()
    return before, aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)


def test_report_changed_as_previewed(books, plan, applied):
    """Totals and balances are unchanged; each ledger changed by the predicted amount."""
    before, outcomes = applied
    effect = plan.preview(before)
    preview = LedgerChanges.exact(effect.frame).frame
    checked = effect.check(books.report(), outcomes)
    checked.raise_for_unexpected()
    changes = LedgerChanges.exact(checked.frame).frame
    assert (changes["after"] == changes["predicted"]).all()
    columns = (changes[name] for name in ("ledger_id", "before", "after"))
    moved = {ledger_id: now - was for ledger_id, was, now in zip(*columns, strict=True)}
    assert moved == dict(zip(preview["ledger_id"], preview["change"], strict=True))
    assert moved[books.meals] == Decimal("-39.75")


def test_change_by_another_user_is_detected(books, plan, applied):
    """A change that the plan did not predict is detected."""
    before, outcomes = applied
    books.client.recategorize_transaction(books.bank, "txn_3", updated_category_ledger_id=books.rent)
    with pytest.raises(BooksDoNotTieError, match="did not change as planned"):
        plan.preview(before).check(books.report(), outcomes).raise_for_unexpected()


def test_only_completed_items_are_expected(books, build, plan, tmp_path):
    """Given the outcomes, refused items are expected to be unchanged; without them the check fails."""
    before = books.report()
    transport = build.Faulty(on_put=build.only(2, 422))
    with books.connected(transport) as client:
        outcomes = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert (outcomes["outcome"] == "refused").sum() == 1
    after = books.report()
    plan.preview(before).check(after, outcomes).raise_for_unexpected()
    with pytest.raises(BooksDoNotTieError):
        plan.preview(before).check(after).raise_for_unexpected()


def test_dry_run_changes_nothing(books, plan, tmp_path):
    """After a dry run the report is unchanged, as expected."""
    before = books.report()
    outcomes = aa.apply_plan(books.client, plan, journal=tmp_path / "journal")
    checked = plan.preview(before).check(books.report(), outcomes)
    checked.raise_for_unexpected()
    assert checked.frame["before"].equals(checked.frame["after"])


def test_changed_balance_is_detected(books, build, plan, applied):
    """A posting by another user changes a balance, which recategorizing cannot do, so it is detected."""
    before, outcomes = applied
    books.post(build.purchase(9, "NEW", "1.00", books.bank, books.outflow))
    with pytest.raises(BooksDoNotTieError, match="ending cash balance"):
        plan.preview(before).check(books.report(), outcomes).raise_for_unexpected()


def test_transfer_between_accounts_is_detected(books, build, plan, applied):
    """A transfer changes two balances and no total; it is detected."""
    before, outcomes = applied
    transfer = build.purchase(9, "TRANSFER", "25.00", books.bank, books.savings)
    books.post(transfer)
    after = books.report()
    assert after.ending_cash_balance == before.ending_cash_balance
    with pytest.raises(BooksDoNotTieError, match=r"ending balance of (Bank|Savings)"):
        plan.preview(before).check(after, outcomes).raise_for_unexpected()


def test_reports_and_outcomes_must_belong_together(books, plan, applied):
    """Reports of different periods, and outcomes of another plan, are refused."""
    before, outcomes = applied
    other = aa.load_cash_flow_report(books.client, "2025-03-01", "2025-03-30")
    with pytest.raises(InputError, match="one period"):
        plan.preview(before).check(other).raise_for_unexpected()
    with pytest.raises(InputError, match="belong to another plan"):
        plan.preview(before).check(books.report(), outcomes.head(1)).raise_for_unexpected()
