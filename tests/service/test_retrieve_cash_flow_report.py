"""The cash flow report, rule by rule."""

import datetime as dt
from decimal import Decimal
from itertools import pairwise

import pytest
from long_cases import also_long

from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, NewTag, post_entries


def flows(report):
    """Net cash flow by ledger name."""
    return {ledger["name"]: ledger["net_cash_flow"] for ledger in report["cash_flow_ledgers"]}


def totals(report):
    """Total net cash flow by ledger name."""
    return {ledger["name"]: ledger["total_net_cash_flow"] for ledger in report["cash_flow_ledgers"]}


def check_identity(report):
    """Check that the flows explain the change of the balance exactly, and that lines add up to their ledger."""
    net = sum(ledger["net_cash_flow"] for ledger in report["cash_flow_ledgers"])
    assert net == report["ending_cash_balance"] - report["starting_cash_balance"]
    for ledger in report["cash_flow_ledgers"]:
        assert ledger["net_cash_flow"] == sum(line["amount"] for line in ledger["lines"])
    for when in ("starting", "ending"):
        assert report[f"{when}_cash_balance"] == sum(at["cash_balance"] for at in report[f"{when}_balances"])


def test_empty_books(books):
    """Books without cash ledgers or lines have an empty report with zero balances."""
    assert books.report() == {
        "cash_flow_ledgers": [], "starting_balances": [], "ending_balances": [],
        "starting_cash_balance": 0, "ending_cash_balance": 0,
    }  # fmt: skip


def test_signs(books):
    """Into cash is positive, out of cash negative; a card that reports cash flow is cash with a negative balance."""
    bank, card = books.bank(), books.bank("Card", financial_account_type="credit_card")
    sales, food = books.category("Sales", "revenue", debit_credit="credit"), books.category("Food")
    books.post("2025-03-01T12:00:00Z", (bank, 100), (sales, -100))
    books.post("2025-03-02T12:00:00Z", (card, -30), (food, 30))
    books.post("2025-03-03T12:00:00Z", (card, 20), (bank, -20))
    report = books.report()
    assert flows(report) == {"Sales": 100, "Food": -30}
    assert {at["ledger_name"]: at["cash_balance"] for at in report["ending_balances"]} == {"Bank": 80, "Card": -10}
    check_identity(report)


def test_fields(books):
    """Ledgers, lines and balances have exactly the fields of the interface."""
    bank, rent = books.bank(), books.category()
    entry = books.post("2025-03-01T12:00:00.5Z", (bank, "-12.30"), (rent, "12.30"), description="March")
    report = books.report()
    (ledger,) = report["cash_flow_ledgers"]
    (rent_line,) = books.lines(rent)["records"]
    assert ledger == {
        "ledger_id": rent, "name": "Rent", "net_cash_flow": Decimal("-12.30"), "total_net_cash_flow": Decimal("-12.30"),
        "lines": [
            {
                "line_id": rent_line["id"], "amount": Decimal("-12.30"), "datetime": "2025-03-01T12:00:00.500000Z",
                "cash_flow_ledger_name": "Bank", "journal_entry_id": entry, "journal_entry_description": "March",
            }
        ],
    }  # fmt: skip
    assert report["ending_balances"] == [
        {
            "ledger_id": bank, "ledger_name": "Bank", "sort_code": "10010",
            "cash_balance": Decimal("-12.30"), "total_cash_balance": Decimal("-12.30"),
        }
    ]  # fmt: skip
    assert report["starting_balances"][0]["cash_balance"] == 0


def test_entries_without_cash_are_not_reported(books):
    """An invoice is not reported, its payment is an inflow of receivables; transfers between cash ledgers are not."""
    bank, savings = books.bank(), books.bank("Savings")
    receivable = books.bank("Receivable", financial_account_type="accounts_receivable")
    sales = books.category("Sales", "revenue", debit_credit="credit")
    books.post("2025-03-01T12:00:00Z", (receivable, 50), (sales, -50))
    assert books.report()["cash_flow_ledgers"] == []
    books.post("2025-03-02T12:00:00Z", (bank, 50), (receivable, -50))
    books.post("2025-03-03T12:00:00Z", (bank, -10), (savings, 10))
    report = books.report()
    assert flows(report) == {"Receivable": 50}
    check_identity(report)


def test_all_lines_outside_cash_are_flows(books):
    """Every line of a cash entry that is not on a cash ledger is a flow, whichever side it is on."""
    bank, wages, tax = books.bank(), books.category("Wages"), books.category("Tax", "liability", debit_credit="credit")
    books.post("2025-03-01T12:00:00Z", (bank, "-700"), (wages, "1000"), (tax, "-300"))
    report = books.report()
    assert flows(report) == {"Tax": 300, "Wages": -1000}
    check_identity(report)


