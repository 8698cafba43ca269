"""The notice that a load takes many requests: when it is given, what it says, and that it is close."""

import io
import re

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import PermissionDeniedError

ALL_DAYS, YEAR = ("2025-01-01", "2026-06-30"), ("2025-01-01", "2025-12-31")
NOTICE = re.compile(
    r"about ([\d,]+) requests or more are to come, (\d+) minutes at (\d+) a minute; fewer days "
    r"\(a later start_date or since\) take fewer, and local books \(sync\) continue where they were "
    r"stopped, and then read only what is new"
)


class SmallPages(httpx.BaseTransport):
    """Asks a served instance for pages of few lines, and refuses more requests than `most`."""

    def __init__(self, size, most):
        self.size, self.most, self.sent = size, most, 0
        self.real = httpx.HTTPTransport()

    def handle_request(self, request):
        self.sent += 1
        if self.sent > self.most:
            return httpx.Response(403, json={"message": "no more"}, request=request)
        url = request.url.copy_set_param("limit", self.size)
        return self.real.handle_request(httpx.Request("GET", url, headers=request.headers))

    def close(self):
        self.real.close()


class Terminal(io.StringIO):
    """Standard error of a terminal, which keeps what was announced, and how many requests were sent before."""

    def __init__(self, count_sent):
        super().__init__()
        self.count_sent, self.notices = count_sent, []

    def isatty(self):
        return True

    def write(self, text):
        if "are to come" in text:
            self.notices.append((self.count_sent(), text))
        return super().write(text)


@pytest.fixture
def load_all_days(demo_company, monkeypatch):
    """Return a function that loads all days in small pages: the notices, and how many requests were sent."""
    ids = aa.discover_ledgers(demo_company.client, *ALL_DAYS, progress=False)["id"]

    def load(size, *, most=60, **options):
        transport = SmallPages(size, most)
        terminal = Terminal(lambda: transport.sent)
        monkeypatch.setattr("sys.stderr", terminal)
        company = {"token": demo_company.token, "instance_id": demo_company.instance_id}
        with aa.LedgerClient(demo_company.base_url, **company, time_zone="UTC", transport=transport) as client:
            try:
                aa.load_line_entries(client, ids, *ALL_DAYS, progress=False, **options)
            except PermissionDeniedError:
                assert transport.sent > most
        return terminal.notices, transport.sent

    return load


@pytest.mark.parametrize(("size", "options", "expected"), [(5, {}, 1978), (10, {"consistency": "all"}, 1901)])
def test_many_requests_are_announced_once_by_the_20th_page(load_all_days, size, options, expected):
    ((sent, text),), _ = load_all_days(size, in_flight=8, **options)
    assert sent <= 20 + 8
    count, minutes, rate = (int(number.replace(",", "")) for number in NOTICE.fullmatch(text).groups())
    assert expected / 2 < count < 2 * expected
    assert (minutes, rate) == (-(-count // 320), 320)


def test_few_requests_are_not_announced(load_all_days):
    notices, sent = load_all_days(100, most=1000)
    assert (notices, sent < 200) == ([], True)


@pytest.fixture
def large_ledger(connected, make_ledgers, spread):
    """Return a client of a ledger of 1,260 pages, which states a rate limit, and refuses after 60 requests."""
    days = [f"2025-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    service = make_ledgers(spread({"led_1": dict.fromkeys(days, 150)}), page_size=40)

    def answer(request):
        if len(client.requests) > 60:
            return httpx.Response(403)
        limits = {"x-ratelimit-limit": "600", "x-ratelimit-remaining": "500", "x-ratelimit-reset": "60"}
        response = service(request)
        response.headers.update(limits)
        return response

    client = connected(answer)
    return client


@pytest.mark.parametrize("in_flight", [1, 8])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_first_pages_of_a_large_ledger_suffice(large_ledger, monkeypatch, in_flight, is_terminal):
    terminal = Terminal(lambda: len(large_ledger.requests))
    monkeypatch.setattr(terminal, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(PermissionDeniedError):
        aa.load_line_entries(large_ledger, ["led_1"], *YEAR, in_flight=in_flight)
    if not is_terminal:
        assert terminal.notices == []
        return
    ((sent, text),) = terminal.notices
    count, _, rate = NOTICE.fullmatch(text).groups()
    assert (sent <= 20 + in_flight, rate) == (True, "600")
    assert 1000 < int(count.replace(",", "")) < 2 * 50_400 / 40
