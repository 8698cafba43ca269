"""New ledgers: defaults, checks, parents, and sort codes, which never run out."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.ledgers import next_sort_code

FULL = {
    "name": "Rent",
    "editable": True,
    "debit_credit": "debit",
    "report_cash_flow": False,
    "sort_code": "6100",
    "sub_type": "operating_expenses",
    "type": "expense",
}


def test_defaults_of_a_financial_account(books):
    cash = ("asset", "current_assets", "debit", True)
    for account, expected in {
        **dict.fromkeys(("bank_account", "prepaid_card", "payments", "payroll"), cash),
        "accounts_receivable": (*cash[:3], False),
        **dict.fromkeys(("accounts_payable", "loan"), ("liability", "current_liabilities", "credit", False)),
        "credit_card": ("liability", "current_liabilities", "credit", True),
    }.items():
        ledger = books.create(name="x", editable=False, financial_account_type=account)
        assert (ledger["type"], ledger["sub_type"], ledger["debit_credit"], ledger["report_cash_flow"]) == expected


def test_defaults_may_be_overridden(books):
    ledger = books.create(
        name="x", editable=True, financial_account_type="bank_account", report_cash_flow=False, sort_code="0012",
        debit_credit="credit", sub_type="non-current_assets", type=None,
    )  # fmt: skip
    shown = [ledger[name] for name in ("report_cash_flow", "sort_code", "debit_credit", "sub_type", "type")]
    assert shown == [False, "0012", "credit", "non-current_assets", "asset"]


def test_a_complete_ledger_is_returned_as_sent(books):
    ledger = books.create(**FULL)
    assert FULL.items() <= ledger.items()
    assert (ledger["parent_id"], ledger["financial_account_type"], ledger["is_required"]) == (None, None, False)
    assert ledger["created_at"].endswith("Z")
    assert ledger["id"] in {stored.id for stored in books.store.ledgers(books.instance_id)}


def test_all_missing_fields_are_named(books):
    detail = books.create(422, name="x", editable=True)["detail"]
    assert [wrong["loc"][1] for wrong in detail] == [
        "debit_credit", "report_cash_flow", "sort_code", "sub_type", "type",
    ]  # fmt: skip
    assert len({wrong["msg"] for wrong in detail}) == 1


def test_agreement_of_fields(books):
    for change, loc in (
        ({"type": "asset"}, ["body", "sub_type"]),
        ({"sub_type": "equity"}, ["body", "sub_type"]),
        ({"financial_account_type": "bank_account"}, None),
        ({"financial_account_type": "bank_account", "type": None, "sub_type": "equity"}, ["body", "sub_type"]),
        ({"financial_account_type": "loan", "type": "asset", "sub_type": None}, ["body", "sub_type"]),
        ({"name": ""}, ["body", "name"]),
        ({"name": "a\0b"}, ["body", "name"]),
        ({"is_required": True}, ["body", "is_required"]),
        ({"colour": "red"}, ["body", "colour"]),
        ({"sort_code": "zürich"}, None),
    ):
        answer = books.create(201 if loc is None else 422, **FULL | change)
        if loc:
            assert [wrong["loc"] for wrong in answer["detail"]] == [loc]
            assert all(set(wrong) == {"loc", "msg", "type"} for wrong in answer["detail"])
    mixed = {"name": "x", "editable": True, "financial_account_type": "bank_account", "type": "equity"}
    (wrong,) = books.create(422, **mixed)["detail"]
    assert wrong["msg"] == "sub_type current_assets (the default of bank_account) does not belong to type equity"


def test_parents(books):
    root = books.create(**FULL | {"name": "root"})["id"]
    middle = books.create(**FULL | {"name": "middle", "parent_id": root})
    assert middle["parent_id"] == root
    assert "parent" not in middle
    leaf = books.create(expand="parent.parent", **FULL | {"name": "leaf", "parent_id": middle["id"]})
    assert (leaf["parent"]["name"], leaf["parent"]["parent"]["name"]) == ("middle", "root")
    assert "parent_id" not in leaf["parent"]
    assert "parent" not in leaf["parent"]["parent"]
    assert "parent" not in books.create(expand="parent", **FULL | {"parent_id": middle["id"]})["parent"]
    assert books.create(expand="parent,parent.parent", **FULL | {"parent_id": root})["parent"]["parent"] is None
    assert books.create(expand="parent", **FULL)["parent"] is None


def test_parent_of_another_type_or_unknown(books, make_books):
    revenue = books.category("Sales", "revenue")
    assert books.create(422, **FULL | {"parent_id": revenue})["detail"][0]["loc"] == ["body", "parent_id"]
    foreign = make_books().category()
    answers = [books.create(404, **FULL | {"parent_id": parent}) for parent in ("nobody", foreign)]
    assert answers[0] == answers[1]
    assert answers[0]["error_code"] == "parent_not_found"


def test_assigned_sort_codes_follow_their_siblings(books):
    codes = [books.create(name="x", editable=True, financial_account_type="payments")["sort_code"] for _ in range(12)]
    assert codes == sorted(set(codes))
    assert all(code.startswith("1") for code in codes)
    loan = books.create(name="x", editable=True, financial_account_type="loan")
    assert loan["sort_code"].startswith("2")
    child = books.create(name="x", editable=True, financial_account_type="loan", parent_id=loan["id"])
    assert child["sort_code"] > loan["sort_code"]
    assert child["sort_code"].startswith(loan["sort_code"])


def test_every_instance_has_its_required_ledgers(books):
    required = [ledger for ledger in books.store.ledgers(books.instance_id) if ledger.is_required]
    assert sorted((ledger.type, ledger.sub_type, ledger.debit_credit) for ledger in required) == [
        ("asset", "transfers_between_accounts", "debit"),
        ("asset", "uncategorized_assets", "credit"),
        ("asset", "uncategorized_assets", "debit"),
        ("equity", "equity", "credit"),
    ]
    assert not any(ledger.report_cash_flow or ledger.financial_account_type for ledger in required)


SAMPLE = Path(__file__).parents[2] / "data" / "sample.journal"
LAST = chr(sys.maxunicode)
ANY_CODE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=20)
AWKWARD_CODE = st.text("019Zz-\u00e9\U0001f4b6" + LAST, min_size=1, max_size=20)
ACCOUNT = {"name": "x", "editable": False, "financial_account_type": "bank_account"}


@pytest.mark.parametrize(
    ("siblings", "expected"),
    [
        ([], "10010"),
        (["10010", "10002"], "10020"),
        (["19990"], "199900010"),
        (["1999", "10"], "19990010"),
        (["9"], "90010"),
        (["12ab"], "12ab0010"),
        (["1-7"], "1-70010"),
        (["1-007"], "1-010"),
        (["1" + "z" * 16], "1" + "z" * 16 + "001"),
        (["1" + "z" * 18], "1" + "z" * 18 + "0"),
        (["9" * 20], "9" * 20),
    ],
)
def test_next_sort_code_is_counted_up_then_lengthened(siblings, expected):
    assert next_sort_code(siblings, "asset") == expected


@pytest.mark.parametrize(
    ("parent", "expected"), [("10020", "1002010"), ("1" * 18, "1" * 18 + "10"), ("1" * 19, "1" * 17 + "20")]
)
def test_first_sort_code_below_a_parent_begins_with_its_own(parent, expected):
    assert next_sort_code([], "asset", parent) == expected


@given(st.lists(st.none() | ANY_CODE | AWKWARD_CODE, min_size=1, max_size=40))
def test_any_codes_in_between(chosen):
    codes = []
    for code in chosen:
        assigned = next_sort_code(codes, "asset") if code is None else code
        if code is None and codes:
            assert assigned > max(codes) or (assigned == max(codes) and len(assigned) == 20)
        assert 0 < len(assigned) <= 20
        codes.append(assigned)


@pytest.mark.soak
@pytest.mark.parametrize("start", [None, pytest.param("imported", marks=pytest.mark.hledger), "1-"])
def test_sort_codes_never_run_out(books, start, soak_count):
    if start == "imported":
        import_books(books.store, books.instance_id, SAMPLE, cash=["assets:bank*"], time_zone="UTC")
    elif start is not None:
        books.create(**ACCOUNT | {"sort_code": start})
    ledgers = books.store.ledgers(books.instance_id)
    last = max(ledger.sort_code for ledger in ledgers if ledger.type == "asset" and ledger.parent_id is None)
    created = [last, *(books.create(**ACCOUNT)["sort_code"] for _ in range(soak_count(1500, fewer=25)))]
    assert all(map(str.__lt__, created, created[1:]))
    assert max(map(len, created)) <= 20


def test_parallel_creates_have_different_codes(books):
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: books.create(**ACCOUNT)["sort_code"], range(40)))
    assert len(set(codes)) == 40
