"""The pages about exports: their tables are those of the code, and their examples run."""

import re
import runpy
from pathlib import Path

import accounting_analytics as aa

WRITER = runpy.run_path(str(Path(__file__).parent / "tables_page.py"))
TABLES = WRITER["PAGE"].read_text(encoding="utf-8")
README, TOOLS = (WRITER["PAGE"].with_name(name).read_text(encoding="utf-8") for name in ("README.md", "bi_tools.md"))
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_tables_are_those_of_the_code():
    """Every table and question is listed; `python tests/exports/tables_page.py` writes them."""
    assert WRITER["with_tables"](TABLES) == TABLES


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
    for tool in ("Power BI", "Tableau", "Spark", "Snowflake", "BigQuery", "Superset"):
        assert f"## {tool}\n" in TOOLS
    for tool in ("pandas", "pyarrow", "DuckDB", "polars"):
        assert f"### {tool}\n" in README