def test_name_of_the_cash_ledger(books):
    """With several cash ledgers the one that moved most is named, by its net movement; ties by sort code, then id."""
    # ids in the opposite order of the sort codes
    first, second = books.bank("First", sort_code="2", id="1"), books.bank("Second", sort_code="10", id="2")
    twins = [books.bank(name, sort_code="1", id=f"{books.instance_id}-{name}") for name in ("b", "a")]
    rent = books.category()
    books.post("2025-03-01T12:00:00Z", (first, -30), (second, -20), (rent, 50), description="more")
    books.post("2025-03-02T12:00:00Z", (first, -25), (second, -25), (rent, 50), description="tie")
    books.post("2025-03-03T12:00:00Z", (twins[0], 5), (twins[1], -5), (first, -5), (rent, 5), description="id")
    books.post("2025-03-04T12:00:00Z", (first, -90), (first, 89), (second, -2), (rent, 3), description="net")
    (ledger,) = books.report()["cash_flow_ledgers"]
    named = {line["journal_entry_description"]: line["cash_flow_ledger_name"] for line in ledger["lines"]}
    assert named == {"more": "First", "tie": "Second", "id": "a", "net": "Second"}


def test_days_are_inclusive(books):
    """Both dates are inclusive; the starting balance is the balance before the first day."""
    bank, rent = books.bank(), books.category()
    for day, amount in (("2025-02-28T23:59:59.999999Z", 1), ("2025-03-01T00:00:00Z", 2), ("2025-03-31T23:59:59Z", 4)):
        books.post(day, (bank, amount), (rent, -amount))
    books.post("2025-04-01T00:00:00Z", (bank, 8), (rent, -8))
    report = books.report("2025-03-01", "2025-03-31")
    assert (report["starting_cash_balance"], report["ending_cash_balance"]) == (1, 7)
    assert [line["amount"] for line in report["cash_flow_ledgers"][0]["lines"]] == [2, 4]
    check_identity(report)


@pytest.mark.parametrize(
    "zone", ["America/New_York", "localtime", *also_long("Pacific/Auckland", "Etc/GMT+12", "Africa/Casablanca")]
)
def test_the_days_of_a_dst_month_add_up(make_books, zone):
    """In a month with a clock change, the report of each day starts with the ending balance of the day before."""
    books = make_books(localtime="Atlantic/Azores")
    bank, rent = books.bank(), books.category()
    for hour in range(0, 24 * 7, 3):
        books.post(
            f"2025-03-{28 + hour // 24:02d}T{hour % 24:02d}:30:00Z"
            if hour < 96
            else f"2025-04-{hour // 24 - 3:02d}T{hour % 24:02d}:30:00Z",
            (bank, hour + 1),
            (rent, -hour - 1),
        )
    days = [f"2025-03-{day}" for day in range(27, 32)] + [f"2025-04-0{day}" for day in range(1, 6)]
    reports = [books.report(day, day, time_zone=zone) for day in days]
    for report, following in pairwise(reports):
        check_identity(report)
        assert report["ending_cash_balance"] == following["starting_cash_balance"]
    whole = books.report(days[0], days[-1], time_zone=zone)
    assert whole["ending_cash_balance"] == reports[-1]["ending_cash_balance"] == sum(range(1, 24 * 7, 3))
    shown = [line for report in reports for ledger in report["cash_flow_ledgers"] for line in ledger["lines"]]
    assert shown == whole["cash_flow_ledgers"][0]["lines"]


def test_totals_include_descendants(books):
    """A total is a ledger's own flow and that of all descendants; an ancestor is listed without lines of its own."""
    bank = books.bank()
    root = books.category("Root", sort_code="9")
    middle = books.category("Middle", sort_code="8", parent_id=root)
    leaf = books.category("Leaf", sort_code="7", parent_id=middle)
    books.category("Unused", parent_id=root)
    books.post("2025-03-01T12:00:00Z", (bank, -3), (leaf, 3))
    books.post("2025-03-01T12:00:00Z", (bank, -4), (middle, 4))
    report = books.report()
    assert flows(report) == {"Leaf": -3, "Middle": -4, "Root": 0}
    assert totals(report) == {"Leaf": -3, "Middle": -7, "Root": -7}
    assert [ledger["name"] for ledger in report["cash_flow_ledgers"]] == ["Leaf", "Middle", "Root"]
    assert report["cash_flow_ledgers"][-1]["lines"] == []
    check_identity(report)


def test_balance_totals_count_cash_only(books):
    """Only descendants that report cash flow count in a balance's total, even below one that does not."""
    top = books.bank("Top", sort_code="1")
    between = books.category("Between", "asset", parent_id=top)
    below = books.bank("Below", sort_code="3", parent_id=between)
    sales = books.category("Sales", "revenue")
    for ledger, amount in ((top, 1), (below, 4)):
        books.post("2025-03-01T12:00:00Z", (ledger, amount), (sales, -amount))
    books.post("2025-03-01T12:00:00Z", (between, 2), (top, -2))
    report = books.report()
    shown = {at["ledger_name"]: (at["cash_balance"], at["total_cash_balance"]) for at in report["ending_balances"]}
    assert shown == {"Top": (-1, 3), "Below": (4, 4)}
    assert report["ending_cash_balance"] == 3
    check_identity(report)


