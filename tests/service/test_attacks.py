"""Attacks: on any input the service responds without a 5xx, shows no internals, and keeps its books."""

import http.client
import json
import re
from contextlib import closing

import pytest

from accounting_analytics.journals.entries import NewTag, NewTransaction

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
LEDGER = {"name": "x", "editable": True, "financial_account_type": "loan"}
JSON = {"content-type": "application/json"}
LISTING, REPORT = "/v0/ledgers/bank/line-entries", "/v0/reports/cash-flow"
CATEGORIES = "/v0/ledgers/bank/transactions/T/categories"
INSIDE = re.compile(r"traceback|sqlite|select |insert into|/tmp/|site-packages|\.py|sqlalchemy", re.IGNORECASE)
NASTY = [
    "' OR '1'='1", "'; DROP TABLE ledgers; --", "1 UNION SELECT secret_hash FROM tokens", "\\'", "{{7*7}}%s%n",
    "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "../../etc/passwd", "a\u0000b", "\r\nset-cookie: x=y",
    "\u202e\u0007\u001b[31m", "\ufeff\U0001f4b8e\u0301", "1e400", "null", "x" * 3000, "%00%zz%ED%A0%80", ",,", " ", "",
]  # fmt: skip


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
    assert response.json()
    return response


def check_unchanged(books):
    assert books.report()["ending_cash_balance"] == -1
    assert books.audit() == []
    assert [line["id"] for line in books.lines("rent")["records"]]


@pytest.mark.parametrize("path", [LISTING, REPORT])
def test_injection_into_queries(victim, path):
    names = ["start_date", "end_date", "time_zone", "tag_ids", "x", "is_cashflow", "expand", "limit", "page_token"]
    for text in NASTY:
        for name in names[: 9 if path == LISTING else 5]:
            response = check_response(victim.request("GET", path, params=DAYS | {name: text}))
            is_omitted = text == "" and name in {"is_cashflow", "expand", "tag_ids", "limit", "page_token"}
            assert response.status_code in ({200} if is_omitted else {400, 404, 422}), (name, text, response.text)
        response = victim.request("GET", path, params=DAYS | {text or "?": "x"})
        assert check_response(response, text).status_code == 422
    check_unchanged(victim)


def test_injection_into_bodies(victim):
    names = (
        *("name", "debit_credit", "financial_account_type", "parent_id"),
        *("sort_code", "sub_type", "type", "editable"),
    )
    for value in [*NASTY, None, 0, -1, 1.5, True, [], {}, [[]], {"a": {}}, 10**400]:
        for name in names:
            response = check_response(victim.request("POST", "/v0/ledgers", json=LEDGER | {name: value}), value)
            assert response.status_code in {201, 404, 422}
            if response.status_code == 201:
                assert value is None or response.json()[name] == value
        for fields in ({}, {"updated_category_ledger_id": "rent"}):
            name = "category_ledger_id" if fields else "updated_category_ledger_id"
            response = check_response(victim.request("PUT", CATEGORIES, json=fields | {name: value}))
            assert response.status_code in {404, 422} or (value is None and response.status_code == 200)
        whole = victim.request("POST", "/v0/ledgers", content=json.dumps(value), headers=JSON)
        assert check_response(whole).status_code == 422
    check_unchanged(victim)


def test_injection_into_headers(victim):
    victim.category("Food", id="food")
    for text in NASTY:
        raw = re.sub(rb"[\x00\r\n]", b"?", text.encode("utf-8")).strip()
        response = victim.request("GET", REPORT, params=DAYS, headers={"service-instance-id": raw})
        assert check_response(response).status_code == 404
        for target in ("food", "rent"):
            body, headers = {"updated_category_ledger_id": target}, {"modified-by": raw}
            assert check_response(victim.request("PUT", CATEGORIES, json=body, headers=headers)).status_code == 200
    assert {row.modified_by for row in victim.audit()} >= {"' OR '1'='1", "<script>alert(1)</script>"}
    assert victim.report()["ending_cash_balance"] == -1


@pytest.mark.parametrize(
    "target",
    [
        "/%zz", "/v0/ledgers/%FF/line-entries", "/v0/ledgers/%ED%A0%80/x", "/v0/ledgers/a%2Fb%2Fc/line-entries",
        "/v0/ledgers/../../etc/passwd", "//v0/ledgers", "/v0/ledgers/bank/line-entries?start_date=%FF&end_date=%00",
        f"{REPORT}?{'&'.join(['a=b'] * 3000)}", f"{REPORT}?start_date=2025-01-01&start_date=2025-01-02",
        f"{REPORT}?=&=&&&", "http://evil.example/v0/ledgers", "*", f"/v0/ledgers/{'a/' * 3000}",
    ],
    ids=lambda target: target[:40],
)  # fmt: skip
def test_malformed_targets_are_4xx(victim, target):
    url = victim.http.base_url
    for method in ("GET", "POST", "OPTIONS"):
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


