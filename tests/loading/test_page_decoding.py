"""The fast page decoder: the table of the strict decoder, or None."""

import json

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.client import strict_json
from accounting_analytics.client.records import LineEntryPage
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError
from accounting_analytics.core.errors import ProtocolError
from accounting_analytics.loading.page_decoding import decode_fast, decode_strictly

DAYS = [f"2025-01-{day:02}" for day in range(1, 32)]
EXPANSIONS = [
    frozenset(),
    frozenset({"transaction"}),
    frozenset({"transaction", "journal_entry", "opposing_ledger_ids"}),
]


def strict(content, expand, scale):
    """Return the page of the strict decoder, or None where it refuses the page."""
    try:
        page = strict_json.decode(content, LineEntryPage)
        return decode_strictly(page, "page", ledger_id="led_1", expand=expand, scale=scale)
    except (NotJSONError, NotTheInterfaceError, ProtocolError):
        return None


def agree(content, expand=EXPANSIONS[-1], scale=2):
    """Require that the fast decoder returns what the strict decoder does, or None; return whether it was a page."""
    fast = decode_fast(content, ledger_id="led_1", expand=expand, scale=scale)
    if fast is None:
        return False
    fast.table.validate(full=True)
    expected = strict(content, expand, scale)
    assert expected is not None, "the strict decoder refuses this page"
    assert fast.next_page_token == expected.next_page_token
    assert expected.noise_removed == 0
    assert fast.table.schema == expected.table.schema
    assert fast.table.equals(expected.table)
    assert fast.ledger == expected.ledger
    return True


def whole_line(number=1, **fields):
    """Return a line with every field that the interface knows but its ledger."""
    entry, instant = f"ent_{number}", "2025-03-10T12:00:00.123456Z"
    transaction = {
        "id": f"txn_{number}",
        "amount": -12.5,
        "datetime": instant,
        "description": "Cafe",
        "personal": False,
    }
    transaction |= {"journal_entry_id": entry, "ledger_id": "led_1", "line_entry_id": "lin_1"}
    transaction |= {"posted_status": "posted", "review_status": "unreviewed", "source_account_id": "src_1"}
    transaction |= {"opposing_line_entry_ids": ["lin_2"], "categorization_method": None}
    return {
        "id": f"lin_{number}", "amount": 12.5, "debit_credit": "debit", "description": "Coffee", "datetime": instant,
        "editable": True, "ledger_id": "led_1", "ledger_name": "Bank", "related_line_entry_id": None,
        "transaction_id": f"txn_{number}", "transaction": transaction, "journal_entry_id": entry,
        "journal_entry_description": "Entry", "opposing_ledger_ids": ["led_2", "led_3"],
        "journal_entry": {"datetime": instant, "description": "Entry", "id": entry, "line_entry_ids": ["a", "b"]},
        "tags": [{"id": "tag_1", "name": "project", "tag_group_id": "grp_1"}],
    } | fields  # fmt: skip


def ledger(levels=3):
    """Return a ledger as a line shows it, with parents."""
    own = {"id": f"led_{levels}", "name": "Bank", "debit_credit": "debit", "type": "ASSET", "sub_type": "BANK"}
    own |= {"sort_code": "1000", "report_cash_flow": True, "is_required": False, "editable": True}
    own |= {"financial_account_type": "CHECKING", "created_at": "2025-01-01T00:00:00Z"}
    return own | ({"parent": ledger(levels - 1)} if levels > 1 else {})


def page(*lines, **fields):
    return json.dumps({"records": lines, "next_page_token": "t", "prev_page_token": None} | fields)


