"""LedgerClient: the requests it sends, the result of every response, following pages, and masked secrets."""

import json
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.client.ledger_client import MAX_PAGES_WITHOUT_NEW_IDS, follow_pages
from accounting_analytics.core.errors import (
    AuthenticationError,
    ConfigurationError,
    ConflictError,
    GarbledAnswerError,
    InputError,
    InvalidRequestError,
    NotFoundError,
    PeriodError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    TransportError,
)

MARCH = ("2025-03-01", "2025-03-31")
TOKEN = "canary-token-value"
NAMED = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    429: RateLimitedError,
}


def test_every_status_is_a_named_error(connected):
    answers = iter(range(300, 600))
    client = connected(lambda _: httpx.Response(next(answers), json={"message": "because", "error_code": "code"}))
    client = client.with_options(max_attempts=1)
    for status in range(300, 600):
        expected = NAMED.get(status) or (InvalidRequestError if 400 <= status < 500 else ServerFaultError)
        with pytest.raises(expected) as caught:
            client.list_line_entries("led_1", *MARCH)
        assert (caught.value.status, caught.value.error_code) == (status, "code")
        for text in ("list line entries", "led_1", "2025-03-01 to 2025-03-31", str(status)):
            assert text in str(caught.value)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"The gateway is\r\n\x1b[31m closed", "The gateway is .*closed$"),
        (b"<html><h1>Not here</h1></html>", "<html><h1>Not here</h1></html>$"),
        (b'["one", {"two": 2}]', r'\["one", {"two": 2}\]$'),
        (b'{"fault": {"text": "too many cooks"}}', "too many cooks"),
        (b'{"error": "invalid_client", "error_description": "unknown client"}', "unknown client$"),
        (b'{"title": "Forbidden words"}', "Forbidden words$"),
        (b'{"detail": [{"loc": ["query", "limit"], "msg": "too large", "type": "x"}]}', "query.limit: too large$"),
        (b'{"detail": ["first", "second"]}', "first"),
        (b'{"message": 7, "display_message": "seven"}', "seven$"),
        (b"\xff\xfe broken", "broken$"),
        (b"x" * 1000, r"x{290,}\.\.\.$"),
        (b"[" * 100_000, r"\[\[\["),
        (b"", "the service gave no reason$"),
        (b"{}", "the service gave no reason$"),
    ],
    ids=range(14),
)
def test_the_text_of_any_error_body_is_shown(connected, body, shown):
    client = connected(lambda _: httpx.Response(400, content=body))
    with pytest.raises(InvalidRequestError, match=rf"status 400: .*{shown}") as caught:
        client.retrieve_cash_flow_report(*MARCH)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_the_reason_of_a_refused_token_is_shown(connected):
    client = connected(lambda _: httpx.Response(401, text=f"token {TOKEN} was revoked"))
    with pytest.raises(AuthenticationError, match=r"get a new one.*the service: token \*\*\* was revoked"):
        client.retrieve_cash_flow_report(*MARCH)


def test_a_refusal_after_temporary_failures_states_the_attempts(connected):
    answers = iter([httpx.Response(503), httpx.Response(502), httpx.Response(404, text="gone")])
    with pytest.raises(NotFoundError, match=r"gone; check the address \(base_url\) and the ids; no success after 3"):
        connected(lambda _: next(answers)).retrieve_cash_flow_report(*MARCH)


def test_only_status_200_is_a_successful_read(connected, pages):
    client = connected(lambda request: httpx.Response(206, content=pages([])(request).content))
    with pytest.raises(GarbledAnswerError, match="206"):
        client.list_line_entries("led_1", *MARCH)
    assert len(client.requests) > 1


def test_page_request_has_every_parameter_token_and_instance(connected, pages):
    client = connected(pages([]), instance_header="x-instance")
    client.list_line_entries(
        "led/1 ü",
        *MARCH,
        is_cashflow=True,
        time_zone="America/New_York",
        expand=("ledger", "ledger.parent"),
        tag_ids=("a", "b"),
        limit=7,
    )
    (request,) = client.requests
    assert request.url.raw_path.startswith(b"/v0/ledgers/led%2F1%20%C3%BC/line-entries?")
    assert dict(request.url.params) == {
        "start_date": "2025-03-01",
        "end_date": "2025-03-31",
        "time_zone": "America/New_York",
        "is_cashflow": "true",
        "expand": "ledger,ledger.parent",
        "tag_ids": "a,b",
        "limit": "7",
    }
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-instance"] == "ins_1"


def test_recategorizing_sends_body_and_header(connected):
    user = "José 王 ☃"
    ledger = {"id": "led_1", "name": "Bank", "debit_credit": "debit", "type": "asset", "sub_type": "current_assets"}
    ledger |= {"sort_code": "1", "report_cash_flow": True}
    answer = {"transaction": {"id": "txn"}, "categories": [{"ledger_id": "new"}], "ledger": ledger}
    client = connected(lambda _: httpx.Response(200, json=answer))
    changed = client.recategorize_transaction(
        "led_1", "txn", updated_category_ledger_id="new", category_ledger_id="old", modified_by=user
    )
    (request,) = client.requests
    assert request.method == "PUT"
    assert json.loads(request.content) == {"updated_category_ledger_id": "new", "category_ledger_id": "old"}
    assert dict(request.headers.raw)[b"modified-by"] == user.encode()
    assert [category.ledger_id for category in changed.categories] == ["new"]