def test_malformed_bodies_are_422(victim):
    before = victim.store.ledgers(victim.instance_id)
    for body in (
        b"[" * 60_000, b'{"a":' * 12_000, b'{"name":' + b"[" * 33 + b"]" * 33 + b"}", b"\xef\xbb\xbf{}",
        '{"name":"x"}'.encode("utf-16"), b'{"name":"\xff"}', b'{"name":"\\ud800"}', b'{"name":NaN}',
        b'{"name":"\\u0000","editable":true,"financial_account_type":"loan"}', b'{"name":1e999999}',
        b'{"editable":' + b"9" * 5000 + b"}", b'{"name":"x"}{"name":"y"}', b'{"name":"x",}', b"\\" * 60_000, b"", b" ",
        b'{"' + b"a" * 60_000 + b'":1}', b"{" + b",".join(b'"f%d":1' % number for number in range(6000)) + b"}",
    ):  # fmt: skip
        for method, path in (("POST", "/v0/ledgers"), ("PUT", CATEGORIES)):
            for headers in (JSON, JSON | {"content-encoding": "gzip"}):
                response = victim.request(method, path, content=body, headers=headers)
                assert check_response(response).status_code == 422, body[:40]
    assert victim.store.ledgers(victim.instance_id) == before
    check_unchanged(victim)


def foreign_and_unknown(other):
    """Return pairs of requests: one names a resource of another instance, one an unknown resource."""
    page = other.lines("theirs", limit=1)
    tag, page_token = page["records"][0]["tags"][0]["id"], page["next_page_token"]
    listing, put = "/v0/ledgers/{}/line-entries", "/v0/ledgers/{}/transactions/{}/categories"
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
        pair("GET", REPORT, name="tag_ids", value=tag),
        pair("POST", "/v0/ledgers", option="json", body=LEDGER, name="parent_id", value="their_loan"),
        pair("PUT", put, "theirs", "theirT", option="json", body=move),
        pair("PUT", put, "bank", "theirT", option="json", body=move),
        pair("PUT", put, "bank", "T", option="json", body=move, name="updated_category_ledger_id", value="their_rent"),
        pair("PUT", put, "bank", "T", option="json", body=move, name="category_ledger_id", value="their_rent"),
    ]


def test_resources_of_other_instances_do_not_exist(victim, make_books):
    other = make_books()
    other.bank(id="theirs")
    other.bank("Loan", id="their_loan", financial_account_type="loan")
    other.category(id="their_rent")
    for number in range(3):
        transaction = NewTransaction(id=f"their{number}" if number else "theirT")
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


def test_credentials_are_not_mixed(victim, make_books):
    """The parts of two tokens are no token, nor are two tokens, nor one in the URL, because URLs are logged."""
    other = make_books()
    (mine, my_secret), (their, their_secret) = victim.token.split("."), other.token.split(".")
    instance = ("service-instance-id", victim.instance_id)
    tokens = [[f"{mine}.{their_secret}"], [f"{their}.{my_secret}"], [victim.token, other.token]]
    for presented in tokens:
        headers = [*(("authorization", f"Bearer {token}") for token in presented), instance]
        assert victim.http.get(REPORT, params=DAYS, headers=headers).status_code == 401
    for name in ("access_token", "token", "authorization"):
        response = victim.http.get(REPORT, params=DAYS | {name: victim.token}, headers=dict([instance]))
        assert response.status_code == 401
        assert victim.token not in response.text


def test_errors_do_not_echo(victim):
    canary = "canary<b>4711"
    for response in (
        victim.request("GET", f"/v0/ledgers/{canary}/line-entries", params=DAYS),
        victim.request("GET", REPORT, params=DAYS | {"time_zone": canary}),
        victim.request("GET", LISTING, params=DAYS | {"page_token": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"parent_id": canary}),
        victim.request("POST", "/v0/ledgers", json=LEDGER | {"type": canary}),
        victim.http.get(f"/{canary}"),
    ):
        assert response.status_code >= 400
        assert "4711" not in response.text
