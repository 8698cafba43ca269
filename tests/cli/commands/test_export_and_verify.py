"""The command export: whole periods, single months, and settings that do not fit."""

import json

import pyarrow.parquet as pq

import accounting_analytics as aa
from accounting_analytics.books import Books
from accounting_analytics.exports import Manifest, verify_export
from accounting_analytics.exports.version_folder import export_lock

DAYS = ("--start-date", "2025-02-01", "--end-date", "2025-03-31")
MARCH = ("--start-date", "2025-03-01", "--end-date", "2025-03-31", "--replace-months")
NEW_YORK = ("--time-zone", "America/New_York")


def test_export(run, demo_company, tmp_path):
    """A whole period, then one of its months again: the summary and the tables are printed, and the figures stay."""
    environment = demo_company.environment()
    out = ("--output", "out", *NEW_YORK)
    whole = run("export", *DAYS, *out, "--currency", "USD", "--fiscal-year-start-month", "7", **environment)
    assert whole.returncode == 0, whole.stderr
    lines = whole.stdout.splitlines()
    assert lines[0].startswith("Export in out/current: ")
    tables = [line for line in lines[1:] if line]
    assert len(tables) == 12
    assert all(line.startswith("- ") and line.endswith(" rows") for line in tables)
    assert any(line.startswith("- fact_line_entry: ") for line in tables)
    first = json.loads((tmp_path / "out" / "current" / "manifest.json").read_bytes())
    transactions = pq.read_table(tmp_path / "out" / "current" / "dim_transaction.parquet")
    assert transactions["review_status"].null_count < transactions.num_rows
    march = run("export", *MARCH, *out, "--json", **environment)
    assert march.returncode == 0, march.stderr
    second = json.loads(march.stdout)
    names = ("start_date", "end_date", "currency", "fiscal_year_start_month", "notes")
    assert [second[name] for name in names] == ["2025-02-01", "2025-03-31", "USD", 7, []]
    assert sum(file["rows"] for file in second["files"]) == sum(file["rows"] for file in first["files"])
    assert json.loads((tmp_path / "out" / "current" / "manifest.json").read_bytes()) == second
    verified = run("verify-export", "out")
    assert verified.returncode == 0, verified.stdout


def test_settings_are_those_of_the_configuration(run, assert_refused, demo_company, tmp_path):
    """Currency and fiscal year are configured; an option is used instead, and replaced months keep what they had."""
    settings = {"ACCOUNTING_ANALYTICS_CURRENCY": "EUR", "ACCOUNTING_ANALYTICS_FISCAL_YEAR_START_MONTH": "4"}
    environment = demo_company.environment() | settings
    command = ("export", *MARCH[:4], *NEW_YORK, "--json")
    exports = {
        "configured": run(*command, "--output", "configured", **environment),
        "given": run(*command, "--output", "given", "--currency", "USD", **environment),
    }
    stated = {name: json.loads(done.stdout) for name, done in exports.items()}
    assert {name: one["currency"] for name, one in stated.items()} == {"configured": "EUR", "given": "USD"}
    assert {one["fiscal_year_start_month"] for one in stated.values()} == {4}
    again = run(*command, "--replace-months", "--output", "given", **environment)
    assert json.loads(again.stdout)["currency"] == "USD"
    workbook = run(*command, "--format", "excel", "--output", "books.xlsx", **environment)  # it has no fiscal years
    assert json.loads(workbook.stdout)["currency"] == "EUR", workbook.stderr
    given = ("--format", "excel", "--output", "july.xlsx", "--fiscal-year-start-month", "7")
    assert_refused(run(*command, *given, **environment), 2, "a workbook has no fiscal years")
    long = {"ACCOUNTING_ANALYTICS_CURRENCY": "x" * 31}
    assert_refused(run(*command, "--output", "long", **environment | long), 2, "name it in 1 to 30 printable")
    assert not (tmp_path / "long").exists()


