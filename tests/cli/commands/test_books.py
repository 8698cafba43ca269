"""The commands `books`: versions, changes, closed days and old files of local books."""

import datetime as dt
import json
import re
import shutil

import pytest

import accounting_analytics as aa


@pytest.fixture
def books(demo_books, tmp_path):
    """Return a copy of local books that a test may change: books may be moved with their folder."""
    return shutil.copytree(demo_books, tmp_path / "local")


def test_history(run, demo_books, books):
    """Versions are listed newest first; JSON has what was proven of each."""
    shown = run("books", "history", "--books", demo_books)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^ +0 +\d{4}-\d\d-\d\d \d\d:\d\d +sync +[\d,]+ +0 +0 +0 +True +True", shown.stdout, re.MULTILINE)
    assert "all 3 months agree with the service's cash flow reports" in shown.stdout
    assert run("books", "close", "--books", books, "--period", "2025-03").returncode == 0
    closed, first = json.loads(run("books", "history", "--books", books, "--json").stdout)
    assert (closed["version"], closed["action"]) == (1, "close")
    assert (first["version"], first["months_compared"], first["ties"]) == (0, 3, True)


def test_closed_days(run, demo_books, books):
    """Days are closed with what is proven of them, and listed with how many lines changed since."""
    none = run("books", "closed", "--books", demo_books)
    assert none.returncode == 0
    assert "no days are closed; to close some: accounting-analytics books close --books" in none.stderr
    closed = run("books", "close", "--books", books, "--period", "2025-02")
    assert closed.stdout == "closed 2025-02-01 to 2025-02-28 (America/New_York) in version 1\n"
    assert closed.stderr == "2025-02: The service's cash flow report agrees with the line entries to the last digit.\n"
    (row,) = json.loads(run("books", "closed", "--books", books, "--json").stdout)
    assert (row["start_date"], row["version"], row["changed_lines"]) == ("2025-02-01T00:00:00", 1, 0)
    assert " 2025-02-01   2025-02-28 " in run("books", "closed", "--books", books).stdout


def test_closing_days_does_not_make_books_newer(run, books):
    """The age that results state is that of the last sync, whatever was closed since."""
    synced_at = aa.connect(books=books).synced_at
    assert run("books", "close", "--books", books, "--period", "2025-02").returncode == 0
    closed = aa.connect(books=books)
    assert (closed.version, closed.synced_at) == (1, synced_at)
    shown = run("report", "--period", "2025-02", "--raw", "--books", books).stderr
    assert shown.count(f"Local books, version 1, as of {synced_at:%Y-%m-%d %H:%M} UTC") == 1


def test_drift_without_changes(run, demo_books, books):
    """The first version is compared with itself, and a later one with the version before it."""
    for folder in (demo_books, books):
        shown = run("books", "drift", "--books", folder)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith("No line changed between version 0 (")
        assert run("books", "close", "--books", books, "--period", "2025-02").returncode == 0
    found = json.loads(run("books", "drift", "--books", books, "--since", "0", "--until", "0", "--json").stdout)
    assert found["changes"] == []


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            ("drift", "--since", "1999-01-01"),
            "no version of the local books is as of '1999-01-01'; they have ver",
        ),
        (("drift", "--since", "yesterday"), "'yesterday' is not a calendar date; write it like 2025-01-31"),
        (("drift", "--since", "0", "--period", "2024-01"), "the local books have 2025-01-01 to 2025-03-31"),
        (("drift", "--until", "9"), "no version of the local books is as of 9"),
        (("close",), "no days are given: add --period"),
        (
            ("close", "--period", "2025-04"),
            (
                "which does not include all of 2025-04-01 to 2025-04-30 (America/New_York); to extend them, sync with "
                "end_date='2025-04-30'"
            ),
        ),
        (
            ("close", "--period", "2025"),
            (
                "all of 2025-01-01 to 2025-12-31 (America/New_York); for the days that they have, "
                "use 2025-01-01/2025-03-31; to extend them, sync with end_date='2025-12-31'"
            ),
        ),
    ],
)
def test_refused(run, assert_refused, demo_books, command, text):
    """Versions and days that the books do not have are refused with those that they have."""
    assert_refused(run("books", *command, "--books", demo_books), 2, text)


@pytest.mark.parametrize("command", ["history", "drift", "closed", "compact"])
def test_a_folder_without_books(run, assert_refused, command):
    """Every command names the one that writes the books."""
    assert_refused(run("books", command, "--books", "none"), 2, "accounting-analytics sync --books none")


def test_sql(run, assert_refused, demo_books):
    """A query is answered with a table or JSON, and one that would change something is refused."""
    query = "select count(*) as lines, sum(signed_amount) as gap from line_entries"
    (row,) = json.loads(run("books", "sql", query, "--books", demo_books, "--json").stdout)
    assert row == {"lines": len(aa.connect(books=demo_books).line_entries()), "gap": "0.00"}
    assert re.search(r"lines +gap", run("books", "sql", query, "--books", demo_books).stdout)
    finished = run("books", "sql", "delete from line_entries", "--books", demo_books)
    assert_refused(finished, 2, "DELETE is not a query, and local books are read only")


def test_compact(run, books):
    """Nothing is deleted that the newest versions need."""
    finished = run("books", "compact", "--books", books, "--keep-days", "1")
    assert finished.stdout == "0 files of old versions deleted\n"
    assert run("books", "history", "--books", books).returncode == 0
    finished = run("books", "compact", "--books", books, "--json")
    assert json.loads(finished.stdout) == {"deleted_files": 0}


def test_closed_days_as_json(run, books):
    """JSON has the version, the days, and what was proven of each month."""
    found = json.loads(run("books", "close", "--books", books, "--period", "2025-Q1", "--json").stdout)
    first = found["months"][0]
    assert (found["version"], found["start_date"], found["end_date"]) == (1, "2025-01-01", "2025-03-31")
    assert [one["month"] for one in found["months"]] == ["2025-01", "2025-02", "2025-03"]
    assert (first["verdict"], first["is_complete"]) == (
        "The service's cash flow report agrees with the line entries to the last digit.",
        True,
    )
    assert dt.datetime.fromisoformat(first["proven_at"]) == aa.connect(books=books).synced_at
