"""The list of ledgers of an instance, and new names."""

import pytest

from accounting_analytics.core.errors import InputError, PostingRefusedError
from accounting_analytics.service.ledgers import list_ledgers, rename_ledger
from accounting_analytics.service.post_entries import NewTransaction


def test_list_has_paths(books):
    """The list is in display order, has the path of every ledger and marks the required ones."""
    meals = books.category("Meals", id="meals")
    books.category("Lunch", id="lunch", parent_id=meals)
    listed = {ledger.id: ledger for ledger in list_ledgers(books.store, books.instance_id)}
    assert [ledger.id for ledger in books.store.ledgers(books.instance_id)] == list(listed)
    assert (listed["lunch"].name, listed["lunch"].path) == ("Lunch", "Meals:Lunch")
    assert sum(ledger.is_required for ledger in listed.values()) == 4


@pytest.mark.parametrize("written", ["meals", "Costs:Food"])
def test_rename_by_id_name_or_path(books, written):
    """A ledger found by id, name or path gets the new name everywhere, with an audit row."""
    bank, costs = books.bank(), books.category("Costs")
    meals = books.category("Food", id="meals", parent_id=costs)
    books.post("2025-03-01T12:00:00Z", (bank, -5, NewTransaction(id="T")), (meals, 5))
    books.recategorize(bank, "T", costs)
    before = rename_ledger(books.store, books.instance_id, written, "Meals", modified_by="Ada")
    assert before.name == "Food"
    assert {ledger.name for ledger in books.store.ledgers(books.instance_id)} >= {"Meals", "Costs"}
    changed = books.recategorize(bank, "T", meals)
    assert [category["ledger_name"] for category in changed["categories"]] == ["Meals"]
    row = books.audit()[1]
    assert (row.operation, row.modified_by, row.transaction_id) == ("rename_ledger", "Ada", None)
    assert (row.before, row.after) == ({"meals": "Food"}, {"meals": "Meals"})


def test_required_ledgers_may_be_renamed(books):
    """A required ledger keeps its id and stays required under another name."""
    transfers = books.required("transfers_between_accounts")
    rename_ledger(books.store, books.instance_id, "Transfers Between Accounts", "Between our accounts")
    (renamed,) = [one for one in books.store.ledgers(books.instance_id) if one.id == transfers]
    assert (renamed.name, renamed.is_required) == ("Between our accounts", True)


def test_bad_names_are_refused(books):
    """A ledger that is not found, or a name that cannot be used, changes nothing; nor does the name it has."""
    for twin in ("Meals", "Twin", "Twin"):
        books.category(twin)
    before = books.store.ledgers(books.instance_id)
    for ledger, name, error, message in (
        ("Meels", "x", InputError, "did you mean 'Meals'"),
        ("zzz", "x", InputError, "ledgers list"),
        ("Twin", "x", InputError, "several ledgers match 'Twin'"),
        ("Meals", " ", InputError, "needs a name"),
        ("Meals", "a\0b", PostingRefusedError, "NUL"),
    ):
        with pytest.raises(error, match=message):
            rename_ledger(books.store, books.instance_id, ledger, name)
    rename_ledger(books.store, books.instance_id, "Meals", "Meals")
    assert (books.store.ledgers(books.instance_id), books.audit()) == (before, [])
