"""The benchmark of growth stops at a wrong figure, and writes its page from what it measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"


@pytest.fixture
def growth(monkeypatch):
    """Import the benchmark as its own process does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import growth  # noqa: PLC0415 (found only now)

    return growth


def test_figure_a_cent_off_stops_the_run(growth):
    runs = [
        {"program": "polars", "figures": {"net cash flow": "1000000000.00", "tables": "a"}},
        {"program": "pandas by hand", "figures": {"net cash flow": "1000000000.01"}},
    ]
    growth.check("report totals", 10, runs)
    wrong = {"program": "duckdb", "figures": {"net cash flow": "1000000000.01"}}
    with pytest.raises(SystemExit, match="different figures, net cash flow"):
        growth.check("report totals", 10, [*runs, wrong])
    with pytest.raises(SystemExit, match="different figures, tables"):
        growth.check("report totals", 10, [*runs, {"program": "duckdb", "figures": {"tables": "b"}}])


@pytest.mark.long
def test_measured_steps_make_a_page(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "growth.py"), "--sizes", "1000", "2000", "--rounds", "1"]
    ran = subprocess.run(  # noqa: S603 (our own program)
        [*command, "--only", "export", "--output", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [(run["program"], run["lines"]) for run in results["runs"]] == [
        ("star schema", 1000), ("pandas by hand", 1000), ("star schema", 2000), ("pandas by hand", 2000),
    ]  # fmt: skip
    page = (tmp_path / "growth.html").read_text(encoding="utf-8")
    assert all(
        text in page for text in ("2,000 lines in", "pandas by hand", "exponent", "<svg", results["machine"]["date"])
    )
