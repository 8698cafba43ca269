"""Recurring payments: rhythms, what is due next, and what has none."""

import datetime as dt
import json
import runpy
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import accounting_analytics as aa

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PLANTED = SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "planted_rhythms.py")))
LAST = dt.date(2026, 6, 30)


def pay(day, counterparty="LANDLORD", amount="-4500.00", category="Rent", account="checking"):
    return PLANTED.PAYMENT(
        dt.date.fromisoformat(day), account, Decimal(amount), counterparty, counterparty, "plain", category, category
    )


def recurring(payments, as_of=LAST):
    books = PLANTED.FRAMES["frames"](payments, dt.date.max)
    return aa.recurring_payments(aa.Books(books.line_entries, books.ledgers, time_zone="UTC"), as_of=as_of)


def monthly(day, months=range(1, 7), **values):
    """Return a payment on a day of months of 2026."""
    return [pay(f"2026-{month:02}-{day}", **values) for month in months]


def test_monthly_payment_has_day_range_amount_and_entries():
    result = recurring([*monthly("03"), pay("2026-05-09", "BOOKSHOP", "-30.00", "Postage")])
    (one,) = result.frame.to_dict("records")
    assert (one["counterparty"], one["category"], one["rhythm"], one["usual_day"]) == (
        "LANDLORD",
        "Rent",
        "monthly",
        "on day 3",
    )
    assert (one["next_date"], one["next_amount"], one["status"]) == (pd.Timestamp("2026-07-03"), -4500.0, "expected")
    assert (one["occurrence_count"], one["met_count"], one["tried_count"]) == (6, 5, 5)
    assert one["earliest_date"] <= one["next_date"] <= one["latest_date"]
    assert result.summary() == "1 recurring payment as of 30 Jun 2026: 1 paid, 0 received."
    (sentence,) = result.sentences()
    assert sentence == (
        "LANDLORD, Rent: paid monthly on day 3, last 4,500.00 on 3 Jun 2026; next 4,500.00 on 3 Jul 2026 (from 1 Jul "
        "2026 to 5 Jul 2026); met 5 of 5 past days."
    )
    figure = result["LANDLORD"]
    assert (figure.amount, len(figure.entries)) == (-27000.0, 6)
    content = json.loads(result.to_json())
    assert content["payments"][0]["next_amount"] == "-4500.00"


def test_spellings_of_a_payee_share_a_rhythm():
    spellings = [
        "Caf\u00e9 Joe's",
        "Cafe\u0301 Joe\u2019s",
        "Caf\u00e9\u00a0Joe's",
        "\uff23af\u00e9 Joe's",
        "Caf\u00e9\u200b Joe's",
    ]
    (one,) = recurring(
        [pay(f"2026-{at:02}-03", counterparty=text) for at, text in enumerate(spellings, start=1)]
    ).payments
    assert (one.counterparty, one.rhythm, len(one.occurrences)) == ("CAF\u00c9 JOES", "monthly", 5)


TWICE_A_MONTH = [f"2026-{month:02}-15" for month in range(1, 7)]
TWICE_A_MONTH += ["2026-01-31", "2026-02-28", "2026-04-30", "2026-05-31"]
"""Paydays, which are not fortnightly, also where one was left out."""


@pytest.mark.parametrize(
    ("days", "rhythm", "usual_day", "next_day"),
    [
        (["2026-05-29", "2026-06-05", "2026-06-12", "2026-06-19"], "weekly", "on Fridays", "2026-06-26"),
        (["2026-05-08", "2026-05-22", "2026-06-05", "2026-06-19"], "fortnightly", "on Fridays", "2026-07-03"),
        (["2026-03-06", "2026-04-03", "2026-05-01", "2026-05-29"], "every four weeks", "on Fridays", "2026-06-26"),
        (["2026-03-06", "2026-04-03", "2026-05-02", "2026-05-29"], "every four weeks", "on Fridays", "2026-06-26"),
        (
            ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"],
            "monthly",
            "on the last day",
            "2026-06-30",
        ),
        (["2025-12-01", "2026-02-02", "2026-04-01", "2026-06-01"], "every second month", "on day 1", "2026-08-01"),
        (["2025-08-15", "2025-11-17", "2026-02-16", "2026-05-15"], "quarterly", "on day 15", "2026-08-15"),
        (["2023-03-04", "2024-03-04", "2025-03-04", "2026-03-06"], "yearly", "on day 4", "2027-03-04"),
        (TWICE_A_MONTH, "twice a month", "on day 15 and the last day", "2026-06-30"),
    ],
)
def test_rhythms_survive_weekends_and_short_months(days, rhythm, usual_day, next_day):
    (one,) = recurring([pay(day) for day in sorted(days)]).payments
    assert (one.rhythm, one.found.usual_day, one.due) == (rhythm, usual_day, dt.date.fromisoformat(next_day))


