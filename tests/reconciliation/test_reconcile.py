"""Reports of months, recomputed and reconciled: two zones, planted errors, the source of starting balances."""

import json
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.schemas import MonthlyDifferences, Months
from accounting_analytics.reconciliation.compared_report import compare_reports

START, END = "2025-01-01", "2025-04-15"
ZONES = ("UTC", "America/New_York")
AMOUNTS = ("starting_cash_balance", "net_cash_flow", "ending_cash_balance")
CENT = Decimal("0.01")


@pytest.fixture(scope="module")
def frames(demo_company):
    """Return line entries and ledgers of the first months, with a day more at each end, for every zone."""
    days = ("2024-12-31", "2025-04-16")
    ledgers = aa.discover_ledgers(demo_company.client, *days)
    return aa.load_line_entries(demo_company.client, ledgers["id"], *days), ledgers


def months_of(client, zone):
    """Return the service's report of each month."""
    months = aa.Period(START, END, zone).months()
    return [aa.load_cash_flow_report(client, one.start_date, one.end_date, time_zone=zone) for one in months]


@pytest.fixture
def distorted(demo_company, distortion, forwarding, frames):
    """Return a function that reconciles the months through a distortion of the reports."""

    def reconcile(change_response=None, *, is_anchored=True):
        with (
            forwarding(demo_company.base_url, distortion(response=change_response)) as base_url,
            aa.LedgerClient(base_url, token=demo_company.token, instance_id=demo_company.instance_id) as client,
        ):
            return aa.reconcile(books_of_months(frames, months_of(client, "UTC"), "UTC", is_anchored=is_anchored))

    return reconcile


def books_of_months(frames, reports, zone, *, is_anchored):
    """Return books whose opening is that of the first report, or their first day."""
    return aa.Books(*frames, time_zone=zone, reports=reports, opening=reports[0] if is_anchored else START)


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
    return [f"{month.period.start_date:%Y-%m}" for month in result.untied]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("is_anchored", [True, False])
def test_every_month_ties(demo_company, frames, zone, is_anchored):
    reports = months_of(demo_company.client, zone)
    result = aa.reconcile(books_of_months(frames, reports[::-1], zone, is_anchored=False))
    if is_anchored:
        result = aa.reconcile(books_of_months(frames, reports, zone, is_anchored=True))
    assert result.ties
    assert result.summary().endswith("all 4 months tie to the last digit.")
    assert result.anchored is is_anchored
    frame = Months.checked(result.frame)
    assert list(frame["end_date"].dt.strftime("%m-%d")) == ["01-31", "02-28", "03-31", "04-15"]
    assert list(frame["differences"]) == [0] * 4
    exact = Months.exact(frame).frame
    assert list(exact["net_cash_flow"]) == [report.exact().net_cash_flow for report in result.reports]
    assert frame["net_cash_flow"].all()
    assert set(frame["anchored"]) == {result.anchored}
    assert {report.anchored for report in result.recomputed} == {result.anchored}
    assert {month.period.time_zone for month in result.compared} == {zone}
    starting = [one for month in result.compared for one in month.comparisons if "starting" in one.what]
    assert {one.independent for one in starting} == {not result.anchored}
    assert ("prove" in result.notes[0]) == result.anchored


def test_loaded_books_have_the_reports_that_were_asked_for(demo_company):
    books = aa.load_books(demo_company.client, "2025-02", progress=False)
    result = aa.reconcile(books)
    assert [one.period for one in result.reports] == [books.period]
    assert result.summary() == result.compared[0].summary()
    assert "reported and recomputed cash flow agree to the last digit" in result.explain()
    assert not result.anchored
    several = aa.load_books(demo_company.client, "2025-02", reports=["2025-01", "2025-01/2025-02"], progress=False)
    assert aa.reconcile(several).summary().endswith("all 2 reports tie to the last digit.")


def test_books_that_cannot_be_reconciled_are_refused(demo_company, frames):
    books = aa.Books(*frames, "2025-02")
    with pytest.raises(InputError, match="the books have no report of the service: load them with one"):
        aa.reconcile(books)
    reports = [aa.load_cash_flow_report(demo_company.client, "2025-02-01", "2025-02-28")]
    with pytest.raises(InputError, match="a reconciliation takes the lines as they were loaded"):
        aa.reconcile(books.with_reports(reports).with_lines(books.lines.head(0), label="none"))
    with pytest.raises(
        InputError, match="a report was recomputed from line entries, and would be compared with itself"
    ):
        books.with_reports([aa.recompute_cash_flow(books)])


@pytest.mark.long
def test_books_claim_no_moment(demo_company):
    """The newest days are read twice, not those of the period: the certificate says that no moment was checked."""
    books = aa.load_books(demo_company.client, ("2025-02-01", "2025-02-28"), progress=False)
    assert str(books.extent.days.start_date) == START
    assert (books.extent.consistency, books.extent.moment) == ("newest", "not checked")
    assert "not checked" in " ".join(aa.check_completeness(books).explain().split())


@pytest.mark.parametrize("is_anchored", [True, False])
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
def test_an_error_is_found_in_its_month_only(distorted, change, is_anchored):
    result = distorted(in_month("2025-02-01", change), is_anchored=is_anchored)
    assert untied_months(result) == ["2025-02"]
    assert list(result.frame["ties"]) == [True, False, True, True]
    assert "1 of 4 months untied: Feb 2025" in result.summary()
    assert result.untied[0].explain() in result.explain()


