"""Files for people, a workbook and CSV: numbers are numbers, times are local, text is never a formula."""

import csv
import dataclasses
import itertools
import json
import tempfile
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import writers as excel_workbook
from accounting_analytics.exports.star_schema import STAR_SCHEMA


@pytest.fixture(scope="module")
def workbook(frames, tmp_path_factory):
    """Return the workbook of the books as they are, read."""
    path = tmp_path_factory.mktemp("workbook") / "books.xlsx"
    aa.export(path, format="excel", **frames, company="Oak", currency="USD")
    return openpyxl.load_workbook(path)


@pytest.fixture
def sheets(frames, tmp_path):
    """Return a function that exports books, changed as asked, and reads the sheets."""

    def sheets(**changed):
        lines = frames["line_entries"].assign(**changed)
        aa.export(
            tmp_path / "books.xlsx", format="excel", **frames | {"line_entries": lines}, company="Oak", currency="USD"
        )
        return openpyxl.load_workbook(tmp_path / "books.xlsx")

    return sheets


def test_cells_have_types(workbook, frames):
    """Amounts are numbers with a format, times are local without a zone, the header is frozen, columns have widths."""
    lines = frames["line_entries"].sort_values(["datetime", "id"])
    sheet = workbook["lines"]
    header, *rows, total = sheet.iter_rows()
    column = {cell.value: number for number, cell in enumerate(header)}
    assert [row[column["signed_amount"]].value for row in rows] == lines["signed_amount"].tolist()
    assert rows[0][column["amount"]].number_format == '#,##0.00 "USD"'
    local = lines["datetime"].dt.tz_convert("America/New_York").dt.tz_localize(None).dt.round("ms")
    assert [row[column["local_time"]].value for row in rows] == local.dt.to_pydatetime().tolist()
    assert total[column["signed_amount"]].value == f"=SUM(G2:G{len(lines) + 1})"
    assert sheet.freeze_panes == "A2"
    assert sheet.column_dimensions["B"].width > 20


def test_report_totals(workbook, frames):
    """The report has title, days and currency, the cash flow of each category below its parent, and what it sums to."""
    report, sheet = frames["report"], workbook["report"]
    assert [cell.value for cell in sheet["A"][:3]] == [
        "Oak", "Cash flow", "2025-01-01 to 2025-03-31 (America/New_York), USD",
    ]  # fmt: skip
    names = frames["ledgers"].set_index("id")
    top = 5 + len(report.ledgers)
    for cell, ledger_id in zip(sheet["A"][5:top], report.ledgers["ledger_id"], strict=True):
        level, parent = 0, names["parent_id"][ledger_id]
        while isinstance(parent, str):
            level, parent = level + 1, names["parent_id"][parent]
        assert (cell.value, cell.alignment.indent) == (names["name"][ledger_id], level)
    rows = list(sheet.iter_rows(min_row=6, max_col=3, values_only=True))
    figures = rows[: len(report.ledgers)]
    assert [row[1] for row in figures] == report.ledgers["net_cash_flow"].tolist()
    assert [row[2] for row in figures] == report.ledgers["total_net_cash_flow"].tolist()
    totals = {row[0]: row[1] for row in rows[len(figures) :]}
    assert totals["Net cash flow"] == f"=SUM(B6:B{len(figures) + 5})"
    assert totals["Starting cash balance"] == float(report.starting_cash_balance)
    assert totals["Ending cash balance"] == float(report.ending_cash_balance)


