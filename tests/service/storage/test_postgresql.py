"""Books in PostgreSQL: what is not the same as in a file. Everything else runs over both."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.bookkeeping.instances import create_first_instance, create_instance
from accounting_analytics.service.bookkeeping.new_entries import NewTag
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

pytestmark = pytest.mark.postgresql


def test_opened_again_everything_is_there(postgresql):
    """A second opening finds what the first one wrote, and the same key for page tokens."""
    address = postgresql.new()
    with Store.open(address) as store:
        instance, key = create_instance(store), store.page_token_key()
    with Store.open(address.replace("postgresql://", "postgres://")) as store:
        assert [one.id for one in store.instances()] == [instance]
        assert store.page_token_key() == key
        assert store.path is None


def test_a_database_of_something_else_is_refused_and_left_alone(postgresql):
    """Tables of another program, or of another version, are no books of this service."""
    address = postgresql.new()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text text)")
        with pytest.raises(InputError, match="something else"):
            Store.open(address)
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert tables == [("notes",)]
    address = postgresql.new()
    Store.open(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE settings SET value = '1' WHERE name = 'schema_version'")
    with pytest.raises(InputError, match="this version"):
        Store.open(address)


def test_what_cannot_be_reached_is_named_without_its_password(postgresql):
    """A database that is not there, a server that is not there, and an address that is none: one clear error each."""
    there = postgresql.address("nowhere").replace("postgres@", "postgres:s3cret@")
    for address in (
        there,
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


def test_no_token_is_written_where_there_is_no_folder(postgresql):
    """An instance with its token is made explicitly: a shared database has no place beside it."""
    with Store.open(postgresql.new()) as store:
        with pytest.raises(ConfigurationError, match="instances create"):
            create_first_instance(store)
        assert store.instances() == []


def test_a_database_that_goes_away_is_503_and_found_again(own_postgresql, make_own_books, caplog):
    """While its server is gone every answer is 503 without a word of it; when it is back, so is everything."""
    address = own_postgresql.new()
    with running(address) as service, make_own_books(address, service.base_url) as books:
        books.bank(id="bank")
        body = {"name": "x", "editable": True, "financial_account_type": "loan"}
        put = "/v0/ledgers/bank/transactions/T/categories"
        asked = [
            ("GET", "/v0/reports/cash-flow", {"params": {"start_date": "2025-01-01", "end_date": "2025-01-01"}}),
            ("POST", "/v0/ledgers", {"json": body}),
            ("PUT", put, {"json": {"updated_category_ledger_id": "bank"}}),
        ]
        assert [books.request(*one, **options).status_code for *one, options in asked] == [200, 201, 404]
        own_postgresql.crash()
        for _ in range(2):  # first with connections from before
            for *one, options in asked:
                answer = books.request(*one, **options)
                assert (answer.status_code, answer.json()["error_code"]) == (503, "database_unreachable")
                assert answer.headers["retry-after"] == "1"
                assert "may or may not" in answer.json()["message"]
        assert str(own_postgresql.port) not in caplog.text
        own_postgresql.start()
        assert [books.request(*one, **options).status_code for *one, options in asked] == [200, 201, 404]


def test_opening_waits_for_no_writer_and_makes_nothing_unasked(postgresql):
    """While somebody writes, the books open for reading; an empty database stays empty for who only looks."""
    address = postgresql.new()
    with pytest.raises(InputError, match="instances create"):
        Store.open(address, create=False)
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    with Store.open(address) as store, store.writing(), Store.open(address, lock_seconds=0.1, create=False) as other:
        assert other.instances() == []


def test_text_must_be_unicode(postgresql):
    """A database that cannot keep every name is refused before anything is made there."""
    postgresql.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 LOCALE_PROVIDER libc")
    with pytest.raises(InputError, match="UTF-8"):
        Store.open(postgresql.address("latin"))


def test_many_tags_are_asked_for_at_once(make_books):
    """Hundreds of tags in one request are one condition, answered at once."""
    books = make_books()
    bank, rent = books.bank(), books.category()
    tags = [NewTag("class", f"tag {number}") for number in range(300)]
    books.post("2025-03-01T12:00:00Z", (bank, -10, *tags), (rent, 10, *tags[:299]))
    (line,) = books.lines(bank)["records"]
    ids = ",".join(tag["id"] for tag in line["tags"])
    assert [at["id"] for at in books.lines(bank, tag_ids=ids)["records"]] == [line["id"]]
    assert books.report(tag_ids=ids)["cash_flow_ledgers"] == []
    assert len(books.report(tag_ids=",".join(ids.split(",")[:1]))["cash_flow_ledgers"]) == 1


def test_a_connection_that_is_ended_in_mid_change_is_503(postgresql, make_own_books):
    """A change whose connection the database's administrator ends is 503, and the next one is served."""
    address = postgresql.new()
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'"
    with running(address) as service, make_own_books(address, service.base_url) as books, ThreadPoolExecutor() as pool:
        body = {"name": "x", "editable": True, "financial_account_type": "loan"}
        with Store.open(address) as other, other.writing():
            change = pool.submit(books.request, "POST", "/v0/ledgers", json=body)
            while not change.done():
                time.sleep(0.2)
                postgresql.execute(ended.format(address.rpartition("/")[2]))
        answer = change.result()
        assert (answer.status_code, answer.json()["error_code"]) == (503, "database_unreachable")
        assert answer.headers["retry-after"] == "1"
        assert books.request("POST", "/v0/ledgers", json=body).status_code == 201
