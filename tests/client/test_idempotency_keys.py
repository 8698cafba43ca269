"""New ledgers are created once: lost responses are retried only if the service honours idempotency keys."""

import uuid

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import ConflictError, RateLimitedError, ServiceError, TransportError
from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running
from accounting_analytics.service.web.service_options import ServiceOptions

BANK = {"name": "Bank", "editable": False, "financial_account_type": "bank_account"}
LEDGER = {
    "id": "led_1", "name": "Bank", "debit_credit": "debit", "editable": False, "is_required": False,
    "report_cash_flow": True, "sort_code": "1", "sub_type": "current_assets", "type": "asset",
    "financial_account_type": "bank_account", "parent_id": None, "created_at": "2025-01-01T00:00:00Z",
}  # fmt: skip
IN_USE = httpx.Response(409, json={"message": "still running", "error_code": "idempotency_key_in_use"})


@pytest.fixture
def answered(connected):
    """Return a function that makes a client whose creates are answered in turn; an exception is a lost response."""

    def answered(*answers, echoes=True):
        remaining = list(answers)

        def answer(request):
            response = remaining.pop(0)
            if isinstance(response, Exception):
                raise response
            if echoes:
                response.headers["idempotency-key"] = request.headers["idempotency-key"]
            return response

        return connected(answer)

    return answered


def created():
    """Return the response to a new ledger."""
    return httpx.Response(201, json=LEDGER)


def keys_of(client):
    """Return the keys that were sent."""
    return [request.headers["idempotency-key"] for request in client.requests]


def test_every_ledger_has_its_own_key(answered):
    """Each call sends a new random UUID."""
    client = answered(created(), created())
    for _ in range(2):
        client.create_ledger(**BANK)
    first, second = map(uuid.UUID, keys_of(client))
    assert first.version == second.version == 4
    assert first != second


@pytest.mark.parametrize("fault", [httpx.ReadError("cut"), httpx.Response(503), httpx.Response(500), IN_USE])
def test_after_an_echo_a_lost_response_is_retried_with_its_key(answered, fault):
    """Once the service has repeated a key, a failed create is sent again with the same key."""
    client = answered(created(), fault, created())
    client.create_ledger(**BANK)
    assert client.with_options(timeout=5).create_ledger(**BANK).id == "led_1"
    first, second, third = keys_of(client)
    assert first != second == third


@pytest.mark.parametrize("fault", [httpx.ReadError("cut"), httpx.Response(500), httpx.Response(504)])
def test_before_an_echo_a_lost_response_is_an_error(answered, fault):
    """A service that repeats no key gets the request once, and the error names the ledger to look for."""
    client = answered(created(), fault, echoes=False)
    client.create_ledger(**BANK)
    with pytest.raises(ServiceError, match="a ledger 'Bank' may have been created: look for it by this name"):
        client.create_ledger(**BANK)
    assert len(client.requests) == 2


def test_retries_that_fail_say_that_the_ledger_may_exist(answered):
    """When no attempt is left, the error has their number and the name to look for."""
    client = answered(created(), *[httpx.ReadError("cut")] * 4)
    client.create_ledger(**BANK)
    with pytest.raises(TransportError, match="no success after 4 attempts; a ledger 'Bank' may have been created"):
        client.with_options(max_attempts=4).create_ledger(**BANK)
    assert len(set(keys_of(client)[1:])) == 1


@pytest.mark.parametrize(
    ("response", "error"),
    [(httpx.Response(409, json={"message": "no", "error_code": "other"}), ConflictError),
     (httpx.Response(429), RateLimitedError)],
)  # fmt: skip
def test_a_refused_ledger_does_not_exist(answered, response, error):
    """A refusal is final, and does not say that the ledger may exist."""
    client = answered(response, echoes=False)
    with pytest.raises(error) as refused:
        client.create_ledger(**BANK)
    assert "may have been created" not in str(refused.value)


def test_a_request_that_was_never_sent_created_nothing():
    """Without a connection the error does not say that the ledger may exist."""
    unreachable = aa.LedgerClient("http://127.0.0.1:1", token="t", instance_id="i")
    with unreachable as client, pytest.raises(TransportError) as refused:
        client.create_ledger(**BANK)
    assert "may have been created" not in str(refused.value)


def test_lost_responses_never_create_twice(tmp_path):
    """With a third of the responses lost, each name exists at most once, and each that was returned exists."""
    path = tmp_path / "books.db"
    options = ServiceOptions(faults="lost_answer:p=0.3:on=create_ledger")
    with Store.open(path) as store, running(path, options) as service:
        instance = create_instance(store)
        returned, lost = {}, []
        with aa.LedgerClient(service.base_url, token=issue_token(store, instance), instance_id=instance) as client:
            for name in map(str, range(30)):
                try:
                    returned[name] = client.create_ledger(**BANK | {"name": name}).id
                except TransportError:
                    lost.append(name)
        assert service.faults.injected["lost_answer"] > 5
        names = [ledger.name for ledger in store.ledgers(instance) if not ledger.is_required]
        assert len(names) == len(set(names))
        assert {ledger.name: ledger.id for ledger in store.ledgers(instance) if ledger.name in returned} == returned
        assert set(names) <= {*returned, *lost}
        assert len(lost) <= 1 + next(at for at, name in enumerate(map(str, range(30))) if name in returned)