def test_nothing_is_written_elsewhere(sheets, tmp_path, monkeypatch):
    """Temporary files with text of the books are beside the workbook, where the next export finds what a kill left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert sheets()["lines"].max_row > 1
    assert [path.name for path in tmp_path.iterdir()] == ["books.xlsx"]


def test_amounts_fit_their_columns(frames, tmp_path):
    """Columns are as wide as their longest amount, in whichever row, with separators and currency."""
    exact = aa.schemas.LineEntries.exact(frames["line_entries"]).frame
    last = exact["datetime"] == exact["datetime"].max()
    large = exact["amount"].mask(last, Decimal("1234567890.12"))
    signed = large.where(exact["debit_credit"] == "debit", -large)
    aa.export(
        tmp_path / "books.xlsx",
        format="excel",
        **frames | {"line_entries": exact.assign(amount=large, signed_amount=signed)},
        currency="US dollars",
    )
    columns = openpyxl.load_workbook(tmp_path / "books.xlsx")["lines"].column_dimensions
    assert columns["F"].width > len("1,234,567,890.12 US dollars")
    assert columns["G"].width > len("-1,234,567,890.12 US dollars")


def test_text_stays_text(sheets, frames):
    """Text is no formula, link or number."""
    texts = ["=1+1", "+1", "-1", "\t=1", "@SUM(A1)", "https://example.com", "00123", "{=1}"]
    count = len(frames["line_entries"])
    sheet = sheets(description=list(itertools.islice(itertools.cycle(texts), count)))["lines"]
    cells = [row[3] for row in sheet.iter_rows(min_row=2, max_row=count + 1)]
    assert {cell.value for cell in cells} == set(texts)
    assert {(cell.data_type, cell.hyperlink) for cell in cells} == {("s", None)}


def test_what_does_not_fit_is_refused(frames, tmp_path, monkeypatch):
    """More rows than a sheet has, more than 15 digits, and fiscal years are refused before anything is written."""
    path = tmp_path / "books.xlsx"
    monkeypatch.setattr(excel_workbook, "MAX_ROWS", len(frames["line_entries"]) + 1)
    with pytest.raises(InputError, match="the sheet lines would have 1,268 rows, but a sheet of Excel has 1,267"):
        aa.export(path, format="excel", **frames)
    monkeypatch.undo()
    with pytest.raises(InputError, match="a workbook has no fiscal years"):
        aa.export(path, format="excel", **frames, fiscal_year_start_month=7)
    exact = aa.schemas.LineEntries.exact(frames["line_entries"]).frame
    large = exact["signed_amount"].where(exact.index > 0, 10**14)
    lines = exact.assign(amount=large.abs(), signed_amount=large, debit_credit=exact["debit_credit"])
    report = dataclasses.replace(frames["report"].exact())
    with pytest.raises(InputError, match=r"Excel keeps 15 digits"):
        aa.export(path, format="excel", line_entries=lines, ledgers=frames["ledgers"], report=report)
    assert not list(tmp_path.iterdir())


def rows_of(folder, table):
    """Return the rows of a file as text."""
    content = (folder / "current" / f"{table}.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(content.decode("utf-8-sig").splitlines(keepends=True)))


def test_text_is_never_a_formula(frames, tmp_path):
    """Text that a spreadsheet computes or converts gets an apostrophe; other text and ids stay, also over two lines."""
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]  # noqa: RUF001 (a wide sign)
    formulas += ["3/4", "0012", "1e5", "TRUE", "1-Mar", "'=1"]
    texts = [*formulas, "a=1", "3/4 inch", 'say "a",\nb']
    lines = frames["line_entries"]
    given = dict(zip(lines["id"], itertools.cycle(texts)))
    aa.export(
        tmp_path / "out", format="csv", **frames | {"line_entries": lines.assign(description=lines["id"].map(given))}
    )
    with (tmp_path / "out" / "current" / "fact_line_entry.csv").open(encoding="utf-8-sig", newline="") as file:
        written = {row["line_entry_id"]: row["description"] for row in csv.DictReader(file)}
    assert written == {key: f"'{text}" if text in formulas else text for key, text in given.items()}


def test_files_are_the_tables(frames, tmp_path):
    """There is a file for each table, with the rows, amounts to the cent, and local times of the line entries."""
    manifest = aa.export(tmp_path / "out", format="csv", **frames, currency="USD")
    current = tmp_path / "out" / "current"
    assert {path.name for path in current.iterdir()} == {f"{table.name}.csv" for table in STAR_SCHEMA} | {
        "manifest.json"
    }
    assert json.loads((current / "manifest.json").read_bytes())["currency"] == "USD"
    rows, lines = rows_of(tmp_path / "out", "fact_line_entry"), frames["line_entries"]
    local = lines["datetime"].dt.tz_convert("America/New_York").dt.strftime("%Y-%m-%d %H:%M:%S")
    expected = zip(lines["id"], lines["signed_amount"].map("{:.2f}".format), local, strict=True)
    assert {(row["line_entry_id"], row["signed_amount"], row["datetime_local"]) for row in rows} == set(expected)
    assert [Path(file).parent for file in manifest.frame["file"]] == [current] * len(STAR_SCHEMA)
    for file in manifest.files:
        written = rows_of(tmp_path / "out", file.table)
        assert len(written) == file.rows
        for column, total in file.sums.items():
            assert sum((Decimal(row[column]) for row in written if row[column]), Decimal(0)) == Decimal(total)
