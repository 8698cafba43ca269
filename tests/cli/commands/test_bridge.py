"""Bridges on the command line."""

import json

import pytest

import accounting_analytics as aa


@pytest.mark.long
@pytest.mark.parametrize(
    ("against", "before", "kind"),
    [("prior", "2026-04", "cash-flow"), ("prior-year", "2025-05", "income"), ("May 2025", "2025-05", "cash-flow")],
)
def test_bridges_are_those_of_python(run, demo_company, against, before, kind):
    """The JSON is that of the function, whose lines reach back 13 months more; the text has the sentences."""
    arguments = ("bridge", "--period", "2026-05", "--against", against, "--statement", kind, "--largest", "4")
    finished = run(*arguments, "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    days = ("2025-03-01" if before == "2026-04" else "2024-04-01", "2026-05-31")
    ledgers = aa.discover_ledgers(demo_company.client, demo_company.start_date, demo_company.end_date)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days)
    make = aa.cash_flow_statement if kind == "cash-flow" else aa.income_statement
    statement = make(lines, ledgers, *days)
    expected = aa.bridge(statement.column(before), statement.column("2026-05"), largest=4)
    found, wanted = json.loads(finished.stdout), json.loads(expected.to_json())
    assert {**found, "notes": None} == {**wanted, "notes": None}
    text = run(*arguments, **demo_company.environment()).stdout
    assert " ".join(text.split()).startswith(" ".join(" ".join(expected.sentences()).split()))


def test_every_step_is_listed(run, demo_books):
    """Below the sentences, which name a few, is a table of as many changes as are asked for."""
    arguments = ("bridge", "--period", "2025-03", "--books", demo_books, "--largest", "200")
    steps = json.loads(run(*arguments, "--json").stdout)["steps"]
    assert len(steps) > 8
    printed = run(*arguments).stdout.split("change", 1)[1]
    assert all(step["label"][:20] in printed for step in steps)


def test_bridge_of_local_books(run, demo_books):
    """Local books are bridged offline; a period that they do not have is refused."""
    finished = run("bridge", "--period", "2025-03", "--books", demo_books)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("Net change in cash: ")
    refused = run("bridge", "--period", "2025-01", "--books", demo_books)
    assert refused.returncode == 2
    assert "cannot be bridged" in refused.stderr


def test_what_is_compared_with_is_read_first(run):
    """A period that cannot be read is refused before anything is started, with those that can."""
    refused = run("bridge", "--demo", "--period", "2026-05", "--against", "previous")
    assert refused.returncode == 2
    assert "'previous'" in refused.stderr
    assert "2026-Q1" in refused.stderr
