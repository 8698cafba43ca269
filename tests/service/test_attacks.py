"""Attacks: on any input the service responds without a 5xx, shows no internals, and keeps its books."""

import http.client
import json
import re
from contextlib import closing

import pytest
from long_cases import also_long

from accounting_analytics.service.post_entries import NewTag, NewTransaction

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
LEDGER = {"name": "x", "editable": True, "financial_account_type": "loan"}
INSIDE = re.compile(
    r"traceback|sqlite|select |insert into|/home/|/tmp/|site-packages|\.py|sqlalchemy|pydantic", re.IGNORECASE
)
NASTY = [
    "' OR '1'='1",
    "'; DROP TABLE ledgers; --",
    '" OR ""="',
    "1 UNION SELECT secret_hash FROM tokens",
    "%' --",
    "\\",
    "\\'",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "#{7*7}",
    "%s%n%x",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "..%2f..%2f",
    "file:///etc/passwd",
    "http://169.254.169.254/",
    "\u0000",
    "a\u0000b",
    "\r\nset-cookie: x=y",
    "\n",
    "\t",
    "\u202e\u0007\u001b[31m",
    "\ufeff",
    "\U0001f4b8",
    "e\u0301",
    "\u0130\u0131",
    "NaN",
    "Infinity",
    "-0",
    "1e400",
    "null",
    "true",
    "[]",
    "{}",
    "0x10",
    "00",
    "\uffff",
    "x" * 3000,
    "\u00e9" * 1000,
    "%00",
    "%",
    "%zz",
    "%C0%AE",
    "%ED%A0%80",
    ",",
    ",,",
    " ",
    "",
    "*",
    "None",
    "undefined",
    "__proto__",
    "9" * 400,
]


@pytest.fixture(params=[NASTY[::4], *also_long(NASTY)], ids=["some", "all"])
def nasty(request):
    """Return hostile texts: every fourth, or all."""
    return request.param


@pytest.fixture
def victim(books):
    """Return books with a transaction and a tag."""
    books.bank(id="bank")
    books.category(id="rent")
    books.post("2025-03-01T12:00:00Z", ("bank", -1, NewTransaction(id="T"), NewTag("class", "north")), ("rent", 1))
    return books


def check_response(response, sent=""):
    """Check that a response is not a failure and shows no internals; the text that was sent may be a name in it."""
    assert response.status_code < 500, (response.request.url, response.text)
    echoed = json.dumps(sent, ensure_ascii=False)[1:-1]
    assert not INSIDE.search(response.text.replace(echoed, "") if echoed else response.text), response.text
    assert response.headers["content-type"] == "application/json"
    response.json()
    return response


def check_unchanged(books):
    """Check that the books are unchanged and still served."""
    assert books.report()["ending_cash_balance"] == -1
    assert books.audit() == []
    assert [line["id"] for line in books.lines("rent")["records"]]


def test_injection_into_queries(victim, nasty):
    """Every parameter of every operation refuses hostile text, or uses it as a name only."""
    listing, report = "/v0/ledgers/bank/line-entries", "/v0/reports/cash-flow"
    names = {
        listing: [
            "start_date",
            "end_date",
            "is_cashflow",
            "time_zone",
            "expand",
            "tag_ids",
            "limit",
            "page_token",
            "x",
        ],
        report: ["start_date", "end_date", "time_zone", "tag_ids", "x"],
    }
    for text in nasty:
        for path, parameters in names.items():
            for name in parameters:
                response = check_response(victim.request("GET", path, params=DAYS | {name: text}))
                omitted = text == "" and name in {"is_cashflow", "expand", "tag_ids", "limit", "page_token"}
                meant = omitted or (name == "is_cashflow" and text.lower() in {"true", "false"})
                assert response.status_code in ({200} if meant else {400, 404, 422}), (name, text, response.text)
            assert (
                check_response(victim.request("GET", path, params=DAYS | {text or "?": "x"}), text).status_code == 422
            )
    check_unchanged(victim)


def test_injection_into_bodies(victim, nasty):
    """Every field of a body refuses hostile text, or uses it as a name only; values of other types are refused."""
    fields = [
        "name",
        "debit_credit",
        "financial_account_type",
        "parent_id",
        "sort_code",
        "sub_type",
        "type",
        "editable",
    ]
    categories = "/v0/ledgers/bank/transactions/T/categories"
    wrong_kinds = [None, 0, -1, 1.5, True, [], {}, [[]], {"a": {}}, 10**400]
    for value in [*nasty, *wrong_kinds]:
        for name in fields:
            response = check_response(victim.request("POST", "/v0/ledgers", json=LEDGER | {name: value}), value)
            assert response.status_code in {201, 404, 422}
            if response.status_code == 201:
                assert value is None or response.json()[name] == value
        for body in (
            {"updated_category_ledger_id": value},
            {"updated_category_ledger_id": "rent", "category_ledger_id": value},
        ):
            response = check_response(victim.request("PUT", categories, json=body))
            assert response.status_code in {404, 422} or (value is None and response.status_code == 200)
        whole = {"content": json.dumps(value), "headers": {"content-type": "application/json"}}
        assert check_response(victim.request("POST", "/v0/ledgers", **whole)).status_code == 422
        if isinstance(value, str):
            assert check_response(
                victim.request("POST", "/v0/ledgers", json=LEDGER | {value: 1}), value
            ).status_code in {
                201,
                422,
            }
    check_unchanged(victim)


