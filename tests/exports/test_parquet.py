"""The star schema as Parquet files: equal in every reader, linked where unchanged, replaced month by month."""

import dataclasses
import datetime as dt
import hashlib
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError
from accounting_analytics.exports import verify_export
from accounting_analytics.exports.star_schema.table_definitions import STAR_SCHEMA

ZONE = "America/New_York"
LINES = "fact_line_entry/month={}/fact_line_entry.parquet"
OPPOSITE = {"debit": "credit", "credit": "debit"}


def readers(folder):
    """Yield the rows of a partitioned table as pandas, polars, pyarrow and DuckDB read them."""
    yield pd.read_parquet(folder, dtype_backend="pyarrow").to_dict("records")
    yield pl.read_parquet(folder, hive_partitioning=True).to_dicts()
    yield pyarrow.dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
    with duckdb.connect() as database:
        files = f"read_parquet('{folder}/*/*.parquet', hive_partitioning = true)"
        yield database.sql(f"select * from {files}").to_arrow_table().to_pylist()  # noqa: S608 (our own path)


def digests(manifest):
    """Return the digest of each file."""
    return {file.name: file.sha256 for file in manifest.files}


def without_loads(manifest):
    """Return the digests of the files that do not state when the months were read."""
    return {name: digest for name, digest in digests(manifest).items() if name != "dim_load.parquet"}


def read_loads(out):
    """Return the rows of ``dim_load`` by month."""
    return {row["month"]: row for row in pq.read_table(out / "current" / "dim_load.parquet").to_pylist()}


def test_every_reader_gets_the_same_exact_amounts(frames, tmp_path):
    """Amounts, ids, sides, local dates and instants of every line come back equal in all readers."""
    aa.export_parquet(tmp_path / "out", **frames)
    lines = frames["line_entries"]
    local = lines["datetime"].dt.tz_convert(ZONE).dt.date
    expected = {
        line_id: (Decimal(f"{amount:.2f}"), side, day, instant, f"{day:%Y-%m}")
        for line_id, amount, side, day, instant in zip(
            lines["id"], lines["signed_amount"], lines["debit_credit"], local, lines["datetime"], strict=True
        )
    }
    assert len(expected) > 500
    for rows in readers(tmp_path / "out" / "current" / "fact_line_entry"):
        read = {
            row["line_entry_id"]: (
                row["signed_amount"],
                row["debit_credit"],
                row["date"],
                pd.Timestamp(row["datetime_utc"]).tz_convert("UTC"),
                row["month"],
            )
            for row in rows
        }
        assert read == expected


def test_files_are_flat_and_plain(frames, tmp_path):
    """Amounts are decimals stored as INT64; no column is nested; no engine's metadata is in a file, only ours."""
    manifest = aa.export_parquet(tmp_path / "out", **frames)
    assert list(manifest.tables) == sorted(table.name for table in STAR_SCHEMA)
    for file in manifest.files:
        parquet = pq.ParquetFile(tmp_path / "out" / "current" / file.name)
        types = {str(field.type) for field in parquet.schema_arrow}
        plain = {"string", "int64", "int32", "bool", "date32[day]", "timestamp[us, tz=UTC]", "decimal128(18, 2)"}
        assert types <= plain
        columns = [parquet.schema.column(number) for number in range(len(parquet.schema))]
        assert all(one.physical_type == "INT64" for one in columns if one.logical_type.type == "DECIMAL")
        metadata = {key.decode(): value.decode() for key, value in parquet.metadata.metadata.items()}
        assert "ARROW:schema" not in metadata
        assert metadata["table"] == file.table
        assert {key.removeprefix("sum."): text for key, text in metadata.items() if key[:4] == "sum."} == file.sums


