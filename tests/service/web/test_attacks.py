"""Attacks: whatever is sent, the service answers without a 5xx, says nothing of its inside, and keeps its books."""

import http.client
import json
import re
from contextlib import closing

import pytest

from accounting_analytics.service.auth.oauth_clients import issue_client
from accounting_analytics.service.bookkeeping.new_entries import NewTag, NewTransaction

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


@pytest.fixture
def victim(books):
    """Return books with a transaction, a tag, and a trial balance to keep."""
    books.bank(id="bank")
    books.category(id="rent")
    books.post("2025-03-01T12:00:00Z", ("bank", -1, NewTransaction(id="T"), NewTag("class", "north")), ("rent", 1))
    return books


def harmless(answer, sent=""):
    """Check that an answer is no failure, and speaks of nothing inside; what was sent may come back as a name."""
    assert answer.status_code < 500, (answer.request.url, answer.text)
    echoed = json.dumps(sent, ensure_ascii=False)[1:-1]
    assert not INSIDE.search(answer.text.replace(echoed, "") if echoed else answer.text), answer.text
    assert answer.headers["content-type"] == "application/json"
    answer.json()
    return answer


def untouched(books):
    """Check that the books are what they were, and answer."""
    assert books.report()["ending_cash_balance"] == -1
    assert books.audit() == []
    assert [line["id"] for line in books.lines("rent")["records"]]


def test_injection_into_queries(victim):
    """Every parameter of every operation takes hostile text for a value that it refuses, or for a mere name."""
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
    for text in NASTY:
        for path, parameters in names.items():
            for name in parameters:
                answer = harmless(victim.request("GET", path, params=DAYS | {name: text}))
                meant = (name, text) == ("is_cashflow", "true")
                assert answer.status_code in ({200} if meant else {400, 404, 422}), (name, text, answer.text)
            assert harmless(victim.request("GET", path, params=DAYS | {text or "?": "x"}), text).status_code == 422
    untouched(victim)


def test_injection_into_bodies(victim):
    """Every field of a body takes hostile text for a mere name or refuses it; values of other kinds are refused."""
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
    for value in [*NASTY, *wrong_kinds]:
        for name in fields:
            answer = harmless(victim.request("POST", "/v0/ledgers", json=LEDGER | {name: value}), value)
            assert answer.status_code in {201, 404, 409, 422}  # 409: no sort code follows that of a sibling
            if answer.status_code == 201:
                assert value is None or answer.json()[name] == value
        for body in (
            {"updated_category_ledger_id": value},
            {"updated_category_ledger_id": "rent", "category_ledger_id": value},
        ):
            answer = harmless(victim.request("PUT", categories, json=body))
            assert answer.status_code in {404, 422} or (value is None and answer.status_code == 200)
        whole = {"content": json.dumps(value), "headers": {"content-type": "application/json"}}
        assert harmless(victim.request("POST", "/v0/ledgers", **whole)).status_code == 422
        if isinstance(value, str):
            assert harmless(victim.request("POST", "/v0/ledgers", json=LEDGER | {value: 1}), value).status_code in {
                201,
                422,
            }
    untouched(victim)


