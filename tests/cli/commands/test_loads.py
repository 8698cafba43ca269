"""Commands that load: partial loads, what is refused before a load, reconciliation, and files of parents."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

import accounting_analytics as aa
from accounting_analytics.cli.books_source import read_parents
from accounting_analytics.core.errors import InputError

PROJECT = Path(__file__).parents[3]
PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
QUARTER = ("--start-date", "2025-01-01", "--end-date", "2025-03-31")


@pytest.mark.long
def test_partial_loads_end_a_command_or_mark_results(run, assert_refused, tmp_path, demo_company, failing_ledger):
    base_url, ledger = failing_ledger
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
    assert_refused(run("reconcile", *PERIOD, **environment, code=4), "400", ledger)
    partial = run("reconcile", *PERIOD, "--allow-partial", **environment, code=3)
    assert partial.stdout.startswith("PARTIAL: ")
    assert "NOT COMPLETE" in partial.stderr
    statement = ("statements", "cash-flow", *PERIOD, "--allow-partial")
    assert_refused(run(*statement, **environment, code=3), "no column is known", ledger)
    exported = run("export", *PERIOD, "--output", "parquet", "--allow-partial", **environment, code=3)
    assert "PARTIAL" in exported.stdout
    assert json.loads((tmp_path / "parquet" / "current" / "manifest.json").read_text())["partial"] is True
    assert_refused(run("export", *PERIOD, "--output", "whole", **environment, code=4), "400", ledger)
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize(
    "case",
    [
        (("reconcile", *PERIOD, "--since", "2025-04-15"), "--since 2025-04-15 is after 2025-03-31; it is"),
        (("reconcile", *PERIOD, "--opening", "May"), "--opening 'May' is not a calendar date"),
        (("statements", "cash-flow", *PERIOD, "--opening", "absent.csv"), "--opening: absent.csv cannot be read"),
        (("reconcile", *PERIOD, "--since", "2025-02-30"), "--since '2025-02-30'"),
        (("reconcile", *PERIOD, "--time-zone", "localtime"), "give its name, such as 'America/New_York'; who runs"),
        (("report", *PERIOD, "--time-zone", "localtime"), "give its name, such as 'America/New_York'; who runs"),
        (("report", *PERIOD, "--time-zone", ""), "''"),
        (("export", *PERIOD, "--output", PROJECT / "README.md"), "is a file"),
        (("export", *PERIOD, "--output", PROJECT / "data"), "files that are not part of an export"),
        (("export", *PERIOD, "--output", "new", "--format", "pdf"), "unknown export format 'pdf'; the formats are"),
        (("plan", *PERIOD, "--rules", PROJECT / "data/rules.toml", "--output", "absent/plan.csv"), "absent"),
        (("plan", *PERIOD, "--rules", "absent.toml", "--output", "plan.csv"), "absent.toml"),
    ],
)
def test_impossible_commands_send_no_request(run_demo, assert_refused, recorded_service, case):
    command, text = case
    base_url, sent = recorded_service
    assert_refused(run_demo(*command, ACCOUNTING_ANALYTICS_BASE_URL=base_url, code=2), text)
    assert sent.requests == []


@pytest.fixture
def recorded_service(demo_company, distortion, forwarding):
    """Forward to the demo company; return the address, and the object that records the requests."""
    recorder = distortion()
    with forwarding(demo_company.base_url, recorder) as base_url:
        yield base_url, recorder


@pytest.fixture
def failing_ledger(demo_company, distortion, forwarding):
    """Forward to the demo company, except the lines of one ledger; return the address and the ledger's id."""
    reported = aa.load_cash_flow_report(demo_company.client, "2025-03-01", "2025-03-31").ledgers
    ledger = reported["ledger_id"].iloc[-1]

    def status(path, params):
        return 400 if ledger in path and "journal_entry" in params.get("expand", "") else None

    with forwarding(demo_company.base_url, distortion(status=status)) as base_url:
        yield base_url, ledger


def test_every_month_of_the_demo_ties(run_demo):
    finished = run_demo("reconcile", *QUARTER, "--json")
    assert "all 3 months tie to the last digit." in finished.stderr
    months = finished.content["reports"]
    assert [(month["ties"], month["anchored"], month["differences"]) for month in months] == [(True, False, [])] * 3


@pytest.mark.long
def test_balances_taken_from_the_report_prove_nothing(run_demo):
    anchored = run_demo("reconcile", "--period", "2025-02/2025-03", "--since", "2025-02-01")
    assert anchored.stdout.count("agreement proves nothing: load") == 1
    assert "proves nothing" not in anchored.stderr
    assert "tie to the last digit" not in anchored.stderr
    summed = run_demo("reconcile", "--period", "2025-02/2025-03")
    assert "proves nothing" not in summed.stdout + summed.stderr


def test_since_after_the_first_entry_takes_balances_of_the_service(run, deep_books):
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31", "--since", "2025-01-01")
    finished = run("reconcile", *days, **deep_books.environment())
    assert "starting balances are what the service reported at the start of 1 jan 2025" in " ".join(
        finished.stdout.lower().split()
    )
    refused = run("reconcile", *days[:-2], "--opening", "2025-01-01", **deep_books.environment(), code=2)
    assert "opening is 2025-01-01, but there are entries before that day, the first on 31 Dec 2024" in refused.stderr


