"""Months loaded once, recomputed and reconciled: two zones, planted errors, the source of starting balances."""

import json
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError, PeriodError
from accounting_analytics.core.schemas import MonthlyDifferences, Months

START, END = "2025-01-01", "2025-04-15"
ZONES = ("UTC", "America/New_York")
AMOUNTS = ("starting_cash_balance", "net_cash_flow", "ending_cash_balance")
CENT = Decimal("0.01")


@pytest.fixture(scope="module")
def loaded(demo_company):
    """Return ledgers and lines of the first months, with a day more at each end so that they suit every zone."""
    days = ("2024-12-31", "2025-04-16")
    ledgers = aa.discover_ledgers(demo_company.client, *days)
    return {"ledgers": ledgers, "line_entries": aa.load_line_entries(demo_company.client, ledgers["id"], *days)}


@pytest.fixture
def distorted(demo_company, distortion, forwarding):
    """Return a function that reconciles the months through a distortion of the reports, and counts the requests."""

    def reconcile(change_response=None, **options):
        through = distortion(response=change_response)
        with (
            forwarding(demo_company.base_url, through) as base_url,
            aa.LedgerClient(base_url, token=demo_company.token, instance_id=demo_company.instance_id) as client,
        ):
            return aa.reconcile_months(client, START, END, **options), [path for path, _ in through.requests]

    return reconcile


def in_month(start_date, change):
    """Return a distortion that changes the report that begins on a day and ends in the same month."""

    def change_response(path, params, body):
        if "cash-flow" in path and params["start_date"] == start_date and params["end_date"][:7] == start_date[:7]:
            change(body)

    return change_response


def add_cent(balances):
    """Add a cent to the first balance of a list."""
    balances[0]["cash_balance"] = Decimal(balances[0]["cash_balance"]) + CENT
    balances[0]["total_cash_balance"] = Decimal(balances[0]["total_cash_balance"]) + CENT


def shift_end(report):
    """Add a cent to the cash at the end."""
    add_cent(report["ending_balances"])
    report["ending_cash_balance"] = Decimal(report["ending_cash_balance"]) + CENT


def shift_both(report):
    """Add a cent to the cash at the start and at the end, so that the report agrees with itself."""
    shift_end(report)
    add_cent(report["starting_balances"])
    report["starting_cash_balance"] = Decimal(report["starting_cash_balance"]) + CENT


def untied_months(result):
    """Return the months that do not tie."""
    return [f"{month.period.start_date:%Y-%m}" for month in result.untied]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("books_start", [None, START])
def test_every_month_ties(demo_company, loaded, zone, books_start):
    """Each month ties in both zones, with starting balances that are anchored, which proves nothing, or summed."""
    options = {"time_zone": zone, "books_start": books_start}
    result = aa.reconcile_months(demo_company.client, START, END, **options, **loaded)
    assert result.ties
    assert result.anchored is (books_start is None)
    frame = Months.checked(result.frame)
    assert list(frame["end_date"].dt.strftime("%m-%d")) == ["01-31", "02-28", "03-31", "04-15"]
    assert list(frame["differences"]) == [0] * 4
    exact = Months.exact(frame).frame
    assert list(exact["net_cash_flow"]) == [report.exact().net_cash_flow for report in result.reports]
    assert frame["net_cash_flow"].all()
    assert set(frame["anchored"]) == {result.anchored}
    assert {report.anchored for report in result.recomputed} == {result.anchored}
    assert {month.period.time_zone for month in result.reconciliations} == {zone}
    starting = [one for month in result.reconciliations for one in month.comparisons if "starting" in one.what]
    assert {one.independent for one in starting} == {not result.anchored}
    assert ("prove" in result.notes[0]) == result.anchored


@pytest.mark.long
def test_the_lines_of_the_period_are_of_one_moment(demo_company):
    """The requested days are read twice, not the history before them."""
    month = ("2025-02-01", "2025-02-28")
    result = aa.reconcile_months(demo_company.client, *month, time_zone=ZONES[0], books_start=START)
    load = result.line_entries.attrs["load"]
    assert (load["start_date"], load["consistency"], load["of_one_moment"]) == (START, "all", "/".join(month))
    assert "the other 31 days" in " ".join(aa.check_completeness(result.line_entries).explain().split())


@pytest.mark.long
def test_the_books_are_loaded_once(distorted):
    """Without given frames they are loaded once; with them, one report is requested for each month and nothing else."""
    result, requests = distorted(books_start=START)
    reports = [path for path in requests if "cash-flow" in path]
    assert len(reports) == 4 + 1 + 2  # of the months, and to find the ledgers: of the days asked for, and of both years
    _, few = distorted(ledgers=result.ledgers, line_entries=result.line_entries)
    assert few == reports[:4]
    again = aa.recompute_cash_flow(result.line_entries, result.ledgers, START, END)
    assert again.ending_cash_balance == result.reports[-1].ending_cash_balance


@pytest.mark.parametrize("books_start", [None, START])
@pytest.mark.parametrize(
    "change",
    [
        shift_end,
        shift_both,
        lambda report: report["cash_flow_ledgers"][0]["lines"].pop(),
        lambda report: report.update(starting_cash_balance=0),
    ],
    ids=["end", "both", "line", "total"],
)
def test_an_error_is_found_in_its_month_only(distorted, loaded, change, books_start):
    """A wrong February is found in February only, also where February agrees with itself but not with January."""
    result, _ = distorted(in_month("2025-02-01", change), books_start=books_start, **loaded)
    assert untied_months(result) == ["2025-02"]
    assert list(result.frame["ties"]) == [True, False, True, True]
    assert "1 of 4 months untied: 2025-02" in result.summary()
    assert result.untied[0].explain() in result.explain()


