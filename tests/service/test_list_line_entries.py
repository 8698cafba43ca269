"""Listing line entries: fields, expansions, filters, pages."""

import datetime as dt
from decimal import Decimal

import pytest
from long_cases import also_long

from accounting_analytics.journals.entries import NewTransaction

PLAIN = {
    "id", "amount", "debit_credit", "description", "datetime", "editable", "ledger_id", "ledger_name",
    "journal_entry_id", "journal_entry_description", "tags",
}  # fmt: skip


def test_fields_without_expansion(books):
    bank, rent = books.bank(editable=False), books.category()
    entry = books.post("2025-03-01T09:30:00.000123Z", (bank, "-12.30"), (rent, "12.30"), description='Rent "März" \\')
    (cash,) = books.lines(bank)["records"]
    assert set(cash) == PLAIN | {"transaction_id", "related_line_entry_id"}
    assert (cash["amount"], cash["debit_credit"], cash["editable"]) == (Decimal("12.30"), "credit", False)
    assert cash["datetime"] == "2025-03-01T09:30:00.000123Z"
    assert (cash["journal_entry_id"], cash["journal_entry_description"]) == (entry, 'Rent "März" \\')
    (category,) = books.lines(rent)["records"]
    assert set(category) == PLAIN | {"related_line_entry_id"}
    assert category["related_line_entry_id"] == cash["id"]
    assert cash["related_line_entry_id"] == category["id"]


def test_every_expansion(books):
    bank, rent = books.bank(), books.category(parent_id=books.category("Costs"))
    transaction = NewTransaction("ACH RENT", personal=True, review_status="reviewed", source_account_id="src-1")
    entry = books.post("2025-03-01T12:00:00Z", (bank, "-10", transaction), (rent, "6"), (rent, "4"))
    (cash,) = books.lines(bank, expand="ledger,transaction,journal_entry,opposing_ledger_ids")["records"]
    assert "parent" not in cash["ledger"]
    assert not cash["ledger"]["created_at"].endswith("Z")
    expected = {
        "id": cash["transaction_id"], "amount": Decimal("-10.00"), "description": "ACH RENT", "personal": True,
        "posted_status": "posted", "review_status": "reviewed", "source_account_id": "src-1", "ledger_id": bank,
        "line_entry_id": cash["id"], "journal_entry_id": entry, "datetime": cash["datetime"],
    }  # fmt: skip
    assert cash["transaction"] == expected
    assert cash["opposing_ledger_ids"] == [rent]
    assert "related_line_entry_id" not in cash
    first, second = books.lines(rent, expand="journal_entry,opposing_ledger_ids,transaction,ledger.parent.parent")[
        "records"
    ]
    assert set(first) == PLAIN | {"related_line_entry_id", "journal_entry", "opposing_ledger_ids", "ledger"}
    assert first["opposing_ledger_ids"] == [bank]
    assert {first["related_line_entry_id"], second["related_line_entry_id"]} == {cash["id"]}
    assert first["journal_entry"]["id"] == entry
    assert set(first["journal_entry"]["line_entry_ids"]) == {cash["id"], first["id"], second["id"]}
    assert first["ledger"]["parent"]["name"] == "Costs"
    assert first["ledger"]["parent"]["parent"] is None


