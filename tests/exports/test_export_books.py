"""The formats that books can be exported to."""

import re
import sys

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import FORMATS, check_output, export_books

OUTPUTS = {"parquet": "out", "duckdb": "out.duckdb", "excel": "out.xlsx", "csv": "out"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_exports_the_line_entries(name, frames, tmp_path, monkeypatch):
    """Each format writes the books, lists its files in the manifest, and replaces its own export.

    No connection to DuckDB downloads an extension or loads one by itself.
    """
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
        manifest = aa.export(output, format=name, **frames)
    assert manifest.tables["lines" if name == "excel" else "fact_line_entry"] == len(frames["line_entries"])
    assert [path.name for path in tmp_path.iterdir()] == [OUTPUTS[name]]
    folder = output / "current" if output.is_dir() else output
    assert manifest.summary().startswith(f"Export in {folder}: ")
    assert settings == {"false"}


def test_missing_packages_are_named(tmp_path, monkeypatch):
    """Without the package of its extra a format is refused before the load, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=r"needs xlsxwriter: pip install 'accounting-analytics\[excel\]'"):
        check_output("excel", tmp_path / "out.xlsx")


@pytest.mark.parametrize("name", ["duckdb", "excel"])
def test_unsuitable_files_are_refused(name, tmp_path):
    """A file with another suffix, a folder, and a file in no folder are refused before the load."""
    suffix = OUTPUTS[name].removeprefix("out")
    (tmp_path / f"folder{suffix}").mkdir()
    for output, message in (
        ("books", f"name a file that ends in {suffix}"),
        (f"folder{suffix}", "is a folder; name a file"),
        (f"missing/books{suffix}", "is not a folder; create it"),
    ):
        with pytest.raises(InputError, match=message):
            check_output(name, tmp_path / output)


def test_folders_keep_their_format(frames, tmp_path):
    """Parquet files do not replace CSV files, nor CSV files Parquet files, because their readers would find none."""
    for name, other in (("parquet", "csv"), ("csv", "parquet")):
        aa.export(tmp_path / name, format=name, **frames)
        with pytest.raises(InputError, match="has an export in another format"):
            check_output(other, tmp_path / name)
    with pytest.raises(InputError, match="has an export in another format"):
        aa.export(tmp_path / "csv", format="parquet", **frames)
    assert (tmp_path / "csv" / "current").resolve().name == "1"


def test_every_format_is_listed():
    """The help of the command lists exactly the formats that can be written."""
    assert list(FORMATS) == list(export_books._WRITERS)


def test_unknown_formats_are_refused(frames, tmp_path):
    """A suffix or a misspelt name is answered with the format; else the message lists the formats."""
    formats = ", ".join(FORMATS)
    for written, message in (
        ("xlsx", "unknown export format 'xlsx'; did you mean 'excel'?"),
        ("exel", "unknown export format 'exel'; did you mean 'excel'?"),
        ("Parquet", "unknown export format 'Parquet'; did you mean 'parquet'?"),
        ("pdf", f"unknown export format 'pdf'; the formats are: {formats}"),
        (["csv"], "unknown export format ['csv']"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            aa.export(tmp_path / "out", format=written, **frames)