BANK = {"name": "Bank", "editable": False, "financial_account_type": "bank_account"}


@pytest.mark.parametrize("answer", [httpx.ReadError("cut"), httpx.Response(500), httpx.Response(504)])
def test_lost_response_to_a_new_ledger_is_not_repeated(connected, answer):
    def respond(_):
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = connected(respond)
    with pytest.raises(ServiceError, match="a ledger 'Bank' may have been created: look for it by this name"):
        client.create_ledger(**BANK)
    assert len(client.requests) == 1


def test_refusals_do_not_say_that_a_ledger_may_exist(connected):
    unreachable = aa.LedgerClient("http://127.0.0.1:1", token="t", instance_id="i")
    conflict = httpx.Response(409, json={"message": "no", "error_code": "other"})
    for client, error in (
        (connected(lambda _: conflict), ConflictError),
        (connected(lambda _: httpx.Response(429)), RateLimitedError),
        (unreachable, TransportError),
    ):
        with pytest.raises(error) as refused:
            client.create_ledger(**BANK)
        assert "may have been created" not in str(refused.value)


@pytest.mark.parametrize("ledger_id", ["", ".", "..", None, 7])
def test_ids_that_address_another_path_are_refused(connected, ledger_id):
    client = connected(lambda _: httpx.Response(200))
    with pytest.raises(InputError, match="is not an id"):
        client.list_line_entries(ledger_id, *MARCH)
    with pytest.raises(InputError, match="is not an id"):
        client.recategorize_transaction("led_1", ledger_id, updated_category_ledger_id="led_2")
    assert client.requests == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 0}, InputError),
        ({"limit": 1001}, InputError),
        ({"limit": True}, InputError),
        ({"expand": ["a,b"]}, InputError),
        ({"time_zone": "Mars/Olympus"}, PeriodError),
    ],
)
def test_bad_arguments_are_refused_before_sending(connected, arguments, expected):
    client = connected(lambda _: httpx.Response(200))
    with pytest.raises(expected):
        client.list_line_entries("led_1", *MARCH, **arguments)
    assert client.requests == []


def test_a_closed_client_sends_nothing(connected):
    client = connected(lambda _: httpx.Response(200, json={}))
    client.close()
    with pytest.raises(InputError, match=r"retrieve cash flow report .* the client is closed; connect again"):
        client.retrieve_cash_flow_report("2025-03-01", "2025-03-31")
    assert client.requests == []


@pytest.mark.parametrize("token", ["", "two\nlines", "ünïcode", " sesame "])
def test_tokens_that_do_not_fit_a_header_are_refused(token):
    with pytest.raises(ConfigurationError) as caught:
        aa.LedgerClient("http://ledgers.test", token=token, instance_id="ins_1")
    assert not token.strip() or token not in str(caught.value)
    with pytest.raises(ConfigurationError, match="no token given"):
        aa.LedgerClient("http://ledgers.test", token=None, instance_id="ins_1")


@pytest.mark.parametrize(
    "url", ["ledgers.test", "ftp://ledgers.test", "http://", "http://a:b@c", "http://x?y=1", "http://x:99999"]
)
def test_addresses_are_checked(url):
    with pytest.raises(ConfigurationError, match="base_url"):
        aa.LedgerClient(url, token="t", instance_id="ins_1")


def test_nanoseconds_of_zero_are_accepted(connected, pages, line):
    page = connected(pages([line(datetime="2025-03-10T12:00:00.123456000Z")])).list_line_entries("led_1", *MARCH)
    assert page.records[0].datetime.microsecond == 123456


@pytest.mark.parametrize(
    ("configured", "given", "sent"),
    [(None, None, "UTC"), ("Asia/Tokyo", None, "Asia/Tokyo"), ("Asia/Tokyo", ZoneInfo("UTC"), "UTC")],
)
def test_days_are_counted_in_given_client_or_utc_zone(connected, configured, given, sent):
    client = connected(lambda _: httpx.Response(500), time_zone=configured, max_attempts=1)
    for caller in (client, client.with_options(deadline=1)):
        for call in (caller.list_line_entries, caller.iter_line_entries):
            with pytest.raises(ServerFaultError):
                list(call("led_1", *MARCH, time_zone=given))
        with pytest.raises(ServerFaultError):
            caller.retrieve_cash_flow_report(*MARCH, time_zone=given)
    assert {request.url.params["time_zone"] for request in client.requests} == {sent}


