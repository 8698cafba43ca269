"""Secrets: whatever fails, a canary token is in no log, error, traceback, repr, copy or pickle."""

import copy
import logging
import pickle
import traceback

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError

MARCH = ("2025-03-01", "2025-03-31")
TOKEN = "canary-token-value"
SECRET = "canary-secret-value"


def echo(status, **headers):
    """Return a fault: a response that repeats the token in body and headers."""

    def answer(sender, _):
        body = f'{{"message": "no {TOKEN}", "error_code": "{TOKEN}", "records": "{TOKEN}"}}'.encode()
        sender.send(body, status, connection="close", x_echo=f"Bearer {TOKEN}", x_request_id=TOKEN, **headers)

    return answer


FAULTS = {
    "echo 200": echo("200 OK"),
    "echo 400": echo("400 Bad"),
    "echo 401": echo("401 Who"),
    "echo 404": echo("404 No"),
    "echo 422": echo("422 Bad"),
    "echo 429": echo("429 Slow", retry_after="9999"),
    "echo 500": echo("500 Oh"),
    "echo redirect": echo("307 There", location=f"http://elsewhere.test/{TOKEN}"),
    "echo type": echo("200 OK", content_type=f"text/{TOKEN}"),
    "echo encoding": echo("200 OK", content_encoding=TOKEN),
    "echo line": lambda sender, _: sender.socket.sendall(f"{TOKEN} {TOKEN}\r\n\r\n".encode()),
    "echo header": lambda sender, _: sender.socket.sendall(f"HTTP/1.1 200 OK\r\n{TOKEN}\x00: x\r\n\r\n".encode()),
    "echo length": lambda sender, _: sender.socket.sendall(
        f"HTTP/1.1 200 OK\r\nContent-Length: {TOKEN}\r\n\r\n".encode()
    ),
    "closed": lambda *_: None,
    "reset": lambda sender, _: sender.reset(),
    "silence": lambda sender, _: sender.hold(),
}


OPERATIONS = {
    "list": lambda client: client.list_line_entries("led_1", *MARCH),
    "recategorize": lambda client: client.recategorize_transaction("led_1", "t", updated_category_ledger_id="n"),
}


def debugger_view(error):
    """Everything that a debugger can show of an error: messages, notes, frames and their variables."""
    texts, waiting, seen = [], [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [repr(one), str(one), repr(vars(one)), *getattr(one, "__notes__", ())]
        texts.append("".join(traceback.TracebackException.from_exception(one, capture_locals=True).format()))
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if "/tests/" not in frame.f_code.co_filename:
                for value in frame.f_locals.values():
                    texts += [repr(value), repr(getattr(value, "__dict__", ""))]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(texts)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_failure_reveals_the_token(across, fault_server, caplog, fault, operation):
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "httpcore.http11", "httpcore.connection", "accounting_analytics"):
        caplog.set_level(logging.DEBUG, logger=name)
    fault_server.fault = lambda *_: FAULTS[fault]
    client = across(max_attempts=2, timeout=0.2)
    with pytest.raises(AccountingAnalyticsError) as caught:
        OPERATIONS[operation](client)
    assert any("authorization" in request[2] for request in fault_server.requests)
    logged = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert TOKEN not in logged
    assert "page_token" not in logged
    assert TOKEN not in debugger_view(caught.value)
    assert TOKEN.encode() not in pickle.dumps(caught.value)


def test_successes_are_logged_without_addresses(across, caplog):
    for name in ("httpx", "httpcore.http11", "httpcore.connection", "accounting_analytics.client"):
        caplog.set_level(logging.DEBUG, logger=name)
    list(across().iter_line_entries("led_1", *MARCH, limit=3))
    assert "list line entries (ledger led_1, 2025-03-01 to 2025-03-31 (UTC), page 2): 200" in caplog.text
    assert "127.0.0.1" not in caplog.text
    assert TOKEN not in caplog.text


def test_other_users_of_httpx_keep_their_logs(fault_server, caplog):
    import httpx  # noqa: PLC0415 (used as another program would)

    caplog.set_level(logging.INFO, logger="httpx")
    httpx.get(f"{fault_server.base_url}/v0/ledgers/x/line-entries")
    assert "HTTP Request" in caplog.text


def test_objects_reveal_no_secret(fault_server, across, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    kinds = (TOKEN, aa.TokenFile(file), aa.ClientCredentials(f"{fault_server.base_url}/t", "me", SECRET))
    for client in (across(token=kind) for kind in kinds):
        for one in (client, client.with_options(timeout=9), client._credentials):
            shown = f"{one!r} {one} {vars(one)!r} {vars(vars(one).get('_http', one))!r}"
            assert TOKEN not in shown
            assert SECRET not in shown
            for attempt in (pickle.dumps, copy.deepcopy):
                with pytest.raises(TypeError):
                    attempt(one)


def test_options_share_the_connection_and_the_rate(across, fault_server):
    client = across()
    other = client.with_options(max_attempts=1, deadline=5.0)
    fault_server.fault = lambda *_: lambda sender, _: sender.send(b"{}", "503 No", retry_after="60", connection="close")
    with pytest.raises(aa.errors.ServerFaultError):
        other.retrieve_cash_flow_report(*MARCH)
    assert 50 < client.quota.paused_for <= 60
    assert len(fault_server.requests) == 1
    with pytest.raises(aa.errors.ConfigurationError, match="positive"):
        client.with_options(timeout=-1)