def test_an_entry_that_is_not_there_is_found_in_its_month_only(demo_company, frames):
    lines, ledgers = frames
    cash = set(ledgers.query("report_cash_flow")["id"])
    of_cash = lines[lines["ledger_id"].isin(cash) & (lines["local_date"] == "2025-02-10")]
    others = lines[lines["journal_entry_id"] != of_cash["journal_entry_id"].iloc[0]].reset_index(drop=True)
    others.attrs = {"scale": 2}
    books = books_of_months((others, ledgers), months_of(demo_company.client, "UTC"), "UTC", is_anchored=True)
    assert untied_months(aa.reconcile(books)) == ["2025-02"]


def add_flow(report):
    """Add a cent to the net cash flow of the first ledger that has one."""
    ledger = next(one for one in report["cash_flow_ledgers"] if one["net_cash_flow"])
    ledger["net_cash_flow"] = Decimal(ledger["net_cash_flow"]) + CENT


def test_wrong_flow_is_one_exact_difference_of_its_month(distorted):
    result = distorted(in_month("2025-03-01", add_flow))
    (row,) = MonthlyDifferences.exact(result.differences).frame.to_dict("records")
    assert (row["start_date"], row["what"], row["difference"]) == (pd.Timestamp("2025-03-01"), "net_cash_flow", CENT)
    figures = [report[f"own:{row['ledger_id']}"].exact() for report in (result.reports[2], result.recomputed[2])]
    assert figures[0] - figures[1] == CENT
    content = json.loads(result.to_json())
    assert (content["ties"], content["anchored"], content["partial"]) == (False, True, False)
    assert [len(month["differences"]) > 0 for month in content["reports"]] == [False, False, True, False]
    march = content["reports"][2]
    assert {name: march[name] for name in AMOUNTS} == {
        name: f"{getattr(result.reports[2].exact(), name):f}" for name in AMOUNTS
    }
    right = distorted()
    assert right.differences.empty
    assert {month.period.time_zone for month in (right, *right.reports, *right.recomputed)} == {"UTC"}


def test_missing_lines_refuse_a_frame_or_mark_reports(demo_company, frames):
    lines, ledgers = frames
    with pytest.raises(IncompleteLoadError, match="the lines are not those that were loaded: 3 lines were removed"):
        aa.Books(lines.iloc[:-3], ledgers)
    lacking = lines.copy()
    missing = {"complete": False, "missing": {"led_rent": "2025-02-01/2025-02-02"}}
    lacking.attrs["load"] = lacking.attrs["load"] | missing
    reports = months_of(demo_company.client, "UTC")
    books = aa.Books(lacking, ledgers, time_zone="UTC", reports=reports, opening=START)
    assert books.summary().startswith("INCOMPLETE: ")
    result = aa.reconcile(books)
    assert result.partial
    assert set(result.frame["partial"]) == {True}
    assert result.summary().startswith("PARTIAL: ")


def test_days_with_earlier_entries_or_no_history_are_named(demo_company, frames):
    client, february, ledgers = demo_company.client, ("2025-02-01", "2025-02-28"), frames[1]
    lines = aa.load_line_entries(client, ledgers["id"], *february, time_zone="UTC")
    report = aa.load_cash_flow_report(client, *february, time_zone="UTC")
    with pytest.raises(InputError, match="opening is 2025-02-01, but there are entries before that day"):
        aa.Books(lines, ledgers, time_zone="UTC", opening=february[0], reports=[report])
    computed = aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone="UTC"))
    assert (
        "load the books since their first entry, or pass opening=report" in compare_reports(report, computed).summary()
    )
    anchored = aa.reconcile(aa.Books(lines, ledgers, time_zone="UTC", reports=[report]))
    assert anchored.ties
    assert anchored.anchored


def add_thousand(path, _params, body):
    """Add 1,000 to every total of a report."""
    if "cash-flow" in path:
        for ledger in body["cash_flow_ledgers"]:
            ledger["total_net_cash_flow"] = Decimal(ledger["total_net_cash_flow"]) + 1000


@pytest.fixture
def reconciled_deep(deep_books, distortion, forwarding):
    """Return a function that reconciles a month of the deep books, of which two parents are shown, distorted."""

    def refuse_higher_parents(_path, params):
        return 422 if "ledger.parent.parent.parent" in params.get("expand", "") else None

    def reconcile(**changes):
        with (
            forwarding(deep_books.base_url, distortion(status=refuse_higher_parents, **changes)) as base_url,
            aa.LedgerClient(base_url, token=deep_books.token, instance_id=deep_books.instance_id) as client,
        ):
            return aa.reconcile(aa.load_books(client, "2025-01", progress=False))

    return reconcile


def test_totals_of_deep_ledgers_are_compared(reconciled_deep):
    right = reconciled_deep()
    assert right.ties
    assert right.compared_everything
    assert right.summary().endswith("agree to the last digit; hierarchy inferred.")
    wrong = reconciled_deep(response=add_thousand)
    assert not wrong.ties
    (month,) = wrong.untied
    assert "8 differences, all in totals: the cause is the hierarchy" in month.summary()
    assert month.differences["explanation"].str.contains("which is inferred").all()