def test_a_client_with_an_unknown_zone_is_refused(connected):
    """A zone of a client is checked when the client is made, because loads count days in it."""
    with pytest.raises(PeriodError, match="did you mean 'Asia/Tokyo'"):
        connected(None, time_zone="Asia/Tokio")
    with pytest.raises(PeriodError, match="'localtime' is the service's own time zone"):
        connected(None, time_zone="localtime")


def test_days_in_the_zone_of_the_service(posted_books):
    """The methods of a client take days that the service counts in its own zone; loads want its name."""
    ledgers = {"bank": "bank_account", "rent": "expense operating_expenses debit"}
    client = posted_books([("2025-02-28 23:30", {"rent": "5", "bank": "-5"})], ledgers, time_zone="America/New_York")
    day = {"start_date": "2025-02-28", "end_date": "2025-02-28"}
    for time_zone, count in (("localtime", 1), ("UTC", 0)):
        assert len(client.list_line_entries("bank", **day, time_zone=time_zone).records) == count
        assert len(list(client.iter_line_entries("bank", **day, time_zone=time_zone))) == count
        assert len(client.retrieve_cash_flow_report(**day, time_zone=time_zone).cash_flow_ledgers) == count
    with pytest.raises(PeriodError, match="end_date 2025-02-28 is before start_date 2025-03-01"):
        client.list_line_entries("bank", "2025-03-01", "2025-02-28", time_zone="localtime")
    for load in (aa.load_cash_flow_report, aa.discover_ledgers, partial(aa.load_line_entries, ledger_ids=["bank"])):
        with pytest.raises(PeriodError, match="give its name, such as 'America/New_York'"):
            load(client, **day, time_zone="localtime")


REPEATED_TOKENS = [
    {"display_message": TOKEN},
    {"message": "x" * 290 + TOKEN},
    {"detail": TOKEN},
    {"detail": [{"loc": ["header", TOKEN], "msg": f"not {TOKEN}", "type": "x"}]},
]


@pytest.mark.parametrize("body", REPEATED_TOKENS)
def test_a_repeated_token_is_masked(connected, body):
    client = connected(lambda _: httpx.Response(422, json=body))
    with pytest.raises(aa.errors.StatusError) as caught:
        client.list_line_entries("led_1", *MARCH)
    shown = f"{caught.value} {caught.value.error_code} {caught.value!r}"
    assert TOKEN not in shown
    assert TOKEN[:-4] not in shown


@pytest.mark.parametrize("change", [{"amount": TOKEN}, {"id": TOKEN, "amount": "x"}, {"id": TOKEN, "amount": True}])
def test_a_repeated_token_is_masked_in_values(connected, pages, line, change):
    with pytest.raises(ProtocolError) as caught:
        connected(pages([line() | change])).list_line_entries("led_1", *MARCH)
    assert TOKEN not in str(caught.value)


class Page(NamedTuple):
    """A page of ids."""

    ids: list
    next_page_token: str | None


def follow(pages):
    """Follow pages by their token; None is the first one."""
    return list(follow_pages(lambda token, _: pages[token], subject="list (ledger led_1)"))


def test_pages_are_followed_to_the_one_without_a_token():
    pages = {None: Page([], "a"), "a": Page(["1", "2"], "b"), "b": Page([], "c"), "c": Page(["1", "2"], None)}
    assert follow(pages) == list(pages.values())


def test_pages_are_numbered_and_requested_when_needed():
    requested = []

    def request_page(token, number):
        requested.append((token, number))
        return Page([str(number)], None if number == 3 else f"after {number}")

    next(pages := follow_pages(request_page, subject="list"))
    assert requested == [(None, 1)]
    assert len(list(pages)) == 2
    assert requested[1:] == [("after 1", 2), ("after 2", 3)]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({None: Page(["1"], "a"), "a": Page(["2"], "a")}, "page 2: pagination loop: next_page_token repeats"),
        (
            {None: Page(["1"], "a"), "a": Page(["2"], "b"), "b": Page(["3"], "a")},
            "page 3: pagination loop: next_page_token repeats",
        ),
        (
            {None: Page(["1"], "a"), "a": Page(["2"], "b"), "b": Page(["1"], "c")},
            "page 3: pagination loop: page 1 is repeated",
        ),
    ],
    ids=["same token", "earlier token", "same page"],
)
def test_repeating_tokens_and_pages_are_refused_as_loops(pages, message):
    with pytest.raises(ProtocolError, match=rf"list \(ledger led_1\), {message}"):
        follow(pages)


@pytest.mark.parametrize("ids", [lambda _: [], lambda number: ["1", "2"][:: 1 if number % 2 else -1] * number])
def test_pages_without_new_ids_are_refused(ids):
    numbers = []

    def request_page(_, number):
        numbers.append(number)
        return Page(ids(number), f"token {number}")

    with pytest.raises(ProtocolError, match=f"the last {MAX_PAGES_WITHOUT_NEW_IDS} pages contain no new record"):
        list(follow_pages(request_page, subject="list"))
    assert len(numbers) in {MAX_PAGES_WITHOUT_NEW_IDS, MAX_PAGES_WITHOUT_NEW_IDS + 1}
