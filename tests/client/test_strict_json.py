"""Strict JSON: decoding changes nothing."""

import json
from decimal import Decimal

import pytest

from accounting_analytics.client import strict_json
from accounting_analytics.client.records import CashFlowReport, LineEntryPage
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError

PAGE = '{"records": [%s], "next_page_token": null, "prev_page_token": null}'
LINE = (
    '{"id": "lin_7", "amount": %s, "debit_credit": "debit", "datetime": "2025-03-10T12:00:00Z", '
    '"ledger_id": "led_1", "journal_entry_id": "ent_1"%s}'
)
OTHER_LINE = (LINE % ("1.5", "")).replace("lin_7", "lin_8")


def page(amount="1", more=""):
    """Return a page whose last line has the values under test."""
    return (PAGE % f"{OTHER_LINE}, {LINE % (amount, more)}").encode()


@pytest.mark.parametrize("amount", ["1", "-1.50", "1e3", "1E+2", '"12.50"', '"-0.01"', '"1e3"', '"0"', r'"1\u0030"'])
def test_numbers_and_number_texts_are_amounts(amount):
    decoded = strict_json.decode(page(amount), LineEntryPage)
    assert decoded.records[-1].amount == Decimal(json.loads(amount) if amount[0] == chr(34) else amount)


@pytest.mark.parametrize(
    "amount",
    ["1_000.00", "١٢", " 5", "5 ", "+5", ".5", "5.", "05", "0x10", "1e", "NaN", "-Infinity", "1,000.00", "", "five"],
)
def test_other_texts_are_refused_as_amounts(amount):
    with pytest.raises(NotTheInterfaceError, match=r"amount.*lin_7"):
        strict_json.decode(page(json.dumps(amount)), LineEntryPage)
    with pytest.raises(NotTheInterfaceError, match=r"amount.*lin_7"):
        strict_json.decode(page(json.dumps(amount, ensure_ascii=False)), LineEntryPage)


@pytest.mark.parametrize("amount", ["1e99999999999999999999", '"1e99999999999999999999"', "true", "null", "[]", "{}"])
def test_other_values_are_no_amounts(amount):
    with pytest.raises(NotTheInterfaceError):
        strict_json.decode(page(amount), LineEntryPage)


@pytest.mark.parametrize("instant", ["2025-03-31T23:59:59.9999999Z", r"2025-03-31T23:59:59\u002e9999999Z"])
def test_instants_finer_than_microseconds_are_refused(instant):  # of the next day if rounded
    with pytest.raises(NotTheInterfaceError, match="finer than microseconds"):
        strict_json.decode(page("1", f', "transaction": {{"id": "t", "datetime": "{instant}"}}'), LineEntryPage)


@pytest.mark.parametrize(
    "more",
    [
        ', "amount": 2',
        ', "amount" : 2',
        ', "amount"\n:\t2',
        r', "\u0061mount": 2',
        ', "description": "}{", "amount": 1',
        r', "description": "\"}{\\", "amount": 1',
        ', "extra": {"a": 1, "b": {"a": 1}, "a": 2}',
        ', "extra": [{"a": 1}, {"b": 1, "b": 1}]',
        ', "extra": {"": 1, "": 2}',
        ', "extra": {"a long name that goes on and on": 1, "a long name that goes on and on": 2}',
    ],
)
def test_duplicate_keys_are_refused(more):
    with pytest.raises(NotTheInterfaceError, match="duplicate JSON key"):
        strict_json.decode(page("1", more), LineEntryPage)