def test_settings_of_replaced_months(run, assert_refused, demo_company):
    """Another currency, fiscal year, time zone or part of a month is refused before a line is loaded."""
    environment = demo_company.environment()
    assert run("export", *MARCH[:4], "--output", "out", *NEW_YORK, **environment).returncode == 0
    replace = ("export", *MARCH, "--output", "out")
    assert_refused(run(*replace, *NEW_YORK, "--currency", "EUR", **environment), 2, "has currency None, not 'EUR'")
    nothing = run(*replace, "--currency", "", **environment)
    assert_refused(nothing, 2, "currency is ''; name it in 1 to 30 printable characters, such as USD, or omit it")
    july = run(*replace, *NEW_YORK, "--fiscal-year-start-month", "7", **environment)
    assert_refused(july, 2, "has fiscal_year_start_month 1, not 7")
    utc = run(*replace, "--time-zone", "UTC", **environment)
    assert_refused(utc, 2, "has time_zone 'America/New_York', not 'UTC'", "nothing was written")
    elsewhere = {"ACCOUNTING_ANALYTICS_BASE_URL": "http://127.0.0.1:9", "ACCOUNTING_ANALYTICS_TIME_ZONE": "UTC"}
    part = run("export", "--start-date", "2025-03-02", *MARCH[2:], "--output", "out", **environment | elsewhere)
    assert_refused(part, 2, "2025-03 is exported from 2025-03-01 to 2025-03-31; replacing it with 2025-03-02")


def test_months_of_a_journal_are_replaced(run, assert_refused, tmp_path):
    """After a recategorization of two months, replacing the one with the journal replaces the other too."""
    with aa.demo() as company:
        environment, days = company.environment(), ("2025-01-01", "2025-03-31")
        whole = ("export", "--start-date", days[0], "--end-date", days[1], *NEW_YORK, "--output")
        assert run(*whole, "out", **environment).returncode == 0
        ledgers = aa.discover_ledgers(company.client, *days, time_zone=NEW_YORK[1])
        lines = aa.load_line_entries(company.client, ledgers["id"], *days, time_zone=NEW_YORK[1])
        queue = aa.uncategorized_queue(lines, ledgers)
        months = queue["datetime"].dt.tz_convert(NEW_YORK[1]).dt.strftime("%Y-%m")
        changed = [queue.loc[months == month, "transaction_id"].iloc[0] for month in ("2025-01", "2025-03")]
        category = ledgers.loc[ledgers["name"] == "Packaging", "id"].iloc[0]
        decided = aa.decide(queue, dict.fromkeys(changed, category), ledgers)
        plan = aa.plan_recategorization(decided, ledgers=ledgers)
        aa.apply_plan(company.client, plan, journal=tmp_path / "journal", confirm=True)

        alone = run("export", *MARCH[:4], "--output", "march", "--journal", "journal", **environment)
        assert_refused(alone, 2, "--journal names months to replace, so it needs --replace-months")
        journal = ("--journal", "journal")
        replaced = run("export", *MARCH, "--output", "out", *journal, **environment)
        assert replaced.returncode == 0, replaced.stderr
        named = "journal changed 2025-01, 2025-03, so 2025-01-01 to 2025-03-31 are loaded and replaced"
        assert named in replaced.stderr
        assert run(*whole, "whole", **environment).returncode == 0
    digests = [
        {file.name: file.sha256 for file in Manifest.load(tmp_path / out / "current").files} for out in ("out", "whole")
    ]
    assert {name for name in digests[1] if digests[0][name] != digests[1][name]} == {"dim_load.parquet"}


def test_local_books_are_exported(run, assert_refused, demo_company, tmp_path):
    """The verdict is that of the sync; options of a load, and a journal, are refused."""
    Books.open(tmp_path / "books").sync(demo_company.client, start_date="2025-02-01", end_date="2025-03-31")
    export = ("export", *DAYS, "--output", "out", "--books", "books")
    first = run(*export, "--json")
    assert first.returncode == 0, first.stderr
    manifest = json.loads(first.stdout)
    assert manifest["verdict"] == "The service's cash flow report agrees with the line entries to the last digit."
    assert (manifest["books_version"], manifest["replaced_months"]) == (0, None)
    assert [month["month"] for month in manifest["months"] if month["proven_at"]] == ["2025-02", "2025-03"]
    again = run(*export)
    assert "No month has changed since the export before." in again.stdout
    assert verify_export(tmp_path / "out").verified
    assert_refused(run(*export, "--dry-run"), 2, "--dry-run has no effect with --books")
    journal = run(*export, "--replace-months", "--journal", "run.jsonl")
    assert_refused(journal, 2, "--journal has no effect with --books: sync finds what a plan changed")


def test_two_exports_at_once(run, assert_refused, demo_company, tmp_path):
    """A process is refused while another one writes an export to the same folder, and succeeds afterwards."""
    environment, out = demo_company.environment(), tmp_path / "out"
    export = ("export", *MARCH[:4], "--output", "out", *NEW_YORK)
    out.mkdir()
    with export_lock(out / ".lock", out):
        refused = run(*export, **environment)
    assert_refused(refused, 2, "another export to out is running; wait for it; nothing was written")
    assert run(*export, **environment).returncode == 0
    assert [path.name for path in (out / "versions").iterdir()] == ["1"]
    assert verify_export(out).verified
