"""The commands export and verify-export: periods, settings, and every difference of a damaged export."""

import json

DAYS = ("--start-date", "2025-02-01", "--end-date", "2025-03-31")
MARCH = ("--start-date", "2025-03-01", "--end-date", "2025-03-31", "--time-zone", "America/New_York")
STATED = ("start_date", "end_date", "currency", "fiscal_year_start_month", "notes")


def test_exported_periods_are_verified_and_missing_files_named(run_demo, run, assert_refused, tmp_path):
    settings = {"ACCOUNTING_ANALYTICS_CURRENCY": "EUR", "ACCOUNTING_ANALYTICS_FISCAL_YEAR_START_MONTH": "7"}
    zone = ("--time-zone", "America/New_York")
    lines = run_demo("export", *DAYS, *zone, "--output", "out", **settings).stdout.splitlines()
    assert lines[0].startswith("Export in out/current: ")
    tables = [line for line in lines[1:] if line]
    assert len(tables) == 13
    assert all(line.startswith("- ") and line.endswith(" rows") for line in tables)
    first = json.loads((tmp_path / "out" / "current" / "manifest.json").read_bytes())
    assert [first[name] for name in STATED] == ["2025-02-01", "2025-03-31", "EUR", 7, []]
    second = run_demo("export", *MARCH, "--output", "out", "--json").content
    assert [second[name] for name in STATED] == ["2025-03-01", "2025-03-31", "USD", 1, []]
    verified = run("verify-export", "out")
    assert verified.stderr == ""
    assert verified.stdout.startswith("Verified: ")
    (tmp_path / "out" / "current" / "dim_tag.parquet").unlink()
    damaged = run("verify-export", "out", code=3)
    assert "- dim_tag.parquet: file: expected a file, found No such file or directory" in damaged.stdout
    assert damaged.stderr.startswith("error: ")
    assert "is not as it was written; export it again" in damaged.stderr
    content = run("verify-export", "out", "--json", code=3).content
    assert not content["verified"]
    assert [one["file"] for one in content["differences"]] == ["dim_tag.parquet"]
    assert_refused(
        run("verify-export", tmp_path, code=2), "manifest.json cannot be read", "name the folder of an export"
    )


def test_local_books_export_all_days_with_their_verdict(run, assert_refused, demo_books):
    export = ("export", "--output", "out", "--books", demo_books)
    manifest = run(*export, "--json").content
    assert [manifest[name] for name in STATED[:2]] == ["2025-01-01", "2025-03-31"]
    assert manifest["verdict"] == "The service's cash flow report agrees with the line entries to the last digit."
    assert manifest["books_version"] == 0
    run("verify-export", "out")
    assert_refused(run(*export, *DAYS, "--allow-partial", code=2), "--allow-partial has no effect with --books")
