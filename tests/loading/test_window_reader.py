"""Reading a window: pagination loops, lines outside the request, expired page tokens, garbled pages."""

import random
from collections import Counter

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import PermissionDeniedError, ProtocolError

JSON = {"content-type": "application/json"}
MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def test_pages_may_have_any_size(connected, pages, line):
    """Short, empty and oversized pages are followed; only a page without a next token ends a window."""
    each = [[line(1)], [], [line(n) for n in range(2, 1500)], [], [], [line(1500)], []]
    frame = aa.load_line_entries(connected(pages(*each)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(f"lin_{n}" for n in range(1, 1501))


def test_an_absent_token_is_not_the_end(connected, line):
    """A page without the field next_page_token is refused, not taken for the last page."""
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
    """Lines of another ledger or outside the requested days are refused, with the page they are on."""
    with pytest.raises(ProtocolError, match=rf"page 2\): {message}"):
        aa.load_line_entries(connected(pages([line(1)], [line(9) | stray])), ["led_1"], *MARCH)


def test_a_line_in_two_ledgers_is_refused(connected, line):
    """An id in two ledgers means that the line was moved during the load."""

    def answer(request):
        lines = [line(1, ledger_id=request.url.path.split("/")[3])]
        return httpx.Response(200, json={"records": lines, "next_page_token": None, "prev_page_token": None})

    with pytest.raises(ProtocolError, match=r"lin_1 was sent twice with different content.*load again"):
        aa.load_line_entries(connected(answer), ["led_1", "led_2"], *MARCH)


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
    """Where page tokens expire after a few pages, windows become small enough, and each line is loaded once."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=50)
    frame = aa.load_line_entries(connected(expire_tokens(service, pages)), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
    assert frame.attrs["notes"] == ()


def test_tokens_that_always_expire_end_the_load(connected, make_ledgers, spread):
    """A day of several pages whose tokens always expire is tried four times, then the load fails."""
    service = make_ledgers(spread({"led_1": {"2025-03-05": 200}}), page_size=50)
    client = connected(expire_tokens(service, 1))
    with pytest.raises(ProtocolError, match=r"refused its own page token in each of 3 attempts.*status 400: expired"):
        aa.load_line_entries(client, ["led_1"], "2025-03-05", "2025-03-05")
    assert len(client.requests) == 8


def test_other_refusals_of_a_page_are_passed_on(connected, pages, line):
    """A refusal that is not about the token is not retried; the error names the page."""
    ours = pages([line(1)], [line(2)])
    client = connected(lambda request: httpx.Response(403) if "page_token" in request.url.params else ours(request))
    with pytest.raises(PermissionDeniedError, match=r"led_1.*page 2\)"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(client.requests) == 2


REFUSALS = [b"", b"{}", b"gone", b"<html>Not found</html>", b'"expired"', b"[1]", b"\xff", b'{"error_code": "unknown"}']


@pytest.mark.soak
def test_windows_restart_whatever_the_refusal_of_a_token_looks_like(connected, make_ledgers, spread, soak_count):
    """Tokens that expire at any page, with any status and body of a refusal, lose and repeat no line."""
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
    """A truncated or garbled page is requested again; nothing of the first response is kept."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}))
    spoilt = {2: b'{"records": ['}

    def answer(request):
        response = service(request)
        content = spoilt.pop(service.requests, None)
        return response if content is None else httpx.Response(200, content=content, headers=JSON)

    frame = aa.load_line_entries(connected(answer), ["led_1"], *MARCH)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
