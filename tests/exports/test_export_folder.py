"""What all exports share: the manifest, and the replacement of the folder."""

import dataclasses
import hashlib
import json
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.money import pandas_dtype

FILES = ["fact_line_entry.parquet", "fact_cash_flow_line.parquet", "dim_ledger.parquet"]


def test_manifest_describes_the_files(frames, tmp_path):
    """The manifest has the rows, exact sums and hash of every file."""
    manifest = aa.export_parquet(tmp_path / "out", **frames)
    content = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert [file["name"] for file in content["files"]] == FILES
    for file, described in zip(content["files"], manifest.files, strict=True):
        path = tmp_path / "out" / file["name"]
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest() == described.sha256
        assert file["rows"] == pq.read_metadata(path).num_rows
    assert content["files"][0]["sums"]["signed_amount_minor_units"] == 0
    assert (content["time_zone"], content["scale"], content["partial"]) == ("America/New_York", 2, False)


def test_manifest_as_text_and_json(frames, tmp_path):
    """The file has the JSON of the manifest; the text names the folder and counts the rows of each file."""
    manifest = aa.export_parquet(tmp_path / "out", **frames)
    assert (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8") == manifest.to_json()
    assert manifest.explain().startswith(f"Export in {tmp_path / 'out'}: ")
    assert f"- dim_ledger.parquet: {len(frames['ledgers']):,} rows" in manifest.explain()
    assert "dim_ledger.parquet" in manifest._repr_html_()


def test_manifest_states_that_lines_are_missing(frames, tmp_path):
    """The manifest of an incomplete load has ``partial`` set."""
    partial = frames | {"report": dataclasses.replace(frames["report"], partial=True)}
    assert aa.export_parquet(tmp_path / "out", **partial).partial
    assert json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["partial"] is True


def test_export_replaces_only_an_export(frames, tmp_path):
    """A second export replaces the first; a folder with other files is left unchanged; no temporary folder stays."""
    aa.export_parquet(tmp_path / "out", **frames)
    aa.export_parquet(tmp_path / "out", **frames)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"files that are not part of an export \(thesis\.txt\)"):
        aa.export_parquet(tmp_path / "mine", **frames)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_files_that_the_manifest_does_not_list_are_kept(frames, tmp_path):
    """An export with one more file in its folder, or a folder with a manifest of another program, is not replaced."""
    aa.export_parquet(tmp_path / "out", **frames)
    (tmp_path / "out" / "mine.parquet").write_bytes(b"years of work")
    with pytest.raises(InputError, match=r"files that are not part of an export \(mine\.parquet\)"):
        aa.export_parquet(tmp_path / "out", **frames)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"windows": []}')
    with pytest.raises(InputError, match=r"files that are not part of an export \(manifest\.json\)"):
        aa.export_parquet(tmp_path / "other", **frames)


def test_failed_export_keeps_the_previous_one(frames, tmp_path):
    """An amount that does not fit 64 bits is refused, never wrapped, and the previous export is unchanged."""
    aa.export_parquet(tmp_path / "out", **frames)
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    lines = frames["line_entries"].head(1)
    huge = pd.Series([Decimal("92233720368547758.08")], index=lines.index, dtype=pandas_dtype(2))
    side = pd.Series(["debit"], index=lines.index, dtype="str")
    with pytest.raises(FrameError, match="64-bit"):
        aa.export_parquet(
            tmp_path / "out",
            **frames | {"line_entries": lines.assign(amount=huge, signed_amount=huge, debit_credit=side)},
        )
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_books_without_lines_are_exported(frames, tmp_path):
    """A period without lines gives files with columns and no rows."""
    report = frames["report"]
    empty = dataclasses.replace(report, ledgers=report.ledgers.head(0), lines=report.lines.head(0))
    manifest = aa.export_parquet(
        tmp_path / "out", **frames | {"report": empty, "line_entries": frames["line_entries"].head(0)}
    )
    assert [file.rows for file in manifest.files[:2]] == [0, 0]
    assert pl.read_parquet(tmp_path / "out" / FILES[0]).height == 0
