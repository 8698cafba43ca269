"""Suggestions and likely transfers fill what rules and decisions leave."""

import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.recategorization.suggestions import SUGGESTED


@pytest.fixture
def queue(builders):
    """Return a queue of four payments and a likely transfer."""
    return builders.queue(
        ("bank", "-4.50", "COFFEE"),
        ("bank", "-120.00", "HOSTING"),
        ("card", "-50.00", "PARTS"),
        ("card", "-9.00", "BOOKS"),
        ("bank", "-700.00", "CARD PAYMENT"),
        ("card", "700.00", "THANK YOU"),
    )


@pytest.fixture
def rules(read_rules):
    """Return one rule."""
    return read_rules("[[rule]]\nname = 'coffee'\ncontains = 'COFFEE'\ncategory = 'Meals'\n")


@pytest.fixture
def suggestions(build, queue):
    """Return suggestions for the first three payments, as `suggest` returns them."""
    categories = dict.fromkeys(["txn-0-0", "txn-1-0", "txn-2-0"], "expenses")
    reason = "2 of 2 past transactions"
    return build.proposals(queue, categories, SUGGESTED, confidence=[0.99, 0.98, 0.97], reason=reason)


def by_text(proposals):
    columns = (proposals[name] for name in ("description", "rule", "updated_category_ledger_id"))
    return {text: (rule, category) for text, rule, category in zip(*columns, strict=True)}


def test_suggestions_fill_what_is_left(queue, rules, suggestions, builders):
    hosting = queue.loc[queue["description"] == "HOSTING", "transaction_id"].iloc[0]
    proposals = aa.propose(
        queue, rules, books_of(builders.ledgers), decisions={hosting: "sales"}, suggestions=suggestions
    )
    assert by_text(proposals) == {
        "HOSTING": ("decided by hand", "sales"),
        "PARTS": (SUGGESTED, "expenses"),
        "COFFEE": ("coffee", "meals"),
    }
    rows = proposals.set_index("description")
    assert rows["confidence"].notna().to_dict() == {"HOSTING": False, "PARTS": True, "COFFEE": False}
    assert rows.loc["PARTS", "confidence"] == suggestions.set_index("description").loc["PARTS", "confidence"]
    assert rows.loc["PARTS", "reason"] == "2 of 2 past transactions"
    assert "1 proposal is a suggestion: check before applying." in aa.notes(proposals)


def test_suggestions_for_another_queue_are_counted(queue, suggestions, builders):
    shorter = queue[queue["description"] != "PARTS"]
    proposals = aa.propose(shorter, None, books_of(builders.ledgers), suggestions=suggestions)
    assert len(proposals) == 2
    assert "1 suggestion for transactions that are not in the queue: txn-2-0." in aa.notes(proposals)


def test_a_suggestion_that_cannot_be_a_category_is_refused(queue, suggestions, builders):
    edited = suggestions.assign(updated_category_ledger_id="bank", updated_category_ledger_name=None)
    with pytest.raises(InputError, match="reports cash flow"):
        aa.propose(queue, None, books_of(builders.ledgers), suggestions=edited)


def test_transfers_are_proposed_apart(queue, rules, builders):
    assert set(by_text(aa.propose(queue, rules, books_of(builders.ledgers)))) == {"COFFEE"}
    proposals = aa.propose(queue, rules, books_of(builders.ledgers), transfers=True)
    assert by_text(proposals) == {
        "CARD PAYMENT": ("likely transfer", "transfers"),
        "THANK YOU": ("likely transfer", "transfers"),
        "COFFEE": ("coffee", "meals"),
    }
    reasons = proposals.set_index("description")["reason"]
    assert reasons["CARD PAYMENT"] == "equal and opposite amount on Card within 7 days"
    assert proposals["confidence"].isna().all()
    assert (
        "2 likely transfers between own accounts, of 700.00 in all; they are proposed for "
        "'Transfers', apart from rules and suggestions." in aa.notes(proposals)
    )


def test_transfers_without_their_ledger_are_noted(queue, rules, builders):
    ledgers = builders.ledgers[builders.ledgers["id"] != "transfers"]
    proposals = aa.propose(queue, rules, books_of(ledgers), transfers=True)
    assert len(proposals) == 1
    assert any("is not among these ledgers, so none is proposed" in note for note in aa.notes(proposals))
