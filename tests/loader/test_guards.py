"""Paging guards: pages that would never end, lines that do not belong, tokens that die, books that move."""

import datetime as dt
import itertools
import threading
from contextvars import ContextVar

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import ChangedWhileReadingError, InvalidRequestError, ProtocolError, ServerFaultError
from accounting_analytics.loader.load_windows import load_windows
from accounting_analytics.loader.query import LineEntryQuery
from accounting_analytics.loader.window_store import MemoryWindowStore
from accounting_analytics.progress import LoadProgress

JSON = {"content-type": "application/json"}
MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def answer_with(tokens, line):
    """Return a handler that leads from token to token; each page holds a line of its own."""
    numbers = itertools.count()

    def answer(request):
        at = request.url.params.get("page_token")
        body = {"records": [line(next(numbers))], "next_page_token": tokens[at], "prev_page_token": None}
        return httpx.Response(200, json=body)

    return answer


@pytest.mark.parametrize(
    "tokens",
    [
        {None: "a", "a": "a"},
        {None: "a", "a": "b", "b": "a"},
        {None: "a", "a": "b", "b": "c", "c": "d", "d": "b"},
    ],
)
def test_circles_of_tokens_end(connected, line, tokens):
    """A token that came before, however long ago, ends the load with an error that names ledger, period and page."""
    client = connected(answer_with(tokens, line))
    with pytest.raises(
        ProtocolError, match=r"led_1, 2025-03-01 to 2025-03-31.*page \d: pagination loop: next_page_token repeats"
    ):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) == len(tokens)


def test_the_same_page_under_another_token_ends(connected, line):
    """New tokens for ever, but the same lines: the pages would never end."""
    numbers = itertools.count()

    def answer(_):
        body = {"records": [line(1)], "next_page_token": f"t{next(numbers)}", "prev_page_token": None}
        return httpx.Response(200, json=body)

    with pytest.raises(ProtocolError, match="page 2: pagination loop: page 1 is repeated under another page token"):
        aa.load_line_entries(connected(answer), ["led_1"], *MARCH)


def test_pages_without_news_end(connected):
    """Empty pages go on for a while, not for ever."""
    numbers = itertools.count()

    def answer(_):
        body = {"records": [], "next_page_token": f"t{next(numbers)}", "prev_page_token": None}
        return httpx.Response(200, json=body)

    client = connected(answer)
    with pytest.raises(ProtocolError, match="the last 100 pages contain no new record"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) == 100


