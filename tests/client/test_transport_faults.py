"""Network faults on real connections: reads are exact or fail clearly, changes are sent once, deadlines hold."""

import contextlib
import gzip
import itertools
import random
import socket
import zlib
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.client import Deadline, http
from accounting_analytics.core.errors import (
    AuthenticationError,
    DeadlineExceededError,
    GarbledAnswerError,
    InputError,
    NoConnectionError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    TransportError,
)

MARCH = ("2025-03-01", "2025-03-31")
TRUTH = [(f"lin_{at}", Decimal(f"{at}.05")) for at in range(9)]


def status(line, **headers):
    return lambda sender, _: sender.send(b"{}", line, connection="close", **headers)


def chunked_cut(sender, body):
    """Send a chunked body without its end."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    sender.socket.sendall(head + b"%x\r\n%b\r\n" % (len(body) // 2, body[: len(body) // 2]))


def corrupt_gzip(sender, body):
    """Send gzip with a wrong byte in the middle."""
    packed = bytearray(gzip.compress(body))
    packed[len(packed) // 2] ^= 0xFF
    sender.send(bytes(packed), content_encoding="gzip")


TEMPORARY = {
    **{f"status {code}": status(f"{code} Fault") for code in (408, 429, 500, 502, 503, 504)},
    "429 a moment": status("429 Wait", retry_after="0.02"),
    "503 a date": status("503 Wait", retry_after="Tue, 11 Nov 2025 12:00:00 GMT"),
    "429 soon": status("429 Wait", retry_after="soon"),
    "429 negative": status("429 Wait", retry_after="-3"),
    "503 nothing": status("503 Wait", retry_after=""),
    "closed": lambda *_: None,
    "reset": lambda sender, _: sender.reset(),
    "short": lambda sender, body: sender.send(body[: len(body) // 2], length=len(body)),
    "cut": lambda sender, body: sender.send(body[: len(body) // 2], connection="close", length=None),
    "cut without length": lambda sender, body: sender.socket.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + body[:-9]),
    "chunked cut": chunked_cut,
    "corrupt gzip": corrupt_gzip,
    "cut gzip": lambda sender, body: sender.send(gzip.compress(body)[:-30], content_encoding="gzip"),
    "cut second member": lambda sender, body: sender.send(
        gzip.compress(body[:9]) + gzip.compress(body[9:])[:-9], content_encoding="gzip"
    ),
    "no gzip": lambda sender, body: sender.send(body, content_encoding="gzip"),
    "garbage": lambda sender, _: sender.send(b"\x8f\x00\xff{" * 50),
    "no status line": lambda sender, _: sender.socket.sendall(b"\x00\x01\x02 garbage\r\n\r\n"),
    "html": lambda sender, _: sender.send(b"<html>Sign in</html>", content_type="text/html"),
    "wrong type": lambda sender, body: sender.send(body, content_type="text/plain"),
    "empty": lambda sender, _: sender.send(b""),
    "204": lambda sender, _: sender.send(b"", "204 No Content", length=0),
    "206": lambda sender, body: sender.send(body[:50], "206 Partial Content"),
    "twice": lambda sender, body: sender.send(body + body),
    "byte order mark": lambda sender, body: sender.send(b"\xef\xbb\xbf" + body),
    "latin-1": lambda sender, body: sender.send(body[:-1] + b', "note": "\xe9"}'),
}
SLOW = {
    "silence": lambda sender, _: sender.hold(),
    "stall": lambda sender, body: (sender.send(body[:20], length=len(body)), sender.hold()),
    "drip": lambda sender, body: (sender.send(b"", length=len(body)), sender.drip(body)),
}
FINAL = {code: status(f"{code} Fault") for code in (400, 403, 404, 409, 410, 418, 422, 501, 507)}


def session(client):
    """Return the results of a small session: three pages and a report."""
    lines = [(line.id, line.amount) for line in client.iter_line_entries("led_1", *MARCH, limit=3)]
    return lines, client.retrieve_cash_flow_report(*MARCH).ending_cash_balance


@pytest.mark.soak
@pytest.mark.parametrize("fault", [*TEMPORARY, *SLOW])
def test_a_temporary_failure_of_any_request_is_retried(across, fault_server, fault, soak_count):
    for nth in (1, 4) if fault in SLOW else range(1, 5, 3 // soak_count(3, fewer=1)):
        fault_server.requests.clear()
        fault_server.fault = lambda count, *_, nth=nth: (TEMPORARY | SLOW)[fault] if count == nth else None
        assert session(across(timeout=0.8 if fault in SLOW else 10.0)) == (TRUTH, Decimal("10.05"))
        assert len(fault_server.requests) == 5


@pytest.mark.parametrize("fault", TEMPORARY)
def test_permanent_failures_end_with_a_named_error(across, fault_server, fault):
    fault_server.fault = lambda *_: TEMPORARY[fault]
    with pytest.raises(ServiceError, match=r"list line entries \(ledger led_1, 2025-03-01 to 2025-03-31") as caught:
        session(across(max_attempts=4))
    # an attempt on a connection that the server has just closed never arrives
    assert 2 <= len(fault_server.requests) <= 4
    assert "canary" not in str(caught.value)


@pytest.mark.soak
def test_results_are_exact_when_every_fifth_request_fails(across, fault_server, soak_count):
    faults = list(TEMPORARY.values())
    client = across(timeout=5.0)
    for seed in range(soak_count(60, fewer=3)):
        chance = random.Random(seed)  # noqa: S311 (a seed, not a secret)
        fault_server.fault = lambda *_, chance=chance: chance.choice(faults) if chance.random() < 0.2 else None
        for _ in range(10):
            assert session(client) == (TRUTH, Decimal("10.05")), seed


@pytest.mark.parametrize("code", FINAL)
def test_final_refusals_are_not_retried(across, fault_server, code):
    fault_server.fault = lambda *_: FINAL[code]
    with pytest.raises(aa.errors.StatusError) as caught:
        session(across())
    assert caught.value.status == code
    assert len(fault_server.requests) == 1


@pytest.mark.parametrize("fault", [*TEMPORARY, *SLOW])
@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.recategorize_transaction("led_1", "t", updated_category_ledger_id="new"),
        lambda client: client.create_ledger(name="Bank", editable=False, financial_account_type="bank_account"),
    ],
)
def test_changes_are_sent_once(across, fault_server, fault, ask):
    fault_server.fault = lambda *_: (TEMPORARY | SLOW)[fault]
    fault_server.requests.clear()
    with pytest.raises(ServiceError):
        ask(across())
    assert len(fault_server.requests) == 1


@pytest.mark.parametrize("fault", SLOW)
@pytest.mark.parametrize("job", [False, True])
def test_calls_end_by_their_deadline(across, fault_server, fault, job):
    fault_server.fault = lambda *_: SLOW[fault]
    client = across(timeout=30.0, deadline=0.6)
    client = client.with_options(deadline=Deadline(0.6)) if job else client
    with pytest.raises(DeadlineExceededError, match=r"within 0\.6"):
        client.retrieve_cash_flow_report(*MARCH)
    if job:
        with pytest.raises(DeadlineExceededError):
            client.list_line_entries("led_1", *MARCH)
    assert fault_server.drips_completed == 0


def test_an_unreachable_service_is_named(across, fault_server):
    client = across(max_attempts=5)
    fault_server.fault = lambda *_: status("200 OK")
    with pytest.raises(ProtocolError):
        client.retrieve_cash_flow_report(*MARCH)
    fault_server.close()
    with pytest.raises(TransportError, match=r"is the service running\?; no success after 5 attempts"):
        client.retrieve_cash_flow_report(*MARCH)


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_service_that_was_never_reached_is_tried_twice(across, fault_server, host):
    fault_server.close()
    client = across(base_url=fault_server.base_url.replace("127.0.0.1", host), timeout=20.0)
    with pytest.raises(NoConnectionError, match=r"check the address.*no success after 2 attempts"):
        client.retrieve_cash_flow_report(*MARCH)


def test_connecting_has_its_own_limit(across, monkeypatch):
    monkeypatch.setattr(http, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, contextlib.ExitStack() as stack:
        for _ in range(4):  # more than the backlog: the next connection is not accepted
            full = stack.enter_context(socket.socket())
            full.setblocking(False)  # noqa: FBT003 (of the standard library)
            full.connect_ex(silent.getsockname())
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoConnectionError, match=r"nothing responded within.*no success after 2 attempts"):
            across(base_url=address, timeout=300.0, deadline=900.0).retrieve_cash_flow_report(*MARCH)


def test_compressed_responses_are_read(across, fault_server):
    fault_server.fault = lambda *_: lambda sender, body: sender.send(gzip.compress(body), content_encoding="gzip")
    assert session(across()) == (TRUTH, Decimal("10.05"))


@pytest.mark.parametrize("sizes", [(100,), (1, 100), (40, 41, 100)])
def test_gzip_of_several_members_is_read(across, fault_server, sizes):
    def send(sender, body):
        parts = [body[first:last] for first, last in itertools.pairwise((0, *sizes, len(body)))]
        sender.send(b"".join(map(gzip.compress, parts)), content_encoding="gzip")

    fault_server.fault = lambda *_: send
    assert session(across()) == (TRUTH, Decimal("10.05"))


def test_decompression_bombs_are_refused(across, fault_server):
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(66)) + packer.flush()
    fault_server.fault = lambda *_: lambda sender, _: sender.send(bomb, content_encoding="gzip")
    with pytest.raises(ProtocolError, match="larger than 64 MiB"):
        across(timeout=10.0).list_line_entries("led_1", *MARCH)
    assert len(fault_server.requests) == 1
    with pytest.raises(ProtocolError, match="larger than 2 MiB"):
        across(most_bytes=2 << 20).retrieve_cash_flow_report(*MARCH)


@pytest.mark.parametrize("wait", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT", "99999999"])
def test_long_waits_are_errors_and_hold_all_threads(across, fault_server, wait):
    fault_server.fault = lambda *_: status("429 Wait", retry_after=wait)
    client = across()
    with pytest.raises(RateLimitedError, match=r"asks to wait \d+ seconds"):
        client.retrieve_cash_flow_report(*MARCH)
    with pytest.raises(DeadlineExceededError, match="nothing was sent"):
        client.retrieve_cash_flow_report(*MARCH)
    assert len(fault_server.requests) == 1


def test_waits_over_two_minutes_are_errors_whatever_the_deadline(across, fault_server, monkeypatch):
    assert http._MAX_WAIT == 120
    monkeypatch.setattr(http, "_MAX_WAIT", 0.5)
    fault_server.fault = lambda *_: status("429 Wait", retry_after="1")
    with pytest.raises(RateLimitedError, match="asks to wait 1 seconds"):
        across(deadline=20.0).retrieve_cash_flow_report(*MARCH)
    assert len(fault_server.requests) == 1


def redirect(target, code=307):
    return lambda sender, _: sender.send(b"", f"{code} Elsewhere", connection="close", location=target)


@pytest.mark.parametrize("code", [301, 307])
@pytest.mark.parametrize("target", ["/v0/reports/cash-flow?moved=1", "http://127.0.0.2/", "//elsewhere.test/"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.retrieve_cash_flow_report(*MARCH),
        lambda client: client.recategorize_transaction("led_1", "t", updated_category_ledger_id="new"),
    ],
)
def test_redirects_are_refused(across, fault_server, code, target, ask):
    fault_server.fault = lambda *_: redirect(target, code)
    fault_server.requests.clear()
    with pytest.raises(ServerFaultError, match="redirects, which is not followed: give the final address"):
        ask(across(timeout=10.0))
    assert len(fault_server.requests) == 1


@pytest.mark.parametrize(
    "identifier", ["a/b", "%2e", "..%2f", "Ünï☃", "x" * 10_000, "NaN", "00123", "1e5", "a?b#c", " "]
)
def test_any_id_is_sent_unchanged(across, fault_server, identifier):
    from urllib.parse import unquote  # noqa: PLC0415 (only this test decodes)

    across().list_line_entries(identifier, *MARCH)
    path = fault_server.requests[0][1].partition("?")[0]
    assert unquote(path.removeprefix("/v0/ledgers/").removesuffix("/line-entries")) == identifier


def test_too_long_ids_and_tokens_are_refused(across, fault_server):
    client = across()
    with pytest.raises(InputError, match="too long"):
        client.list_line_entries("☃" * 20_000, *MARCH)
    with pytest.raises(InputError, match="page token of 100000"):
        client.list_line_entries("led_1", *MARCH, page_token="x" * 100_000)
    for text in ("a\ud800", "line\nbreak", "x" * 20_000, "☃" * 7000):
        with pytest.raises(InputError):
            client.recategorize_transaction("led_1", "t", updated_category_ledger_id="n", modified_by=text)
    assert fault_server.requests == []
    long = b'{"records": [], "next_page_token": "%b", "prev_page_token": null}' % (b"x" * 100_000)
    fault_server.fault = lambda *_: lambda sender, _: sender.send(long)
    with pytest.raises(ProtocolError, match="page 2"):
        list(client.iter_line_entries("led_1", *MARCH))
    assert len(fault_server.requests) == 1


def test_a_refused_token_is_not_renewed(across, fault_server):
    fault_server.fault = lambda *_: status("401 Who")
    with pytest.raises(AuthenticationError, match="get a new one"):
        across().retrieve_cash_flow_report(*MARCH)
    assert len(fault_server.requests) == 1


def test_values_that_break_the_interface_are_not_retried(across, fault_server):
    """A complete response of the wrong form would be the same in another attempt."""
    fault_server.fault = lambda *_: lambda sender, body: sender.send(body.replace(b'"0.05"', b"true"))
    with pytest.raises(ProtocolError, match="lin_0") as caught:
        session(across())
    assert not isinstance(caught.value, GarbledAnswerError)
    assert len(fault_server.requests) == 1
