"""Weeks of cash ahead on the command line."""

import json

import accounting_analytics as aa


def test_an_outlook_is_that_of_python(run, demo_company, tmp_path):
    """The JSON is that of the function, of all lines until the last day; the text has the sentences and the weeks."""
    start = str(demo_company.start_date)
    (tmp_path / "known.csv").write_text("date,amount,note\n2025-11-10,-2500,new grinder\n")
    asked = ("--known", "known.csv", "--limit", "60000", "--weeks", "8")
    arguments = ("outlook", "--end-date", "2025-10-31", "--books-start", start, *asked)
    finished = run(*arguments, "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    ledgers = aa.discover_ledgers(demo_company.client, start, "2025-10-31")
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], start, "2025-10-31")
    expected = aa.outlook(lines, ledgers, "2025-10-31", 8, tmp_path / "known.csv", limit=60_000, books_start=start)
    assert {**json.loads(finished.stdout), "notes": None} == {**json.loads(expected.to_json()), "notes": None}
    text = " ".join(run(*arguments, **demo_company.environment()).stdout.split())
    assert all(" ".join(one.split()) in text for one in (expected.summary(), *expected.sentences()))
    assert "-2,500.00 new grinder (known)" in text


def test_what_an_outlook_lacks_is_said(run, assert_refused, demo_books, tmp_path):
    """Files that cannot be read are refused before a load, and local books of a few months before anything is drawn."""
    assert_refused(run("outlook", "--end-date", "2026-05-31", "--known", "none.csv"), 2, "none.csv cannot be read")
    (tmp_path / "known.csv").write_text("day,amount\n2026-06-10,-2500\n")
    assert_refused(run("outlook", "--end-date", "2026-05-31", "--known", "known.csv"), 2, "known lacks date")
    assert_refused(run("outlook", "--books", demo_books), 3, "an outlook takes 26 weeks of lines that move cash")