def test_order(books):
    """Ledgers and balances come by sort code as text, then id; lines by instant, then id."""
    banks = {code: books.bank(code, sort_code=code) for code in ("3050", "20010", "A", "0")}
    sales = {code: books.category(code, "revenue", sort_code=code) for code in ("410", "40", "4")}
    twin = books.category("twin", "revenue", sort_code="40")
    for when in ("2025-03-02T12:00:00Z", "2025-03-01T12:00:00Z", "2025-03-01T12:00:00Z"):
        for ledger in [*sales.values(), twin]:
            books.post(when, (banks["0"], 1), (ledger, -1))
    report = books.report()
    for key in ("starting_balances", "ending_balances"):
        assert [at["sort_code"] for at in report[key]] == ["0", "20010", "3050", "A"]
    listed = [ledger["ledger_id"] for ledger in report["cash_flow_ledgers"]]
    assert listed == [sales["4"], *sorted([sales["40"], twin]), sales["410"]]
    for ledger in report["cash_flow_ledgers"]:
        places = [(line["datetime"], line["line_id"]) for line in ledger["lines"]]
        assert places == sorted(places)
        assert len(places) == 3


def test_tags_filter_lines_but_not_balances(books):
    """With tags only the category lines that carry all of them are flows; balances stay as they are."""
    bank, rent, food = books.bank(), books.category(), books.category("Food")
    north, south = NewTag("class", "north"), NewTag("class", "south")
    books.post("2025-03-01T12:00:00Z", (bank, -1), (rent, 1, north))
    books.post("2025-03-01T12:00:00Z", (bank, -2, north), (food, 2))
    books.post("2025-03-01T12:00:00Z", (bank, -4), (food, 4, north, south))
    tags = {tag["name"]: tag["id"] for line in books.lines(food)["records"] for tag in line["tags"]}
    tagged = books.report(tag_ids=tags["north"])
    assert flows(tagged) == {"Rent": -1, "Food": -4}
    assert flows(books.report(tag_ids=f"{tags['north']},{tags['south']}")) == {"Food": -4}
    assert tagged["ending_balances"] == books.report()["ending_balances"]
    assert tagged["ending_cash_balance"] == -7
    assert books.report(status=404, tag_ids="nothing")["error_code"] == "tag_not_found"


@pytest.mark.parametrize(("tier", "status"), [(1, 403), (2, 403), (3, 404)])
def test_tags_need_tier_3(make_books, tier, status):
    """Below Tier 3, tags on the report are 403 before any other check; without tags every tier is allowed."""
    books = make_books(tier=tier)
    refused = books.report(status=status, tag_ids="nothing")
    assert refused["error_code"] == {403: "tier_required", 404: "tag_not_found"}[status]
    assert books.report()["ending_cash_balance"] == 0
    assert books.lines(books.bank(), status=404, tag_ids="nothing")["error_code"] == "tag_not_found"


@pytest.mark.parametrize(
    ("params", "loc"),
    [
        ({"end_date": "2019-12-31"}, "end_date"),
        ({"start_date": "tomorrow"}, "start_date"),
        ({"time_zone": "Factory"}, "time_zone"),
        ({"limit": "5"}, "limit"),
        ({"expand": "lines"}, "expand"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(books, params, loc):
    """A parameter that is wrong, or that the report does not have, is 422 with its name."""
    query = {"start_date": "2020-01-01", "end_date": "2020-01-01"} | params
    assert books.get("/v0/reports/cash-flow", 422, **query)["detail"][0]["loc"] == ["query", loc]


def test_a_report_of_many_megabytes(books):
    """A report that is sent in chunks has every line once, in order, and its sums tie."""
    bank, *categories = books.bank(), books.category("Rent"), books.category("Empty"), books.category("Food")
    text = "x" * 400
    entries = [
        NewJournalEntry(
            dt.datetime(2025, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=number),
            f"{number} {text}",
            (NewLine(bank, -100 * number), NewLine(categories[number % 2 * 2], 100 * number)),
        )
        for number in range(10_000)
    ]
    post_entries(books.store, books.instance_id, entries)
    read = books.report("2025-01-01", "2025-12-31")
    assert [ledger["ledger_id"] for ledger in read["cash_flow_ledgers"]] == [categories[0], categories[2]]
    for offset, ledger in enumerate(read["cash_flow_ledgers"]):
        numbers = [int(line["journal_entry_description"].split()[0]) for line in ledger["lines"]]
        assert numbers == list(range(offset, 10_000, 2))
        assert [line["amount"] for line in ledger["lines"]] == [-number for number in numbers]
        assert ledger["net_cash_flow"] == -sum(numbers)
    assert read["ending_cash_balance"] == -sum(range(10_000))
