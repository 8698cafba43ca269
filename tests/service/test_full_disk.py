"""A full disk: every change is refused with 507 and nothing is changed, reads go on, and it recovers by itself."""

import resource
import sqlite3
from contextlib import closing

import psycopg
import pytest

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.service.check import check_books
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.server import running

LEDGER = {"name": "Loan", "editable": True, "financial_account_type": "loan"}
DAY = ("2025-03-01", "2025-03-01")
NO_SPACE = """
    CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER full_for_ledgers BEFORE INSERT ON ledgers FOR EACH ROW EXECUTE FUNCTION no_space();
    CREATE TRIGGER full_for_lines BEFORE INSERT ON line_entries FOR EACH ROW EXECUTE FUNCTION no_space();
"""
FULL = (507, "insufficient_storage", None)


@pytest.fixture
def crowded(tmp_path, start_service, make_own_books):
    """Return books of a service, the service, and a function that limits the size of the files that it writes."""
    service = start_service(tmp_path / "books.db", "--access-log")

    def limit(size):
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    with make_own_books(tmp_path / "books.db", service.base_url) as books:
        yield books, service, limit


def status(response):
    """Return the status, the error code and the wait of a response."""
    return response.status_code, response.json().get("error_code"), response.headers.get("retry-after")


def send_changes(books):
    """Return the responses to a new ledger and a new category."""
    return [
        books.request("POST", "/v0/ledgers", json=LEDGER),
        books.request("PUT", "/v0/ledgers/bank/transactions/T/categories", json={"updated_category_ledger_id": "food"}),
    ]


def test_changes_are_refused_and_reads_go_on(crowded):
    """A full disk is 507 for everything that writes; lists and reports are served; with space all goes on."""
    books, service, limit = crowded
    bank, rent, _ = books.bank(id="bank"), books.category(id="rent"), books.category("Food", id="food")
    books.post("2025-03-01T12:00:00Z", (bank, -5, NewTransaction(id="T")), (rent, 5))
    with closing(sqlite3.connect(books.store.path)) as connection:  # the log must grow again with the next change
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = books.store.ledgers(books.instance_id)
    limit(1)  # as if the disk were full
    for _ in range(2):
        responses = send_changes(books)
        assert [status(response) for response in responses] == [FULL] * 2
        assert all("nothing was changed" in response.json()["message"] for response in responses)
        assert len(books.lines(bank)["records"]) == 1
        assert books.report(*DAY)["ending_cash_balance"] == -5
    limit(resource.RLIM_INFINITY)
    assert books.store.ledgers(books.instance_id) == before
    assert books.audit() == []
    assert [response.status_code for response in send_changes(books)] == [201, 200]
    assert check_books(books.store).findings == []
    log = service.stderr()
    assert "Traceback" not in log
    assert "Logging error" not in log
    assert log.count(" 201 ") == 1


@pytest.mark.postgresql
def test_a_full_disk_of_the_server(postgresql, make_own_books):
    """A PostgreSQL server that has no space for a row is 507 too, also while rows are copied; then it recovers."""
    address = postgresql.new()
    with running(address) as service, make_own_books(address, service.base_url) as books:
        bank, rent = books.bank(id="bank"), books.category(id="rent")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(NO_SPACE)
            response = books.request("POST", "/v0/ledgers", json=LEDGER)
            assert status(response) == FULL
            with pytest.raises(OperationRefusedError, match="disk of the database is full; nothing was changed"):
                books.post("2025-03-01T12:00:00Z", (bank, -5), (rent, 5))
            assert books.lines(bank)["records"] == []
            connection.execute("DROP FUNCTION no_space CASCADE")
        books.create(**LEDGER)
        books.post("2025-03-01T12:00:00Z", (bank, -5), (rent, 5))