def test_injection_into_headers_and_ids(victim):
    """Instance header, modified-by and ids in the path are compared, stored or refused, never interpreted."""
    moved = victim.category("Food", id="food")
    for text in NASTY:
        raw = re.sub(rb"[\x00\r\n]", b"?", text.encode("utf-8")).strip()
        response = victim.request("GET", "/v0/reports/cash-flow", params=DAYS, headers={"service-instance-id": raw})
        assert check_response(response).status_code == 404
        path = "/v0/ledgers/bank/transactions/T/categories"
        for target in (moved, "rent"):
            body = {"updated_category_ledger_id": target}
            assert (
                check_response(victim.request("PUT", path, json=body, headers={"modified-by": raw})).status_code == 200
            )
    assert {row.modified_by for row in victim.audit()} >= {"' OR '1'='1", "<script>alert(1)</script>"}
    assert victim.report()["ending_cash_balance"] == -1


@pytest.mark.parametrize(
    "target",
    [
        "/%",
        "/%zz",
        "/%00",
        "/v0/ledgers/%FF/line-entries",
        "/v0/ledgers/%C0%AE%C0%AE/line-entries",
        "/v0/ledgers/%ED%A0%80/x",
        "/v0/ledgers/a%2Fb%2Fc/line-entries",
        "/v0/ledgers/../../etc/passwd",
        "/v0//ledgers",
        "//v0/ledgers",
        "/v0/ledgers;x=y",
        "/v0/ledgers/bank/line-entries?%",
        "/v0/ledgers/bank/line-entries?start_date=%FF&end_date=%00",
        "/v0/ledgers/bank/line-entries?start_date=%ED%A0%80",
        "/v0/reports/cash-flow?" + "&".join(["a=b"] * 3000),
        "/v0/reports/cash-flow?start_date[]=2025-01-01",
        "/v0/reports/cash-flow?start_date=2025-01-01&start_date=2025-01-02",
        "/v0/reports/cash-flow?=&=&&&",
        "http://evil.example/v0/ledgers",
        "*",
        "evil.example:443",
        "/v0/ledgers/\\..\\",
        "/v0/ledgers/" + "a/" * 3000,
        "/v0/ledgers/" + "%41" * 2000 + "/line-entries",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_malformed_targets(victim, method, target):
    """Malformed paths and queries are 4xx."""
    url = victim.http.base_url
    with closing(http.client.HTTPConnection(url.host, url.port, timeout=20)) as connection:
        connection.putrequest(method, target, skip_host=True)
        for name, value in {"host": "127.0.0.1", "content-length": "0", **victim.headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read().decode()
    assert 400 <= response.status < 500, body
    assert not INSIDE.search(body)
    check_unchanged(victim)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"name":' + b"[" * 33 + b"]" * 33 + b"}",
        b"[" * 30_000 + b"]" * 30_000,
        b"\xef\xbb\xbf{}",
        '{"name":"x"}'.encode("utf-16"),
        b'{"name":"\xff"}',
        b'{"name":"\xed\xa0\x80"}',
        b'{"name":"\\ud800"}',
        b'{"name":"\\u0000","editable":true,"financial_account_type":"loan"}',
        b'{"name":NaN}',
        b'{"name":1e999999}',
        b'{"editable":' + b"9" * 5000 + b"}",
        b'{"name":"x","name":"y"}',
        b'{"name":"x"}{"name":"y"}',
        b'{"name":"x",}',
        b"{'name':'x'}",
        b'{"name":"' + b"\\" * 30_000,
        b'"' * 60_000,
        b"\\" * 60_000,
        b"\x00" * 1000,
        b"nul",
        b"",
        b" ",
        b"//x",
        b"\x1f\x8b\x08\x00",
        b'{"' + b"a" * 60_000 + b'":1}',
        b"{" + b",".join(b'"f%d":1' % number for number in range(6000)) + b"}",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_malformed_bodies(victim, body):
    """Bodies that are deeply nested, broken, in other encodings or have thousands of fields are 422."""
    before = victim.store.ledgers(victim.instance_id)
    for method, path in (("POST", "/v0/ledgers"), ("PUT", "/v0/ledgers/bank/transactions/T/categories")):
        for encoding in ({}, {"content-encoding": "gzip"}):
            headers = {"content-type": "application/json"} | encoding
            assert check_response(victim.request(method, path, content=body, headers=headers)).status_code == 422
    assert victim.store.ledgers(victim.instance_id) == before
    check_unchanged(victim)


def test_bodies_beyond_the_limit(victim):
    """A body that is too large is 413 before all of it has arrived, with a content-length or without."""
    large = b'{"name":"' + b"x" * 70_000 + b'"}'

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    for content in (large, chunks()):
        response = victim.request("POST", "/v0/ledgers", content=content, headers={"content-type": "application/json"})
        assert check_response(response).status_code == 413


def foreign_and_unknown(other):
    """Return pairs of requests: one names a resource of another instance, one an unknown resource."""
    page = other.lines("theirs", limit=1)
    tag, page_token = page["records"][0]["tags"][0]["id"], page["next_page_token"]
    post, listing, report = "/v0/ledgers", "/v0/ledgers/{}/line-entries", "/v0/reports/cash-flow"
    put = "/v0/ledgers/{}/transactions/{}/categories"
    move, one = {"updated_category_ledger_id": "rent"}, DAYS | {"limit": 1}

    def pair(method, path, *theirs, option="params", body=None, name=None, value=None):
        whole = body or DAYS
        return [
            (method, path.format(*ids), {option: whole | ({name: named} if name else {})})
            for ids, named in ((theirs, value), ([mine if mine in {"bank", "T"} else "no" for mine in theirs], "no"))
        ]

    return [
        pair("GET", listing, "theirs"),
        pair("GET", listing, "bank", body=one, name="page_token", value=page_token),
        pair("GET", listing, "bank", name="tag_ids", value=tag),
        pair("GET", report, name="tag_ids", value=tag),
        pair("POST", post, option="json", body=LEDGER, name="parent_id", value="their_loan"),
        pair("PUT", put, "theirs", "theirT", option="json", body=move),
        pair("PUT", put, "bank", "theirT", option="json", body=move),
        pair("PUT", put, "bank", "T", option="json", body=move, name="updated_category_ledger_id", value="their_rent"),
        pair("PUT", put, "bank", "T", option="json", body=move, name="category_ledger_id", value="their_rent"),
    ]


def test_resources_of_other_instances_do_not_exist(victim, make_books):
    """Ids, page tokens, tags, parents and categories of another instance get the very response of unknown ones."""
    other = make_books()
    other.bank(id="theirs")
    other.bank("Loan", id="their_loan", financial_account_type="loan")
    other.category(id="their_rent")
    for number in range(3):
        transaction = NewTransaction(id="theirT" if not number else f"t{number}")
        other.post("2025-03-01T12:00:00Z", ("theirs", -1, transaction, NewTag("g", "n")), ("their_rent", 1))
    for foreign, unknown in foreign_and_unknown(other):
        responses = [victim.request(method, path, **options) for method, path, options in (foreign, unknown)]
        assert responses[0].status_code == responses[1].status_code >= 400, foreign
        assert responses[0].content == responses[1].content, foreign
        varying = {"x-request-id", "date"}
        headers = [{n: v for n, v in response.headers.items() if n not in varying} for response in responses]
        assert headers[0] == headers[1]
    check_unchanged(victim)
    assert other.audit() == []


def test_credentials_of_other_instances_are_refused(victim, make_books):
    """Tokens are valid for their own instance only, and their parts cannot be mixed."""
    other = make_books()
    (mine, my_secret), (their, their_secret) = victim.token.split("."), other.token.split(".")
    for token, status in (
        (other.token, 404),
        (f"{mine}.{their_secret}", 401),
        (f"{their}.{my_secret}", 401),
    ):
        response = victim.request(
            "GET", "/v0/reports/cash-flow", params=DAYS, headers={"authorization": f"Bearer {token}"}
        )
        assert response.status_code == status
        assert token not in response.text
    two = [("authorization", f"Bearer {token}") for token in (victim.token, other.token)]
    headers = [*two, ("service-instance-id", victim.instance_id)]
    assert victim.http.get("/v0/reports/cash-flow", params=DAYS, headers=headers).status_code == 401


def test_a_token_in_the_url_is_ignored(victim):
    """A token is read from the header only, because URLs are logged."""
    for name in ("access_token", "token", "authorization"):
        response = victim.http.get(
            "/v0/reports/cash-flow",
            params=DAYS | {name: victim.token},
            headers={"service-instance-id": victim.instance_id},
        )
        assert response.status_code == 401
        assert victim.token not in response.text


def test_errors_do_not_echo(victim):
    """The text of a request is not in its error, so that no page shows it and no log keeps it."""
    canary = "canary<b>4711"
    for response in (
        victim.request("GET", f"/v0/ledgers/{canary}/line-entries", params=DAYS),
        victim.request("GET", "/v0/reports/cash-flow", params=DAYS | {"time_zone": canary}),
        victim.request("GET", "/v0/ledgers/bank/line-entries", params=DAYS | {"page_token": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"parent_id": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"type": canary}),
        victim.http.get(f"/{canary}"),
    ):
        assert response.status_code >= 400
        assert "4711" not in response.text
        assert json.loads(response.text)
