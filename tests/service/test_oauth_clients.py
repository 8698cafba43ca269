"""OAuth clients: access tokens by client credentials, and requests that get none."""

import base64
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import urlencode

import httpx
import pytest

from accounting_analytics.service.auth import issue_client, issue_token, list_tokens, revoke_client
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web import request_limits
from accounting_analytics.service.web.server import running
from accounting_analytics.service.web.service_options import ServiceOptions

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
GRANT = {"grant_type": "client_credentials"}


def basic(client_id, secret):
    """Return a header with HTTP Basic credentials."""
    return {"authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()}


def test_client_credentials_by_header_and_by_body(books):
    """A client gets a token of its instance with header or body credentials; the response is not cached."""
    client_id, secret = issue_client(books.store, books.instance_id)
    for body, headers in (
        (GRANT, basic(client_id, secret)),
        (GRANT | {"client_id": client_id}, basic(client_id, secret)),
        (GRANT | {"client_id": client_id, "client_secret": secret}, {}),
        (GRANT | {"client_id": client_id, "client_secret": secret, "scope": "", "unknown": "ignored"}, {}),
    ):
        response = books.http.post("/oauth/token", data=body, headers=headers)
        assert response.status_code == 200, response.text
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["pragma"] == "no-cache"
        issued = response.json()
        assert (issued["token_type"], issued["expires_in"]) == ("Bearer", 3600)
        assert set(issued) == {"access_token", "token_type", "expires_in"}
        assert books.status_with(issued["access_token"]) == (200, None)


def test_tokens_of_a_client_expire_and_are_deleted(tmp_path):
    """Tokens have the lifetime of the service; a new one replaces expired ones in the database."""
    path = tmp_path / "books.db"
    with Store.open(path) as store, running(path, ServiceOptions(token_lifetime=1)) as service:
        instance = create_instance(store)
        credentials = GRANT | issue_client(store, instance)._asdict()
        first = httpx.post(f"{service.base_url}/oauth/token", data=credentials).json()
        assert first["expires_in"] == 1
        time.sleep(1.05)
        headers = {"authorization": f"Bearer {first['access_token']}", "service-instance-id": instance}
        report = f"{service.base_url}/v0/reports/cash-flow"
        assert httpx.get(report, params=DAYS, headers=headers).status_code == 401
        second = httpx.post(f"{service.base_url}/oauth/token", data=credentials).json()
        headers["authorization"] = f"Bearer {second['access_token']}"
        assert httpx.get(report, params=DAYS, headers=headers).status_code == 200
        assert [one.key for one in list_tokens(store)] == [second["access_token"].partition(".")[0]]


def test_a_revoked_client_and_its_tokens_are_refused(books):
    """Revoking a client revokes its tokens, and no others."""
    credentials = issue_client(books.store, books.instance_id)
    body = GRANT | credentials._asdict()
    token = books.http.post("/oauth/token", data=body).json()["access_token"]
    revoke_client(books.store, credentials.client_id)
    assert books.status_with(token)[0] == 401
    assert books.http.post("/oauth/token", data=body).json()["error"] == "invalid_client"
    assert books.status_with(books.token)[0] == 200


def wrong_requests(client_id, secret):
    """Return form, Authorization headers, status and error of invalid requests."""
    both = {"client_id": client_id, "client_secret": secret}
    good = basic(client_id, secret)["authorization"]
    no_colon = base64.b64encode(b"no colon").decode()
    return [
        (GRANT, [], 401, "invalid_client"),
        (b"", [], 401, "invalid_client"),
        (GRANT | both | {"client_secret": secret + "x"}, [], 401, "invalid_client"),
        (GRANT | both | {"client_id": "unknown"}, [], 401, "invalid_client"),
        (GRANT | {"client_id": client_id}, [], 401, "invalid_client"),
        (GRANT | {"client_secret": secret}, [], 401, "invalid_client"),
        (GRANT, [basic(client_id, "x")["authorization"]], 401, "invalid_client"),
        (GRANT, [basic("' OR 1=1 --", "x")["authorization"]], 401, "invalid_client"),
        (GRANT, ["Basic !"], 401, "invalid_client"),
        (GRANT, ["Basic /w=="], 401, "invalid_client"),
        (GRANT, [f"Basic {no_colon}"], 401, "invalid_client"),
        (GRANT, [f"Bearer {secret}"], 401, "invalid_client"),
        (GRANT, ["Basic eDp5", "Basic eDp5"], 400, "invalid_request"),
        (GRANT | both, [good], 400, "invalid_request"),
        (GRANT | {"client_id": "other"}, [good], 400, "invalid_request"),
        (b"", [good], 400, "invalid_request"),
        ({"x": "y"}, [good], 400, "invalid_request"),
        ({"grant_type": ""}, [good], 400, "invalid_request"),
        ({"grant_type": "password"}, [good], 400, "unsupported_grant_type"),
        ({"grant_type": "Client_Credentials"}, [good], 400, "unsupported_grant_type"),
        (GRANT | {"scope": "all"}, [good], 400, "invalid_scope"),
        (b"grant_type=client_credentials&grant_type=client_credentials", [good], 400, "invalid_request"),
        (b"grant_type", [good], 400, "invalid_request"),
        (b"grant_type=%FF", [good], 400, "invalid_request"),
        (b"\xff=1", [good], 400, "invalid_request"),
        (b"&".join(b"a%d=1" % number for number in range(50)), [good], 400, "invalid_request"),
    ]


def test_invalid_requests_get_no_token(books):
    """Errors are those of RFC 6749, and do not tell a wrong client id from a wrong secret."""
    client_id, secret = issue_client(books.store, books.instance_id)
    before = list_tokens(books.store, books.instance_id)
    for form, authorizations, status, error in wrong_requests(client_id, secret):
        content = form if isinstance(form, bytes) else urlencode(form).encode()
        headers = [("content-type", "application/x-www-form-urlencoded")]
        headers += [("authorization", value) for value in authorizations]
        response = books.http.post("/oauth/token", content=content, headers=headers)
        assert (response.status_code, response.json()["error"]) == (status, error), (form, response.text)
        challenged = 'Basic realm="accounting-analytics", charset="UTF-8"' if status == 401 and authorizations else None
        assert response.headers.get("www-authenticate") == challenged
    assert list_tokens(books.store, books.instance_id) == before
    for other in ({"json": GRANT}, {}):
        response = books.http.post("/oauth/token", **other)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    assert books.http.get("/oauth/token").status_code == 405


def test_wrong_credentials_have_the_same_response(books):
    """An unknown client, a wrong secret and a revoked client get the same response."""
    client_id, secret = issue_client(books.store, books.instance_id)
    revoked = issue_client(books.store, books.instance_id)
    revoke_client(books.store, revoked.client_id)
    bodies = {
        books.http.post("/oauth/token", data=GRANT, headers=basic(*pair)).text
        for pair in ((client_id, "wrong"), ("unknown", secret), revoked)
    }
    assert len(bodies) == 1


def test_wrong_credentials_wait_for_no_writer(tmp_path):
    """A wrong secret is refused while another writer holds the lock."""
    path = tmp_path / "books.db"
    with Store.open(path) as store, Store.open(path) as other, running(path) as service:
        client_id, secret = issue_client(store, create_instance(store))
        form = GRANT | {"client_id": client_id}
        with httpx.Client(base_url=service.base_url, timeout=30) as http:
            with other.writing():
                refused = [http.post("/oauth/token", data=form | {"client_secret": "x"}) for _ in range(3)]
                assert [(one.status_code, one.json()["error"]) for one in refused] == [(401, "invalid_client")] * 3
            assert http.post("/oauth/token", data=form | {"client_secret": secret}).status_code == 200


def test_waiting_token_requests_do_not_block_changes(tmp_path, monkeypatch):
    """Token requests have their own queue: a change is tried while many of them wait for the write lock."""
    monkeypatch.setattr(request_limits, "WRITE_WAIT", 0.2)
    path = tmp_path / "books.db"
    with Store.open(path) as store, Store.open(path) as other, running(path) as service, ThreadPoolExecutor(8) as pool:
        instance = create_instance(store)
        form = GRANT | issue_client(store, instance)._asdict()
        headers = {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}
        body = {"name": "x", "editable": True, "financial_account_type": "loan"}
        with other.writing():
            tokens = [
                pool.submit(httpx.post, f"{service.base_url}/oauth/token", data=form, timeout=30) for _ in range(6)
            ]
            assert next(as_completed(tokens)).result().status_code == 503
            change = pool.submit(httpx.post, f"{service.base_url}/v0/ledgers", json=body, headers=headers, timeout=30)
            time.sleep(1)
        assert change.result().status_code == 201
        assert sorted({one.result().status_code for one in tokens}) == [200, 503]


@pytest.mark.parametrize("client_id", ["a\0b", "x" * 5000, "a/b", "büro"])
def test_invalid_client_ids_are_unknown(books, client_id):
    """An impossible client id gets the same response as an unknown one, in each database."""
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": "s"}
    response = books.http.post("/oauth/token", data=form)
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
