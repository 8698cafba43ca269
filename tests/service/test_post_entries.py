"""Posting of journal entries: balanced, exact, all of them or none."""

import datetime as dt
from decimal import Decimal

import pytest

from accounting_analytics.core.errors import InputError, OperationRefusedError, PostingRefusedError
from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, NewTransaction
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import post_entries

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


def entry(*lines, when=NOON, **fields):
    """Return a new entry at noon."""
    return NewJournalEntry(when, "entry", tuple(lines), **fields)


@pytest.fixture
def ledgers(books):
    """Return a bank and a category."""
    return books.bank(), books.category()


def test_a_bad_entry_is_refused_and_nothing_is_posted(books, ledgers):
    bank, rent = ledgers
    good = entry(NewLine(bank, 500), NewLine(rent, -500))
    for first, second, fields, message in (
        ({"units": 100}, {"units": -101}, {}, "debits 1.00 do not equal credits 1.01"),
        ({"ledger_id": "nowhere"}, {}, {}, "no ledger 'nowhere'"),
        ({"units": 0}, None, {}, "at least 2 lines"),
        ({}, {}, {"when": NOON.replace(tzinfo=None)}, "no time zone"),
        ({}, {}, {"when": dt.datetime.max.replace(tzinfo=dt.UTC)}, "end of the calendar"),
        ({"transaction": NewTransaction(review_status="seen")}, {}, {}, "unknown status"),
        ({"id": "a/b"}, {}, {}, "line id 'a/b' cannot be used"),
        ({"id": "x"}, {"id": "x"}, {}, "line id 'x' is used twice"),
        ({"description": "a\0b"}, {}, {}, "NUL"),
        ({"tags": (NewTag("", "x"),)}, {}, {}, "need a name"),
    ):
        lines = [NewLine(**{"ledger_id": bank, "units": 100} | first)]
        lines += [] if second is None else [NewLine(**{"ledger_id": rent, "units": -100} | second)]
        with pytest.raises(PostingRefusedError, match="nothing was posted") as refused:
            post_entries(books.store, books.instance_id, [good, entry(*lines, **fields)])
        assert message in str(refused.value)
        assert refused.value.entry_index == 1
    assert books.lines(bank)["records"] == []


def test_ids_already_in_the_books_are_refused(books, ledgers):
    bank, rent = ledgers

    def with_ids(entry_id, line_id, transaction_id):
        transaction = NewTransaction(id=transaction_id)
        lines = (
            NewLine(bank, 100, transaction=transaction, id=line_id),
            NewLine(rent, -100),
        )
        return entry(*lines, id=entry_id)

    assert post_entries(books.store, books.instance_id, [with_ids("E", "L", "T")]) == ["E"]
    for ids, message in [(("E", "b", "c"), "entry id 'E'"), (("a", "L", "c"), "line id 'L'"), (("a", "b", "T"), "'T'")]:
        with pytest.raises(PostingRefusedError, match=message):
            post_entries(books.store, books.instance_id, [with_ids(*ids)])
    assert len(books.lines(bank)["records"]) == 1


def test_an_error_of_the_caller_in_the_middle_posts_nothing(books, ledgers):
    bank, rent = ledgers

    def entries():
        for _ in range(1500):
            yield entry(NewLine(bank, 100), NewLine(rent, -100))
        raise KeyError

    with pytest.raises(KeyError):
        post_entries(books.store, books.instance_id, entries())
    assert books.lines(bank)["records"] == []


def test_every_line_of_a_financial_account_has_a_transaction(books, ledgers):
    bank, _ = ledgers
    card = books.bank("Card", financial_account_type="credit_card")
    line = NewLine(card, -200, description="coffee")
    post_entries(books.store, books.instance_id, [entry(NewLine(bank, 200), line)])
    (shown,) = books.lines(card, expand="transaction")["records"]
    assert shown["transaction"]["description"] == "coffee"
    assert (shown["transaction"]["posted_status"], shown["transaction"]["review_status"]) == ("posted", "unreviewed")
    assert shown["transaction"]["id"] == shown["transaction_id"]


def test_tags_are_the_same_by_name(books, ledgers):
    bank, rent = ledgers
    for tags in [(NewTag("class", "north"),), (NewTag("class", "north"), NewTag("city", "north"))]:
        books.post("2025-01-01T00:00:00Z", (bank, 1, *tags), (rent, -1))
    first, second = sorted((line["tags"] for line in books.lines(bank)["records"]), key=len)
    assert first[0] in second
    assert {tag["name"] for tag in second} == {"north"}
    assert len({tag["id"] for tag in second}) == len({tag["tag_group_id"] for tag in second}) == 2


def test_amounts_beyond_64_bits_are_summed_exactly(make_books):
    books = make_books(scale=10)
    bank, rent = books.bank(), books.category()
    amount = "99999999.9999999999"
    for _ in range(12):
        books.post("2025-01-01T00:00:00Z", (bank, amount), (rent, f"-{amount}"))
    report = books.report()
    assert report["ending_cash_balance"] == Decimal(amount) * 12
    assert report["cash_flow_ledgers"][0]["net_cash_flow"] == Decimal(amount) * 12
    assert books.lines(bank)["records"][0]["amount"] == Decimal(amount)


def test_a_ledger_id_may_be_given_once(books):
    assert books.bank(id="checking") == "checking"
    with pytest.raises(InputError, match="already a ledger 'checking'"):
        books.bank(id="checking")


def test_the_same_ids_may_be_used_in_two_instances(make_books):
    for books in (make_books(), make_books()):
        bank = books.bank(id="checking")
        assert (
            books.post("2025-01-01T00:00:00Z", (bank, 1), (books.category(id="rent"), -1), entry_id="first") == "first"
        )
        assert books.report()["ending_cash_balance"] == 1


def test_library_callers_get_the_same_ledger_rules(books):
    with pytest.raises(OperationRefusedError, match="are required when financial_account_type"):
        create_ledger(books.store, books.instance_id, NewLedger(name="x"))
