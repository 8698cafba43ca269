"""Rate limits: counted for each instance, shown in headers, and not used up by other clients."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.service.app import RateLimits, ServiceOptions
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Clock:
    """Seconds that pass when a test sets them."""

    now = 1000.0

    def __call__(self):
        return self.now


def test_limits_reset_after_a_minute():
    """Requests are counted down, refused at zero without being counted, and available again after a minute."""
    clock = Clock()
    limits = RateLimits(2, clock)
    assert [tuple(limits.acquire(1).values()) for _ in range(2)] == [("2", "1", "60"), ("2", "0", "60")]
    clock.now += 59.5
    refused = limits.acquire(1)
    assert refused == dict(zip(HEADERS, ("2", "0", "1"), strict=True)) | {"retry-after": "1"}
    assert limits.acquire(2)["x-ratelimit-remaining"] == "1"
    clock.now += 0.5
    assert limits.acquire(1) == dict(zip(HEADERS, ("2", "1", "60"), strict=True))
    assert RateLimits(None).acquire(1) == {}
    with pytest.raises(ConfigurationError, match="1 or more, not 0"):
        RateLimits(0)


def test_threads_share_one_limit():
    """With any number of threads, exactly as many requests are allowed as the limit."""
    limits = RateLimits(320, Clock())
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: limits.acquire(1), range(2000)))
    allowed = [one for one in taken if "retry-after" not in one]
    assert {int(one["x-ratelimit-remaining"]) for one in allowed} == set(range(len(allowed))) == set(range(320))


@pytest.fixture
def limited(tmp_path):
    """Return a service of five requests per minute and two instances of it."""
    path = tmp_path / "books.db"
    with (
        Store.open(path) as store,
        running(path, ServiceOptions(requests_per_minute=5)) as service,
        httpx.Client(base_url=service.base_url) as http,
    ):
        instances = [create_instance(store) for _ in range(2)]
        headers = [
            {"authorization": f"Bearer {issue_token(store, one)}", "service-instance-id": one} for one in instances
        ]
        yield http, headers


def test_responses_have_rate_limit_headers(limited):
    """Every authenticated request counts, refused ones too, and its response shows the rest; then 429 for a minute."""
    http, (mine, other) = limited
    responses = [
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine),
        http.get("/v0/reports/cash-flow", headers=mine),
        http.get("/v0/ledgers/x/line-entries", params=DAYS, headers=mine),
        http.post("/v0/ledgers", json={}, headers=mine),
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"service-instance-id": "another"}),
    ]
    assert [response.status_code for response in responses] == [200, 422, 404, 422, 404]
    assert [response.headers["x-ratelimit-remaining"] for response in responses] == ["4", "3", "2", "1", "0"]
    assert {response.headers["x-ratelimit-limit"] for response in responses} == {"5"}
    refused = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine)
    assert (refused.status_code, refused.json()["error_code"]) == (429, "too_many_requests")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]
    created = http.post(
        "/v0/ledgers", json={"name": "x", "editable": True, "financial_account_type": "loan"}, headers=mine
    )
    assert created.status_code == 429
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=other).headers["x-ratelimit-remaining"] == "4"


def test_unauthenticated_requests_do_not_count(limited):
    """Requests without a valid token do not count against an instance's limit, and show none."""
    http, (mine, _) = limited
    for authorization in ("", "Bearer x", mine["authorization"] + "x") * 10:
        response = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"authorization": authorization})
        assert response.status_code == 401
        assert not set(HEADERS) & set(response.headers)
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=mine).headers["x-ratelimit-remaining"] == "4"
