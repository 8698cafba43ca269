"""Where tokens come from: renewed once for all threads, early, and never shown."""

import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

import pytest

import accounting_analytics as aa
from accounting_analytics.client import ClientCredentials, TokenFile
from accounting_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    ProtocolError,
    ServerFaultError,
    TransportError,
)

MARCH = ("2025-03-01", "2025-03-31")
SECRET = "canary-client-secret"


class Issuer:
    """A fault for the server: it issues tokens at /oauth/token, and refuses all but the newest."""

    def __init__(self, **fields):
        self.issued, self.fields, self.answer, self.slow = 0, fields, None, 0.0

    def __call__(self, count, method, target, headers):
        del count
        if target == "/oauth/token":
            time.sleep(self.slow)
            return self.answer or self.issue
        good = headers.get("authorization", headers.get("Authorization")) == f"Bearer token-number-{self.issued}"
        assert method
        return None if good else lambda road, _: road.send(b"{}", "401 Expired", connection="close")

    def issue(self, road, _):
        """Issue the next token."""
        self.issued += 1
        body = {"access_token": f"token-number-{self.issued}", "token_type": "Bearer", "expires_in": 3600}
        road.send(json.dumps(body | self.fields).encode(), connection="close")


@pytest.fixture
def issuing(fault_server, across):
    """Return a function that makes a client whose token an issuer issues."""

    def connect(issuer, **options):
        fault_server.fault = issuer
        credentials = ClientCredentials(f"{fault_server.base_url}/oauth/token", "me:you", SECRET)
        return across(token=credentials, timeout=5.0, **options)

    return connect


def asked(fault_server):
    """Return the requests for tokens."""
    return [request for request in fault_server.requests if request[1] == "/oauth/token"]


def test_a_token_is_issued_and_used(issuing, fault_server):
    """The first call gets a token with the client's credentials, and the next ones use it."""
    client = issuing(Issuer())
    for _ in range(3):
        client.retrieve_cash_flow_report(*MARCH)
    (request,) = asked(fault_server)
    headers = {name.lower(): value for name, value in request[2].items()}
    assert parse_qs(request[3]) == {b"grant_type": [b"client_credentials"]}
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == f"me%3Ayou:{SECRET}".encode()


@pytest.mark.parametrize("write", [False, True])
def test_an_expired_token_is_renewed_once_for_all_threads(issuing, fault_server, write):
    """When the service refuses the token, sixteen threads together get one new one, and all succeed."""
    issuer = Issuer()
    client = issuing(issuer)
    client.retrieve_cash_flow_report(*MARCH)
    issuer.issued += 1  # the service knows the token no longer
    issuer.slow = 0.1

    def ask(_):
        if write:
            return client.recategorize_transaction("led_1", "t", updated_category_ledger_id="n").categories
        return client.list_line_entries("led_1", *MARCH).records

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(16)))
    assert len(asked(fault_server)) == 2


def test_tokens_are_renewed_before_they_expire(issuing, fault_server, monkeypatch):
    """Shortly before the end one thread gets a new token while the others go on with the old."""
    issuer = Issuer(expires_in=100)
    client = issuing(issuer)
    client.retrieve_cash_flow_report(*MARCH)
    credentials = client._client._credentials
    monkeypatch.setattr(credentials, "_renew_at", 0.0)
    issuer.slow = 0.3
    early = threading.Thread(target=client._client._credentials.token, args=(aa.client.Deadline(10),))
    early.start()
    while len(asked(fault_server)) < 2:
        time.sleep(0.01)
    started = credentials.token(aa.client.Deadline(10)).reveal()
    early.join()
    assert (started, credentials.token(aa.client.Deadline(10)).reveal()) == ("token-number-1", "token-number-2")


def test_a_token_refused_for_ever_ends(issuing, fault_server):
    """A new token that is refused too is an error, after one renewal."""
    issuer = Issuer()
    client = issuing(issuer)
    fault_server.fault = lambda count, method, target, headers: (
        issuer(count, method, target, headers)
        if target == "/oauth/token"
        else lambda road, _: road.send(b"{}", "401 No", connection="close")
    )
    with pytest.raises(AuthenticationError):
        client.retrieve_cash_flow_report(*MARCH)
    assert len(asked(fault_server)) == 2


ANSWERS = {
    "refused": (
        lambda road, _: road.send(json.dumps({"error": f"invalid_client {SECRET}"}).encode(), "401 No"),
        AuthenticationError,
    ),
    "bad request": (lambda road, _: road.send(b"<html>", "400 No"), AuthenticationError),
    "down": (lambda road, _: road.send(b"", "503 No"), ServerFaultError),
    "gone": (lambda *_: None, TransportError),
    "html": (lambda road, _: road.send(b"<html>"), ProtocolError),
    "no token": (lambda road, _: road.send(b'{"token_type": "bearer"}'), ProtocolError),
    "odd token": (lambda road, _: road.send(b'{"token_type": "bearer", "access_token": "a\\nb"}'), ProtocolError),
    "other kind": (lambda road, _: road.send(b'{"token_type": "mac", "access_token": "a"}'), ProtocolError),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_token_is_a_clear_error(issuing, answer):
    """Whatever the endpoint answers, there is a token or one error that names the endpoint's client and no secret."""
    issuer = Issuer()
    issuer.answer, expected = ANSWERS[answer]
    with pytest.raises(expected, match="get a token for client 'me:you'") as caught:
        issuing(issuer, max_attempts=2).retrieve_cash_flow_report(*MARCH)
    assert SECRET not in f"{caught.value!r}"


def test_passing_faults_of_the_endpoint_are_made_good(issuing):
    """An endpoint that fails once is asked again."""
    issuer = Issuer()
    faults = iter([lambda *_: None, lambda road, _: road.send(b"", "503 No")])

    def answer(road, truth):
        next(faults, issuer.issue)(road, truth)

    issuer.answer = answer
    assert issuing(issuer).list_line_entries("led_1", *MARCH).records


def test_a_rotated_token_file_is_read_again(across, fault_server, tmp_path):
    """When the service refuses the token, the file is read again and the call goes on with what it holds now."""
    file = tmp_path / "books.token"
    file.write_text("token-number-1\n")
    file.chmod(0o600)
    issuer = Issuer()
    issuer.issued = 1
    fault_server.fault = issuer
    client = across(token=TokenFile(file))
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
    """A wrong address, no id and no secret are said when connecting."""
    with pytest.raises(ConfigurationError):
        ClientCredentials(url, client_id, secret)
