"""The cash flow report, rule by rule."""

from decimal import Decimal
from itertools import pairwise

import pytest
from long_cases import also_long


def check_identity(report):
    """Check that the flows explain the change of the balance exactly, and that lines add up to their ledger."""
    net = sum(ledger["net_cash_flow"] for ledger in report["cash_flow_ledgers"])
    assert net == report["ending_cash_balance"] - report["starting_cash_balance"]
    for ledger in report["cash_flow_ledgers"]:
        assert ledger["net_cash_flow"] == sum(line["amount"] for line in ledger["lines"])
    for when in ("starting", "ending"):
        assert report[f"{when}_cash_balance"] == sum(at["cash_balance"] for at in report[f"{when}_balances"])


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


def test_tags_need_tier_3(make_books):
    """Below Tier 3, tags on the report are 403 before any other check; without tags every tier is allowed."""
    for tier, status, code in ((1, 403, "tier_required"), (2, 403, "tier_required"), (3, 404, "tag_not_found")):
        books = make_books(tier=tier)
        assert books.report(status=status, tag_ids="nothing")["error_code"] == code
        assert books.report()["ending_cash_balance"] == 0
        assert books.lines(books.bank(), status=404, tag_ids="nothing")["error_code"] == "tag_not_found"
