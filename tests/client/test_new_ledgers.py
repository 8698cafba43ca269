"""New ledgers are created once: after a lost response the request is not sent again."""

import httpx
import pytest
from faulty_service import running_with_faults

import accounting_analytics as aa
from accounting_analytics.core.errors import ConflictError, RateLimitedError, ServiceError, TransportError

BANK = {"name": "Bank", "editable": False, "financial_account_type": "bank_account"}


def answering(answer):
    """Return what sends one answer to every request; an exception is a lost response."""

    def respond(_):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return respond


@pytest.mark.parametrize("fault", [httpx.ReadError("cut"), httpx.Response(500), httpx.Response(504)])
def test_a_lost_response_is_an_error(connected, fault):
    """The request is sent once, and the error names the ledger to look for."""
    client = connected(answering(fault))
    with pytest.raises(ServiceError, match="a ledger 'Bank' may have been created: look for it by this name"):
        client.create_ledger(**BANK)
    assert len(client.requests) == 1


@pytest.mark.parametrize(
    ("response", "error"),
    [(httpx.Response(409, json={"message": "no", "error_code": "other"}), ConflictError),
     (httpx.Response(429), RateLimitedError)],
)  # fmt: skip
def test_a_refused_ledger_does_not_exist(connected, response, error):
    """A refusal is final, and does not say that the ledger may exist."""
    client = connected(answering(response))
    with pytest.raises(error) as refused:
        client.create_ledger(**BANK)
    assert "may have been created" not in str(refused.value)


def test_a_request_that_was_never_sent_created_nothing():
    """Without a connection the error does not say that the ledger may exist."""
    unreachable = aa.LedgerClient("http://127.0.0.1:1", token="t", instance_id="i")
    with unreachable as client, pytest.raises(TransportError) as refused:
        client.create_ledger(**BANK)
    assert "may have been created" not in str(refused.value)


def test_lost_responses_never_create_twice(posted_books):
    """With a third of the responses lost, each name exists at most once, and each that was returned exists."""
    access = posted_books.create()
    with running_with_faults(posted_books.path, "lost_answer:p=0.3:on=create_ledger") as service:
        returned, lost = {}, []
        with access.client(service.base_url) as client:
            for name in map(str, range(30)):
                try:
                    returned[name] = client.create_ledger(**BANK | {"name": name}).id
                except TransportError:
                    lost.append(name)
    assert service.plan.injected["lost_answer"] > 5
    ledgers = [ledger for ledger in posted_books.store.ledgers(access.instance_id) if not ledger.is_required]
    names = [ledger.name for ledger in ledgers]
    assert len(names) == len(set(names))
    assert {ledger.name: ledger.id for ledger in ledgers if ledger.name in returned} == returned
    assert set(names) <= {*returned, *lost}
