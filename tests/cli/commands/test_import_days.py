"""Days of imported journals, compared with the days that hledger itself reports."""

import csv
import io
import json
import subprocess

import pytest

pytestmark = pytest.mark.hledger
COMMAND = ("--database", "books.db", "--cash", "assets:bank")
SALE = "2025-01-01{entry} Sale\n    assets:bank   10 EUR  ; {cash}\n    income:pay   -10 EUR  ; {category}\n"


def days_of_hledger(file):
    """Day of each change of the bank account in a report of hledger."""
    command = ["hledger", "register", "-f", file, "assets:bank", "-O", "csv"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our file)
    return [row["date"] for row in csv.DictReader(io.StringIO(printed))]


@pytest.mark.parametrize(
    ("texts", "day"),
    [
        ({"cash": "date:2025-02-03", "category": "date:2/3"}, "2025-02-03"),
        ({"cash": "[2025-02-05=2025-02-06]", "category": "[2025-02-05]"}, "2025-02-05"),
        (
            {"cash": "mydate:2025-09-09, date:2025-02-07", "category": "date:2025-02-07\n    income:tips  0"},
            "2025-02-07",
        ),
        ({"cash": "date:2025-02-07", "category": "date:2025-02-07\n    (budget:pay)  1 EUR"}, "2025-02-07"),
        ({"cash": "date2:2025-03-01", "category": "[=2025-03-01]"}, "2025-01-01"),
        ({"entry": "=2025-03-01"}, "2025-01-01"),
        ({"cash": "date:2025-01-01"}, "2025-01-01"),
    ],
    ids=["tags", "brackets", "zero", "virtual", "secondary tags", "secondary day", "the same day"],
)
def test_an_entry_takes_the_day_of_all_its_postings(run, tmp_path, texts, day):
    """Days of postings decide, as in the reports of hledger; secondary days and postings of zero do not."""
    journal = tmp_path / "books.journal"
    journal.write_text(SALE.format(**{"entry": "", "cash": "", "category": ""} | texts), encoding="utf-8")
    finished = run("import", journal.name, *COMMAND, "--json")
    assert finished.returncode == 0, finished.stderr
    summary = json.loads(finished.stdout)
    assert {summary["start_date"], summary["end_date"], *days_of_hledger(journal)} == {day}
    moved = "1 entries are on the day that all their postings have, which is not the day of the entry"
    assert (moved in finished.stderr) == (day != "2025-01-01")
    assert ("the secondary dates of 1 entries were left out" in finished.stderr) == (
        "=2025" in str(texts) or "date2" in str(texts)
    )


def test_a_changed_day_of_postings_is_named(run, tmp_path):
    """The same file again is known; another day of the postings of an entry is a change of that entry."""
    journal = tmp_path / "books.journal"
    journal.write_text(SALE.format(entry="", cash="date:2/3", category="date:2/3"), encoding="utf-8")
    assert run("import", journal.name, *COMMAND).returncode == 0
    assert "1 entries are in the books already" in run("import", journal.name, *COMMAND).stderr
    journal.write_text(SALE.format(entry="", cash="date:2/4", category="date:2/4"), encoding="utf-8")
    assert "2025-02-03 'Sale': the file has 2025-02-04" in run("import", journal.name, *COMMAND).stderr


@pytest.mark.parametrize("day", ["date:2025-02-03", "[2025-02-03]", "of March, date:2/3"])
def test_postings_on_several_days_are_refused(run, assert_refused, tmp_path, day):
    """An entry has one day here: its line and days are named, and an option takes the entry's, which is counted."""
    journal = tmp_path / "books.journal"
    first = "2025-01-01 First\n    assets:bank  1 EUR\n    income:pay\n\n"
    journal.write_text(first + SALE.format(entry="", cash=day, category=""), encoding="utf-8")
    several = "line 5: the postings of this entry have several days (2025-01-01, 2025-02-03)"
    assert_refused(run("import", journal.name, *COMMAND), 2, several, "(2025-01-01 'Sale')", "--use-entry-dates")
    finished = run("import", journal.name, *COMMAND, "--use-entry-dates", "--json")
    summary = json.loads(finished.stdout)
    assert (summary["start_date"], summary["end_date"], summary["entries"]) == ("2025-01-01", "2025-01-01", 2)
    assert "1 entries, whose postings have several days, are on the day of the entry" in finished.stderr


def test_virtual_postings_keep_their_day(run, tmp_path):
    """An unbalanced virtual posting and what balances it are on one day."""
    (tmp_path / "books.journal").write_text("2025-01-01 Budget\n    (assets:bank)   3  ; date:2025-02-03\n")
    summary = json.loads(run("import", "books.journal", *COMMAND, "--virtual", "--json").stdout)
    assert (summary["start_date"], summary["end_date"]) == ("2025-02-03", "2025-02-03")
