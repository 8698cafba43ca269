"""Assigned sort codes: after their siblings, within 20 characters, and never used up."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.service.imports import import_books
from accounting_analytics.service.ledgers import next_sort_code

SAMPLE = Path(__file__).parents[2] / "data" / "sample.journal"
LAST = chr(sys.maxunicode)
ANY_CODE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=20)
AWKWARD_CODE = st.text("019Zz-\u00e9\U0001f4b6" + LAST, min_size=1, max_size=20)
ACCOUNT = {"name": "x", "editable": False, "financial_account_type": "bank_account"}


def test_next_sort_code():
    """A number is counted up, then lengthened; a code of 20 characters without a number left is shared.

    The first child has the code of its parent and two digits, or the next code if that is too long.
    """
    for siblings, expected in (
        ([], "10010"), (["10010", "10002"], "10020"), (["19990"], "199900010"), (["1999", "10"], "19990010"),
        (["9"], "90010"), (["12ab"], "12ab0010"), (["1-7"], "1-70010"), (["1-007"], "1-010"),
        (["1" + "z" * 16], "1" + "z" * 16 + "001"), (["1" + "z" * 18], "1" + "z" * 18 + "0"), (["9" * 20], "9" * 20),
    ):  # fmt: skip
        assert next_sort_code(siblings, "asset") == expected
    for parent, expected in (("10020", "1002010"), ("1" * 18, "1" * 18 + "10"), ("1" * 19, "1" * 17 + "20")):
        assert next_sort_code([], "asset", parent) == expected


@given(st.lists(st.none() | ANY_CODE | AWKWARD_CODE, min_size=1, max_size=40))
def test_any_codes_in_between(chosen):
    """Among codes that users choose, an assigned code is greater than all others, or the last one of 20 characters."""
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
    """1,500 accounts without a sort code are all created, in order, whatever codes the books have."""
    if start == "imported":
        import_books(books.store, books.instance_id, SAMPLE, cash=["assets:bank*"])
    elif start is not None:
        books.create(**ACCOUNT | {"sort_code": start})
    ledgers = books.store.ledgers(books.instance_id)
    last = max(ledger.sort_code for ledger in ledgers if ledger.type == "asset" and ledger.parent_id is None)
    created = [last, *(books.create(**ACCOUNT)["sort_code"] for _ in range(soak_count(1500, fewer=25)))]
    assert all(map(str.__lt__, created, created[1:]))
    assert max(map(len, created)) <= 20


def test_parallel_creates_have_different_codes(books):
    """Accounts that are created in parallel never have the same sort code."""
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: books.create(**ACCOUNT)["sort_code"], range(40)))
    assert len(set(codes)) == 40
