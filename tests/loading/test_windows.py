"""Windows: every line once, few requests, in parallel; loops, expired tokens and garbled pages of a window."""

import datetime as dt
import itertools
import random
import threading
import time
from collections import Counter

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, PermissionDeniedError, ProtocolError
from accounting_analytics.loading.estimate import DensityEstimate
from accounting_analytics.loading.request import Window
from accounting_analytics.loading.windows import gaps, split

YEAR = ("2025-01-01", "2025-12-31")


def days(count, first="2025-01-01"):
    """Return `count` days in a row."""
    start = dt.date.fromisoformat(first)
    return [(start + dt.timedelta(days=at)).isoformat() for at in range(count)]


def ids(frame):
    return sorted(frame["id"])


def shuffled(lines):
    """Return lines in a fixed order that does not depend on time."""
    return sorted(lines, key=lambda line: (line["amount"], line["datetime"]))


def test_a_ledger_of_one_page_costs_one_request(connected, make_ledgers, spread):
    service = make_ledgers(spread({f"led_{n}": dict.fromkeys(days(90), 11) for n in range(10)}))
    frame = aa.load_line_entries(connected(service), [f"led_{n}" for n in range(10)], *YEAR)
    assert (len(frame), service.requests) == (9900, 10)


@pytest.mark.parametrize("a_day", [80, *also_long(25, 274, 300, 900)])
def test_windows_cost_few_requests_more(connected, make_ledgers, spread, a_day):
    service = make_ledgers(spread({"led_1": dict.fromkeys(days(365), a_day)}))
    frame = aa.load_line_entries(connected(service), ["led_1"], *YEAR)
    assert ids(frame) == sorted(line["id"] for line in service.lines)
    assert service.requests <= 1.06 * len(service.lines) / 1000 + 4


def test_a_dense_period_is_split_again(connected, make_ledgers, spread):
    lines = spread({"led_1": dict.fromkeys(days(330), 20) | dict.fromkeys(days(30, "2025-11-27"), 2000)})
    service = make_ledgers(lines)
    frame = aa.load_line_entries(connected(service), ["led_1"], *YEAR)
    assert ids(frame) == sorted(line["id"] for line in lines)
    longest = max(Counter(page[:3] for page in service.requested).values())
    assert longest <= 12
    assert service.requests <= 1.25 * len(lines) / 1000 + 12


