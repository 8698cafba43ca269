"""The README of the exports: its tables are those of the code, and its examples run."""

import re
import runpy
from pathlib import Path

import accounting_analytics as aa

WRITER = runpy.run_path(str(Path(__file__).parent / "readme_tables.py"))
README = WRITER["README"].read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_tables_are_those_of_the_code():
    """Every table and question is listed; `python tests/exports/readme_tables.py` writes them."""
    assert WRITER["with_tables"](README) == README


def test_examples_run(frames, tmp_path, monkeypatch):
    """The Python examples read an export in the folder `export`, in their order, and get all line entries."""
    monkeypatch.chdir(tmp_path)
    aa.export_parquet("export", **frames)
    names = {}
    assert len(EXAMPLES) == 2
    for example in EXAMPLES:
        exec(example, names)  # noqa: S102 (our own README)
    assert len(names["lines"]) == len(frames["line_entries"])
    assert str(names["lines"]["signed_amount"].dtype) == "decimal128(18, 2)[pyarrow]"
    assert str(names["lines"]["month"].dtype) == "string[pyarrow]"
    assert names["by_ledger"].sum() == 0
    assert names["by_ledger"].astype(float).describe()["count"] == len(names["by_ledger"])
    assert names["answer"].num_rows == 3


def test_every_tool_has_a_section():
    """Each tool that an export is made for has its settings."""
    for tool in ("Power BI", "Tableau", "DuckDB", "Spark", "Snowflake", "BigQuery", "Superset", "pandas", "pyarrow"):
        assert f"### {tool}\n" in README
