"""A client whose network is a function from request to response."""

import httpx
import pytest
import stamina

import accounting_analytics as aa

TOKEN = "canary-token-value"


@pytest.fixture
def connected():
    """Return a function that makes a client of a handler, and counts its requests."""
    clients = []

    def connect(handler, **options):
        requests = []

        def answer(request):
            requests.append(request)
            return handler(request)

        client = aa.LedgerClient(
            "http://ledgers.test", token=TOKEN, instance_id="ins_1", transport=httpx.MockTransport(answer), **options
        )
        client.requests = requests
        clients.append(client)
        return client

    with stamina.set_testing(testing=True, attempts=4, cap=True):
        yield connect
    for client in clients:
        client.close()


@pytest.fixture
def line():
    """Return a function that makes a line entry as the service sends it."""

    def line(number=1, **fields):
        return {
            "id": f"lin_{number}",
            "amount": "12.50",
            "debit_credit": "debit",
            "datetime": "2025-03-10T12:00:00Z",
            "ledger_id": "led_1",
            "journal_entry_id": f"ent_{number}",
        } | fields

    return line


@pytest.fixture
def pages():
    """Return a function that answers with pages of lines, by token."""

    def pages(*each):
        def answer(request):
            at = int(request.url.params.get("page_token", "0"))
            following = str(at + 1) if at + 1 < len(each) else None
            return httpx.Response(
                200, json={"records": each[at], "next_page_token": following, "prev_page_token": None}
            )

        return answer

    return pages
