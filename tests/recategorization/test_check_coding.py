"""What should be looked at before a month is closed: each kind of finding, what is right, and the way to a plan."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError, InputError

EXPENSE = {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "report_cash_flow": False}
LEDGERS = {
    "bank": "bank_account",
    "card": "credit_card",
    "costs": EXPENSE,
    "software": EXPENSE | {"parent_id": "costs"},
    "advertising": EXPENSE | {"parent_id": "costs"},
    "sales": "revenue operating_revenues credit",
}
MAY = ("2026-05-01", "2026-05-31")


def paid(day, counterparty, amount, category="software", account="bank"):
    """Return an entry of a payment, or of a receipt where the amount is positive."""
    return (day, {account: Part(amount, description=counterparty), category: -Decimal(str(amount))}, counterparty)


def monthly(count, *, counterparty="ZOOM", amount="-15.00", category="software", last="2026-04-10"):
    """Return payments of consecutive months up to a day."""
    days = pd.date_range(end=last, periods=count, freq=pd.DateOffset(months=1))
    return [paid(str(day.date()), counterparty, amount, category) for day in days]


@pytest.fixture
def checked(posted_books):
    """Return a function that posts entries, and checks May 2026; the client is its attribute."""

    def check(*entries, period=MAY, **options):
        check.client = posted_books(list(entries), LEDGERS)
        check.books = aa.load_books(check.client, MAY, progress=False)
        return aa.check_coding(check.books, period, **options)

    return check


def listed(check, *columns):
    return list(check.frame[list(columns)].itertuples(index=False, name=None))


def test_a_category_that_the_past_does_not_have_is_found(checked):
    check = checked(*monthly(14), paid("2026-05-10", "ZOOM", "-16.00", "advertising"))
    assert listed(check, "kind", "counterparty", "category_ledger_name", "expected_category_ledger_name", "why") == [
        ("category", "ZOOM", "Advertising", "Software", "Software in 14 of its last 14")
    ]
    (key,) = check.frame["key"]
    assert check[key].exact() == Decimal("-16.00")
    assert check[key].entries["ledger_name"].tolist() == ["Bank"]
    assert check.frame["confidence"].tolist() == [pytest.approx(9 / 10)]
    (sentence,) = check.sentences()
    why = "another category than before, Software in 14 of its last 14; such pasts held in 90.0%"
    assert sentence == f"10 May 2026 ZOOM -16.00, Advertising: {why}"
    assert check.notes[0].startswith("10 transactions of these books had a clear past, and 9 of them its category")
    assert check.summary() == "1 finding in May 2026 (UTC): 1 another category than before."


@pytest.mark.parametrize(
    "past",
    [
        monthly(4),
        [*monthly(8), *monthly(8, category="advertising")],
        [*monthly(12), paid("2026-04-20", "ZOOM", "-15.00", "advertising"), *monthly(3, last="2026-04-28")],
        monthly(14, counterparty="OTHER"),
    ],
    ids=["short", "of both", "had it before", "of another"],
)
def test_nothing_is_said_where_the_past_is_not_clear(checked, past):
    check = checked(*past, paid("2026-05-10", "ZOOM", "-16.00", "advertising"))
    assert not check.frame["kind"].eq("category").any()


@pytest.mark.parametrize(("days", "is_found"), [(0, True), (3, True), (4, False)])
def test_the_same_payment_twice_is_found(checked, days, is_found):
    second = str(dt.date(2026, 5, 10 + days))
    check = checked(*monthly(5), paid("2026-05-10", "SHOP", "-40.00"), paid(second, "SHOP", "-40.00"))
    assert [one for one in listed(check, "kind", "counterparty") if one[0] == "twice"] == [("twice", "SHOP")] * is_found
    if is_found:
        assert len(check.frame["line_entry_ids"].iloc[0].split("|")) == 2
        assert check.proposals.empty


def test_a_habit_is_not_the_same_payment_twice(checked):
    days = [str(day.date()) for day in pd.date_range("2026-02-02", "2026-05-08", freq="B")]
    coffees = [paid(day, "CAFE", "-4.00") for day in days for _ in range(2)]
    receipts = [paid(day, "STRIPE", "25.00", "sales") for day in days]
    others = [paid("2026-05-10", "SHOP", "-40.00"), paid("2026-05-10", "SHOP", "-40.01")]
    others += [paid("2026-05-12", "DESK", "-9.00"), paid("2026-05-12", "DESK", "-9.00", account="card")]
    assert checked(*coffees, *receipts, *others).frame.empty


def test_amount_above_three_times_the_largest_is_found(checked):
    check = checked(*monthly(10), paid("2026-05-10", "ZOOM", "-45.01"), *monthly(9, counterparty="X"))
    assert listed(check, "kind", "why") == [("amount", "at most 15.00 in 10 before")]
    assert checked(*monthly(10), paid("2026-05-10", "ZOOM", "-45.00")).frame.empty
    assert checked(*monthly(9), paid("2026-05-10", "ZOOM", "-450.00")).frame.empty


def test_lines_on_parents_and_without_text_are_found_together(checked):
    check = checked(
        paid("2026-05-02", "A", "-5.00", "costs"), paid("2026-05-03", "B", "-6.00", "costs"),
        paid("2026-05-04", "", "-7.00"), paid("2026-04-04", "", "-8.00"),
    )  # fmt: skip
    assert listed(check, "kind", "why", "amount") == [
        ("parent", "2 lines; below it are Software", 11.0),
        ("text", "1 transaction without a text", -7.0),
    ]
    for key, amount in zip(check.frame["key"], ("11.00", "-7.00"), strict=True):
        assert check[key].exact() == Decimal(amount)
        assert check[key].entries["figure_amount"].sum() == float(amount)


def test_days_before_and_after_are_not_listed(checked):
    mistakes = [paid(day, "ZOOM", "-15.00", "advertising") for day in ("2026-04-20", "2026-06-01")]
    assert checked(*monthly(10), *mistakes).frame.empty
    assert len(checked(*monthly(10), *mistakes, period=("2026-04-01", "2026-04-30")).frame) == 1


def test_from_a_finding_to_a_plan_and_back(checked, tmp_path):
    mistakes = [
        paid(f"2026-05-{day}", counterparty, "-15.00", "advertising")
        for day, counterparty in ((10, "ZOOM"), (20, "SLACK"))
    ]
    check = checked(*monthly(14), *monthly(14, counterparty="SLACK"), *mistakes)
    review = aa.review(checked.books, check)
    assert review.summary() == "Review: 0 of 2 transactions decided, 0.00 of 30.00 (0 %)"
    first, second = check.queue.sort_values("local_date")["transaction_id"]
    review.accept([first])
    review.assign([second], "Advertising")
    plan = review.plan(instance_id=checked.client.instance_id)
    assert [one.transaction_id for one in plan.items] == [first]
    aa.apply_plan(checked.client, plan, confirm=True, journal=tmp_path / "run.journal")
    again = aa.check_coding(checked.books.refresh(checked.client))
    assert again.frame["transaction_id"].tolist() == [second]
    review.save(tmp_path / "decisions.csv")
    right = aa.check_coding(checked.books, decisions=tmp_path / "decisions.csv")
    assert right.frame["transaction_id"].tolist() == [first]
    assert "1 finding not listed, because decisions say that the category is right." in right.notes
    undo = aa.undo_plan(checked.client, tmp_path / "run.journal")
    aa.apply_plan(checked.client, undo, confirm=True, journal=tmp_path / "undo.journal")
    assert len(aa.check_coding(checked.books.refresh(checked.client)).frame) == 2


def test_days_not_loaded_and_unknown_keys_are_refused(checked):
    check = checked(*monthly(3))
    assert check.summary() == "Nothing to look at was found in May 2026 (UTC)."
    with pytest.raises(InputError, match="'category:x' is not a finding"):
        check["category:x"]
    books = aa.load_books(checked.client, MAY, since="2026-05-01", progress=False)
    with pytest.raises(IncompleteLoadError, match="the coding of Apr 2026"):
        aa.check_coding(books, ("2026-04-01", "2026-04-30"))
