"""The whole loop on the demo company."""

import json
import re
from collections import Counter

import pytest

from accounting_analytics.demo_company import run_demo
from accounting_analytics.errors import InputError
from accounting_analytics.pack_verification import verify_pack


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """Run the loop once; return its summary and its messages."""
    messages = []
    return run_demo(tmp_path_factory.mktemp("demo") / "new" / "folder", echo=messages.append), messages


def test_every_month_ties(demo_run):
    """Eighteen months tie in UTC and in New York, against reports that hold lines, with no difference at all."""
    summary, messages = demo_run
    table = summary.reconciliations
    assert Counter(table["time_zone"]) == {"UTC": 18, "America/New_York": 18}
    assert set(table["differences"]) == {0}
    amounts = table[["starting_cash_balance", "net_cash_flow", "ending_cash_balance"]].astype(float)
    assert (amounts.iloc[:, 0] + amounts.iloc[:, 1]).round(2).equals(amounts.iloc[:, 2])
    assert len(set(table["net_cash_flow"])) == 36
    assert summary.certificate.complete
    assert summary.uncategorized > 250
    assert any("Reconciled 36 monthly reports" in line for line in messages)


def test_page_and_parquet(demo_run):
    """The page is self-contained and has three charts; the manifest counts the loaded lines."""
    summary, messages = demo_run
    page = summary.page.read_text(encoding="utf-8")
    assert not re.search(r"""<(script|link|img)[^>]+(src|href)=["']?(https?:)?//""", page)
    assert page.count("Plotly.newPlot(") >= 3
    assert "Harbor Lane Coffee Roasters" in page
    manifest = json.loads((summary.parquet.folder / "manifest.json").read_text(encoding="utf-8"))
    rows = sum(file["rows"] for file in manifest["files"] if file["table"] == "fact_line_entry")
    assert rows == summary.parquet.tables["fact_line_entry"]
    opening_day = summary.certificate.lines - rows  # has the opening balances, and is not exported
    assert 0 < opening_day < rows / 100
    assert str(summary.page) in "\n".join(messages)
    assert str(summary.parquet.folder) in "\n".join(messages)


def test_the_run_ends_with_the_pack_of_the_last_month(demo_run):
    """The page is that of June 2026, is proven, and has the fingerprint that the run prints."""
    summary, messages = demo_run
    assert summary.pack.name == "harbor-lane-coffee-roasters_2026-06.html"
    lines = "\n".join(messages)
    fingerprint = re.search(r"Cash flow proven; fingerprint (\S+)", lines).group(1)
    found = verify_pack(summary.pack, fingerprint=fingerprint)
    assert found.verified, found.explain()
    assert "in Jun 2026, after a " in lines


def test_a_second_run_replaces_the_first(demo_run):
    """A second run writes the same files with the same figures."""
    summary, _ = demo_run
    again = run_demo(summary.page.parent, echo=lambda _: None)
    assert again.page == summary.page
    figures = [[(file.name, file.rows, file.sums) for file in one.parquet.files] for one in (summary, again)]
    assert figures[0] == figures[1]


def test_an_impossible_folder_is_refused(tmp_path):
    """A folder that cannot be created is refused first."""
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match=r"the folder .* cannot be created"):
        run_demo(tmp_path / "file" / "below", echo=lambda _: None)