@pytest.mark.parametrize(
    "more",
    [
        ', "description": "\\"amount\\": \\"1_0\\", \\"amount\\": 2"',
        ', "description": ":x", "journal_entry_description": ":y"',
        ', "description": "Invoice : 5 }{ [ \\\\"',
        ', "extra": {"amount": 1, "deep": {"amount": 2}}, "tags": [{"id": "a"}, {"id": "a"}]',
        r', "description": "\ud83d\ude00 \u00e9"',
    ],
)
def test_names_in_texts_and_in_other_objects_are_accepted(more):
    assert strict_json.decode(page("1", more), LineEntryPage).records[-1].id == "lin_7"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf" + page(),
        page() + b"x",
        page() + page(),
        page()[:-1],
        page("1", ', "extra": "\xff"').decode().encode("latin-1"),
        page("1", ', "description": "\xff"').decode().encode("latin-1"),
        page("1", ', "description": "\x01"'),
        page().decode().encode("utf-16"),
        b"[" * 100_000,
        page("1", ', "extra": ' + "[" * 100_000),
        page("1", ', "extra": ' + '{"a":' * 100_000 + "1" + "}" * 100_000),
    ],
)
def test_what_is_not_json_is_refused(content):
    with pytest.raises(NotJSONError):
        strict_json.decode(content, LineEntryPage)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(constant):
    """NaN and Infinity break the interface, so they are not requested again; line and field are named."""
    with pytest.raises(NotTheInterfaceError, match=f"'amount' is {constant}.*lin_7"):
        strict_json.decode(page(constant), LineEntryPage)
    transaction = f', "transaction": {{"amount": {constant}, "id": "txn_1"}}'
    with pytest.raises(NotTheInterfaceError, match=f"'amount' is {constant}.*txn_1"):
        strict_json.decode(page("1", transaction), LineEntryPage)
    with pytest.raises(NotTheInterfaceError, match=f"'extra' is {constant}"):
        strict_json.decode(page("1", f', "extra": [{constant}]'), LineEntryPage)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        (', "transaction_id": ""', "transaction_id"),
        (', "related_line_entry_id": ""', "related_line_entry_id"),
        (', "opposing_ledger_ids": ["a", ""]', r"opposing_ledger_ids\[\d\]"),
        (', "transaction": {"id": ""}', "transaction.id"),
        (', "journal_entry": {"id": "a", "line_entry_ids": [""]}', r"journal_entry.line_entry_ids\[\d\]"),
        (', "tags": [{"id": ""}]', r"tags\[\d\].id"),
    ],
)
def test_empty_ids_are_refused(more, path):
    with pytest.raises(NotTheInterfaceError, match=rf"an id is empty.*records\[\d+\].{path}.*lin_7"):
        strict_json.decode(page("1", more), LineEntryPage)
    content = page().replace(b'"lin_7"', b'""')
    with pytest.raises(NotTheInterfaceError, match=r"an id is empty.*records\[\d+\].id"):
        strict_json.decode(content, LineEntryPage)


@pytest.mark.parametrize(
    ("written", "text", "replaced"),
    [
        (r"a\ud800b", "a\ufffdb", 1),
        (r"\udc00\uD83D\ude00\uDBFF", "\ufffd\N{GRINNING FACE}\ufffd", 2),
        (r"\ud83d\ud83d\ude00", "\ufffd\N{GRINNING FACE}", 1),
        (r"\\ud800 \\\ud800", "\\ud800 \\\ufffd", 1),
        (r"\ud83d\ude00", "\N{GRINNING FACE}", 0),
    ],
)
def test_lone_surrogates_in_texts_are_replaced(written, text, replaced):
    decoded = strict_json.decode(page("1", f', "description": "{written}"'), LineEntryPage)
    assert (decoded.records[-1].description, decoded.characters_replaced) == (text, replaced)
    transaction = f', "transaction": {{"id": "t", "description": "{written}"}}'
    decoded = strict_json.decode(page("1", transaction), LineEntryPage)
    assert (decoded.records[-1].transaction.description, decoded.characters_replaced) == (text, replaced)


@pytest.mark.parametrize(
    "more",
    [
        r', "transaction_id": "a\ud800"',
        r', "opposing_ledger_ids": ["a", "\udfff"]',
        r', "transaction": {"id": "\uDC00"}',
        r', "tags": [{"id": "t", "tag_group_id": "\ud800"}]',
    ],
)
def test_lone_surrogates_in_ids_are_refused(more):
    with pytest.raises(NotTheInterfaceError, match="lone surrogate, which no id can have"):
        strict_json.decode(page("1", more), LineEntryPage)
    content = page().replace(b'"next_page_token": null', rb'"next_page_token": "\ud800"')
    with pytest.raises(NotTheInterfaceError, match=r"next_page_token.*lone surrogate"):
        strict_json.decode(content, LineEntryPage)


def test_a_count_in_a_response_is_not_believed():
    """The number of replaced characters is counted here, whatever a response contains."""
    content = page().replace(b'"next_page_token"', b'"characters_replaced": 7, "next_page_token"')
    assert strict_json.decode(content, LineEntryPage).characters_replaced == 0


def test_amounts_of_reports_are_as_strict():
    report = (
        '{"cash_flow_ledgers": [], "ending_balances": [], "starting_balances": [{"ledger_id": "led_9", '
        '"ledger_name": "Bank", "cash_balance": "1_0"}], "starting_cash_balance": 1, "ending_cash_balance": 2}'
    )
    with pytest.raises(NotTheInterfaceError, match=r"cash_balance.*led_9"):
        strict_json.decode(report.encode(), CashFlowReport)