def test_short_empty_and_oversized_pages_go_on(connected, pages, line):
    """The size of a page says nothing; only a missing token ends a window."""
    each = [[line(1)], [], [line(n) for n in range(2, 1500)], [], [], [line(1500)], []]
    frame = aa.load_line_entries(connected(pages(*each)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(f"lin_{n}" for n in range(1, 1501))


def test_a_page_without_its_token_is_no_end(connected, line):
    """A token field left out is an error, not the last page."""
    client = connected(lambda _: httpx.Response(200, json={"records": [line()], "prev_page_token": None}))
    with pytest.raises(ProtocolError, match="next_page_token"):
        aa.load_line_entries(client, ["led_1"], *MARCH)


@pytest.mark.parametrize(
    ("stray", "said"),
    [
        ({"ledger_id": "led_2"}, "line lin_9 belongs to ledger led_2"),
        ({"datetime": "2025-02-28T23:59:59.999999Z"}, "line lin_9 of 2025-02-28 23:59:59.999999.* is outside"),
        ({"datetime": "2025-04-01T00:00:00Z"}, "line lin_9 of 2025-04-01.* is outside"),
    ],
)
def test_lines_that_do_not_belong_are_named(connected, pages, line, stray, said):
    """A foreign ledger's line, and one outside the days asked for, are refused with the page they are on."""
    with pytest.raises(ProtocolError, match=f"page 2: {said}"):
        aa.load_line_entries(connected(pages([line(1)], [line(9) | stray])), ["led_1"], *MARCH)


def test_a_line_in_two_ledgers_is_refused(connected, line):
    """The same id under two ledgers was moved while the books were read."""

    def answer(request):
        lines = [line(1, ledger_id=request.url.path.split("/")[3])]
        return httpx.Response(200, json={"records": lines, "next_page_token": None, "prev_page_token": None})

    with pytest.raises(ProtocolError, match=r"lin_1 was sent twice with different content.*load again"):
        aa.load_line_entries(connected(answer), ["led_1", "led_2"], *MARCH)


def test_repeats_at_page_boundaries_are_counted(connected, make_ledgers, spread):
    """A service whose pages overlap by a line gives every line once, and the count."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 10)}), page_size=100)
    within = service.within
    service.within = lambda *asked: [*within(*asked)[:100], *within(*asked)[99:]]
    frame = aa.load_line_entries(connected(service), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
    assert frame.attrs["notes"] == ("1 line(s) were sent more than once with the same content and kept once.",)


def expiring(service, pages):
    """Return a handler whose page tokens die after some pages."""

    def answer(request):
        token = request.url.params.get("page_token")
        if token is not None and int(token.removeprefix("at-")) >= pages * service.page_size:
            return httpx.Response(400, json={"message": "expired", "error_code": "invalid_page_token"})
        return service(request)

    return answer


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_expired_tokens_restart_smaller_windows(connected, make_ledgers, spread, pages):
    """Tokens that live for a few pages only: windows become small enough, every line comes once."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=50)
    frame = aa.load_line_entries(connected(expiring(service, pages)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
    assert frame.attrs["notes"] == ()


def test_tokens_that_never_live_are_given_up(connected, make_ledgers, spread):
    """One day of several pages whose tokens always die: tried a few times, then an error that says so."""
    service = make_ledgers(spread({"led_1": {"2025-03-05": 200}}), page_size=50)
    client = connected(expiring(service, 1))
    with pytest.raises(ProtocolError, match="the page token expired in each of 3 attempts"):
        aa.load_line_entries(client, ["led_1"], "2025-03-05", "2025-03-05")
    assert len(client.requests) == 8


def test_other_refusals_of_a_page_are_passed_on(connected, pages, line):
    """A 400 that is not about the token is asked once, and says which page and that nothing was kept."""
    ours = pages([line(1)], [line(2)])

    def answer(request):
        return httpx.Response(400) if "page_token" in request.url.params else ours(request)

    client = connected(answer)
    with pytest.raises(InvalidRequestError, match=r"page 2 of its window.*nothing was kept"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) == 2


def changing(service, change, after):
    """Return a handler that changes the books when so many pages were served."""

    def answer(request):
        if service.requests == after:
            service.change(change)
        return service(request)

    return answer


def add(lines):
    """Post one line at the end."""
    lines.append(lines[-1] | {"id": "lin_new"})


def remove(lines):
    """Delete the newest line."""
    lines.pop()


def amend(lines):
    """Change the newest line."""
    lines[-1] = lines[-1] | {"amount": "0.01"}


@pytest.mark.parametrize("change", [add, remove, amend])
def test_books_that_grow_at_their_end_are_noticed(connected, make_ledgers, spread, change):
    """A line that came, went or changed at the end of a ledger while it was read is found and named."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=500)
    client = connected(changing(service, change, after=3))
    with pytest.raises(ChangedWhileReadingError, match=r"led_1 changed during the load: 1 line.*lin_.*load again"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(aa.load_line_entries(client, ["led_1"], *MARCH)) == len(service.lines)


def test_a_failing_window_fails_the_load(connected, make_ledgers, spread):
    """One window that never comes: an error, no frame, and no further requests than were under way."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 900)}))

    def answer(request):
        if request.url.params["start_date"] > "2025-03-20":
            return httpx.Response(500)
        return service(request)

    with pytest.raises(ServerFaultError, match="nothing was kept"):
        aa.load_line_entries(connected(answer), ["led_1"], *MARCH)


def test_a_partial_load_says_what_is_missing(connected, make_ledgers, spread):
    """Where it is allowed, what could be read is returned, stamped, with the missing days named."""
    service = make_ledgers(spread({"led_1": {"2025-03-05": 3}, "led_2": {"2025-03-05": 3}}))

    def answer(request):
        return httpx.Response(404) if "led_2" in request.url.path else service(request)

    frame = aa.load_line_entries(connected(answer), ["led_1", "led_2"], *MARCH, allow_partial=True)
    assert len(frame) == 3
    assert not frame.attrs["load"]["complete"]
    assert frame.attrs["load"]["missing"] == {"led_2": "2025-03-01/2025-03-31"}
    assert "1 window(s) could not be read" in frame.attrs["notes"][0]


def test_a_load_without_anything_is_no_partial_load(connected):
    """Where nothing could be read there is no frame, allowed or not."""
    with pytest.raises(ServerFaultError):
        aa.load_line_entries(connected(lambda _: httpx.Response(500)), ["led_1"], *MARCH, allow_partial=True)


def test_a_load_says_what_it_is(connected, make_ledgers, spread):
    """Ledgers, days, filters and windows stand with the frame, and the windows tile the period."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 300), "led_2": {}}))
    client = connected(service)
    frame = aa.load_line_entries(client, ["led_1", "led_2"], *MARCH, time_zone="America/New_York", is_cashflow=True)
    load = frame.attrs["load"]
    assert (load["complete"], load["missing"], load["is_cashflow"]) == (True, {}, True)
    assert (load["start_date"], load["end_date"], load["time_zone"]) == (*MARCH, "America/New_York")
    assert load["ledgers"]["led_2"] == "/".join(MARCH)
    windows = [tuple(map(dt.date.fromisoformat, one.split("/"))) for one in load["ledgers"]["led_1"].split()]
    assert windows[0][0] == dt.date(2025, 3, 1)
    assert windows[-1][1] == dt.date(2025, 3, 31)
    assert all(one[1] + dt.timedelta(days=1) == two[0] for one, two in itertools.pairwise(windows))


@pytest.mark.parametrize("garbled", [b'{"records": [', b"<html>busy</html>", b"\xff\xfe", b""])
def test_garbled_pages_are_asked_for_again(connected, make_ledgers, spread, garbled):
    """A page that was cut or mixed up on the way comes whole the next time; nothing of the first is kept."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}))
    spoilt = {2: garbled}

    def answer(request):
        response = service(request)
        content = spoilt.pop(service.requests, None)
        return response if content is None else httpx.Response(200, content=content, headers=JSON)

    frame = aa.load_line_entries(connected(answer), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)


def test_garbled_pages_for_ever_end(connected):
    """A service that only ever garbles is given up after bounded tries, with a clear error."""
    client = connected(lambda _: httpx.Response(200, content=b'{"records": [', headers=JSON))
    with pytest.raises(ProtocolError, match="not valid JSON"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) < 12


class Watched:
    """Ledgers that tell when they are looked at again, and answer that only when something else has begun."""

    def __init__(self, service):
        self.service = service
        self.again, self.other = threading.Event(), threading.Event()
        self.in_vain = False

    def __call__(self, request):
        days = request.url.params["start_date"], request.url.params["end_date"]
        if days != MARCH and days[1] == MARCH[1]:
            self.again.set()
            self.wait(self.other)
        return self.service(request)

    def wait(self, event):
        self.in_vain |= not event.wait(20)


@pytest.mark.parametrize("change", [None, add])
def test_the_second_look_goes_beside_what_is_made(connected, make_ledgers, spread, change):
    """What is wanted of a load is made while the second look is on its way, and counts only if that finds nothing."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=500)
    watched = Watched(service)
    client = connected(watched)
    setting = ContextVar("setting", default="the default")
    setting.set("the caller's")

    def make(loaded):
        watched.wait(watched.again)
        if change:
            service.change(change)
        watched.other.set()
        return sum(one.lines for one in loaded.windows), setting.get()

    def made():
        with LoadProgress(progress=False, client=client) as shown:
            return load_windows(client, march(client, "led_1"), MemoryWindowStore(), shown, in_flight=1, build=make)

    if change is None:
        assert made() == (len(service.lines), "the caller's")
    else:
        with pytest.raises(ChangedWhileReadingError):
            made()
    assert not watched.in_vain


def march(client, *ledger_ids):
    """Return what a load of March asks for."""
    return LineEntryQuery.from_arguments(client, ledger_ids, *MARCH, expand=("journal_entry",))