@pytest.mark.parametrize("scale", [0, 2, 10])
@pytest.mark.parametrize("expand", EXPANSIONS, ids=len)
@pytest.mark.parametrize(
    "lines",
    [
        [],
        [whole_line()],
        [whole_line(), whole_line(2, transaction=None, journal_entry=None, opposing_ledger_ids=None, tags=None)],
        [{name: whole_line()[name] for name in ("id", "amount", "debit_credit", "datetime", "ledger_id")}
         | {"journal_entry_id": "ent_1"}],
        [whole_line(at, debit_credit=side, amount=amount, tags=[{"id": "t"}] * at)
         for at, (side, amount) in enumerate([("debit", 0), ("credit", -3), ("credit", "5"), ("debit", -0.0)])],
        [whole_line(description='Ünï "quoted": \\ {}[],\n\0 \u2028', ledger_name="")],
        [whole_line(datetime=text) for text in ("2025-01-01T00:00:00Z", "2025-01-01T02:00:00.5+02:00")],
        [whole_line(datetime="2025-01-01T00:00:00")],
        [whole_line(at, datetime=text)
         for at, text in enumerate(["2025-01-01T00:00:00", "2025-01-01T00:00:00.25Z", "2025-01-01T00:00:00-05:00"])],
        [whole_line(ledger=ledger()), whole_line(2, ledger=ledger(1)), whole_line(3, ledger=None)],
        [whole_line(ledger=ledger(2) | {"parent": None}), whole_line(2, ledger=ledger(3))],
    ],
    ids=["none", "whole", "nulls", "bare", "amounts", "texts", "zones", "no zone", "some zones", "ledgers", "roots"],
)  # fmt: skip
def test_ordinary_pages_are_decoded_fast(lines, expand, scale):
    lines = [line | ({} if scale else {"amount": 7}) for line in lines]
    lines = [
        line | ({"transaction": line["transaction"] | {"amount": 7}} if line.get("transaction") else {})
        for line in lines
    ]
    for indent in (None, 2):
        for ascii_only in (True, False):
            content = json.dumps(json.loads(page(*lines)), indent=indent, ensure_ascii=ascii_only).encode()
            assert agree(content, expand, scale)


def test_an_absent_source_account_is_null():
    transaction = whole_line()["transaction"]
    without = {name: value for name, value in transaction.items() if name != "source_account_id"}
    null = transaction | {"source_account_id": None}
    for lines in ([null], [null, transaction], [null, without, transaction]):
        content = page(*(whole_line(at, transaction=one) for at, one in enumerate(lines))).encode()
        assert agree(content)
        column = strict(content, EXPANSIONS[-1], 2).table["source_account_id"].to_pylist()
        assert column == [one.get("source_account_id") for one in lines]


def test_a_ledger_with_more_than_two_parents_is_read_strictly():
    content = page(whole_line(ledger=ledger(4))).encode()
    assert not agree(content)
    assert strict(content, EXPANSIONS[0], 2).ledger.parent.parent.parent.id == "led_1"


@pytest.mark.parametrize("text", ["2025-01-01T00:00:00.1234567Z", "2025-01-01T00:00:00.1234567\\u005a"])
def test_ledgers_with_instants_finer_than_microseconds_are_refused(text):
    assert not agree(page(whole_line(ledger=ledger(1) | {"created_at": "?"})).replace("?", text).encode())


@pytest.mark.parametrize("lost", ["next_page_token", "prev_page_token", "records"])
def test_pages_with_absent_fields_fall_back(lost):
    body = json.loads(page(whole_line()))
    del body[lost]
    assert not agree(json.dumps(body).encode())
    assert not agree(json.dumps(body | {"records": [whole_line(description=f'"{lost}": null')]}).encode()[:-1] + b"}}")


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b" null ", b"{}", b"[]", b"{} null", b"{}{}", b"\xef\xbb\xbf{}"]
    + [b"[" * 100_000, b'{"records":' * 100_000]
    + [page(whole_line()).encode() + more for more in (b"null", b" null {}", b"{}", b"\0", b"x", b",")]
    + [page(whole_line()).encode()[:cut] for cut in (1, 50, -1)]
    + [page(whole_line(description="é")).replace("\\u00e9", "é").encode(code) for code in ("latin-1", "utf-16")]
    + [page(whole_line()).replace('"led_1"', '"led_1", "x": ' + deep * 100_000).encode() for deep in ("[", '{"a":')],
)  # fmt: skip
def test_invalid_pages_fall_back(content):
    """Arrow crashes on some of these pages, so it must never parse them."""
    assert not agree(content)


