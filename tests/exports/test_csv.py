"""CSV files for people: times are local, text is never a formula."""

import csv
import itertools
import json
from decimal import Decimal
from pathlib import Path

import accounting_analytics as aa
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA


def rows_of(folder, table):
    content = (folder / "current" / f"{table}.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(content.decode("utf-8-sig").splitlines(keepends=True)))


def test_text_is_never_a_formula(quarter, tmp_path):
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]  # noqa: RUF001 (a wide sign)
    formulas += ["3/4", "0012", "1e5", "TRUE", "1-Mar", "'=1"]
    texts = [*formulas, "a=1", "3/4 inch", 'say "a",\nb']
    lines = quarter.lines
    given = dict(zip(lines["id"], itertools.cycle(texts)))
    described = aa.Books(lines.assign(description=lines["id"].map(given)), quarter.ledgers, reports=quarter.reports)
    aa.export(described, tmp_path / "out", format="csv")
    with (tmp_path / "out" / "current" / "fact_line_entry.csv").open(encoding="utf-8-sig", newline="") as file:
        written = {row["line_entry_id"]: row["description"] for row in csv.DictReader(file)}
    assert written == {key: f"'{text}" if text in formulas else text for key, text in given.items()}


def test_files_have_the_rows_of_the_tables(quarter, tmp_path):
    books = aa.Books(quarter.lines, quarter.ledgers, reports=quarter.reports, currency="USD")
    manifest = aa.export(books, tmp_path / "out", format="csv")
    current = tmp_path / "out" / "current"
    assert {path.name for path in current.iterdir()} == {f"{table.name}.csv" for table in STAR_SCHEMA} | {
        "manifest.json"
    }
    assert json.loads((current / "manifest.json").read_bytes())["currency"] == "USD"
    rows, lines = rows_of(tmp_path / "out", "fact_line_entry"), quarter.lines
    local = lines["datetime"].dt.tz_convert("America/New_York").dt.strftime("%Y-%m-%d %H:%M:%S")
    expected = zip(lines["id"], lines["signed_amount"].map("{:.2f}".format), local, strict=True)
    assert {(row["line_entry_id"], row["signed_amount"], row["datetime_local"]) for row in rows} == set(expected)
    assert [Path(file).parent for file in manifest.frame["file"]] == [current] * len(STAR_SCHEMA)
    for file in manifest.files:
        written = rows_of(tmp_path / "out", file.table)
        assert len(written) == file.rows
        for column, total in file.sums.items():
            assert sum((Decimal(row[column]) for row in written if row[column]), Decimal(0)) == Decimal(total)
