"""Instances: their creation, the first one with its token file, and their first day."""

import datetime as dt
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from accounting_analytics.errors import AmountError, InputError, PeriodError, PostingRefusedError
from accounting_analytics.service.auth import instance_of_token, issue_client
from accounting_analytics.service.bookkeeping.instances import (
    NewInstance,
    count_entries,
    create_first_instance,
    create_instance,
    delete_instance,
    set_tier,
)
from accounting_analytics.service.bookkeeping.post_entries import NewTag, NewTransaction
from accounting_analytics.service.check import check_books
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.sqlite_files import token_path
from accounting_analytics.service.storage.store import Store


@pytest.fixture
def path(tmp_path):
    """Return the path of the database."""
    return tmp_path / "books.db"


@pytest.fixture
def store(path):
    """Return an open store with one instance."""
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="books"))
        yield store


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tier": 4}, InputError, "tier"),
        ({"scale": 11}, AmountError, "scale"),
        ({"localtime": "Mars/Olympus"}, PeriodError, "Mars/Olympus"),
        ({"localtime": "localtime"}, InputError, "IANA"),
        ({"id": "books"}, InputError, "already an instance 'books'"),
        ({"id": "a/b"}, InputError, "cannot be used"),
    ],
)
def test_bad_instances_are_refused(store, options, error, message):
    """An instance with an unknown tier, scale or zone, or a taken id, is refused."""
    with pytest.raises(error, match=message):
        create_instance(store, NewInstance(**options))
    assert len(store.instances()) == 1


def test_first_instance_writes_a_private_token_file(path):
    """A new database gets an instance and a private token file; one with an instance gets neither."""
    with Store.open(path) as store:
        created = create_first_instance(store, localtime="Europe/Paris")
        assert created.token_file == token_path(path) == path.with_name("books.db.token")
        assert stat.S_IMODE(created.token_file.stat().st_mode) == 0o600
        assert [(one.id, one.localtime) for one in store.instances()] == [(created.instance_id, "Europe/Paris")]
        assert create_first_instance(store) is None
    assert sorted(file.name for file in path.parent.iterdir()) == ["books.db", "books.db.token"]


def test_an_old_token_file_is_replaced(path):
    """An old token file beside a database without instances is replaced, together with its wider permissions."""
    old = token_path(path)
    with Store.open(path) as store:
        old.write_text("old")
        old.chmod(0o644)
        create_first_instance(store)
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert old.read_text() != "old"


def test_first_day_of_the_books(make_books):
    """Before the first day of the books, entries and requests are refused with that day."""
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
    """Of many first instances in parallel only one is created, and the token file belongs to it."""
    with Store.open(path) as store, ThreadPoolExecutor(8) as pool:
        created = [one for one in pool.map(lambda _: create_first_instance(store), range(8)) if one is not None]
        assert [one.id for one in store.instances()] == [one.instance_id for one in created]
        (only,) = created
        with store.reading() as connection:
            instance = instance_of_token(connection, only.token_file.read_text().strip())
        assert instance.id == only.instance_id


@pytest.mark.parametrize("instance_id", ["büro", "公司", " acme", "acme "])
def test_an_instance_id_that_is_not_a_header_value_is_refused(store, instance_id):
    """The id of an instance must be ASCII without spaces at its ends, because it is sent as a header."""
    with pytest.raises(PostingRefusedError, match="header"):
        create_instance(store, NewInstance(id=instance_id))


def test_the_tier_changes_with_the_next_request(books):
    """An instance of a lower tier cannot filter its report by tags any more; an unknown tier is refused."""
    books.report(tag_ids="x", status=404)  # allowed, but there is no such tag
    set_tier(books.store, books.instance_id, 2)
    books.report(tag_ids="x", status=403)
    with pytest.raises(InputError, match="tier must be one of 1, 2, 3"):
        set_tier(books.store, books.instance_id, 4)
    assert books.store.instance(books.instance_id).tier == 2


def test_nothing_is_left_of_a_deleted_instance(make_books):
    """A deleted instance leaves no row in any table, its token is refused, and other instances stay as they are."""
    kept, deleted = make_books(), make_books()
    for books in (kept, deleted):
        bank, rent = books.bank(), books.category("Rent")
        child = books.category("Flat", parent_id=rent)
        books.post("2025-03-01T12:00:00Z", (bank, -5, NewTransaction(id="T"), NewTag("class", "north")), (rent, 5))
        books.recategorize(bank, "T", child)
        loan = {"name": "Loan", "editable": True, "financial_account_type": "loan"}
        books.request("POST", "/v0/ledgers", json=loan, headers={"idempotency-key": "K"})
        client = issue_client(books.store, books.instance_id)
        books.http.post("/oauth/token", data={"grant_type": "client_credentials", **client._asdict()})
    counts = count_rows(kept.store)
    assert count_entries(deleted.store, deleted.instance_id) == 1
    delete_instance(deleted.store, deleted.instance_id)
    others = count_rows(kept.store)
    one_less = {
        "instances": 1,
        "clients": 1,
        "tokens": 2,
        "ledgers": 8,
        "idempotency_keys": 1,
        "journal_entries": 1,
        "line_entries": 2,
    }
    one_less |= {"transactions": 1, "tag_groups": 1, "tags": 1, "line_entry_tags": 1, "audit": 7, "cash_days": 1}
    one_less["audit_heads"] = 1
    assert {name: counts[name] - others[name] for name in counts} == {"settings": 0} | one_less
    assert deleted.status_with(deleted.token)[0] == 401
    assert len(kept.lines(kept.required("equity"))["records"]) == 0
    assert kept.audit()[0].transaction_id == "T"
    with pytest.raises(InputError, match="there is no instance"):
        delete_instance(deleted.store, deleted.instance_id)
    findings = check_books(kept.store).findings
    assert [finding for finding in findings if finding.instance_id in {"", kept.instance_id}] == []


def count_rows(store):
    """Return the number of rows of every table."""
    with store.reading() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in tables.metadata.tables.items()
        }