def test_manifest_describes_the_files(frames, tmp_path):
    """The manifest has the rows, exact sums and digest of every file, the period and how the figures agree."""
    manifest = aa.export_parquet(tmp_path / "out", **frames, currency="USD")
    current = tmp_path / "out" / "current"
    assert (current / "manifest.json").read_text(encoding="utf-8") == manifest.to_json()
    content = json.loads((current / "manifest.json").read_bytes())
    assert (content["time_zone"], content["scale"], content["currency"], content["partial"]) == (ZONE, 2, "USD", False)
    assert "agree" in content["verdict"]
    written = {str(path.relative_to(current)) for path in current.rglob("*.parquet")}
    assert {file.name for file in manifest.files} == written
    for file in manifest.files:
        path = current / file.name
        assert (hashlib.sha256(path.read_bytes()).hexdigest(), pq.read_metadata(path).num_rows) == (
            file.sha256,
            file.rows,
        )
    flows = sum(Decimal(file.sums["signed_amount"]) for file in manifest.files if file.table == "fact_line_entry")
    assert flows == 0


def test_unchanged_books_give_the_same_files(frames, tmp_path):
    """A second export has the same digests, its files are links to the first, and the first is kept until a third."""
    first = aa.export_parquet(tmp_path / "out", **frames)
    second = aa.export_parquet(tmp_path / "out", **frames)
    assert digests(first) == digests(second)
    versions = tmp_path / "out" / "versions"
    assert sorted(path.name for path in versions.iterdir()) == ["1", "2"]
    for file in second.files:
        assert (versions / "1" / file.name).samefile(versions / "2" / file.name)
    aa.export_parquet(tmp_path / "out", **frames)
    assert sorted(path.name for path in versions.iterdir()) == ["2", "3"]
    assert (tmp_path / "out" / "current").resolve() == versions / "3"


def test_files_do_not_depend_on_how_lines_were_loaded(frames, tmp_path):
    """Columns in many pieces, as loads leave them, give the same bytes, also where a column has several pages."""
    lines = frames["line_entries"]
    lines = lines.assign(description=lines["id"].str.repeat(250))
    pieces = pd.concat([lines.iloc[first : first + 7] for first in range(0, len(lines), 7)])
    pieces.attrs = lines.attrs
    whole = aa.export_parquet(tmp_path / "whole", **frames | {"line_entries": lines})
    assert digests(aa.export_parquet(tmp_path / "pieces", **frames | {"line_entries": pieces})) == digests(whole)


def of_months(frames, start_date, end_date, company):
    """Return the frames of a part of the period, with all ledgers."""
    days = (start_date, end_date)
    return {
        "ledgers": frames["ledgers"],
        "line_entries": aa.load_line_entries(company.client, frames["ledgers"]["id"], *days, time_zone=ZONE),
        "report": aa.load_cash_flow_report(company.client, *days, time_zone=ZONE),
    }


def test_months_are_replaced_one_by_one(frames, demo_company, tmp_path):
    """Two months and then the third are the files of all three; those of other months are links."""
    whole = aa.export_parquet(tmp_path / "whole", **frames)
    aa.export_parquet(tmp_path / "out", **of_months(frames, "2025-01-01", "2025-02-28", demo_company))
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    merged = aa.export_parquet(tmp_path / "out", **march, replace_months=True)
    assert (merged.start_date, merged.end_date, merged.notes) == ("2025-01-01", "2025-03-31", ())
    assert merged.verdict == whole.verdict == "Reported and recomputed cash flow agree to the last digit."
    assert without_loads(merged) == without_loads(whole)
    versions = tmp_path / "out" / "versions"
    name = "fact_line_entry/month=2025-01/fact_line_entry.parquet"
    assert (versions / "1" / name).samefile(versions / "2" / name)


