"""Credentials: tokens are renewed early, once for all threads, and never printed."""

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

import pytest

import accounting_analytics as aa
from accounting_analytics.client import Deadline
from accounting_analytics.core.errors import (
    AuthenticationError,
    ConfigurationError,
    DeadlineExceededError,
    NoConnectionError,
    ProtocolError,
    ServerFaultError,
    TransportError,
)

MARCH = ("2025-03-01", "2025-03-31")
SECRET = "canary-client-secret"


class Issuer:
    """A fault of the server that issues tokens at /oauth/token and accepts only the newest."""

    def __init__(self, **fields):
        self.issued, self.fields, self.answer, self.slow = 0, fields, None, 0.0

    def __call__(self, count, method, target, headers):
        del count
        if target == "/oauth/token":
            time.sleep(self.slow)
            return self.answer or self.issue
        good = headers["authorization"] == f"Bearer token-number-{self.issued}"
        assert method
        return None if good else lambda sender, _: sender.send(b"{}", "401 Expired", connection="close")

    def issue(self, sender, _):
        self.issued += 1
        body = {"access_token": f"token-number-{self.issued}", "token_type": "Bearer", "expires_in": 3600}
        body |= {"error": None, "scope": None}  # as some endpoints send what they leave out
        sender.send(json.dumps(body | self.fields).encode(), connection="close")


@pytest.fixture
def issuing(fault_server, across):
    """Return a function that makes a client with a token of an issuer."""

    def connect(issuer, **options):
        fault_server.fault = issuer
        credentials = aa.ClientCredentials(f"{fault_server.base_url}/oauth/token", "me:you", SECRET)
        return across(token=credentials, timeout=5.0, **options)

    return connect


def token_requests(fault_server):
    return [request for request in fault_server.requests if request[1] == "/oauth/token"]


def test_a_token_is_issued_and_used(issuing, fault_server):
    client = issuing(Issuer())
    for _ in range(3):
        client.retrieve_cash_flow_report(*MARCH)
    (request,) = token_requests(fault_server)
    assert parse_qs(request[3]) == {b"grant_type": [b"client_credentials"]}
    assert base64.b64decode(request[2]["authorization"].removeprefix("Basic ")) == f"me%3Ayou:{SECRET}".encode()


@pytest.mark.parametrize("write", [False, True])
def test_an_expired_token_is_renewed_once_for_all_threads(issuing, fault_server, write):
    issuer = Issuer()
    client = issuing(issuer)
    client.retrieve_cash_flow_report(*MARCH)
    issuer.issued += 1  # the service no longer accepts the token
    issuer.slow = 0.1

    def ask(_):
        if write:
            return client.recategorize_transaction("led_1", "t", updated_category_ledger_id="n").categories
        return client.list_line_entries("led_1", *MARCH).records

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(16)))
    assert len(token_requests(fault_server)) == 2


def test_threads_wait_for_a_token_no_longer_than_their_deadline(issuing, fault_server):
    issuer = Issuer()
    issuer.slow = 5.0
    client = issuing(issuer)
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(client.with_options(deadline=2.5).retrieve_cash_flow_report, *MARCH)
        while not token_requests(fault_server):
            time.sleep(0.01)
        with pytest.raises(DeadlineExceededError, match=r"no token within 0\.2 seconds"):
            client.with_options(deadline=0.2).retrieve_cash_flow_report(*MARCH)
        assert not patient.done()
        assert isinstance(patient.exception(), DeadlineExceededError)


def test_tokens_are_renewed_at_a_tenth_of_their_time(issuing, fault_server):
    client = issuing(Issuer(expires_in=0.5))
    started = time.monotonic()
    while len(token_requests(fault_server)) < 2:
        client.retrieve_cash_flow_report(*MARCH)
        assert time.monotonic() - started < 10
    assert time.monotonic() - started >= 0.45


def test_a_renewed_token_that_is_refused_is_an_error(issuing, fault_server):
    issuer = Issuer()
    client = issuing(issuer)
    fault_server.fault = lambda count, method, target, headers: (
        issuer(count, method, target, headers)
        if target == "/oauth/token"
        else lambda sender, _: sender.send(b"{}", "401 No", connection="close")
    )
    with pytest.raises(AuthenticationError):
        client.retrieve_cash_flow_report(*MARCH)
    assert len(token_requests(fault_server)) == 2