def test_late_payments_stop_and_are_forgotten():
    payments = monthly("03", range(1, 5))
    last_days = {"2026-05-05": "expected", "2026-05-06": "late", "2026-06-04": "late", "2026-06-30": "stopped"}
    for day, status in last_days.items():
        result = recurring(payments, day)
        assert [one.status for one in result.payments] == [status], day
    assert result.sentences()[0].startswith(
        "LANDLORD, Rent: paid monthly on day 3, last 4,500.00 on 3 Apr 2026; stopped: 4,500.00 was due on 3 May 2026"
    )
    assert result.summary().endswith("1 paid, 0 received; of these 1 stopped.")
    assert result.notes[0].startswith(
        "The latest line entry is of 3 Apr 2026, 88 days before 30 Jun 2026: what is said of"
    )
    assert not any("latest line entry" in note for note in recurring(payments, "2026-04-10").notes)
    assert not recurring(payments, "2027-06-30").payments


def test_four_weeks_and_months_are_told_apart():
    starts = [dt.date(2025, 1, 3) + number * 28 * dt.timedelta(days=1) for number in range(19)]
    result = recurring([pay(str(day)) for day in starts], "2026-06-25")
    (one,) = result.payments
    assert (one.rhythm, one.due, one.status, one.found.met) == ("every four weeks", dt.date(2026, 6, 19), "late", 18)
    assert [(one.status, one.due) for one in recurring([pay(str(day)) for day in starts], "2026-07-20").payments] == [
        ("stopped", dt.date(2026, 6, 19))
    ]
    for day in range(1, 29):
        dates = [dt.date(2025, month, day) for month in range(1, 13)]
        after = [one + (-one.weekday() % 7 if one.weekday() > 4 else 0) * dt.timedelta(days=1) for one in dates]
        assert [one.rhythm for one in recurring([pay(str(one)) for one in after], "2025-12-31").payments] == ["monthly"]


def test_payments_may_miss_their_day_by_a_tolerance():
    (one,) = recurring([*monthly("03", range(1, 4)), pay("2026-04-07")]).payments
    assert (one.found.met, one.found.due, one.found.latest) == (3, dt.date(2026, 5, 3), dt.date(2026, 5, 7))
    assert not recurring([*monthly("03", range(1, 4)), pay("2026-04-08")]).payments
    (one,) = recurring([*monthly("07", range(1, 4)), pay("2026-04-03")]).payments
    assert one.found.earliest == one.found.due - 4 * dt.timedelta(days=1)


def test_the_latest_payments_say_the_rhythm():
    weekly = [LAST - (3 + 7 * number) * dt.timedelta(days=1) for number in range(25)]
    irregular = [weekly[-1] - days * dt.timedelta(days=1) for days in (2, 3, 11, 30, 33, 34, 52, 75, 76, 90)]
    (one,) = recurring([pay(str(day)) for day in sorted([*weekly, *irregular])]).payments
    assert (one.rhythm, one.found.met, one.found.tried) == ("weekly", 24, 24)


def test_next_amount_repeats_or_is_usual():
    rises = [
        pay(f"2026-{month:02}-03", amount=amount) for month, amount in enumerate(["-50.00"] * 4 + ["-60.00"], start=1)
    ]
    (one,) = recurring(rises).frame.to_dict("records")
    assert (one["last_amount"], one["next_amount"], one["dearer_by"]) == (-60.0, -50.0, 10.0)
    assert one["dearer_since"] == pd.Timestamp("2026-05-03")
    assert any("the middle one of the last" in note for note in recurring(rises).notes)
    assert not any("the middle one" in note for note in recurring([*rises, pay("2026-06-03", amount="-60.00")]).notes)
    (one,) = recurring([*rises, pay("2026-06-03", amount="-60.00")]).frame.to_dict("records")
    assert (one["next_amount"], one["smallest_amount"], one["largest_amount"], one["dearer_by"]) == (
        -60.0,
        -50.0,
        -60.0,
        10.0,
    )


def test_nothing_is_claimed_of_too_few_or_irregular_payments():
    assert not recurring(monthly("03", range(4, 7))).payments
    irregular = ["2026-01-03", "2026-01-29", "2026-03-17", "2026-03-20", "2026-05-02", "2026-06-25"]
    assert not recurring([pay(day) for day in irregular]).payments
    assert not recurring(monthly("03", counterparty="TO SAVINGS", category=PLANTED.FRAMES["COMPANY"].TRANSFER)).payments