UNUSUAL = (
    r"""
null  true  false  0  -0  1  -1.50  12.500  1e3  1E+2  1e-2  0.001  1e400  1e-400  NaN  -Infinity
12345678901234567890123456789012345.67  123456789012345678901234567890123456.78  0e99999999999  1e99999999999
0.30000000000000004  31282.27999999999883584678173065185546875  01  1.  .5  -  +1  "12.50"  "1_0"  " 5"  "5 "
"+5"  ".5"  "5."  "05"  "0x1"  "1e2"  "1e"  "NaN"  "-0"  ""  "1\u0030"  "Infinity"  "1,000.00"  "٣"  "5\n"
"0e999999999999999999"  "-"  "1e-2"  "100e-2"  "2025-01-02T03:04:05Z"  "2025-01-02T03:04:05"
"2025-01-02 03:04:05Z"  "2025-01-02t03:04:05z"  "2025-01-02"  "2025-01-02T03:04:05.1234567Z"
"2025-01-02T03:04:05.1234560Z"  "2025-01-02T03:04Z"  "2025-02-30T00:00:00Z"  "2025-01-02T24:00:00Z"
"2025-01-02T23:59:60Z"  "0000-01-01T00:00:00Z"  "0001-01-01T00:00:00+05:00"  "9999-12-31T23:59:59-05:00"
"2025-01-02T03:04:05+0200"  "2025-01-02T03:04:05+02"  "2025-01-02T03:04:05-00:00"  "2025-01-02T03:04:05+24:00"
"2025-01-02T03:04:05+23:59"  "2025-01-02T03:04:05+00:60"  "2025-01-02T03:04:05,5Z"  "2025-01-02T03:04:05.Z"
"2025-01-02T03:04:05\u005a"  "2025-01-02T03:04:05Z\n"  "20250102T030405Z"  1735787045  "debit"  "credit"
"DEBIT"  "led_1"  "led_2"  "x"  "\ud800"  "\udc00"  "\ud83d\ude00"  "\u0000"  "\x"  "é"
"a\":1,\"amount\": \"1_0\""  []  [null]  [1]  ["a", "b"]  ["a", null]  [[]]  {}  {"id": null}  {"id": "a"}
{"id": "a", "id": "a"}  {"id": "a", "\u0069d": "b"}  {"id": "a", "x": {}}  [{"id": "a"}]  [{"id": "a"}, null]
[{"id": null}]  [{}]  {"id": "a", "amount": "1_0"}  {"id": "a", "datetime": "2025"}
{"id": "a", "line_entry_ids": ["a", null]}  {"id": "a", "amount": 0.001}  // no  1 2  "  {  ]
""".strip()
    .replace("\n", "  ")
    .split("  ")
)
UNUSUAL += ["", '"\x01"', "\xff"]
NAMES = [
    *whole_line(),
    *whole_line()["transaction"],
    *ledger(),
    "ledger",
    "line_entry_ids",
    "name",
    "extra",
    "am\u043eunt",
    "",
]


def places(tree, path=()):
    yield path
    for at, inner in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(inner, (*path, at))


def written(tree, changes, path=()):
    """Write a tree as JSON, with other text at some paths, and more or fewer fields in some objects."""
    if path in changes and changes[path][0] == "value":
        return changes[path][1]
    if isinstance(tree, dict):
        fields = [(f'"{name}"', written(value, changes, (*path, name))) for name, value in tree.items()]
        kind, *change = changes.get(path, ("",))
        if kind == "field":
            fields.insert(change[2] % (len(fields) + 1), (f'"{change[0]}"', change[1]))
        elif kind == "lost":
            del fields[change[0] % len(fields)]
        elif kind == "escaped":
            at = change[0] % len(fields)
            name, value = fields[at]
            fields[at] = (f'"\\u{ord(name[1]):04x}{name[2:]}', value)
        return "{" + ",".join(f"{name}: {value}" for name, value in fields) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(written(inner, changes, (*path, at)) for at, inner in enumerate(tree)) + "]"
    return json.dumps(tree)