def test_untied_month_is_explained_and_exits_3(run_demo, demo_company, distortion, forwarding):
    def change_response(path, params, body):
        if "cash-flow" in path and (params["start_date"], params["end_date"]) == ("2025-02-01", "2025-02-28"):
            body["ending_cash_balance"] = Decimal(body["ending_cash_balance"]) + 1

    with forwarding(demo_company.base_url, distortion(response=change_response)) as base_url:
        finished = run_demo("reconcile", *QUARTER, ACCOUNTING_ANALYTICS_BASE_URL=base_url, code=3)
    assert "the books do not tie in 1 of 3 months: Feb 2025 (America/New_York)" in finished.stderr
    assert "ending cash balance" in finished.stdout
    rows = [line.split() for line in finished.stdout.splitlines() if re.match(r"(Jan|Feb|Mar) 2025  ", line)]
    assert [row[:3] for row in rows] == [["Jan", "2025", "ties"], ["Feb", "2025", "2"], ["Mar", "2025", "ties"]]


JANUARY = ("reconcile", "--start-date", "2025-01-01", "--end-date", "2025-01-31", "--time-zone", "UTC")


@pytest.fixture
def without_parents(run, deep_books, distortion, forwarding):
    """Return a function that runs a command on the deep books, whose service shows no parents."""

    def refuse_parents(path, params):
        return 422 if "line-entries" in path and "parent" in params.get("expand", "") else None

    def run_without_parents(*arguments, code=0):
        with forwarding(deep_books.base_url, distortion(status=refuse_parents)) as base_url:
            return run(*arguments, **deep_books.environment(base_url), code=code)

    return run_without_parents


@pytest.mark.long
def test_uncompared_totals_exit_3_only_with_strict(without_parents):
    finished = without_parents(*JANUARY)
    assert "totals not compared (11 of 12)" in finished.stderr
    assert "--parents FILE" in finished.stderr
    assert "totals not compared (11 of 12)" in finished.stdout
    strict = without_parents(*JANUARY, "--strict", code=3)
    assert "error: Cash flow report, Jan 2025 (UTC): the figures compared agree to the last digit" in strict.stderr
    assert "totals not compared (11 of 12)" in strict.stderr


@pytest.mark.long
def test_parents_from_a_file_compare_every_total(without_parents, tmp_path):
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
    found = without_parents("discover", *days, "--json")
    ids = {ledger["name"]: ledger["id"] for ledger in found.content}
    pairs = [("home", "expenses"), ("rent", "home"), ("office", "expenses"), ("paper", "office"), ("expenses", "")]
    pairs += [("web", "sales"), ("sales", "income"), ("income", ""), ("checking", ""), ("savings", "")]
    rows = [f"{ids[child]},{ids.get(parent, '')}" for child, parent in pairs]
    (tmp_path / "parents.csv").write_text("\n".join(["ledger_id,parent_id", *rows]), encoding="utf-8")
    finished = without_parents(*JANUARY, "--parents", "parents.csv", "--strict", "--json")
    assert [month["not_compared"] for month in finished.content["reports"]] == [0]
    discovered = without_parents("discover", *days, "--parents", "parents.csv", "--json")
    parents = {ledger["name"]: ledger["parent_id"] for ledger in discovered.content}
    assert parents["rent"] == ids["home"]


@pytest.mark.parametrize(
    "content",
    [
        '\ufeffledger_id, parent_id\r\n"led_1", led_2 \r\n\r\nled_2,',
        "name;PARENT_ID;ledger_id\nBank;led_2;led_1\nAssets;;led_2\n",
    ],
    ids=["excel", "columns of a spreadsheet"],
)
def test_file_of_parents_is_read_as_spreadsheets_write_it(tmp_path, content):
    (tmp_path / "parents.csv").write_text(content, encoding="utf-8")
    assert read_parents(tmp_path / "parents.csv") == {"led_1": "led_2", "led_2": None}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,parent\na,b\n", "the first row lacks ledger_id, parent_id; it has 2 other columns, first 'id'"),
        ("ledger_id,parent_id\n,b\n", "row 2: ledger_id: the cell is empty"),
        ("ledger_id,parent_id\na,b\n\na,c\n", "row 4: ledger 'a' occurs more than once"),
        ("ledger_id,parent_id\na,a\n", "row 2: ledger 'a' is its own parent"),
    ],
)
def test_malformed_files_of_parents_are_refused_with_the_row(tmp_path, content, message):
    (tmp_path / "p.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"^--parents: .*p\.csv") as refused:
        read_parents(tmp_path / "p.csv")
    assert message in str(refused.value)
    form = "expected is a CSV file or an Excel workbook with the columns ledger_id and parent_id"
    assert form in str(refused.value)


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_files_of_parents_that_cannot_be_read_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="--parents"):
        read_parents(tmp_path / name)
