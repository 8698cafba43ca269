"""Idempotency keys of new ledgers: repeated requests get the first response and create nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import httpx
import pytest
from sqlalchemy import update

from accounting_analytics.service.operations.create_ledger import RunningKeys
from accounting_analytics.service.storage import tables
from accounting_analytics.service.web.server import running

LOAN = {"name": "Loan", "editable": True, "financial_account_type": "loan"}


def create(books, key="K", body=LOAN, **options):
    """Send a request for a new ledger with a key."""
    return books.request("POST", "/v0/ledgers", json=body, headers={"idempotency-key": key}, **options)


def count_loans(books):
    """Return how many ledgers were created."""
    return sum(ledger.financial_account_type == "loan" for ledger in books.store.ledgers(books.instance_id))


def test_the_same_request_gets_the_first_response(books):
    """A repeated request gets the response of the first one, with the key; another key creates another ledger."""
    first, again, other = create(books), create(books), create(books, "L")
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 201)
    assert first.content == again.content != other.content
    assert [one.headers["idempotency-key"] for one in (first, again, other)] == ["K", "K", "L"]
    assert first.headers["content-type"] == again.headers["content-type"] == "application/json"
    assert count_loans(books) == 2
    assert "idempotency-key" not in books.request("POST", "/v0/ledgers", json=LOAN).headers


def test_another_request_with_the_key_is_refused(books, make_books):
    """A key that was used is 422 for another body or query, and free for another instance."""
    create(books)
    for changed in ({"body": {**LOAN, "name": "Other"}}, {"params": {"expand": "parent"}}):
        refused = create(books, **changed)
        assert refused.status_code == 422
        assert refused.json()["detail"][0]["type"] == "idempotency_key_reused"
        assert "used for another request" in refused.json()["detail"][0]["msg"]
        assert refused.headers["idempotency-key"] == "K"
    assert count_loans(books) == 1
    assert create(make_books()).status_code == 201


def test_a_refused_request_keeps_no_key(books):
    """After a refusal the key may be used for a corrected request."""
    assert create(books, body={**LOAN, "parent_id": "nowhere"}).status_code == 404
    assert create(books).status_code == 201
    assert count_loans(books) == 1


@pytest.mark.parametrize("key", ["", "a b", "ü".encode(), "x" * 201])
def test_keys_that_cannot_be_used_are_refused(books, key):
    """A key that is empty, too long or not printable ASCII is 422, and so are two keys."""
    assert create(books, key).json()["detail"][0]["loc"] == ["header", "idempotency-key"]
    headers = [*books.headers.items(), ("idempotency-key", "a"), ("idempotency-key", "b")]
    assert books.http.post("/v0/ledgers", json=LOAN, headers=headers).status_code == 422
    assert count_loans(books) == 0


def test_keys_expire_after_a_day(books):
    """A key of more than 24 hours ago is new again, and its row is deleted."""
    first = create(books)
    day = 86_400_000_000
    keys = tables.idempotency_keys
    mine = keys.c.instance_pk == books.store.instance(books.instance_id).pk
    for hours, expected in ((23, True), (2, False)):
        with books.store.writing() as connection:
            connection.execute(update(keys).where(mine).values(created_at=keys.c.created_at - day * hours // 24))
        assert (create(books).content == first.content) is expected
    assert count_loans(books) == 2
    with books.store.reading() as connection:
        assert len(connection.execute(keys.select().where(mine)).all()) == 1


def test_keys_survive_a_restart(database, make_own_books):
    """A service that was stopped and started again remembers the response."""
    responses = []
    with make_own_books(database, "http://not-yet.test") as books:
        for _ in range(2):
            with running(database) as service, httpx.Client(base_url=service.base_url) as http:
                books.http = http
                responses.append(create(books).content)
        assert responses[0] == responses[1]
        assert count_loans(books) == 1


def test_requests_at_the_same_time_create_one_ledger(books):
    """Of many requests with one key at the same time, all that are not 409 get the same response."""
    start = threading.Barrier(8)

    def send(_):
        start.wait()
        return create(books)

    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(send, range(8)))
    assert {response.status_code for response in responses} <= {201, 409}
    assert len({response.content for response in responses if response.status_code == 201}) == 1
    assert {response.json()["error_code"] for response in responses if response.status_code == 409} <= {
        "idempotency_key_in_use"
    }
    assert count_loans(books) == 1


def test_a_running_request_is_409(tmp_path, make_own_books):
    """While the first request waits for the write lock, one with the same key is 409; then it gets the response."""
    path = tmp_path / "books.db"
    with running(path) as service, make_own_books(path, service.base_url) as books, ThreadPoolExecutor(2) as pool:
        with books.store.writing():  # the service waits for this writer
            sent = [pool.submit(create, books) for _ in range(2)]
            (refused,) = wait(sent, return_when="FIRST_COMPLETED").done
        (first,) = {*sent} - {refused}
        assert refused.result().status_code == 409
        assert refused.result().json()["error_code"] == "idempotency_key_in_use"
        assert first.result().status_code == 201
        assert create(books).content == first.result().content
        assert count_loans(books) == 1


def test_running_keys_are_released():
    """A key is held during the block only, also when it fails."""
    keys = RunningKeys()
    with pytest.raises(ZeroDivisionError), keys.hold(1, "K"):
        raise ZeroDivisionError
    with keys.hold(1, "K"), keys.hold(2, "K"), keys.hold(1, None), keys.hold(1, None):
        pass
