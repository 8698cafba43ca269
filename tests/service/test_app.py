"""The application: authentication, isolation of instances, errors as JSON, hostile requests."""

import itertools
import json
import re

import httpx

from accounting_analytics.service.app import MAX_BODY, ServiceOptions
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

BEARER = 'Bearer realm="accounting-analytics"'
ERROR = {"message", "data", "display_message", "error_code"}
TARGET = {"updated_category_ledger_id": "x"}
DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


def every_operation(ledger="x", transaction="x"):
    """Return method, path and options of a well-formed request of each operation."""
    return [
        ("POST", "/v0/ledgers", {"json": {"name": "x", "editable": True, "financial_account_type": "loan"}}),
        ("PUT", f"/v0/ledgers/{ledger}/transactions/{transaction}/categories", {"json": TARGET}),
        ("GET", f"/v0/ledgers/{ledger}/line-entries", {"params": DAYS}),
        ("GET", "/v0/reports/cash-flow", {"params": DAYS}),
    ]  # fmt: skip


def bad_authorizations(books):
    """Return Authorization headers that are not valid."""
    key, secret = books.token.split(".")
    return [
        None, "", "Bearer", f"Basic {books.token}", books.token, f"Bearer {books.token}x", f"Bearer {key}",
        f"Bearer {key}.", f"Bearer .{secret}", f"Bearer {secret}.{key}", f"Bearer {books.token[:-1]}",
        "Bearer \u00e9\u00fe", f"Bearer {books.token},{books.token}", "Bearer ' OR 1=1 --", f"Bearer {'x' * 20_000}",
        f"Bearer x {books.token}",
    ]  # fmt: skip


def test_bad_tokens_are_401(books):
    """No token, a wrong one, and a malformed one are 401 on every operation, with the same body."""
    bodies = set()
    for authorization, (method, path, options) in itertools.product(bad_authorizations(books), every_operation()):
        headers = {"service-instance-id": books.instance_id}
        if authorization is not None:
            headers["authorization"] = authorization.encode("latin-1")
        response = books.http.request(method, path, headers=headers, **options)
        assert response.status_code == 401, (authorization, response.text)
        presented = (authorization or "").startswith("Bearer ")
        assert response.headers["www-authenticate"] == (BEARER + ', error="invalid_token"' if presented else BEARER)
        bodies.add(response.text)
    (body,) = bodies
    assert set(json.loads(body)) == ERROR
    headers = books.headers | {"authorization": f"bearer {books.token}"}  # the scheme is not case-sensitive
    assert books.http.get("/v0/reports/cash-flow", params=DAYS, headers=headers).status_code == 200


def test_a_token_is_valid_for_its_own_instance_only(books, make_books):
    """A token with another instance, existing or not, is the same 404; without the header it is 422."""
    other = make_books()
    bodies = set()
    for instance, (method, path, options) in itertools.product((other.instance_id, "nothing", ""), every_operation()):
        response = books.request(method, path, headers={"service-instance-id": instance}, **options)
        assert response.status_code == 404
        bodies.add(response.text)
    assert len(bodies) == 1
    assert json.loads(*bodies)["error_code"] == "instance_not_found"
    response = books.http.get("/v0/reports/cash-flow", params=DAYS, headers={"authorization": f"Bearer {books.token}"})
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["header", "service-instance-id"])


def test_unknown_paths_are_json_404(books):
    """An unknown path is 404 in the form of every error."""
    for path in ("/", "/v0", "/v1/ledgers", "/v0/ledgers/", "/docs", "/v0/ledgers/a%2Fb/line-entries"):
        response = books.request("GET", path, params=DAYS, follow_redirects=False)
        assert (response.status_code, set(response.json())) == (404, ERROR)


def test_other_methods_are_json_405(books):
    """A method that a path does not have is 405, and `allow` names those it has."""
    methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"]
    for method, (own, path, options) in itertools.product(methods, every_operation()):
        if method != own:
            response = books.request(method, path, params=options.get("params"))
            assert (response.status_code, set(response.json())) == (405, ERROR)
            assert own in response.headers["allow"]


def test_bad_bodies_are_refused(books):
    """A body that is not JSON, too large or of another type is refused, and nothing is created."""
    before = books.store.ledgers(books.instance_id)
    for content, content_type, status in (
        (b"{", "application/json", 422),
        (b" " * (MAX_BODY + 1), "application/json", 413),
        (b"name=x", "application/x-www-form-urlencoded", 415),
        (b"{}", None, 415),
        (b"{}", "application/json; charset=utf-8", 422),
    ):
        headers = {"content-type": content_type} if content_type else {}
        response = books.request("POST", "/v0/ledgers", content=content, headers=headers)
        assert response.status_code == status
    assert books.store.ledgers(books.instance_id) == before


def test_a_repeated_field_is_refused(books):
    """A body with a field twice is 422, also with the same value, and the field is named."""
    account, headers = '"editable": true, "financial_account_type": "loan"', {"content-type": "application/json"}
    for body in ('{"name": "x", "name": "y", %s}', '{%s, "name": "x", "na\\u006de": "x"}'):
        response = books.request("POST", "/v0/ledgers", content=body % account, headers=headers)
        assert response.status_code == 422
        (wrong,) = response.json()["detail"]
        assert wrong["loc"] == ["body"]
        assert 'duplicate key "name"' in wrong["msg"]


def test_a_failure_hides_its_cause(tmp_path, caplog):
    """If the database fails, the response is a plain 500 without path, query or trace, and the log has the cause."""
    path = tmp_path / "broken.db"
    with Store.open(path) as store:
        instance = create_instance(store)
        headers = {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE line_entries RENAME TO gone")
    with running(path) as service:
        response = httpx.get(f"{service.base_url}/v0/reports/cash-flow", params=DAYS, headers=headers)
    assert (response.status_code, set(response.json())) == (500, ERROR)
    assert not re.search("gone|line_entries|select|sqlite|traceback|broken", response.text, re.IGNORECASE)
    assert "no such table" in caplog.text
    assert f"request {response.headers['x-request-id']} failed" in caplog.text
    assert response.headers["x-content-type-options"] == "nosniff"


def test_health(tmp_path):
    """Health needs no token, says only ok, and counts for no rate limit; 503 without a database."""
    path = tmp_path / "books.db"
    options = ServiceOptions(requests_per_minute=1)
    with running(path, options) as service, Store.open(path) as store, httpx.Client(base_url=service.base_url) as http:
        for _ in range(3):
            response = http.get("/health")
            assert (response.status_code, response.json()) == (200, {"status": "ok"})
            assert "x-ratelimit-limit" not in response.headers
        assert http.post("/health").status_code == 405
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE settings RENAME TO gone")
        response = http.get("/health")
        assert (response.status_code, response.json()) == (503, {"status": "unavailable"})
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE gone RENAME TO settings")
        assert http.get("/health").status_code == 200
