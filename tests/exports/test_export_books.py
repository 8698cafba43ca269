"""The formats that books can be exported to, the folder of their versions, and the pages about them."""

import re
import runpy
from pathlib import Path

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.exports import FORMATS, Manifest, check_output, export_books
from accounting_analytics.exports.replaced_outputs import VersionFolder

OUTPUTS = {"parquet": "out", "duckdb": "out.duckdb", "csv": "out"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_exports_the_line_entries(name, quarter, tmp_path, monkeypatch):
    """No connection to DuckDB downloads an extension or loads one by itself."""
    connect, settings = duckdb.connect, set()

    def recorded(*arguments, **options):
        connection = connect(*arguments, **options)
        names = "('autoinstall_known_extensions', 'autoload_known_extensions')"
        found = connection.execute(f"select value from duckdb_settings() where name in {names}")  # noqa: S608
        settings.update(value for (value,) in found.fetchall())
        return connection

    monkeypatch.setattr(duckdb, "connect", recorded)
    output = tmp_path / OUTPUTS[name]
    for _ in range(2):
        check_output(name, output)
        manifest = aa.export(quarter, output, format=name)
    assert manifest.tables["fact_line_entry"] == len(quarter.lines)
    assert [path.name for path in tmp_path.iterdir()] == [OUTPUTS[name]]
    folder = output / "current" if output.is_dir() else output
    assert manifest.summary().startswith(f"Export in {folder}: ")
    assert settings == {"false"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("books", "name a file that ends in .duckdb"),
        ("folder.duckdb", "is a folder; name a file"),
        ("missing/books.duckdb", "is not a folder; create it"),
    ],
)
def test_unsuitable_files_are_refused(tmp_path, output, message):
    (tmp_path / "folder.duckdb").mkdir()
    with pytest.raises(InputError, match=message):
        check_output("duckdb", tmp_path / output)


def test_a_report_of_another_scale_is_refused(quarter, demo_company, tmp_path):
    connection = {"token": demo_company.token, "instance_id": demo_company.instance_id, "scale": 3}
    with aa.LedgerClient(demo_company.base_url, time_zone="America/New_York", **connection) as client:
        lines = aa.load_line_entries(client, quarter.ledgers["id"], "2025-01-01", "2025-03-31")
        books = aa.Books(
            lines, quarter.ledgers, "2025-01", reports=[aa.load_cash_flow_report(client, "2025-01-01", "2025-01-31")]
        )
    with pytest.raises(FrameError, match="line entries have scale 3, the report has scale 2"):
        aa.export(books.with_reports(quarter.reports), tmp_path / "out", period=quarter.period)
    with pytest.raises(FrameError, match="line entries have scale 2, the report has scale 3"):
        aa.export(quarter.with_reports(books.reports), tmp_path / "out", period="2025-01")


def test_folders_keep_their_format(quarter, tmp_path):
    """Parquet files do not replace CSV files, nor CSV files Parquet files, because their readers would find none."""
    for name, other in (("parquet", "csv"), ("csv", "parquet")):
        aa.export(quarter, tmp_path / name, format=name)
        with pytest.raises(InputError, match="has an export in another format"):
            check_output(other, tmp_path / name)
    with pytest.raises(InputError, match="has an export in another format"):
        aa.export(quarter, tmp_path / "csv", format="parquet")
    assert (tmp_path / "csv" / "current").resolve().name == "1"


def test_every_format_is_listed():
    assert list(FORMATS) == list(export_books._WRITERS)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Parquet", "unknown export format 'Parquet'; did you mean 'parquet'?"),
        ("pdf", f"unknown export format 'pdf'; the formats are: {', '.join(FORMATS)}"),
        (["csv"], "unknown export format ['csv']"),
    ],
)
def test_unknown_formats_are_refused(quarter, tmp_path, written, message):
    with pytest.raises(InputError, match=re.escape(message)):
        aa.export(quarter, tmp_path / "out", format=written)