BODY = json.loads(page(whole_line(ledger=ledger(2)), whole_line(2)))
LINE_BODY = json.loads(page(whole_line(ledger=ledger(2))))
CHANGES = st.dictionaries(
    st.sampled_from(list(places(BODY))),
    st.tuples(st.just("value"), st.sampled_from(UNUSUAL) | st.text(max_size=5).map(json.dumps) | st.decimals().map(str))
    | st.tuples(st.just("field"), st.sampled_from(NAMES), st.sampled_from(UNUSUAL), st.integers(0, 30))
    | st.tuples(st.just("lost"), st.integers(0, 30))
    | st.tuples(st.just("escaped"), st.integers(0, 30)),
    max_size=3,
)


BYTES = [b"", b" ", b"\n", b'"', b"\\", b"0", b"\xff", b"\xc3\xa9", b"}", b"]", b",", b"{}", b"null"]


@st.composite
def pages(draw):
    """Draw a page with some values, fields or bytes changed."""
    content = written(BODY, draw(CHANGES)).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(content)))
        cut = draw(st.sampled_from([0, 1, 3, 40]))
        content = content[:at] + draw(st.sampled_from(BYTES)) + content[at + cut :]
    return content


@example(written(BODY, {}).encode(), EXPANSIONS[-1], 2)
@given(pages(), st.sampled_from(EXPANSIONS), st.sampled_from([0, 2, 2, 2, 10]))
def same_or_none(content, expand, scale):
    agree(content, expand, scale)


@pytest.mark.soak
def test_the_decoders_never_differ(soak_count):
    settings(max_examples=soak_count(20_000, fewer=200))(same_or_none)()


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(UNUSUAL)), ids=UNUSUAL)
def test_unusual_values_in_every_field(number, soak_count):
    text, every = UNUSUAL[number], 4 // soak_count(4, fewer=1)
    for path in list(places(LINE_BODY))[number % every :: every]:
        agree(written(LINE_BODY, {path: ("value", text)}).encode("utf-8", "surrogatepass"))


def test_a_service_with_unknown_fields_is_read_strictly(connected, make_ledgers, spread):
    lines = [line | {"colour": "blue"} for line in spread({"led_1": {"2025-01-01": 40}})]
    service = make_ledgers(lines, page_size=2)
    frame = aa.load_line_entries(connected(service), ["led_1"], "2025-01-01", "2025-01-01", in_flight=1)
    assert (len(frame), max(service.requested.values())) == (40, 2)  # all pages are read again for the newest day


@pytest.mark.parametrize("unknown_field", [False, True], ids=["fast", "strict"])
def test_names_and_groups_of_tags_have_the_order_of_ids(connected, unknown_field):
    extra = {"colour": "blue"} if unknown_field else {}
    tags = [{"id": "t1", "name": "Shop | North", "tag_group_id": "g1"}, {"id": "t2"}, {"id": "t3", "name": "B"}]
    records = (whole_line(tags=tags, **extra), whole_line(2, tags=[]), whole_line(3, tags=None))
    body = page(*records, next_page_token=None)
    client = connected(lambda _: httpx.Response(200, content=body, headers={"content-type": "application/json"}))
    frame = aa.load_line_entries(client, ["led_1"], "2025-03-10", "2025-03-10")
    found = frame.loc[frame["tag_ids"].fillna("") != "", ["tag_ids", "tag_names", "tag_group_ids"]]
    assert found.to_numpy().tolist() == [["t1|t2|t3", "Shop \u00a6 North||B", "g1||"]]
    assert frame["tag_names"].isna().tolist() == frame["tag_ids"].isna().tolist()
    assert [note[:30] for note in frame.attrs["notes"]] == ["1 character replaced in texts:"]


def test_replaced_characters_of_a_load_are_noted(connected):
    body = page(whole_line(), next_page_token=None).replace('"Cafe"', r'"Cafe \ud83d"')
    client = connected(lambda _: httpx.Response(200, content=body, headers={"content-type": "application/json"}))
    frame = aa.load_line_entries(client, ["led_1"], "2025-03-10", "2025-03-10")
    assert frame["transaction_description"].tolist() == ["Cafe \ufffd"]
    (note,) = frame.attrs["notes"]
    assert note.startswith("1 character replaced in texts: lone surrogates")