def test_injection_into_headers_and_ids(victim):
    """Instance header, modified-by and ids in the path are compared, kept or refused, never obeyed."""
    moved = victim.category("Food", id="food")
    for text in NASTY:
        raw = re.sub(rb"[\x00\r\n]", b"?", text.encode("utf-8")).strip()
        answer = victim.request("GET", "/v0/reports/cash-flow", params=DAYS, headers={"service-instance-id": raw})
        assert harmless(answer).status_code == 404
        path = "/v0/ledgers/bank/transactions/T/categories"
        for target in (moved, "rent"):
            body = {"updated_category_ledger_id": target}
            assert harmless(victim.request("PUT", path, json=body, headers={"modified-by": raw})).status_code == 200
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
def test_odd_targets(victim, method, target):
    """Paths and queries that no client would write are 4xx."""
    url = victim.http.base_url
    with closing(http.client.HTTPConnection(url.host, url.port, timeout=20)) as connection:
        connection.putrequest(method, target, skip_host=True)
        for name, value in {"host": "127.0.0.1", "content-length": "0", **victim.headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode()
    assert 400 <= answer.status < 500, body
    assert not INSIDE.search(body)
    untouched(victim)


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
def test_odd_bodies(victim, body):
    """Bodies that are deep, broken, of other encodings or of thousands of fields are 422, wherever there is one."""
    before = victim.store.ledgers(victim.instance_id)
    for method, path in (("POST", "/v0/ledgers"), ("PUT", "/v0/ledgers/bank/transactions/T/categories")):
        for encoding in ({}, {"content-encoding": "gzip"}):
            headers = {"content-type": "application/json"} | encoding
            assert harmless(victim.request(method, path, content=body, headers=headers)).status_code == 422
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert harmless(victim.http.post("/oauth/token", content=body, headers=form)).status_code in {400, 401}
    assert victim.store.ledgers(victim.instance_id) == before
    untouched(victim)


def test_depth_is_counted_outside_of_text(victim):
    """Brackets within a name are text: as many as one likes."""
    name = '[{"\\' * 500
    assert victim.create(**LEDGER | {"name": name})["name"] == name


def test_bodies_beyond_the_limit(victim):
    """A body that is too large, announced or not, is 413 before it is all there."""
    large = b'{"name":"' + b"x" * 70_000 + b'"}'

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    for content in (large, chunks()):
        answer = victim.request("POST", "/v0/ledgers", content=content, headers={"content-type": "application/json"})
        assert harmless(answer).status_code == 413


def foreign_and_unknown(other):
    """Return pairs of requests: one that names something of other books, one that names nothing at all."""
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


def test_what_belongs_to_others_does_not_exist(victim, make_books):
    """Ids, page tokens, tags, parents and categories of another instance answer to the byte like unknown ones."""
    other = make_books()
    other.bank(id="theirs")
    other.bank("Loan", id="their_loan", financial_account_type="loan")
    other.category(id="their_rent")
    for number in range(3):
        transaction = NewTransaction(id="theirT" if not number else f"t{number}")
        other.post("2025-03-01T12:00:00Z", ("theirs", -1, transaction, NewTag("g", "n")), ("their_rent", 1))
    for foreign, unknown in foreign_and_unknown(other):
        answers = [victim.request(method, path, **options) for method, path, options in (foreign, unknown)]
        assert answers[0].status_code == answers[1].status_code >= 400, foreign
        assert answers[0].content == answers[1].content, foreign
        varying = {"x-request-id", "date"}
        headers = [{n: v for n, v in answer.headers.items() if n not in varying} for answer in answers]
        assert headers[0] == headers[1]
    untouched(victim)
    assert other.audit() == []


def test_credentials_of_others_open_nothing(victim, make_books):
    """Tokens and client credentials open their own instance, whatever the header says, and halves do not mix."""
    other = make_books()
    client = issue_client(other.store, other.instance_id)
    answer = victim.http.post("/oauth/token", data={"grant_type": "client_credentials"} | client._asdict())
    (mine, my_secret), (their, their_secret) = victim.token.split("."), other.token.split(".")
    for token, status in (
        (answer.json()["access_token"], 404),
        (other.token, 404),
        (f"{mine}.{their_secret}", 401),
        (f"{their}.{my_secret}", 401),
        (f"{client.client_id}.{client.client_secret}", 401),
        (client.client_secret, 401),
    ):
        answer = victim.request(
            "GET", "/v0/reports/cash-flow", params=DAYS, headers={"authorization": f"Bearer {token}"}
        )
        assert answer.status_code == status
        assert token not in answer.text
    for pair in ((victim.token.partition(".")[0], my_secret), (client.client_id, my_secret)):
        body = {"grant_type": "client_credentials", "client_id": pair[0], "client_secret": pair[1]}
        assert victim.http.post("/oauth/token", data=body).status_code == 401
    two = [("authorization", f"Bearer {token}") for token in (victim.token, other.token)]
    headers = [*two, ("service-instance-id", victim.instance_id)]
    assert victim.http.get("/v0/reports/cash-flow", params=DAYS, headers=headers).status_code == 401


def test_a_token_in_the_url_opens_nothing(victim):
    """A token is taken from the header only: what stands in URLs ends up in logs."""
    for name in ("access_token", "token", "authorization"):
        answer = victim.http.get(
            "/v0/reports/cash-flow",
            params=DAYS | {name: victim.token},
            headers={"service-instance-id": victim.instance_id},
        )
        assert answer.status_code == 401
        assert victim.token not in answer.text


def test_errors_do_not_echo(victim):
    """What was sent does not come back in an error, so that no page shows it and no log keeps it."""
    canary = "canary<b>4711"
    for answer in (
        victim.request("GET", f"/v0/ledgers/{canary}/line-entries", params=DAYS),
        victim.request("GET", "/v0/reports/cash-flow", params=DAYS | {"time_zone": canary}),
        victim.request("GET", "/v0/ledgers/bank/line-entries", params=DAYS | {"page_token": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"parent_id": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"type": canary}),
        victim.http.get(f"/{canary}"),
        victim.http.post("/oauth/token", data={"grant_type": canary, "client_id": canary, "client_secret": canary}),
    ):
        assert answer.status_code >= 400
        assert "4711" not in answer.text
        assert json.loads(answer.text)
