"""Books in PostgreSQL: what differs from a file. All other tests run with both."""

import psycopg
import pytest

from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.journals.entries import NewTag
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import NewInstance, create_instance, first_instance
from accounting_analytics.service.server import running

pytestmark = pytest.mark.postgresql


def test_reopened_store_has_the_same_content(postgresql):
    address = postgresql.new()
    with Store.open(address) as store:
        instance, key = create_instance(store), store.page_token_key()
    with Store.open(address.replace("postgresql://", "postgres://")) as store:
        assert [one.id for one in store.instances()] == [instance]
        assert store.page_token_key() == key
        assert store.path is None


def test_other_databases_are_refused_and_not_changed(postgresql):
    address = postgresql.new()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text text)")
        with pytest.raises(InputError, match="something other than the books"):
            Store.open(address)
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert tables == [("notes",)]
    address = postgresql.new()
    Store.open(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DELETE FROM settings WHERE name = 'schema_version'")
    with pytest.raises(InputError, match="something other than the books"):
        Store.open(address)


def test_messages_about_a_database_have_no_password(postgresql):
    missing = postgresql.address("nowhere").replace("postgres@", "postgres:s3cret@")
    for address in (
        missing,
        "postgresql://user:s3cret@127.0.0.1:1/books",
        "postgresql://user@127.0.0.1:1/books?password=s3cret",
        "postgresql://user:s3cret@host:port/x",
        "postgresql+psycopg2://user:s3cret@127.0.0.1/books",
        "mysql://user:s3cret@127.0.0.1/books",
    ):
        with pytest.raises(ConfigurationError) as refused:
            Store.open(address)
        assert "s3cret" not in str(refused.value)
        assert refused.value.__cause__ is None


def test_no_first_instance_without_a_folder(postgresql):
    """A database without a folder beside it gets no first instance, because it has no file for the token."""
    with Store.open(postgresql.new()) as store:
        with pytest.raises(ConfigurationError, match="instances create"), first_instance(store, NewInstance()):
            pass
        assert store.instances() == []


def test_an_unreachable_database_is_500_until_it_is_back(own_postgresql, make_own_books, caplog):
    address = own_postgresql.new()
    with running(address) as service, make_own_books(address, service.base_url) as books:
        books.bank(id="bank")
        body = {"name": "x", "editable": True, "financial_account_type": "loan"}
        requests = [
            ("GET", "/v0/reports/cash-flow", {"params": {"start_date": "2025-01-01", "end_date": "2025-01-01"}}),
            ("POST", "/v0/ledgers", {"json": body}),
        ]
        assert [books.request(*one, **options).status_code for *one, options in requests] == [200, 201]
        own_postgresql.crash()
        for _ in range(2):  # first with connections made before the crash
            for *one, options in requests:
                response = books.request(*one, **options)
                assert (response.status_code, response.json()["error_code"]) == (500, "internal_error")
                assert f"request {response.headers['x-request-id']} failed: OperationalError" in caplog.text
            assert books.http.get("/health").json() == {"status": "unavailable"}
        own_postgresql.start()
        assert [books.request(*one, **options).status_code for *one, options in requests] == [200, 201]


def test_opening_waits_for_no_writer_and_creates_nothing_by_itself(postgresql):
    address = postgresql.new()
    with pytest.raises(InputError, match="instances create"):
        Store.open(address, create=False)
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    with (
        Store.open(address) as store,
        store.writing(),
        Store.open(address, lock_seconds=0.1, create=False) as other,
    ):
        assert other.instances() == []


def test_many_tags_in_one_request(make_books):
    books = make_books()
    bank, rent = books.bank(), books.category()
    tags = [NewTag("class", f"tag {number}") for number in range(300)]
    books.post("2025-03-01T12:00:00Z", (bank, -10, *tags), (rent, 10, *tags[:299]))
    (line,) = books.lines(bank)["records"]
    ids = ",".join(tag["id"] for tag in line["tags"])
    assert [one["id"] for one in books.lines(bank, tag_ids=ids)["records"]] == [line["id"]]
    assert books.report(tag_ids=ids)["cash_flow_ledgers"] == []
    assert len(books.report(tag_ids=",".join(ids.split(",")[:1]))["cash_flow_ledgers"]) == 1
