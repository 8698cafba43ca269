"""The formats that books can be exported to."""

import sys

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import FORMATS, check_output, export_books

OUTPUTS = {"parquet": "out", "duckdb": "out.duckdb", "excel": "out.xlsx", "csv": "out"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_exports_the_line_entries(name, frames, tmp_path):
    """Each format writes the books, lists its files in the manifest, and replaces its own export."""
    output = tmp_path / OUTPUTS[name]
    for _ in range(2):
        check_output(name, output)
        manifest = aa.export(output, format=name, **frames)
    assert manifest.tables["lines" if name == "excel" else "fact_line_entry"] == len(frames["line_entries"])
    assert [path.name for path in tmp_path.iterdir()] == [OUTPUTS[name]]
    folder = output / "current" if output.is_dir() else output
    assert manifest.summary().startswith(f"Export in {folder}: ")


@pytest.mark.parametrize(("name", "module", "extra"), [("excel", "xlsxwriter", "excel")])
def test_missing_packages_are_named(name, module, extra, tmp_path, monkeypatch):
    """Without the package of its extra a format is refused before the load, with the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"needs {module}: pip install 'accounting-analytics\[{extra}\]'"):
        check_output(name, tmp_path / OUTPUTS[name])


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
        current = (tmp_path / name / "current").resolve()
        with pytest.raises(InputError, match="has an export in another format"):
            check_output(other, tmp_path / name)
        with pytest.raises(InputError, match="has an export in another format"):
            aa.export(tmp_path / name, format=other, **frames)
        assert (tmp_path / name / "current").resolve() == current


@pytest.mark.parametrize("name", FORMATS)
def test_no_database_loads_extensions(name, frames, tmp_path, monkeypatch):
    """No connection to DuckDB downloads an extension or loads one by itself, whatever the format."""
    connect, settings = duckdb.connect, []

    def recorded(*arguments, **options):
        connection = connect(*arguments, **options)
        found = connection.execute(
            "select value from duckdb_settings() "
            "where name in ('autoinstall_known_extensions', 'autoload_known_extensions')"
        )
        settings.extend(value for (value,) in found.fetchall())
        return connection

    monkeypatch.setattr(duckdb, "connect", recorded)
    aa.export(tmp_path / OUTPUTS[name], format=name, **frames)
    assert settings
    assert set(settings) == {"false"}


def test_every_format_is_listed():
    """The help of the command lists exactly the formats that can be written."""
    assert list(FORMATS) == list(export_books._WRITERS)


@pytest.mark.parametrize(("written", "meant"), [("xlsx", "excel"), ("exel", "excel"), ("Parquet", "parquet")])
def test_the_format_that_was_meant_is_named(frames, tmp_path, written, meant):
    """A suffix or a misspelt name is answered with the format."""
    with pytest.raises(InputError, match=f"unknown export format '{written}'; did you mean '{meant}'?"):
        aa.export(tmp_path / "out", format=written, **frames)


def test_unknown_formats_are_refused(frames, tmp_path):
    """The message lists the formats."""
    with pytest.raises(InputError, match=f"unknown export format 'pdf'; the formats are: {', '.join(FORMATS)}"):
        aa.export(tmp_path / "out", format="pdf", **frames)
    with pytest.raises(InputError, match=r"unknown export format \['csv'\]"):
        aa.export(tmp_path / "out", format=["csv"], **frames)
