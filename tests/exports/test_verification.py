"""Proofs of an export: each kind of damage is named with its file, and how the report agrees with its lines."""

import json
import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import verify_export
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.exports.star_schema.build import build_star_schema, connect
from accounting_analytics.reconciliation.compared_report import compare_reports

LINES = "fact_line_entry/month=2025-02/fact_line_entry.parquet"
FLOWS = "fact_cash_flow_line/month=2025-02/fact_cash_flow_line.parquet"


@pytest.fixture
def version(exported, tmp_path):
    """Return a copy of the version."""
    return shutil.copytree(exported / "current", tmp_path / "version")


def rewrite(version, name, change):
    path = version / name
    rows = change(pq.ParquetFile(path).read())
    pq.write_table(rows, path, store_decimal_as_integer=True, store_schema=False)


def checks(version):
    """Return the file and check of each difference."""
    return {(difference.file, difference.check) for difference in verify_export(version).differences}


def test_whole_export_is_verified_by_folder_link_or_version(exported):
    for folder in (exported, exported / "current", exported / "versions" / "1"):
        result = verify_export(folder)
        assert (result.verified, result.folder) == (True, (exported / "versions" / "1").resolve())
        assert result.summary().startswith("Verified: ")
    assert result.rows == sum(aa.exports.Manifest.load(result.folder).tables.values())


def test_missing_and_unlisted_files_are_named(version):
    (version / "dim_ledger.parquet").unlink()
    (version / LINES).with_name("more.parquet").touch()
    extra = "fact_line_entry/month=2025-02/more.parquet"
    assert checks(version) == {("dim_ledger.parquet", "file"), (extra, "file")}


def test_damaged_files_are_named_with_their_digest(version):
    path = version / LINES
    whole = path.read_bytes()
    for size in (-50, 10, 0):
        path.write_bytes(whole[:size])
        assert checks(version) == {(LINES, "sha256"), (LINES, "content")}
    path.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    assert (LINES, "sha256") in checks(version)


def test_changed_rows_differ_in_digest_rows_and_sums(version):
    rewrite(version, LINES, lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
    rewrite(version, FLOWS, lambda rows: rows.drop_columns("amount"))
    assert checks(version) == {
        *((LINES, check) for check in ("sha256", "rows", "sum of amount", "sum of signed_amount")),
        *((FLOWS, check) for check in ("sha256", "sum of amount")),
    }


def test_changed_manifest_statements_are_named(version):
    manifest = json.loads((version / "manifest.json").read_bytes())
    (file,) = [file for file in manifest["files"] if file["name"] == FLOWS]
    file |= {"rows": file["rows"] + 1, "sums": {"amount": "0.01"}}
    (version / "manifest.json").write_text(json.dumps(manifest))
    assert checks(version) == {(FLOWS, "rows"), (FLOWS, "sum of amount")}


def test_folders_without_an_export_are_refused(quarter, tmp_path):
    with pytest.raises(InputError, match=r"manifest\.json cannot be read: No such file or directory; name the folder"):
        verify_export(tmp_path)
    (tmp_path / "books.xlsx").touch()
    with pytest.raises(InputError, match=r"books\.xlsx is a file; name the folder of a Parquet export"):
        verify_export(tmp_path / "books.xlsx")
    (tmp_path / "manifest.json").write_text('{"format": 2, "files": [{"name": ')
    with pytest.raises(InputError, match=r"manifest\.json is not the manifest of an export, or is damaged"):
        verify_export(tmp_path)
    aa.export(quarter, tmp_path / "out", format="csv")
    with pytest.raises(InputError, match=r"another format .*\.csv.*only Parquet exports are verified.*manifest\.json"):
        verify_export(tmp_path / "out")


@pytest.fixture(scope="module")
def exported_books(quarter):
    """Return the books of the demo's first quarter."""
    return ExportedBooks.from_books(quarter, quarter.period)


def changed_cell(table, row, column, change):
    values = table[column].tolist()
    values[row] = change(values[row])
    return table.assign(**{column: pd.Series(values, dtype=table[column].dtype, index=table.index)})


def line_of_another_year(report):
    """Return a line like one of the report, outside its period."""
    line = report.lines.iloc[[7]]
    return line.assign(line_id="other", datetime=line["datetime"] + pd.Timedelta(days=365))


CHANGES = {
    "nothing": (lambda report: report, "Reported and recomputed cash flow agree to the last digit."),
    "amount of a line": (
        lambda report: altered(report, lines=changed_cell(report.lines, 7, "amount", lambda amount: amount + 1)),
        "1 difference",
    ),
    "line of another year added": (
        lambda report: altered(
            report, lines=pd.concat([report.lines, line_of_another_year(report)], ignore_index=True)
        ),
        "1 difference",
    ),
    "all lines left out": (
        lambda report: altered(report, lines=report.lines.head(0)),
        "The figures compared agree to the last digit; lines not compared",
    ),
    "balance": (
        lambda report: altered(
            report, ending_balances=changed_cell(report.ending_balances, 0, "cash_balance", lambda one: one + 1)
        ),
        "1 difference",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_verdict_is_that_of_the_reconciliation(change, exported_books):
    make, expected = CHANGES[change]
    changed = exported_books._replace(report=make(exported_books.report))
    with connect() as database:
        build_star_schema(database, changed)
        stated = "select distinct verdict, proven_at_utc is not null from dim_load"
        ((verdict, is_proven),) = database.execute(stated).fetchall()
    assert verdict.startswith(expected)
    assert is_proven == ("difference" not in verdict)
    period, balances = exported_books.period, exported_books.report.starting_balances
    opening = (period.start_date, balances)
    recomputed = aa.recompute_cash_flow(
        aa.Books(exported_books.lines, exported_books.ledgers, period, time_zone=period.time_zone, opening=opening)
    )
    reconciled = compare_reports(changed.report, recomputed).verdict
    assert verdict.casefold() == f"{reconciled}.".casefold()
