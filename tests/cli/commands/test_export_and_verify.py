"""The command export: periods, settings, and two of them in one folder."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.exports import verify_export
from accounting_analytics.exports.outputs import VersionFolder

DAYS = ("--start-date", "2025-02-01", "--end-date", "2025-03-31")
MARCH = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
NEW_YORK = ("--time-zone", "America/New_York")


def test_export(run, demo_company, tmp_path):
    """A whole period, then one of its months in its place: the summary and the tables are printed."""
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
    names = ("start_date", "end_date", "currency", "fiscal_year_start_month", "notes")
    assert [first[name] for name in names] == ["2025-02-01", "2025-03-31", "USD", 7, []]
    march = run("export", *MARCH, *out, "--json", **environment)
    assert march.returncode == 0, march.stderr
    second = json.loads(march.stdout)
    assert [second[name] for name in names] == ["2025-03-01", "2025-03-31", None, 1, []]
    assert json.loads((tmp_path / "out" / "current" / "manifest.json").read_bytes()) == second
    verified = run("verify-export", "out")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.long
def test_settings_are_those_of_the_configuration(run, assert_refused, demo_company):
    """Currency and fiscal year are configured; an option is used instead."""
    settings = {"ACCOUNTING_ANALYTICS_CURRENCY": "EUR", "ACCOUNTING_ANALYTICS_FISCAL_YEAR_START_MONTH": "4"}
    environment = demo_company.environment() | settings
    command = ("export", *MARCH, *NEW_YORK, "--json")
    exports = {
        "configured": run(*command, "--output", "configured", **environment),
        "given": run(*command, "--output", "given", "--currency", "USD", **environment),
    }
    stated = {name: json.loads(done.stdout) for name, done in exports.items()}
    assert {name: one["currency"] for name, one in stated.items()} == {"configured": "EUR", "given": "USD"}
    assert {one["fiscal_year_start_month"] for one in stated.values()} == {4}
    workbook = run(*command, "--format", "excel", "--output", "books.xlsx", **environment)  # it has no fiscal years
    assert json.loads(workbook.stdout)["currency"] == "EUR", workbook.stderr
    given = ("--format", "excel", "--output", "july.xlsx", "--fiscal-year-start-month", "7")
    assert_refused(run(*command, *given, **environment), 2, "a workbook has no fiscal years")


def test_local_books_are_exported(run, assert_refused, demo_company, tmp_path):
    """The verdict is that of the sync; options of a load are refused."""
    aa.Books.open(tmp_path / "books").sync(demo_company.client, start_date="2025-02-01", end_date="2025-03-31")
    export = ("export", *DAYS, "--output", "out", "--books", "books")
    first = run(*export, "--json")
    assert first.returncode == 0, first.stderr
    manifest = json.loads(first.stdout)
    assert manifest["verdict"] == "The service's cash flow report agrees with the line entries to the last digit."
    assert manifest["books_version"] == 0
    assert verify_export(tmp_path / "out").verified
    assert_refused(run(*export, "--dry-run"), 2, "--dry-run has no effect with --books")


@pytest.mark.long
def test_two_exports_at_once(run, assert_refused, demo_company, tmp_path):
    """A process is refused while another one writes an export to the same folder, and succeeds afterwards."""
    environment, out = demo_company.environment(), tmp_path / "out"
    export = ("export", *MARCH, "--output", "out", *NEW_YORK)
    assert run(*export, **environment).returncode == 0
    with VersionFolder(out, ".parquet").replaced() as version:
        shutil.copytree(out / "current", version, dirs_exist_ok=True)
        refused = run(*export, **environment)
    assert_refused(refused, 2, "another export to out is running; wait for it; nothing was written")
    assert run(*export, **environment).returncode == 0
    assert sorted(path.name for path in (out / "versions").iterdir()) == ["2", "3"]
    assert verify_export(out).verified