def test_months_state_when_they_were_read(frames, demo_company, tmp_path):
    """Each month has the times of its own load and report; the summary has those of the month that was read first."""
    earlier = of_months(frames, "2025-01-01", "2025-02-28", demo_company)
    aa.export_parquet(tmp_path / "out", **earlier)
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    merged = aa.export_parquet(tmp_path / "out", **march, replace_months=True)
    loads, times = read_loads(tmp_path / "out"), {}
    for month, books in (("2025-01", earlier), ("2025-02", earlier), ("2025-03", march)):
        read_at = dt.datetime.fromisoformat(books["line_entries"].attrs["load"]["read_at"])
        times[month] = (read_at, books["report"].read_at)
        assert (loads[month]["read_at_utc"], loads[month]["proven_at_utc"]) == times[month]
    assert [(one.month, one.read_at, one.proven_at) for one in merged.months] == [
        (month, read_at.isoformat(), proven_at.isoformat()) for month, (read_at, proven_at) in times.items()
    ]
    oldest = f"The month read first is 2025-01, at {times['2025-01'][0]:%Y-%m-%d %H:%M} UTC; what was changed since"
    assert oldest in merged.summary()
    assert merged == aa.exports.Manifest.load(tmp_path / "out" / "current")


def test_months_that_are_not_proven_state_no_time(frames, tmp_path):
    """A report that differs proves nothing; of a frame without load metadata it is not known when it was read."""
    lines = frames["line_entries"]
    changed = lines.assign(signed_amount=-lines["signed_amount"], debit_credit=lines["debit_credit"].map(OPPOSITE))
    manifest = aa.export_parquet(tmp_path / "out", **frames | {"line_entries": changed})
    assert {row["proven_at_utc"] for row in read_loads(tmp_path / "out").values()} == {None}
    assert {one.proven_at for one in manifest.months} == {None}
    unknown = lines.copy()
    unknown.attrs = {"scale": 2}
    manifest = aa.export_parquet(tmp_path / "out", **frames | {"line_entries": unknown})
    assert {row["read_at_utc"] for row in read_loads(tmp_path / "out").values()} == {None}
    assert "When 2025-01 was read is not known." in manifest.summary()


def test_replaced_months_have_the_dimensions_of_now(frames, demo_company, tmp_path):
    """A ledger, tag or transaction that was renamed since has its new name and category; those not read now stay."""
    aa.export_parquet(tmp_path / "out", **frames)
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    lines, ledgers = march["line_entries"], march["ledgers"]
    renamed = ledgers.assign(name=ledgers["name"].mask(ledgers["id"] == ledgers["id"].iloc[-1], "Renamed"))
    own = lines[lines["transaction_id"].notna()].iloc[0]["transaction_id"]
    described = lines["transaction_description"].mask(lines["transaction_id"] == own, "Described again")
    tagged = lines.assign(
        transaction_description=described,
        tag_names=lines["tag_names"].where(lines["tag_ids"].fillna("") == "", lines["tag_ids"].str.upper()),
    )
    before = read_dimensions(tmp_path / "out")
    aa.export_parquet(tmp_path / "out", **march | {"ledgers": renamed, "line_entries": tagged}, replace_months=True)
    after = read_dimensions(tmp_path / "out")
    assert after["dim_ledger"][ledgers["id"].iloc[-1]]["name"] == "Renamed"
    assert after["dim_transaction"][own]["description"] == "Described again"
    used = {tag for text in lines["tag_ids"].dropna() if text for tag in text.split("|")}
    assert used
    assert {tag: after["dim_tag"][tag]["tag_name"] for tag in used} == {tag: tag.upper() for tag in used}
    kept = before["dim_transaction"].keys() - set(lines["transaction_id"].dropna())
    assert len(kept) > 10
    assert all(after["dim_transaction"][one] == before["dim_transaction"][one] for one in kept)


def read_dimensions(out):
    """Return the rows of the merged dimensions by key."""
    keys = {"dim_ledger": "ledger_id", "dim_transaction": "transaction_id", "dim_tag": "tag_id"}
    return {
        name: {row[key]: row for row in pq.read_table(out / "current" / f"{name}.parquet").to_pylist()}
        for name, key in keys.items()
    }


