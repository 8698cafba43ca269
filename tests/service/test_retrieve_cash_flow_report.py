"""The cash flow report, rule by rule."""

import datetime as dt
from itertools import pairwise

import pytest
from long_cases import also_long


def test_name_of_the_cash_ledger(books):
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
    books = make_books(localtime="Atlantic/Azores")
    bank, rent = books.bank(), books.category()
    for hour in range(0, 24 * 7, 3):
        moment = dt.datetime(2025, 3, 28, 0, 30, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
        books.post(moment, (bank, hour + 1), (rent, -hour - 1))
    days = [f"2025-03-{day}" for day in range(27, 32)] + [f"2025-04-0{day}" for day in range(1, 6)]
    reports = [books.report(day, day, time_zone=zone) for day in days]
    for report, following in pairwise(reports):
        assert report["ending_cash_balance"] == following["starting_cash_balance"]
    whole = books.report(days[0], days[-1], time_zone=zone)
    assert whole["ending_cash_balance"] == reports[-1]["ending_cash_balance"] == sum(range(1, 24 * 7, 3))
    shown = [line for report in reports for ledger in report["cash_flow_ledgers"] for line in ledger["lines"]]
    assert shown == whole["cash_flow_ledgers"][0]["lines"]


@pytest.mark.parametrize(
    ("tier", "status", "code"), [(1, 403, "tier_required"), (2, 403, "tier_required"), (3, 404, "tag_not_found")]
)
def test_tags_need_tier_3(make_books, tier, status, code):
    books = make_books(tier=tier)
    assert books.report(status=status, tag_ids="nothing")["error_code"] == code
    assert books.report()["ending_cash_balance"] == 0
    assert books.lines(books.bank(), status=404, tag_ids="nothing")["error_code"] == "tag_not_found"
