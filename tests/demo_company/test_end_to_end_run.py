"""The whole loop on the demo company."""

import json
import re
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.demo_company import end_to_end_run, run_demo


@pytest.fixture(scope="module")
def demo_run(demo_company, tmp_path_factory):
    """Run the loop once, on a demo company that is served already; return its folder and what it printed."""
    folder, messages = tmp_path_factory.mktemp("demo") / "new" / "folder", []
    with mock.patch.object(end_to_end_run, "demo", return_value=nullcontext(demo_company)):
        run_demo(folder, echo=messages.append)
    return folder, "\n".join(messages)


def test_what_is_advised_works_where_it_was_run(tmp_path, monkeypatch, demo_company):
    """Outside of a checkout there are no rules and no Makefile: the examples are copied first."""
    monkeypatch.chdir(tmp_path)
    messages = []
    with mock.patch.object(end_to_end_run, "demo", return_value=nullcontext(demo_company)):
        run_demo(tmp_path / "out", echo=messages.append)
    advised = "\n".join(messages).partition("Try next:")[2]
    assert "notebooks copy examples\n  accounting-analytics propose --rules examples/data/rules.toml" in advised
    assert "make" not in advised


def exported_files(text):
    """Rows and sums of the exported files, from the manifest in the folder that the run prints."""
    folder = Path(re.search(r"^Exported: +(\S+) \(", text, re.MULTILINE)[1])
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {file["name"]: (file["table"], file["rows"], file["sums"]) for file in manifest["files"]}


def test_every_step_is_printed(demo_run):
    folder, text = demo_run
    steps = re.findall(r"^(\w+): +\S", text, re.MULTILINE)
    assert steps == ["Loaded", "Complete", "Reconciled", "Exported", "Pack"]
    loaded = int(re.search(r"^Loaded: +([\d,]+) line entries of 7\d ledgers$", text, re.MULTILINE)[1].replace(",", ""))
    assert f"{loaded:,} lines" in re.search(r"^Complete:.*", text, re.MULTILINE)[0]
    # all days, 18 months, and the year to date, which the pack has a column of
    assert re.search(r"^Reconciled:.* all 20 reports tie to the last digit\.$", text, re.MULTILINE)
    rows = sum(rows for table, rows, _ in exported_files(text).values() if table == "fact_line_entry")
    assert rows == loaded
    assert f"Exported:   {folder / 'parquet'}" in text
    assert f"fact_line_entry {rows:,} rows" in text


def test_the_run_ends_with_the_pack_of_the_last_month(demo_run):
    folder, text = demo_run
    page = Path(re.search(r"^Pack: +(\S+)$", text, re.MULTILINE)[1])
    assert page == folder / "harbor-lane-coffee-roasters_2026-06.html"
    fingerprint = re.search(r"Cash flow proven; fingerprint (\S+)", text)[1]
    found = aa.verify_pack(page, fingerprint=fingerprint)
    assert found.verified, found.explain()
    assert "in Jun 2026, after a " in text
    assert f"accounting-analytics verify-pack {page} --fingerprint {fingerprint}" in text


def test_an_impossible_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match=r"the folder .* cannot be created"):
        run_demo(tmp_path / "file" / "below", echo=lambda _: None)