def test_months_that_do_not_fit_are_refused(frames, demo_company, tmp_path):
    """Fewer days of a month, fewer ledgers or another time zone would lose or mix figures; nothing changes."""
    aa.export_parquet(tmp_path / "out", **frames)
    before = (tmp_path / "out" / "current").resolve()
    part = of_months(frames, "2025-03-02", "2025-03-31", demo_company)
    with pytest.raises(InputError, match="2025-03 is exported from 2025-03-01 to 2025-03-31; replacing it"):
        aa.export_parquet(tmp_path / "out", **part, replace_months=True)
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    with pytest.raises(InputError, match="has currency None, not 'EUR'"):
        aa.export_parquet(tmp_path / "out", **march, replace_months=True, currency="EUR")
    used = frames["line_entries"]["ledger_id"].iloc[-1]
    lines, ledgers = march["line_entries"], march["ledgers"]
    fewer = {"line_entries": lines[lines["ledger_id"] != used], "ledgers": ledgers[ledgers["id"] != used]}
    with pytest.raises(InputError, match=rf"line entries of 1 ledger\(s\) that were not discovered now: {used}"):
        aa.export_parquet(tmp_path / "out", **march | fewer, replace_months=True)
    assert (tmp_path / "out" / "current").resolve() == before


def test_balances_that_do_not_continue_are_noted(frames, demo_company, tmp_path):
    """A month that starts with another balance than the month before ends with is named, with both amounts."""
    aa.export_parquet(tmp_path / "out", **of_months(frames, "2025-01-01", "2025-02-28", demo_company))
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    starting = march["report"].starting_balances
    shifted = starting.assign(cash_balance=starting["cash_balance"].add(0.01).round(2))
    report = dataclasses.replace(march["report"], starting_balances=shifted)
    merged = aa.export_parquet(tmp_path / "out", **march | {"report": report}, replace_months=True)
    assert len(merged.notes) >= len(shifted)
    assert any("at the end of 2025-02-28 but" in note and "export both months again" in note for note in merged.notes)


def test_the_manifest_is_that_of_the_files(frames, tmp_path):
    """What is returned is what the folder has; a fiscal year starts in one of twelve months."""
    manifest = aa.export_parquet(tmp_path / "out", **frames, fiscal_year_start_month=7)
    assert manifest == aa.exports.Manifest.load(tmp_path / "out" / "current")
    assert all(Path(file).exists() for file in manifest.frame["file"])
    with pytest.raises(InputError, match="fiscal_year_start_month is 13; it is a month from 1 to 12"):
        aa.export_parquet(tmp_path / "out", **frames, fiscal_year_start_month=13)


def test_months_that_do_not_agree_are_stated(frames, demo_company, tmp_path):
    """A month that differs is named in the manifest; its files say so, those of other months do not."""
    aa.export_parquet(tmp_path / "out", **of_months(frames, "2025-01-01", "2025-02-28", demo_company))
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    lines = march["line_entries"]
    changed = lines.assign(signed_amount=-lines["signed_amount"], debit_credit=lines["debit_credit"].map(OPPOSITE))
    merged = aa.export_parquet(tmp_path / "out", **march | {"line_entries": changed}, replace_months=True)
    assert merged.verdict.startswith(
        "From 2025-01: Reported and recomputed cash flow agree to the last digit. From 2025-03: "
    )
    verdicts = {
        month: pq.read_metadata(tmp_path / "out" / "current" / LINES.format(month)).metadata[b"verdict"]
        for month in ("2025-02", "2025-03")
    }
    assert verdicts["2025-02"] == b"Reported and recomputed cash flow agree to the last digit."
    assert b" difference" in verdicts["2025-03"]


def test_notes_of_kept_months_stay(frames, demo_company, tmp_path):
    """A replaced month does not remove what was noted about the others; a note states its months."""
    earlier = of_months(frames, "2025-01-01", "2025-02-28", demo_company)
    aa.export_parquet(tmp_path / "out", **earlier | {"line_entries": earlier["line_entries"].iloc[1:]})
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    merged = aa.export_parquet(tmp_path / "out", **march, replace_months=True)
    assert merged.partial
    note = merged.notes[0]
    assert note.startswith("2025-01, 2025-02: 1 lines were removed after the load of ")
    loads = pq.read_table(tmp_path / "out" / "current" / "dim_load.parquet")
    text = note.partition(": ")[2]
    assert loads["notes"].to_pylist() == [text, text, None]


