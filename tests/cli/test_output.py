"""What commands print: tables that fit the terminal, JSON with every digit, and commands to copy."""

import json
from decimal import Decimal

import pandas as pd
import pytest

from accounting_analytics.cli.output import command_line, count_names, print_json, print_table, print_transactions
from accounting_analytics.core.money import pandas_dtype

COLUMNS = {"description": "description", "amount": "amount", "transaction_id": "transaction_id"}
SUMMARY = "30 transactions"
TERMINAL = {"COLUMNS": "80", "LINES": "25", "FORCE_COLOR": "1", "TERM": "dumb"}


def test_command_lines_omit_unset_options_and_quote_words():
    written = command_line("undo", "my journal", journal="j", profile=None, demo=True, books=False)
    assert written == "accounting-analytics undo 'my journal' --journal j --demo"


def frame():
    """Return a table with a hostile description, an absent value and a number too long for a float."""
    return pd.DataFrame(
        {
            "description": ["\x1b[2Jgone\r\n", "[red]plain[/red]"],
            "amount": pd.Series([Decimal("12345678901234567890.12"), None], dtype=pandas_dtype(2)),
        }
    )


def test_control_characters_are_replaced_and_every_digit_kept(capsys):
    print_table(frame(), {"description": "description", "amount": "amount"})
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\N{REPLACEMENT CHARACTER}[2Jgone" in shown
    assert "[red]plain[/red]" in shown
    assert "12,345,678,901,234,567,890.12" in shown
    print_json({"before": frame(), "count": 3})
    printed = json.loads(capsys.readouterr().out)
    assert [row["amount"] for row in printed["before"]] == ["12345678901234567890.12", None]
    floats = pd.DataFrame({"id": ["a", "b", "c"], "amount": [-1234.5, 0.0, float("nan")]})
    floats.attrs["scale"] = 3
    print_table(floats, {"id": "id", "amount": "amount"})
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown[3:6] == [["a", "-1,234.500"], ["b", "0.000"], ["c"]]


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


def test_summary_first_then_rows_then_how_many_were_left_out(capsys, rows):
    print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="America/New_York", limit=20)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "30 transactions; times are America/New_York"
    assert sum("CARD PURCHASE" in line for line in lines) == 20
    assert any(line.startswith(" 2025-06-30 23:30   CARD PURCHASE 0 ") for line in lines)
    assert any(line.rstrip().endswith("-1,234,567.89   00000019-41d4-a716-446655440000") for line in lines)
    assert lines[-1] == "20 of 30 rows; --all prints every row"
    print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="UTC", limit=None)
    shown = capsys.readouterr().out
    assert shown.startswith("30 transactions; times are UTC\n")
    assert (shown.count("CARD PURCHASE"), "--all" in shown) == (30, False)
    print_transactions(rows[:0], COLUMNS, summary="0 transactions", time_zone="UTC", limit=20)
    assert capsys.readouterr().out == "0 transactions\n"


def test_narrow_terminal_cuts_descriptions_not_amounts(capsys, rows, monkeypatch):
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    print_transactions(rows, COLUMNS, summary=SUMMARY, time_zone="UTC", limit=3)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("-1,234,567.89") == 3
    cut = [line for line in shown.splitlines() if "CARD PURCHASE" in line]
    assert len(cut) == sum("2025-" in line for line in cut) == 3
    assert all("…" in line and "-1,234,567.89" in line for line in cut)
    assert "446655440000" not in shown
    assert "\nwithout transaction_id: wider than 80 columns; --json prints every column\n" in shown


@pytest.mark.parametrize(("width", "left_out"), [(55, "third, second"), (75, "third"), (120, "")])
def test_only_columns_that_do_not_fit_are_left_out(capsys, monkeypatch, width, left_out):
    wide = pd.DataFrame({name: [name * 6] for name in ("first", "second", "third")})
    columns, optional = {name: name for name in wide}, ("third", "second")
    for name, value in (TERMINAL | {"COLUMNS": str(width)}).items():
        monkeypatch.setenv(name, value)
    print_table(wide, columns, optional=optional)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines()[:5])) <= width
    assert (f"without {left_out}: " in printed) == bool(left_out)


def test_most_frequent_names_come_first_others_are_counted():
    assert count_names(["b", "a", "a"]) == "2 a, 1 b"
    assert count_names("aaabbccdefg") == "3 a, 2 b, 2 c, 1 d, 1 e and 2 in 2 more"
    assert count_names(["x\n" * 40]).endswith("...")
    assert count_names([]) == ""