def test_a_period_far_longer_than_the_books_costs_little(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": dict.fromkeys(days(30), 400)}))
    frame = aa.load_line_entries(connected(service), ["led_1"], "0001-01-01", "9999-12-31")
    assert len(frame) == 12_000
    assert service.requests < 150


@pytest.mark.parametrize("order", ["shuffled", *also_long("ascending", "descending")])
@pytest.mark.parametrize("zone", ["America/St_Johns", *also_long("UTC", "Pacific/Kiritimati")])
def test_order_and_zone_do_not_matter(connected, make_ledgers, spread, order, zone):
    service = make_ledgers(spread({"led_1": dict.fromkeys(days(60), 150)}), page_size=400)
    if order == "descending":
        service.order = lambda lines: lines[::-1]
    elif order == "shuffled":
        service.order = shuffled
    frame = aa.load_line_entries(connected(service), ["led_1"], "2024-12-30", "2025-03-05", time_zone=zone)
    expected = sorted(service.lines, key=lambda line: (line["datetime"], line["id"]))
    assert frame["id"].tolist() == [line["id"] for line in expected]


def test_the_frame_does_not_depend_on_how_it_was_read(connected, make_ledgers, spread):
    lines = spread({"led_1": dict.fromkeys(days(200), 90), "led_2": dict.fromkeys(days(30), 3)})
    frames = []
    for in_flight, seed in ((1, 1), (3, 2), (16, 3)):
        service, dice = make_ledgers(lines), random.Random(seed)  # noqa: S311 (only delays)

        def answer(request, service=service, dice=dice):
            time.sleep(dice.random() / 200)
            return service(request)

        frames.append(aa.load_line_entries(connected(answer), ["led_1", "led_2"], *YEAR, in_flight=in_flight))
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_ledgers_and_windows_are_read_in_parallel(connected, make_ledgers, spread):
    lines = spread({"led_1": dict.fromkeys(days(300), 120)} | {f"led_{n}": {"2025-06-01": 2} for n in range(2, 12)})
    service, lock, now, most = make_ledgers(lines), threading.Lock(), 0, 0
    numbers, all_six = itertools.count(1), threading.Barrier(6)

    def answer(request):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if next(numbers) <= 6:
            all_six.wait(timeout=60)
        with lock:
            now -= 1
        return service(request)

    aa.load_line_entries(connected(answer), [f"led_{n}" for n in range(1, 12)], *YEAR, in_flight=6)
    assert most == 6


@pytest.mark.parametrize("in_flight", [0, -1, True, 2.5, None])
def test_in_flight_is_a_number_of_requests(connected, in_flight):
    client = connected(lambda _: httpx.Response(500))
    with pytest.raises(InputError, match="in_flight"):
        aa.load_line_entries(client, ["led_1"], *YEAR, in_flight=in_flight)
    assert client.requests == []


dates = st.dates(dt.date(2024, 1, 1), dt.date(2026, 12, 31))


@given(
    first=dates,
    length=st.integers(1, 900),
    a_day=st.floats(0.01, 5000),
    at=st.floats(0, 1),
    in_flight=st.integers(1, 64),
)
def test_a_split_covers_each_day_once(*, first, length, a_day, at, in_flight):
    whole = aa.Period(first, first + dt.timedelta(days=length - 1))
    border = first + dt.timedelta(days=int(at * (length - 1)))
    density = DensityEstimate(a_day, 1000, aa.Period(border, whole.end_date))
    windows = split(Window("led_1", whole), density, in_flight)
    covered = sorted(one.period.start_date + dt.timedelta(days=n) for one in windows for n in range(one.period.days))
    assert covered == [whole.start_date + dt.timedelta(days=n) for n in range(length)]
    assert len(windows) <= 4 * in_flight + 2


@given(first=dates, length=st.integers(1, 60), done=st.lists(st.integers(0, 59), unique=True))
def test_gaps_are_the_unfinished_days(first, length, done):
    whole = aa.Period(first, first + dt.timedelta(days=length - 1))
    finished = [aa.Period(first + dt.timedelta(days=n), first + dt.timedelta(days=n)) for n in done if n < length]
    left = [one.period for one in gaps("led_1", whole, finished)]
    covered = sorted(
        period.start_date + dt.timedelta(days=n) for period in [*finished, *left] for n in range(period.days)
    )
    assert covered == [first + dt.timedelta(days=n) for n in range(length)]


def test_the_end_of_the_calendar_can_be_split():
    whole = aa.Period(dt.date(9999, 1, 1), dt.date.max)
    density = DensityEstimate(1000, 1000, whole)
    assert max(one.period.end_date for one in split(Window("led_1", whole), density, 4)) == dt.date.max


MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def test_pages_may_have_any_size(connected, pages, line):
    each = [[line(1)], [], [line(n) for n in range(2, 1500)], [], [], [line(1500)], []]
    frame = aa.load_line_entries(connected(pages(*each)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(f"lin_{n}" for n in range(1, 1501))


def test_an_absent_token_is_not_the_end(connected, line):
    client = connected(lambda _: httpx.Response(200, json={"records": [line()], "prev_page_token": None}))
    with pytest.raises(ProtocolError, match="next_page_token"):
        aa.load_line_entries(client, ["led_1"], *MARCH)


@pytest.mark.parametrize(
    ("stray", "message"),
    [
        ({"ledger_id": "led_2"}, "line lin_9 belongs to ledger led_2"),
        (
            {"datetime": "2025-02-28T23:59:59.999999Z"},
            r"line lin_9 of 2025-02-28 \(2025-02-28 23:59:59.999999.* is outside",
        ),
        ({"datetime": "2025-04-01T00:00:00Z"}, r"line lin_9 of 2025-04-01 .* is outside"),
    ],
)
def test_lines_outside_the_request_are_named(connected, pages, line, stray, message):
    with pytest.raises(ProtocolError, match=rf"page 2\): {message}"):
        aa.load_line_entries(connected(pages([line(1)], [line(9) | stray])), ["led_1"], *MARCH)


def expire_tokens(service, pages):
    """Return a handler whose page tokens expire after some pages."""

    def answer(request):
        token = request.url.params.get("page_token")
        if token is not None and int(token.removeprefix("at-")) >= pages * service.page_size:
            return httpx.Response(400, json={"message": "expired", "error_code": "invalid_page_token"})
        return service(request)

    return answer


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_expired_tokens_restart_smaller_windows(connected, make_ledgers, spread, pages):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=50)
    frame = aa.load_line_entries(connected(expire_tokens(service, pages)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
    assert frame.attrs["notes"] == ()


def test_tokens_that_always_expire_end_the_load(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": {"2025-03-05": 200}}), page_size=50)
    client = connected(expire_tokens(service, 1))
    with pytest.raises(ProtocolError, match=r"refused its own page token in each of 3 attempts.*status 400: expired"):
        aa.load_line_entries(client, ["led_1"], "2025-03-05", "2025-03-05")
    assert len(client.requests) == 8


def test_other_refusals_of_a_page_are_passed_on(connected, pages, line):
    ours = pages([line(1)], [line(2)])
    client = connected(lambda request: httpx.Response(403) if "page_token" in request.url.params else ours(request))
    with pytest.raises(PermissionDeniedError, match=r"led_1.*page 2\)"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) == 2


REFUSALS = [b"", b"{}", b"gone", b"<html>Not found</html>", b'"expired"', b"[1]", b"\xff", b'{"error_code": "unknown"}']


@pytest.mark.soak
def test_windows_restart_whatever_the_refusal_of_a_token_looks_like(connected, make_ledgers, spread, soak_count):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 12), "led_2": {"2025-03-05": 90}}), page_size=20)
    for seed in range(soak_count(100, fewer=4)):
        chance = random.Random(seed)  # noqa: S311 (a seed, not a secret)
        refusals = Counter()

        def answer(request, chance=chance, refusals=refusals):
            days = (request.url.path, request.url.params["start_date"], request.url.params["end_date"])
            if "page_token" in request.url.params and refusals[days] < 2 and chance.random() < 0.4:
                refusals[days] += 1
                return httpx.Response(chance.choice([400, 404, 410, 422]), content=chance.choice(REFUSALS))
            return service(request)

        frame = aa.load_line_entries(connected(answer), ["led_1", "led_2"], *MARCH)
        assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines), seed
        assert refusals, seed


def test_garbled_pages_are_requested_again(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}))
    spoilt = {2: b'{"records": ['}

    def answer(request):
        response = service(request)
        content = spoilt.pop(service.requests, None)
        return response if content is None else httpx.Response(200, content=content)

    frame = aa.load_line_entries(connected(answer), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
