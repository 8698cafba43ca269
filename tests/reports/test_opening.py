"""From when balances are known: discovery is believed where it saw all days, and nothing else is taken for it."""

import dataclasses
import datetime as dt
import json
import re
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError

ZONE = "America/New_York"
FIRST, LAST = "2025-01-01", "2025-03-31"
ON_BALANCES = "Balances are sums since 1 Jan 2025, the first day of the books."
MAKERS = (aa.balance_sheet, aa.trial_balance, aa.cash_flow_statement)


@pytest.fixture(scope="module")
def ledgers(demo_company):
    """Return the chart of accounts, which states that the first entry is of 1 January 2025."""
    return aa.discover_ledgers(demo_company.client, FIRST, LAST, time_zone=ZONE)


@pytest.fixture(scope="module")
def lines_since_first(demo_company, ledgers):
    return aa.load_line_entries(demo_company.client, ledgers["id"], FIRST, LAST, time_zone=ZONE)


def shown(statement):
    """Title, columns, notes and all amounts of a statement."""
    return json.loads(statement.to_json())


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("days", [None, ("2025-03-01", LAST)], ids=["all", "the last month"])
def test_lines_since_the_first_entry_are_balances(lines_since_first, ledgers, make, days):
    statement = make(aa.Books(lines_since_first, ledgers), days)
    assert ON_BALANCES in statement.notes
    assert shown(statement) == shown(make(aa.Books(lines_since_first, ledgers, opening=FIRST), days))
    assert "since" not in statement.title


def test_what_rests_on_balances_knows_them(lines_since_first, ledgers):
    assert (
        aa.register(aa.Books(lines_since_first, ledgers), "Operating Account")
        .attrs["notes"][0]
        .endswith("so it is the balance.")
    )
    assert not any("counted since" in note for note in aa.ageing(aa.Books(lines_since_first, ledgers)).notes)
    report = aa.recompute_cash_flow(aa.Books(lines_since_first, ledgers), ("2025-03-01", LAST))
    assert "since 1 Jan 2025, the first day of the books" in report.notes[0]
    assert not report.anchored
    statement = aa.cash_flow_statement(aa.Books(lines_since_first, ledgers), ("2025-03-01", LAST))
    assert statement["Cash at the end", "2025-03"].exact() == report.exact().ending_cash_balance


def altered_discovery(ledgers, **changes):
    """Return the chart of accounts with another statement of its discovery."""
    other = ledgers.copy()
    other.attrs["discovery"] = ledgers.attrs["discovery"] | changes
    return other


@pytest.mark.parametrize("make", MAKERS[:2])
@pytest.mark.parametrize(
    "case",
    [
        "lines that begin later",
        "a chart that somebody shortened",
        "days of another zone",
        "early days that the service refuses",
        "a frame without its load",
    ],
)
def test_what_else_is_not_taken_for_the_first_entry(demo_company, lines_since_first, ledgers, make, case):
    first = FIRST
    if case == "lines that begin later":
        first = "2025-01-02"
        lines_since_first = aa.load_line_entries(demo_company.client, ledgers["id"], first, LAST, time_zone=ZONE)
    elif case == "a chart that somebody shortened":
        without_lines = ledgers[~ledgers["id"].isin(lines_since_first["ledger_id"])].index[-1]
        ledgers = ledgers.drop(index=without_lines)
    elif case == "days of another zone":
        ledgers = altered_discovery(ledgers, accepted=["0001-01-01", "9999-12-31", "UTC"])
    elif case == "early days that the service refuses":
        ledgers = altered_discovery(ledgers, accepted=["2024-12-01", "9999-12-31", ZONE])
    else:
        lines_since_first = lines_since_first.copy()
        lines_since_first.attrs = {"scale": 2}
    statement = make(aa.Books(lines_since_first, ledgers, time_zone=ZONE), ("2025-03-01", LAST))
    assert f"since {first[-1]} Jan 2025" in statement.title
    (note,) = [one for one in statement.notes if "are the movement since" in one]
    is_later = first != FIRST
    assert ("whether the books do is not known" in note) != is_later
    assert ("Load the lines since 1 Jan 2025 for more." in note) == is_later


@pytest.mark.parametrize(
    ("opening", "message"),
    [
        ((FIRST, None), "opening is of type NoneType, not DataFrame or Mapping; pass {ledger: balance}, starting_bal"),
        ((FIRST, "2025-02-01"), "opening is of type str, not DataFrame or Mapping; pass {ledger: balance}, starting_"),
        ((FIRST,), "opening is a tuple of 1; pass (day, balances)"),
        ([FIRST], "opening is of type list, not DataFrame or Mapping; pass {ledger: balance}, starting_balances of a"),
        ("2025-13-01", "opening '2025-13-01' is not a calendar date; write it like 2025-01-31"),
    ],
)
def test_what_is_no_opening_is_refused_at_once(lines_since_first, ledgers, opening, message):
    with pytest.raises(AccountingAnalyticsError, match=re.escape(message)):
        aa.Books(lines_since_first, ledgers, opening=opening)


def balance_of_assets(lines, ledgers):
    """Sum of all lines on assets, summed by pandas."""
    assets = ledgers.loc[(ledgers["type"] == "asset") & (ledgers["sub_type"] == "current_assets"), "id"]
    return Decimal(f"{lines.loc[lines['ledger_id'].isin(assets), 'signed_amount'].sum():.2f}")


def test_nothing_is_known_of_the_day_before_the_first_entry(demo_company, ledgers):
    days = ("2024-12-31", "2025-01-02")
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days, time_zone=ZONE)
    sheet = aa.balance_sheet(
        aa.Books(lines, ledgers), columns=[("2024-12-31", "2024-12-31"), ("2025-01-01", "2025-01-02")]
    )
    before, after = (sheet["Assets", column.key] for column in sheet.columns)
    assert (before.exact(), before.calculation) == (None, "it is not known: the books begin on 1 Jan 2025")
    assert after.exact() == balance_of_assets(lines, ledgers)
    assert "There are no entries before 1 Jan 2025: what was before is not known." in sheet.notes
    assert sheet.columns[0].periods[0][1].end_date == dt.date(2024, 12, 31)


def test_given_balances_come_before_what_was_found(lines_since_first, ledgers):
    report = aa.recompute_cash_flow(aa.Books(lines_since_first, ledgers), ("2025-03-01", LAST))
    other = dict(zip(report.starting_balances["ledger_id"], [Decimal(1_000)] * 9, strict=False))
    statement = aa.cash_flow_statement(
        aa.Books(lines_since_first, ledgers, opening=("2025-03-01", report.starting_balances)), ("2025-03-01", LAST)
    )
    assert "Balances are the supplied ones at the start of 1 Mar 2025" in " ".join(statement.notes)
    given = aa.recompute_cash_flow(
        aa.Books(lines_since_first, ledgers, opening=("2025-03-01", other)), ("2025-03-01", LAST)
    )
    assert given.anchored
    assert given.starting_cash_balance == 1_000.0 * len(report.starting_balances)
    assert dataclasses.replace(given, anchored=False).net_cash_flow == report.net_cash_flow