def test_damaged_exports_are_not_combined(frames, demo_company, tmp_path):
    """A month is not added to files that cannot be read; the message says how to find them, and nothing changes."""
    aa.export_parquet(tmp_path / "out", **frames)
    current = (tmp_path / "out" / "current").resolve()
    (current / "dim_load.parquet").write_bytes(b"PAR1")
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    with pytest.raises(InputError, match=r"dim_load of the export in .* cannot be read .*verify-export"):
        aa.export_parquet(tmp_path / "out", **march, replace_months=True)
    assert (tmp_path / "out" / "current").resolve() == current


def test_damaged_files_are_written_again(frames, demo_company, tmp_path):
    """A whole export writes damaged and absent files again; replacing another month names them."""
    whole, out = aa.export_parquet(tmp_path / "out", **frames), tmp_path / "out"

    (out / "current" / "dim_ledger.parquet").write_bytes(b"PAR1")
    (out / "current" / LINES.format("2025-01")).unlink()
    assert digests(aa.export_parquet(out, **frames)) == digests(whole)
    assert verify_export(out).verified
    (out / "current" / LINES.format("2025-01")).unlink()
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    absent = rf"1 file\(s\) of the export in .* absent: {LINES.format('2025-01')}; export also 2025-01, or all months"
    with pytest.raises(InputError, match=absent):
        aa.export_parquet(out, **march, replace_months=True)


def test_months_between_that_are_not_exported_are_noted(frames, demo_company, tmp_path):
    """The period of an export of January and March is not said to have February."""
    aa.export_parquet(tmp_path / "out", **of_months(frames, "2025-01-01", "2025-01-31", demo_company))
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    merged = aa.export_parquet(tmp_path / "out", **march, replace_months=True)
    assert merged.notes[-1] == "2025-02-01 to 2025-02-28 are not exported; the export has days before and after them."


def test_missing_lines_are_stated(frames, tmp_path):
    """The manifest and every month of an incomplete load say so, with the reason."""
    report = dataclasses.replace(frames["report"], partial=True)
    manifest = aa.export_parquet(tmp_path / "out", **frames | {"report": report})
    assert manifest.partial
    loads = pq.read_table(tmp_path / "out" / "current" / "dim_load.parquet")
    assert loads["is_partial"].to_pylist() == [True] * 3
    fewer = frames["line_entries"].iloc[1:]
    manifest = aa.export_parquet(tmp_path / "out", **frames | {"line_entries": fewer})
    assert manifest.partial
    assert any("1 lines were removed after the load" in note for note in manifest.notes)


def test_gaps_before_the_period_are_not_missing(frames, demo_company, tmp_path):
    """Balances are those of the report, so loads with a gap before the exported month lack nothing of it."""
    january = of_months(frames, "2025-01-01", "2025-01-31", demo_company)
    march = of_months(frames, "2025-03-01", "2025-03-31", demo_company)
    both = aa.combine_loads([january["line_entries"], march["line_entries"]])
    manifest = aa.export_parquet(tmp_path / "out", **march | {"line_entries": both})
    assert (manifest.partial, manifest.notes) == (False, ())


def test_books_without_lines_are_exported(frames, tmp_path):
    """A period without lines gives files with columns and no rows."""
    report = frames["report"]
    empty = dataclasses.replace(report, ledgers=report.ledgers.head(0), lines=report.lines.head(0))
    manifest = aa.export_parquet(
        tmp_path / "out", **frames | {"report": empty, "line_entries": frames["line_entries"].head(0)}
    )
    assert (manifest.tables["fact_line_entry"], manifest.tables["fact_cash_flow_line"]) == (0, 0)
    assert pl.read_parquet(tmp_path / "out" / "current" / "fact_line_entry").height == 0