def add_flow(report):
    """Add a cent to the net cash flow of the first ledger that has one."""
    ledger = next(one for one in report["cash_flow_ledgers"] if one["net_cash_flow"])
    ledger["net_cash_flow"] = Decimal(ledger["net_cash_flow"]) + CENT


def test_differences_by_month(distorted, loaded):
    """A wrong flow is one difference, of the figures of both reports, and exact in JSON; right books have none."""
    result, _ = distorted(in_month("2025-03-01", add_flow), **loaded)
    (row,) = MonthlyDifferences.exact(result.differences).frame.to_dict("records")
    assert (row["start_date"], row["what"], row["difference"]) == (pd.Timestamp("2025-03-01"), "net_cash_flow", CENT)
    figures = [report[f"own:{row['ledger_id']}"].exact() for report in (result.reports[2], result.recomputed[2])]
    assert figures[0] - figures[1] == CENT
    content = json.loads(result.to_json())
    assert (content["ties"], content["anchored"], content["partial"]) == (False, True, False)
    assert [len(month["differences"]) > 0 for month in content["months"]] == [False, False, True, False]
    march = content["months"][2]
    assert {name: march[name] for name in AMOUNTS} == {
        name: f"{getattr(result.reports[2].exact(), name):f}" for name in AMOUNTS
    }
    right, _ = distorted(**loaded)
    assert right.differences.empty
    assert {month.period.time_zone for month in (right, *right.reports, *right.recomputed)} == {"UTC"}


def test_missing_lines(demo_company, loaded):
    """A frame without all lines of its load is refused, or its months are marked as partial."""
    fewer = {**loaded, "line_entries": loaded["line_entries"].iloc[:-3]}
    with pytest.raises(IncompleteLoadError, match="3 lines were removed"):
        aa.reconcile_months(demo_company.client, START, END, **fewer)
    result = aa.reconcile_months(demo_company.client, START, END, allow_partial=True, **fewer)
    assert result.partial
    assert set(result.frame["partial"]) == {True}
    assert result.summary().startswith("PARTIAL: ")


def test_books_that_begin_earlier(demo_company, loaded):
    """Where the given first day of the books has earlier entries, the first line says what to change."""
    options = {"books_start": "2025-02-01", **loaded}
    lines = loaded["line_entries"]
    options["line_entries"] = lines[lines["local_date"] >= "2025-02-01"]
    result = aa.reconcile_months(
        demo_company.client, "2025-02-01", "2025-02-28", allow_partial=True, time_zone="UTC", **options
    )
    assert "the books begin before books_start: give their first day, or leave it out" in result.summary()
    assert "starting_balances=reported.starting_balances" in result.untied[0].summary()


def add_thousand(path, _params, body):
    """Add 1,000 to every total of a report."""
    if "cash-flow" in path:
        for ledger in body["cash_flow_ledgers"]:
            ledger["total_net_cash_flow"] = Decimal(ledger["total_net_cash_flow"]) + 1000


@pytest.fixture
def reconciled_deep(deep_books, distortion, forwarding):
    """Return a function that reconciles a month of the deep books through a distortion."""

    def reconcile(options, **changes):
        with (
            forwarding(deep_books.base_url, distortion(**changes)) as base_url,
            aa.LedgerClient(base_url, token=deep_books.token, instance_id=deep_books.instance_id) as client,
        ):
            days = ("2025-01-01", "2025-01-31")
            return aa.reconcile_months(client, *days, books_start="2024-12-31", **options)

    return reconcile


def test_totals_of_deep_ledgers_are_compared(reconciled_deep):
    """Where no ledger shows that it is a root, totals are compared all the same: 1,000 too much is found."""
    right = reconciled_deep({})
    assert right.ties
    assert right.compared_everything
    assert right.summary().endswith("1 month ties to the last digit; hierarchy inferred.")
    wrong = reconciled_deep({}, response=add_thousand)
    assert not wrong.ties
    (month,) = wrong.untied
    assert "8 differences, all in totals: the cause is the hierarchy" in month.summary()
    assert month.differences["explanation"].str.contains("which is inferred").all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"time_zone": "localtime"}, PeriodError, "localtime"),
        ({"books_start": "2025-01-02"}, PeriodError, "is after start_date 2025-01-01"),
        ({"end_date": "2024-12-31"}, PeriodError, "is before start_date"),
        ({"end_date": "2025-05-01"}, IncompleteLoadError, "but those of 2025-01-01 to 2025-05-01"),
        ({"books_start": "2024-12-30"}, IncompleteLoadError, "but those of 2024-12-30 to 2025-04-15"),
    ],
    ids=["localtime", "books start", "period", "end", "history"],
)
def test_refused_before_any_request(connected, loaded, arguments, error, message):
    """Wrong dates, and line entries that do not include all days, are refused before anything is requested."""
    client = connected(lambda _: None)
    with pytest.raises(error, match=message):
        aa.reconcile_months(client, **{"start_date": START, "end_date": END} | arguments, **loaded)
    assert client.requests == []
