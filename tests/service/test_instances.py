"""Instances: their creation, first day, access tokens, and the list and new names of their ledgers."""

import datetime as dt
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from accounting_analytics.core.errors import (
    AmountError,
    ConfigurationError,
    InputError,
    PeriodError,
    PostingRefusedError,
)
from accounting_analytics.journals.entries import NewTransaction
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import (
    NewInstance,
    create_instance,
    first_instance,
    instance_of_token,
    instance_to_fill,
    issue_token,
    list_tokens,
    revoke_token,
    set_tier,
)
from accounting_analytics.service.ledgers import list_ledgers, rename_ledger


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tier": 4}, InputError, "tier"),
        ({"scale": 11}, AmountError, "scale"),
        ({"localtime": "Mars/Olympus"}, PeriodError, "Mars/Olympus"),
        ({"localtime": "localtime"}, InputError, "IANA"),
        ({"id": "books"}, InputError, "already an instance 'books'"),
        ({"id": "a/b"}, InputError, "cannot be used"),
        ({"id": "büro"}, PostingRefusedError, "header"),
        ({"id": " acme"}, PostingRefusedError, "header"),
    ],
)
def test_bad_instances_are_refused(store, options, error, message):
    create_instance(store, NewInstance(id="books"))
    with pytest.raises(error, match=message):
        create_instance(store, NewInstance(**options))
    assert len(store.instances()) == 1


def test_first_instance_writes_a_private_token_file(path):
    old = path.with_name("books.db.token")
    old.write_text("old")
    old.chmod(0o644)
    with Store.open(path) as store:
        with pytest.raises(ZeroDivisionError), first_instance(store, NewInstance()):
            _ = 1 / 0
        assert (store.instances(), old.exists()) == ([], False)
        with first_instance(store, NewInstance(localtime="Europe/Paris")) as (_, created):
            pass
        assert stat.S_IMODE(old.stat().st_mode) == 0o600
        assert [(one.id, one.localtime) for one in store.instances()] == [(created.id, "Europe/Paris")]
    assert sorted(file.name for file in path.parent.iterdir()) == ["books.db", "books.db.token"]


def test_days_before_the_first_day_are_refused(make_books):
    books = make_books(entries_start=dt.date(2025, 1, 1), localtime="America/New_York")
    bank, rent = books.bank(), books.category()
    with pytest.raises(PostingRefusedError, match="2025-01-01"):
        books.post("2025-01-01T04:59:59Z", (bank, -1), (rent, 1))
    books.post("2025-01-01T05:00:00Z", (bank, -1), (rent, 1))
    for request in (books.report, lambda *days, **options: books.lines(bank, *days, **options)):
        refused = request("2024-12-31", "2025-01-31", status=422)
        assert refused["detail"][0]["loc"] == ["query", "start_date"]
        assert "2025-01-01" in refused["detail"][0]["msg"]
        request("2025-01-01", "2025-01-31")


def test_concurrent_first_instances(path):
    def create(store):
        with suppress(ConfigurationError), first_instance(store, NewInstance()) as (_, instance):
            return instance.id

    with Store.open(path) as store, ThreadPoolExecutor(8) as pool:
        (only,) = filter(None, pool.map(create, [store] * 8))
        assert [one.id for one in store.instances()] == [only]
        with store.reading() as connection:
            instance = instance_of_token(connection, path.with_name("books.db.token").read_text().strip())
        assert instance.id == only


def test_the_tier_changes_with_the_next_request(books):
    books.report(tag_ids="x", status=404)  # allowed, but there is no such tag
    set_tier(books.store, books.instance_id, 2)
    books.report(tag_ids="x", status=403)
    with pytest.raises(InputError, match="tier must be one of 1, 2, 3"):
        set_tier(books.store, books.instance_id, 4)
    assert books.store.instance(books.instance_id).tier == 2


def test_a_revoked_token_is_refused(books):
    token = issue_token(books.store, books.instance_id)
    assert books.status_with(token) == (200, None)
    key = list_tokens(books.store, books.instance_id)[-1].key
    revoke_token(books.store, key)
    (first,) = [one.revoked_at for one in list_tokens(books.store, books.instance_id) if one.key == key]
    assert books.status_with(token) == (401, 'Bearer realm="accounting-analytics", error="invalid_token"')
    revoke_token(books.store, key)
    (second,) = [one.revoked_at for one in list_tokens(books.store, books.instance_id) if one.key == key]
    assert first == second
    assert books.status_with(books.token) == (200, None)


def test_lists_have_no_secrets(books, make_books):
    other = make_books()
    token = issue_token(books.store, books.instance_id)
    tokens = list_tokens(books.store, books.instance_id)
    assert [one.key for one in tokens] == [one.partition(".")[0] for one in (books.token, token)]
    assert {one.instance_id for one in list_tokens(books.store)} >= {books.instance_id, other.instance_id}
    assert token.partition(".")[2] not in repr(tokens)


def test_unknown_instances_and_tokens_are_refused(books):
    before = list_tokens(books.store)
    for call in (issue_token, list_tokens):
        with pytest.raises(InputError, match="no instance 'nothing'"):
            call(books.store, "nothing")
    with pytest.raises(InputError, match="key 'abc'"):
        revoke_token(books.store, "abc")
    assert list_tokens(books.store) == before


def test_list_of_ledgers_has_paths_in_display_order(books):
    meals = books.category("Meals", id="meals")
    books.category("Lunch", id="lunch", parent_id=meals)
    listed = {ledger.id: ledger for ledger in list_ledgers(books.store, books.instance_id)}
    assert [ledger.id for ledger in books.store.ledgers(books.instance_id)] == list(listed)
    assert (listed["lunch"].name, listed["lunch"].path) == ("Lunch", "Meals:Lunch")
    assert sum(ledger.is_required for ledger in listed.values()) == 4


@pytest.mark.parametrize("written", ["meals", "Costs:Food"])
def test_rename_by_id_name_or_path(books, written):
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
    transfers = books.required("transfers_between_accounts")
    rename_ledger(books.store, books.instance_id, "Transfers Between Accounts", "Between our accounts")
    (renamed,) = [one for one in books.store.ledgers(books.instance_id) if one.id == transfers]
    assert (renamed.name, renamed.is_required) == ("Between our accounts", True)


def test_bad_names_are_refused(books):
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


def test_a_scale_is_that_of_a_new_database(tmp_path):
    with Store.open(tmp_path / "books.db") as store:
        create_instance(store, instance_to_fill(store, scale=5, time_zone="UTC"))
        assert [one.scale for one in store.instances()] == [5]
        with pytest.raises(ConfigurationError, match="5 fraction digits, not 3"):
            instance_to_fill(store, scale=3)
