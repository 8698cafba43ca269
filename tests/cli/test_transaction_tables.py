"""Tables of transactions: a summary, local times, at most so many rows, and what is left out is counted."""

from decimal import Decimal

import pandas as pd
import pytest

from accounting_analytics.cli.transaction_tables import count_names, print_transactions

COLUMNS = {"description": "description", "amount": "amount", "transaction_id": "transaction_id"}
SUMMARY = "30 transactions"


@pytest.fixture
def rows():
    """Return 30 transactions with long descriptions and ids, from 2025-07-01 03:30 UTC."""
    times = pd.date_range("2025-07-01T03:30:00Z", periods=30, freq="D", unit="us")
    return pd.DataFrame(
        {
            "datetime": times,
            "description": [f"CARD PURCHASE {number} " + "NEW YORK NY " * 3 for number in range(30)],
            "amount": [Decimal("-1234567.89")] * 30,
            "transaction_id": [f"{number:08d}-41d4-a716-446655440000" for number in range(30)],
        }
    )


def test_first_rows_and_how_many_were_left_out(capsys, rows):
    """The summary comes first, times are those of the zone, and the last line counts the rows."""
    print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="America/New_York", limit=20)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "30 transactions; times are America/New_York"
    assert sum("CARD PURCHASE" in line for line in lines) == 20
    assert any(line.startswith(" 2025-06-30 23:30   CARD PURCHASE 0 ") for line in lines)
    assert any(line.rstrip().endswith("-1,234,567.89   00000019-41d4-a716-446655440000") for line in lines)
    assert lines[-1] == "20 of 30 rows; --all prints every row"


def test_all_rows(capsys, rows):
    """Without a limit, or with one that is not reached, nothing is left out; the service's zone is shown as UTC."""
    for limit in (None, 30):
        print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="localtime", limit=limit)
        shown = capsys.readouterr().out
        assert shown.startswith("30 transactions; times are UTC\n")
        assert shown.count("CARD PURCHASE") == 30
        assert " 2025-07-01 03:30 " in shown
        assert "--all" not in shown


def test_no_rows(capsys, rows):
    """Without rows only the summary is printed."""
    print_transactions(rows[:0], COLUMNS, summary="0 transactions", time_zone="UTC", limit=20)
    assert capsys.readouterr().out == "0 transactions\n"


def test_a_narrow_terminal(capsys, rows, monkeypatch):
    """In a terminal of 80 columns a row is one line: ids are left out, descriptions cut, amounts whole."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="UTC", limit=3)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("-1,234,567.89") == 3
    cut = [line for line in shown.splitlines() if "CARD PURCHASE" in line]
    assert len(cut) == sum("2025-" in line for line in cut) == 3
    assert all("..." in line and "-1,234,567.89" in line for line in cut)
    assert shown.count("NEW YORK") == sum(line.count("NEW YORK") for line in cut)
    assert "446655440000" not in shown
    assert "\nwithout transaction_id: the terminal is too narrow; --json prints every column\n" in shown


def test_names_are_counted():
    """The most frequent names come first, and the others are counted."""
    assert count_names(["b", "a", "a"]) == "2 a, 1 b"
    assert count_names("aaabbccdefg") == "3 a, 2 b, 2 c, 1 d, 1 e and 2 in 2 more"
    assert count_names(["x\n" * 40]).endswith("...")
    assert count_names([]) == ""