@pytest.mark.parametrize(
    ("zone", "instant", "day"),
    [
        ("America/New_York", "2025-03-09T04:59:59Z", "2025-03-08"),
        ("America/New_York", "2025-03-09T05:00:00Z", "2025-03-09"),
        ("America/New_York", "2025-03-10T03:59:59.999999Z", "2025-03-09"),
        ("America/New_York", "2025-11-03T04:59:59Z", "2025-11-02"),
        ("Etc/GMT+5", "2025-06-01T04:59:59Z", "2025-05-31"),
        ("Etc/GMT-14", "2025-05-31T10:00:00Z", "2025-06-01"),
        ("Asia/Kathmandu", "2025-05-31T18:15:00Z", "2025-06-01"),
        ("America/St_Johns", "2006-10-29T02:30:30Z", "2006-10-29"),
        ("America/St_Johns", "2006-10-29T02:45:00Z", "2006-10-28"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
        ("localtime", "2025-06-01T03:59:59Z", "2025-05-31"),
    ],
)
def test_a_line_belongs_to_its_local_day(make_books, zone, instant, day):
    books = make_books(localtime="America/New_York")
    category = books.category()
    bank = books.bank()
    books.post(instant, (bank, 1), (category, -1))
    date = dt.date.fromisoformat(day)
    for offset in (-1, 0, 1):
        near = (date + dt.timedelta(days=offset)).isoformat()
        for start, end, is_listed in (
            (near, near, offset == 0),
            ("0001-01-01", near, offset >= 0),
            (near, "9999-12-31", offset <= 0),
        ):
            assert len(books.lines(bank, start, end, time_zone=zone)["records"]) == is_listed, (zone, start, end)


@pytest.fixture
def many(books):
    """Return a ledger with 23 lines, several of them at the same instant, and their ids in order."""
    bank, rent = books.bank(), books.category()
    for number in range(23):
        books.post(f"2025-03-{1 + number // 4:02d}T12:00:00Z", (bank, number), (rent, -number))
    lines = books.lines(bank, limit=1000)["records"]
    assert [(line["datetime"], line["id"]) for line in lines] == sorted(
        (line["datetime"], line["id"]) for line in lines
    )
    return bank, [line["id"] for line in lines]


def pages(books, ledger, direction, token=None, **params):
    """Pages in one direction, starting with the page of the token."""
    while True:
        page = books.lines(ledger, **params, **({"page_token": token} if token else {}))
        yield page
        token = page[direction]
        if token is None:
            return


@pytest.mark.parametrize("limit", [2, 23, 24, *also_long(1, 5, 22, 1000)])
def test_pages_tile_the_lines_in_both_directions(books, many, limit):
    bank, ids = many
    forward = list(pages(books, bank, "next_page_token", limit=limit))
    assert [line["id"] for page in forward for line in page["records"]] == ids
    assert [len(page["records"]) for page in forward[:-1]] == [limit] * (len(forward) - 1)
    assert forward[0]["prev_page_token"] is None
    last = forward[-1]
    backward = (
        list(pages(books, bank, "prev_page_token", last["prev_page_token"], limit=limit))
        if last["prev_page_token"]
        else []
    )
    assert [page["records"] for page in reversed([last, *backward])] == [page["records"] for page in forward]
    assert backward[-1]["prev_page_token"] is None if backward else True
    if backward:
        again = list(pages(books, bank, "next_page_token", backward[-1]["next_page_token"], limit=limit))
        assert [line["id"] for page in again for line in page["records"]] == ids[limit:]


def test_lines_moved_between_pages_are_neither_lost_nor_doubled(books, many):
    bank, ids = many
    first = books.lines(bank, limit=5)
    books.post("2025-03-01T00:00:00Z", (bank, 99), (books.category(), -99))
    later = books.post("2025-03-28T00:00:00Z", (bank, 98), (books.category(), -98))
    seen = [
        line
        for page in pages(books, bank, "next_page_token", first["next_page_token"], limit=5)
        for line in page["records"]
    ]
    assert [line["id"] for line in seen[:-1]] == ids[5:]
    assert seen[-1]["journal_entry_id"] == later
    earliest = list(pages(books, bank, "prev_page_token", first["next_page_token"], limit=5))
    assert [line["id"] for line in earliest[0]["records"]] == ids[5:10]
    assert [len(page["records"]) for page in pages(books, bank, "next_page_token", limit=5)] == [5, 5, 5, 5, 5]


def test_an_emptied_page_has_a_previous_page(books):
    bank, rent, food = books.bank(), books.category(), books.category("Food")
    for day in (1, 2, 3):
        books.post(f"2025-03-0{day}T12:00:00Z", (bank, day), (rent, -day))
    page = books.lines(rent, limit=2)
    books.recategorize(bank, books.lines(bank)["records"][2]["transaction_id"], food)
    empty = books.lines(rent, limit=2, page_token=page["next_page_token"])
    assert (empty["records"], empty["next_page_token"]) == ([], None)
    back = books.lines(rent, limit=2, page_token=empty["prev_page_token"])
    assert back["records"] == page["records"]
    assert back["prev_page_token"] is None
    for line in books.lines(bank, limit=2)["records"]:
        books.recategorize(bank, line["transaction_id"], food)
    gone = books.lines(rent, limit=2, page_token=empty["prev_page_token"])
    assert gone == {"records": [], "next_page_token": None, "prev_page_token": None}


def test_a_token_is_bound_to_its_query(books, many):
    bank, _ = many
    params = {"limit": 5, "page_token": books.lines(bank, limit=5)["next_page_token"]}
    assert books.lines(bank, **params)["records"]
    for changed in (
        {"start_date": "2020-01-02"}, {"end_date": "2030-12-30"}, {"time_zone": "Europe/Paris"},
        {"is_cashflow": "true"}, {"expand": "ledger"}, {"limit": "6"},
    ):  # fmt: skip
        assert books.lines(bank, status=400, **params | changed)["error_code"] == "invalid_page_token"


def test_a_token_is_bound_to_ledger_instance_and_database(books, make_books, many):
    bank, _ = many
    token = books.lines(bank, limit=5)["next_page_token"]
    assert books.lines(books.bank("Other"), status=400, limit=5, page_token=token)["error_code"] == "invalid_page_token"
    other = make_books()
    other.bank(id=bank)
    assert other.lines(bank, status=400, limit=5, page_token=token)["error_code"] == "invalid_page_token"


def test_an_altered_token_is_400(books, many):
    bank, _ = many
    token = books.lines(bank, limit=5)["next_page_token"]
    altered = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in range(0, len(token), 5)]
    # base64 ignores characters that do not belong to it, and the unused bits of the last character
    last = token[:-1] + chr(ord(token[-1]) + 1)
    added = [token + more for more in ("x", "xx", "=", "==", "!", "\n", " ", ".", "%")] + [
        f" {token}",
        f"={token}",
        last,
    ]
    for wrong in [*altered, *added, token[:-4], " ", "null", ".", token * 50, "\u00e9", "\0"]:
        assert books.lines(bank, status=400, limit=5, page_token=wrong)["error_code"] == "invalid_page_token"


def test_hostile_text_is_returned_unchanged(books):
    nasty = [
        "'; DROP TABLE ledgers; --",
        '"},{"id":"x"',
        "<script>",
        "\u2028\u0007\x1b[2J",
        "שלום 💶 \ud7ff",
        "%s {0} \\u0041",
    ]
    for text in nasty:
        bank = books.bank(text)
        books.post("2025-03-01T12:00:00Z", (bank, 1), (books.category(), -1), description=text)
        (line,) = books.lines(bank, expand="ledger,journal_entry")["records"]
        assert {line["ledger_name"], line["ledger"]["name"], line["journal_entry_description"]} == {text}
        assert line["journal_entry"]["description"] == text
    names = [
        flow["cash_flow_ledger_name"] for ledger in books.report()["cash_flow_ledgers"] for flow in ledger["lines"]
    ]
    assert sorted(names) == sorted(nasty)
