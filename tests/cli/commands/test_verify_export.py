"""The command verify-export: exit code 0 where nothing differs, else 3 with every difference."""

import json

import pytest

import accounting_analytics as aa


@pytest.fixture
def exported(demo_company, tmp_path):
    """Return the folder of an export of one month."""
    days = ("2025-03-01", "2025-03-31")
    ledgers = aa.discover_ledgers(demo_company.client, *days)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days)
    report = aa.load_cash_flow_report(demo_company.client, *days)
    aa.export_parquet(tmp_path / "out", line_entries=lines, ledgers=ledgers, report=report)
    return tmp_path / "out"


def test_verify_export(run, exported):
    """A whole export is 0; a missing file is 3, and the file is named on stdout; a folder without one is 2."""
    whole = run("verify-export", exported)
    assert (whole.returncode, whole.stderr) == (0, "")
    assert whole.stdout.startswith("Verified: ")
    (exported / "current" / "dim_tag.parquet").unlink()
    damaged = run("verify-export", exported)
    assert damaged.returncode == 3, damaged.stderr
    assert "- dim_tag.parquet: file: expected a file, found No such file or directory" in damaged.stdout
    assert damaged.stderr.startswith("error: ")
    assert "is not as it was written; export it again" in damaged.stderr
    as_json = run("verify-export", exported, "--json")
    assert as_json.returncode == 3
    content = json.loads(as_json.stdout)
    assert (content["verified"], [one["file"] for one in content["differences"]]) == (False, ["dim_tag.parquet"])


def test_a_folder_without_an_export(run, assert_refused, tmp_path):
    """A folder without a manifest is 2."""
    assert_refused(run("verify-export", tmp_path), 2, "manifest.json cannot be read", "name the folder of an export")