ANSWERS = {
    "refused": (
        lambda sender, _: sender.send(json.dumps({"error": f"invalid_client {SECRET}"}).encode(), "401 No"),
        AuthenticationError,
    ),
    "refused with success": (
        lambda sender, _: sender.send(json.dumps({"error": f"invalid_client {SECRET}"}).encode()),
        AuthenticationError,
    ),
    "bad request": (lambda sender, _: sender.send(b"<html>", "400 No"), AuthenticationError),
    "down": (lambda sender, _: sender.send(b"", "503 No"), ServerFaultError),
    "gone": (lambda *_: None, TransportError),
    "html": (lambda sender, _: sender.send(b"<html>"), ProtocolError),
    "no token": (lambda sender, _: sender.send(b'{"token_type": "bearer"}'), ProtocolError),
    "unprintable token": (
        lambda sender, _: sender.send(b'{"token_type": "bearer", "access_token": "a\\nb"}'),
        ProtocolError,
    ),
    "other kind": (lambda sender, _: sender.send(b'{"token_type": "mac", "access_token": "a"}'), ProtocolError),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_failures_of_the_token_endpoint_are_named(issuing, fault_server, answer):
    issuer = Issuer()
    issuer.answer, expected = ANSWERS[answer]
    with pytest.raises(expected, match="get a token for client 'me:you'") as caught:
        issuing(issuer, max_attempts=2).retrieve_cash_flow_report(*MARCH)
    assert SECRET not in f"{caught.value!r}"
    assert len(fault_server.requests) == 1 or not answer.startswith("refused")


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (b"access_token=a&token_type=bearer", "application/json", "sent no bearer token: it is form-encoded, not JSON"),
        (
            b"access_token=a&token_type=bearer",
            "application/x-www-form-urlencoded",
            "is application/x-www-form-urlencoded, not 200 and JSON; is token_url the right address?",
        ),
        (b'{"access_token": "a"}', "application/json", "sent no bearer token: token_type is missing"),
        (b'{"access_token": "a", "token_type": "mac"}', "application/json", "token_type is 'mac'"),
        (b'{"token_type": "bearer"}', "application/json", "access_token is missing or not printable"),
        (b'{"expires_in": [1]}', "application/json", r"got `array` - at `\$.expires_in`"),
        (b"soon", "application/json", "it is not JSON"),
    ],
)
def test_answers_without_a_token_are_named(issuing, body, content_type, reason):
    issuer = Issuer()
    issuer.answer = lambda sender, _: sender.send(body, content_type=content_type)
    with pytest.raises(ProtocolError, match=reason):
        issuing(issuer, max_attempts=2).retrieve_cash_flow_report(*MARCH)


@pytest.mark.parametrize("refusals", [1, 2])
def test_same_token_is_tried_once_more_after_a_refusal(issuing, fault_server, refusals):
    issuer, refused = Issuer(), []

    def answer(count, method, target, headers):
        if target == "/oauth/token":
            issuer.issued = 0
            return issuer.issue
        if len(refused) < refusals and len(fault_server.requests) > 2:
            refused.append(target)
            return lambda sender, _: sender.send(b"{}", "401 No", connection="close")
        return issuer(count, method, target, headers)

    client = issuing(answer)
    client.retrieve_cash_flow_report(*MARCH)
    if refusals == 1:
        client.retrieve_cash_flow_report(*MARCH)
    else:
        with pytest.raises(AuthenticationError):
            client.retrieve_cash_flow_report(*MARCH)
    assert len(refused) == refusals


@pytest.mark.parametrize("lifetime", ["3600", 3600, 3600.5, None, -1, "-1"])
def test_lifetimes_are_seconds_as_number_or_text(issuing, fault_server, lifetime):
    client = issuing(Issuer(expires_in=lifetime))
    for _ in range(2):
        client.retrieve_cash_flow_report(*MARCH)
    assert len(token_requests(fault_server)) == 1


@pytest.mark.parametrize("lifetime", ["soon", True, [1]])
def test_other_lifetimes_are_refused(issuing, lifetime):
    with pytest.raises(ProtocolError, match="sent no bearer token"):
        issuing(Issuer(expires_in=lifetime)).retrieve_cash_flow_report(*MARCH)


def test_temporary_faults_of_the_endpoint_are_retried(issuing):
    issuer = Issuer()
    faults = iter([lambda *_: None, lambda sender, _: sender.send(b"", "503 No")])

    def answer(sender, body):
        next(faults, issuer.issue)(sender, body)

    issuer.answer = answer
    assert issuing(issuer).list_line_entries("led_1", *MARCH).records


def test_a_rotated_token_file_is_read_again(across, fault_server, tmp_path):
    file = tmp_path / "books.token"
    file.write_text("token-number-1\n")
    file.chmod(0o600)
    issuer = Issuer()
    issuer.issued = 1
    fault_server.fault = issuer
    client = across(token=aa.TokenFile(file))
    client.retrieve_cash_flow_report(*MARCH)
    issuer.issued = 2
    with pytest.raises(AuthenticationError):
        client.retrieve_cash_flow_report(*MARCH)
    file.write_text("token-number-2\n")
    client.recategorize_transaction("led_1", "t", updated_category_ledger_id="n")
    file.unlink()
    issuer.issued = 3
    with pytest.raises(ConfigurationError, match="cannot be read"):
        client.retrieve_cash_flow_report(*MARCH)


@pytest.mark.parametrize(
    ("url", "client_id", "secret"), [("nowhere", "me", "s"), ("http://x/t", "", "s"), ("http://x/t", "me", "")]
)
def test_unusable_client_credentials_are_refused(url, client_id, secret):
    with pytest.raises(ConfigurationError):
        aa.ClientCredentials(url, client_id, secret)


def test_a_token_endpoint_that_is_never_reached_is_named():
    with pytest.raises(NoConnectionError, match=r"check the address \(token_url\)"):
        aa.ClientCredentials("http://127.0.0.1:1/token", "me", "secret").token(Deadline(20.0))


def test_a_nul_in_a_path_is_refused():
    with pytest.raises(ConfigurationError, match=r"a\\x00b.*null byte"):
        aa.TokenFile("a\0b")
