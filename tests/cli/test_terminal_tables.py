"""Tables and JSON for a terminal."""

import json
import sys
from decimal import Decimal
from io import BytesIO, TextIOWrapper

import pandas as pd

from accounting_analytics.cli.output import print_json
from accounting_analytics.cli.terminal_tables import print_diagnosis, print_table, print_text
from accounting_analytics.diagnosis import Diagnosis, Finding, Verdict
from accounting_analytics.money import pandas_dtype


def frame():
    """Return a table with a hostile description, an absent value and a number too long for a float."""
    return pd.DataFrame(
        {
            "description": ["\x1b[2Jgone\r\n", "[red]plain[/red]"],
            "amount": pd.Series([Decimal("12345678901234567890.12"), None], dtype=pandas_dtype(2)),
        }
    )


def test_escapes_never_reach_the_terminal(capsys):
    """Control characters of a description are shown as replacements, markup as it stands."""
    print_table(frame())
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\N{REPLACEMENT CHARACTER}[2Jgone" in shown
    assert "[red]plain[/red]" in shown
    assert "12,345,678,901,234,567,890.12" in shown


def test_json_keeps_every_digit(capsys):
    """Amounts are text in JSON, absent values null."""
    print_json(frame())
    assert [row["amount"] for row in json.loads(capsys.readouterr().out)] == ["12345678901234567890.12", None]


def test_floats_have_every_digit(capsys):
    """Amounts in float64 are printed with the digits of the scale, in tables and JSON, also within a mapping."""
    floats = pd.DataFrame({"id": ["a", "b", "c"], "amount": [-1234.5, 0.0, float("nan")]})
    floats.attrs["scale"] = 3
    print_table(floats)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown[3:6] == [["a", "-1,234.500"], ["b", "0.000"], ["c"]]
    print_json(floats)
    rows = json.loads(capsys.readouterr().out)
    assert [row["amount"] for row in rows] == ["-1234.500", "0.000", None]
    print_json({"before": floats, "count": 3})
    assert json.loads(capsys.readouterr().out) == {"before": rows, "count": 3}


def test_lines_and_dashes_that_the_encoding_of_stdout_does_not_have(monkeypatch):
    """They become signs that all encodings have; where the encoding has them, nothing changes."""
    for encoding, expected in (("cp1252", "-=- é"), ("utf-8", "─═\N{EN DASH} é")):
        content = BytesIO()
        monkeypatch.setattr("sys.stdout", TextIOWrapper(content, encoding=encoding, newline=""))
        print_text("─═\N{EN DASH} é")
        sys.stdout.flush()
        assert content.getvalue().decode(encoding) == f"{expected}\n"


def test_a_diagnosis_fits_the_terminal(capsys, monkeypatch):
    """A diagnosis is folded to the width of the terminal, without colours where there is none."""
    monkeypatch.setenv("COLUMNS", "70")
    print_diagnosis(Diagnosis("Service", None, (Finding(Verdict.FAILED, "\x1b[31m " + "word " * 40, check="sums"),)))
    lines = capsys.readouterr().out.splitlines()
    assert 60 < max(map(len, lines)) <= 70
    assert any(line.startswith("failed       sums  \N{REPLACEMENT CHARACTER}[31m word") for line in lines)