MANIFEST = Manifest(
    "", "2025-01-01", "2025-01-31", "UTC", 2, None, "USD", 1, partial=False, verdict="", known_ledgers=""
)


def write(folder, text):
    """Write a version with one file and a manifest."""
    with VersionFolder(folder, ".txt").replaced() as version:
        (version / "file.txt").write_text(text)
        (version / "manifest.json").write_text(MANIFEST.to_json())


def test_the_newest_version_is_current(tmp_path):
    for text in ("one", "two", "three"):
        write(tmp_path / "out", text)
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "three"
    assert sorted(path.name for path in (tmp_path / "out" / "versions").iterdir()) == ["2", "3"]


def test_a_failed_version_is_invisible(tmp_path):
    write(tmp_path / "out", "one")
    with pytest.raises(FileNotFoundError), VersionFolder(tmp_path / "out", ".txt").replaced() as version:
        (version / "folder" / "file.txt").write_text("two")
    versions = tmp_path / "out" / "versions"
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "one"
    assert [path.name for path in versions.iterdir()] == ["1"]
    (versions / "2.unfinished").mkdir()
    write(tmp_path / "out", "two")
    assert sorted(path.name for path in versions.iterdir()) == ["1", "2"]


def test_other_files_are_never_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"files that are not part of an export \(thesis\.txt\)"):
        VersionFolder(tmp_path, ".txt")
    with pytest.raises(InputError, match=r"thesis\.txt is a file; name a folder"):
        VersionFolder(tmp_path / "thesis.txt", ".txt")
    with pytest.raises(InputError, match=r"books\.xlsx is the name of a file.* choose the format duckdb"):
        VersionFolder(tmp_path / "books.xlsx", ".txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    (tmp_path / "out" / "current").mkdir(parents=True)
    with pytest.raises(InputError, match=r"current is not a link to a version; .* name an empty or new folder"):
        VersionFolder(tmp_path / "out", ".txt")


def test_one_writer_at_a_time(tmp_path):
    folder = VersionFolder(tmp_path / "out", ".txt")
    with folder.replaced() as version:
        (version / "manifest.json").write_text(MANIFEST.to_json())
        with pytest.raises(InputError, match=r"another export to .* is running") as refused:
            write(tmp_path / "out", "two")
        assert refused.value.exit_code == 2
    write(tmp_path / "out", "two")
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "two"


WRITER = runpy.run_path(str(Path(__file__).parent / "tables_page.py"))
TABLES = WRITER["PAGE"].read_text(encoding="utf-8")
README, TOOLS = (WRITER["PAGE"].with_name(name).read_text(encoding="utf-8") for name in ("README.md", "bi_tools.md"))
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_tables_are_those_of_the_code():
    """`python tests/exports/tables_page.py` writes the tables and questions."""
    assert WRITER["with_tables"](TABLES) == TABLES


def test_readme_examples_read_an_export(quarter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aa.export(quarter, "export")
    names = {}
    assert len(EXAMPLES) == 2
    for example in EXAMPLES:
        exec(example, names)  # noqa: S102 (our own README)
    assert len(names["lines"]) == len(quarter.lines)
    assert str(names["lines"]["signed_amount"].dtype) == "decimal128(18, 2)[pyarrow]"
    assert str(names["lines"]["month"].dtype) == "string[pyarrow]"
    assert names["by_ledger"].sum() == 0
    assert names["by_ledger"].astype(float).describe()["count"] == len(names["by_ledger"])
    assert names["answer"].num_rows == 3


@pytest.mark.parametrize("tool", ["Power BI", "Tableau", "Spark", "Snowflake", "BigQuery", "Superset"])
def test_every_tool_has_a_section(tool):
    assert f"## {tool}\n" in TOOLS


@pytest.mark.parametrize("tool", ["pandas", "pyarrow", "DuckDB", "polars"])
def test_every_library_has_a_section(tool):
    assert f"### {tool}\n" in README
