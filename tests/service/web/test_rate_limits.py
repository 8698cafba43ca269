"""Rate limiting: counted for each instance, said in headers, and spent by nobody else."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.rate_limits import DOCUMENTED_RATE, Quotas
from accounting_analytics.service.web.server import running

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_a_minute_at_a_time():
    """Requests are counted down, refused at zero without counting, and all there again after a minute."""
    clock = Clock()
    quotas = Quotas(2, clock)
    assert [(q.allowed, q.remaining, q.reset) for q in (quotas.take(1), quotas.take(1))] == [
        (True, 1, 60),
        (True, 0, 60),
    ]
    clock.now += 59.5
    refused = quotas.take(1)
    assert (refused.allowed, refused.remaining, refused.reset) == (False, 0, 1)
    assert refused.headers()["retry-after"] == "1"
    assert quotas.take(2).remaining == 1
    clock.now += 0.5
    again = quotas.take(1)
    assert (again.allowed, again.remaining, again.reset) == (True, 1, 60)
    assert "retry-after" not in again.headers()


def test_threads_share_one_quota():
    """However many threads ask, exactly as many requests are allowed as there are."""
    quotas = Quotas(DOCUMENTED_RATE, Clock())
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: quotas.take(1), range(2000)))
    assert sum(quota.allowed for quota in taken) == 320
    assert {quota.remaining for quota in taken if quota.allowed} == set(range(320))


def test_a_limit_below_one_is_refused():
    """A limit that lets nothing through is a mistake, not a setting."""
    with pytest.raises(ConfigurationError, match="1 or more, not 0"):
        Quotas(0)


@pytest.fixture
def limited(tmp_path):
    """Return a service of five requests a minute and two instances of it."""
    path = tmp_path / "books.db"
    with (
        Store.open(path) as store,
        running(path, requests_per_minute=5) as service,
        httpx.Client(base_url=service.base_url) as http,
    ):
        instances = [create_instance(store) for _ in range(2)]
        headers = [
            {"authorization": f"Bearer {issue_token(store, one)}", "service-instance-id": one} for one in instances
        ]
        yield http, headers


def test_answers_say_what_is_left(limited):
    """Every authenticated answer counts and says so, refusals too; then 429 until the minute is over."""
    http, (mine, other) = limited
    answers = [
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine),
        http.get("/v0/reports/cash-flow", headers=mine),
        http.get("/v0/ledgers/x/line-entries", params=DAYS, headers=mine),
        http.post("/v0/ledgers", json={}, headers=mine),
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"service-instance-id": "another"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 422, 404, 422, 404]
    assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["4", "3", "2", "1", "0"]
    assert {answer.headers["x-ratelimit-limit"] for answer in answers} == {"5"}
    refused = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine)
    assert (refused.status_code, refused.json()["error_code"]) == (429, "too_many_requests")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]
    created = http.post(
        "/v0/ledgers", json={"name": "x", "editable": True, "financial_account_type": "loan"}, headers=mine
    )
    assert created.status_code == 429
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=other).headers["x-ratelimit-remaining"] == "4"


def test_strangers_spend_nothing(limited):
    """Requests without a valid token, however many, take nothing from an instance's quota and show none."""
    http, (mine, _) = limited
    for authorization in ("", "Bearer x", mine["authorization"] + "x") * 10:
        answer = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"authorization": authorization})
        assert answer.status_code == 401
        assert not set(HEADERS) & set(answer.headers)
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=mine).headers["x-ratelimit-remaining"] == "4"


def test_there_is_no_limit_unless_asked_for(books):
    """The embedded service counts nothing by itself."""
    answer = books.request("GET", "/v0/reports/cash-flow", params=DAYS)
    assert (answer.status_code, set(HEADERS) & set(answer.headers)) == (200, set())