def test_subscriptions_of_one_payee_are_separate():
    small = monthly("05", counterparty="APPSTORE", amount="-2.99", category="Software")
    large = monthly("17", counterparty="APPSTORE", amount="-9.99", category="Software")
    result = recurring([*small, *large])
    assert sorted((one.found.usual_day, one.next_units) for one in result.payments) == [
        ("on day 17", -999),
        ("on day 5", -299),
    ]
    with pytest.raises(aa.errors.InputError, match=r"'APPSTORE' is several; the keys are in \.frame"):
        result["APPSTORE"]
    assert {result[one.key].amount for one in result.payments} == {-17.94, -59.94}
    advances = [pay(day, "APPSTORE", "-120.00", "Meals") for day in ("2026-03-18", "2026-04-02")]
    assert len(recurring([*small, *advances]).payments) == 1
    (one,) = recurring([*monthly("03", range(1, 5)), pay("2026-05-03", amount="-4600.00")]).payments
    assert (one.key, one.rhythm) == ("LANDLORD|outflow", "monthly")


def test_a_line_twice_is_refused():
    books = PLANTED.FRAMES["frames"](monthly("03"), dt.date.max)
    twice = pd.concat([books.line_entries, books.line_entries.iloc[:1]])
    with pytest.raises(aa.errors.FrameError, match="a line entry id occurs more than once"):
        aa.recurring_payments(aa.Books(twice, books.ledgers, time_zone="UTC"))
    with pytest.raises(aa.errors.InputError, match="there are no line entries, so their last day is not known"):
        aa.recurring_payments(aa.Books(books.line_entries.iloc[:0], books.ledgers, time_zone="UTC"))


def test_lateness_needs_loaded_days(demo_company):
    client, days = demo_company.client, ("2026-01-01", "2026-05-31")
    ledgers = aa.discover_ledgers(client, *days)
    lines = aa.load_line_entries(client, ledgers["id"], *days)
    with pytest.raises(
        aa.errors.IncompleteLoadError, match="what recurs until 30 Jun 2026 is not known: the load covers"
    ):
        aa.recurring_payments(aa.Books(lines, ledgers), as_of="2026-06-30")
    result = aa.recurring_payments(aa.Books(lines, ledgers))
    assert result.end_date == dt.date(2026, 5, 31)
    assert result["KENT AVE PROPERTIES"].entries["local_date"].dt.day.unique().tolist() == [1]
    assert aa.notes(result) == ("Where amounts vary, the next one is estimated as the middle one of the last 6.",)


PRECISION, RECALL, WITHIN = 0.98, 0.9, 0.95


@pytest.mark.parametrize("seeds", [[1], pytest.param(range(2, 11), marks=pytest.mark.long)], ids=["one", "nine"])
def test_planted_rhythms_are_found(seeds):
    total = sum((PLANTED.score(seed) for seed in seeds), PLANTED.Score(0, 0, 0, 0, 0, 0))
    assert total.right >= PRECISION * total.claimed
    assert total.found >= RECALL * total.planted
    assert total.within >= WITHIN * total.expected > 0


@pytest.mark.parametrize("seeds", [[1], pytest.param(range(2, 21), marks=pytest.mark.long)], ids=["one", "nineteen"])
def test_bridges_claim_no_habit_that_is_not_there(seeds):
    found = [PLANTED.claims(seed) for seed in seeds]
    assert sum(one.count for one in found) > 20
    assert [wrong for one in found for wrong in one.wrong] == []


def test_dearer_is_said_against_a_whole_year():
    year = [pay(f"2025-{month:02}-03", amount="-40.00") for month in range(7, 13)]
    (one,) = recurring([*year, *monthly("03", amount="-50.00")]).payments
    assert one.dearer == (1000, dt.date(2026, 1, 3))
    assert "10.00 dearer since 3 Jan 2026" in recurring([*year, *monthly("03", amount="-50.00")]).sentences()[0]
    (one,) = recurring([pay("2025-06-03", amount="-50.00"), *year, *monthly("03", amount="-50.00")]).payments
    assert one.dearer == (0, None)
    (one,) = recurring([pay("2024-12-03", amount="-60.00"), *year, *monthly("03", amount="-50.00")]).payments
    assert one.dearer == (1000, dt.date(2026, 1, 3))
    (one,) = recurring([*year, *monthly("03", amount="50.00")]).payments[:1]
    assert one.dearer == (0, None)
