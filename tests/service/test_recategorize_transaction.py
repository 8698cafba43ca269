"""Recategorizing: what moves, what does not, and what the audit records."""

import pytest

from accounting_analytics.journals.entries import NewTransaction

NOON = "2025-03-01T12:00:00Z"


@pytest.fixture
def world(books):
    """Return books with a bank, three categories, and one transaction split over two of them."""
    books.bank_id = books.bank()
    books.food, books.rent, books.fuel = (books.category(name) for name in ("Food", "Rent", "Fuel"))
    transaction = NewTransaction("split", review_status="reviewed", id="T")
    books.entry = books.post(NOON, (books.bank_id, -10, transaction), (books.food, 6), (books.rent, 3), (books.rent, 1))
    return books


def categories(response):
    return [category["ledger_id"] for category in response["categories"]]


def test_response(world):
    before = world.lines(world.bank_id, expand="transaction,ledger,journal_entry")["records"]
    response = world.recategorize(world.bank_id, "T", world.fuel, world.food)
    (line,) = world.lines(world.bank_id, expand="transaction,ledger,journal_entry")["records"]
    assert [line] == before
    transaction = dict(response["transaction"])
    assert transaction.pop("categorization_method") == "user"
    opposing = transaction.pop("opposing_line_entry_ids")
    assert opposing == [at for at in line["journal_entry"]["line_entry_ids"] if at != line["id"]]
    assert transaction == line["transaction"]
    assert response["ledger"] == line["ledger"]
    assert response["journal_entry_id"] == world.entry
    assert response["categories"] == [
        {"ledger_id": world.fuel, "ledger_name": "Fuel", "editable": True},
        {"ledger_id": world.rent, "ledger_name": "Rent", "editable": True},
    ]
    assert set(response) == {"transaction", "categories", "ledger", "journal_entry_id"}


def test_without_a_category_all_move(world):
    body = {"updated_category_ledger_id": world.fuel, "category_ledger_id": None}
    response = world.request("PUT", f"/v0/ledgers/{world.bank_id}/transactions/T/categories", json=body)
    assert (response.status_code, categories(response.json())) == (200, [world.fuel])


def test_the_current_category_changes_nothing(world):
    response = world.recategorize(world.bank_id, "T", world.rent, world.rent)
    assert categories(response) == [world.food, world.rent]
    assert response["transaction"]["categorization_method"] == "as_posted"
    assert world.audit() == []
    world.recategorize(world.bank_id, "T", world.rent)
    world.recategorize(world.bank_id, "T", world.rent)
    (row,) = world.audit()
    assert set(row.before.values()) == {world.food}


def test_modified_by_is_utf_8(world):
    names = ["Zo\u00eb", "\u4e2d\u6587 \U0001f4b6", "a b", "x" * 8000, ""]
    for number, name in enumerate(names):
        target = world.fuel if number % 2 else world.food
        world.recategorize(world.bank_id, "T", target, headers={"modified-by": name.encode()})
    assert [row.modified_by for row in world.audit()] == [*names[:-1], None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([b"Zo\xeb"], "must be UTF-8 text"),
        ([b"\xed\xa0\x80"], "must be UTF-8 text"),
        ([b"ana", b"ben"], "given more than once"),
        ([b"ana", b"ana"], "given more than once"),
        ([b"", b"ana"], "given more than once"),
    ],
)
def test_modified_by_that_is_ambiguous_is_refused(world, values, message):
    response = world.http.put(
        f"/v0/ledgers/{world.bank_id}/transactions/T/categories",
        json={"updated_category_ledger_id": world.fuel},
        headers=[*world.headers.items(), *((b"modified-by", value) for value in values)],
    )
    assert response.status_code == 422
    (wrong,) = response.json()["detail"]
    assert (wrong["loc"], wrong["msg"]) == (["header", "modified-by"], message)
    assert world.audit() == []


def test_unknown_ids_are_404(world):
    bank, food, fuel, rent = world.bank_id, world.food, world.fuel, world.rent
    for ledger, transaction, target, category, missing in (
        ("no", "T", fuel, None, "ledger"),
        (food, "T", fuel, None, "transaction"),
        (bank, "no", fuel, None, "transaction"),
        (bank, "T", "no", None, "ledger"),
        (bank, "T", "no", rent, "ledger"),
        (bank, "T", fuel, "no", "category"),
        (bank, "T", fuel, fuel, "category"),
        (bank, "T", fuel, bank, "category"),
    ):
        response = world.recategorize(ledger, transaction, target, category, status=404)
        assert response["error_code"] == f"{missing}_not_found"
    assert world.audit() == []


def test_financial_account_sides_are_422(books):
    bank, savings, rent, food = books.bank(), books.bank("Savings"), books.category(), books.category("Food")
    till = books.category("Till", "asset", report_cash_flow=True)
    books.post(NOON, (bank, -10, NewTransaction(id="T")), (savings, 2), (till, 2), (rent, 6))
    before = books.report()
    for target, category in (
        *((bank, None), (bank, rent), (food, None), (till, till)),
        *((savings, rent), (food, savings), (savings, savings), (till, rent), (food, till)),
    ):
        response = books.recategorize(bank, "T", target, category, status=422)
        assert response["detail"][0]["loc"][0] == "body"
    assert (books.report(), books.audit()) == (before, [])
    response = books.recategorize(bank, "T", food, rent)
    shown = [(at["ledger_id"], at["editable"]) for at in response["categories"]]
    assert shown == [(savings, False), (till, False), (food, True)]
    assert len(books.audit()) == 1
