"""Forked processes: a client that was used before a fork shares no connection, lock or rate limit with the child."""

import json
import os
import signal
import traceback

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.client import Deadline
from accounting_analytics.core.errors import RateLimitedError

# Python 3.12 and later warn about every fork of a process with threads, such as that of a test server
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
MARCH = ("2025-03-01", "2025-03-31")
REPORT = {"cash_flow_ledgers": [], "starting_balances": [], "ending_balances": []}
REPORT |= {"starting_cash_balance": "10.05", "ending_cash_balance": "10.05"}


def exit_status_of_child(function):
    """Fork a process that calls a function, and return its exit status; a deadlock ends after some seconds."""
    child = os.fork()
    if not child:
        signal.alarm(30)
        try:
            function()
        except BaseException:  # noqa: BLE001 (a forked child must end here)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_a_child_opens_its_own_connection(across, fault_server):
    client = across()
    client.retrieve_cash_flow_report(*MARCH)
    assert exit_status_of_child(lambda: client.retrieve_cash_flow_report(*MARCH)) == 0
    assert fault_server.connections == 2
    client.retrieve_cash_flow_report(*MARCH)
    assert (fault_server.connections, len(fault_server.requests)) == (2, 3)


def test_locks_that_are_held_during_the_fork_are_free_in_the_child(across, tmp_path):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text("first")
    token = aa.TokenFile(file)
    client = across(token=token, requests_per_minute=1000)

    def renew_and_request():
        file.write_text("second")
        assert token.token(Deadline(1), refused=token.token(Deadline(1))).reveal() == "second"
        client.retrieve_cash_flow_report(*MARCH)

    with client._http.rate_limiter._lock, client._http._lock, client._http._token_lock:
        assert exit_status_of_child(renew_and_request) == 0


def test_a_child_gets_a_token_although_the_parent_is_renewing_it(across, fault_server):
    issued = json.dumps({"access_token": "a", "token_type": "bearer"}).encode()
    fault_server.fault = lambda _, method, *__: (lambda sender, _: sender.send(issued)) if method == "POST" else None
    token = aa.ClientCredentials(f"{fault_server.base_url}/token", "id", "secret")
    client = across(token=token)
    with client._http._token_lock, token._sender._lock:
        assert exit_status_of_child(lambda: client.retrieve_cash_flow_report(*MARCH)) == 0


def test_the_rate_limit_of_a_child_is_its_own(across, fault_server):
    fault_server.fault = lambda count, *_: (
        (lambda sender, _: sender.send(b"{}", "429 Wait", retry_after="3600")) if count == 1 else None
    )
    client = across()
    with pytest.raises(RateLimitedError):
        client.retrieve_cash_flow_report(*MARCH)
    assert exit_status_of_child(lambda: client.retrieve_cash_flow_report(*MARCH)) == 0
    assert client.quota.paused_for > 0


def test_given_transport_is_refused_in_a_child(connected, capfd):
    client = connected(lambda _: httpx.Response(200, json=REPORT))
    client.retrieve_cash_flow_report(*MARCH)
    assert exit_status_of_child(lambda: client.retrieve_cash_flow_report(*MARCH)) != 0
    assert "make a client in this process" in capfd.readouterr().err


def test_a_closed_client_stays_closed_in_a_child(across, capfd):
    client = across()
    assert exit_status_of_child(client.close) == 0
    client.retrieve_cash_flow_report(*MARCH)
    client.close()
    assert exit_status_of_child(lambda: client.retrieve_cash_flow_report(*MARCH)) != 0
    assert "the client is closed" in capfd.readouterr().err
