"""The Parquet sink: the same lines in the same order as the frame, completely or not at all."""

import json

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, NotFoundError, ProtocolError, ServerFaultError
from accounting_analytics.core.load_metadata import LOAD_METADATA_KEY
from accounting_analytics.loading import line_files as files

PERIOD = ("2025-01-01", "2025-03-31")
LEDGERS = ["led_3", "led_1", "led_2"]


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.long), 500, 1 << 16])
@pytest.mark.parametrize("zone", ["America/St_Johns", *also_long("UTC", "localtime")])
def test_the_file_equals_the_frame(connected, interleaved, tmp_path, monkeypatch, *, rows, zone):
    """Rows and types are those of a frame of decimals, whatever the size of the batches and of the parts sorted."""
    monkeypatch.setattr(files, "_ROWS_PER_BATCH", rows)
    monkeypatch.setattr(files, "_LINES_PER_PART", 4 * rows)
    frame = aa.load_line_entries(connected(interleaved, amounts="decimal"), LEDGERS, *PERIOD, time_zone=zone)
    path = tmp_path / "deep [1] *?" / "lines.parquet"
    written = aa.load_line_entries_to_parquet(connected(interleaved), LEDGERS, *PERIOD, path, time_zone=zone)
    table = pq.read_table(path)
    assert table.column_names == list(frame.columns)
    assert table["signed_amount"].type == pa.decimal128(38, 2)
    assert table["id"].to_pylist() == frame["id"].tolist()
    assert table["signed_amount"].to_pylist() == frame["signed_amount"].tolist()
    assert table["local_date"].type == pa.timestamp("us")
    assert table["local_date"].to_pandas().equals(frame["local_date"])
    assert written.lines == len(frame) > 3600
    assert written.load == frame.attrs["load"] | {"read_at": written.load["read_at"]}
    assert json.loads(table.schema.metadata[LOAD_METADATA_KEY])["complete"] is True
    assert [one.name for one in path.parent.iterdir()] == ["lines.parquet"]


def test_an_empty_ledger_is_a_file_without_rows(connected, make_ledgers, tmp_path):
    """A ledger without lines gives a file with all columns and no rows."""
    written = aa.load_line_entries_to_parquet(
        connected(make_ledgers([])), ["led_1"], *PERIOD, tmp_path / "none.parquet"
    )
    assert (written.lines, pq.read_metadata(tmp_path / "none.parquet").num_rows) == (0, 0)


def test_a_failed_load_writes_nothing(connected, interleaved, tmp_path):
    """A failure leaves the previous file unchanged, and no temporary file."""
    path = tmp_path / "lines.parquet"
    path.write_bytes(b"old")
    broken = connected(lambda request: interleaved(request) if interleaved.requests < 9 else httpx.Response(500))
    with pytest.raises(ServerFaultError):
        aa.load_line_entries_to_parquet(broken, LEDGERS, *PERIOD, path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["lines.parquet"]


def test_a_partial_file_names_the_missing_days(connected, interleaved, tmp_path):
    """Where it is allowed, the lines that could be read are written, and the file states the missing days."""
    client = connected(lambda request: httpx.Response(404) if "led_2" in request.url.path else interleaved(request))
    path = tmp_path / "lines.parquet"
    with pytest.raises(NotFoundError):
        aa.load_line_entries_to_parquet(client, LEDGERS, *PERIOD, path)
    written = aa.load_line_entries_to_parquet(client, LEDGERS, *PERIOD, path, allow_partial=True)
    read = aa.read_line_entries(path)
    assert written.lines == len(read) == sum(line["ledger_id"] != "led_2" for line in interleaved.lines)
    assert written.load["missing"] == read.attrs["load"]["missing"] == {"led_2": "/".join(PERIOD)}
    assert not read.attrs["load"]["complete"]
    assert written.notes[0] == aa.notes(read)[0]
    assert "1 window could not be read" in written.notes[0]


def test_a_file_is_written_from_a_finished_checkpoint(connected, interleaved, tmp_path):
    """A second call with the same checkpoint writes the same file without a request."""
    kept, client = tmp_path / "kept", connected(interleaved)
    for name in ("one", "two"):
        aa.load_line_entries_to_parquet(client, LEDGERS, *PERIOD, tmp_path / name, checkpoint=kept)
        requests = len(client.requests)
    assert len(client.requests) == requests
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("moved", [{}, {"datetime": "2025-03-20T00:00:00+00:00"}])
def test_one_id_with_two_contents_is_refused(connected, interleaved, tmp_path, moved):
    """An id in two ledgers, at the same time or weeks apart, is refused before a line is written."""
    interleaved.lines.append(interleaved.lines[5] | {"ledger_id": "led_2"} | moved)
    with pytest.raises(ProtocolError, match="was sent twice with different content"):
        aa.load_line_entries_to_parquet(connected(interleaved), LEDGERS, *PERIOD, tmp_path / "lines.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(connected, interleaved, tmp_path):
    """A path below a file is refused before a request is sent."""
    (tmp_path / "file").touch()
    client = connected(interleaved)
    with pytest.raises(InputError, match="no request was sent"):
        aa.load_line_entries_to_parquet(client, LEDGERS, *PERIOD, tmp_path / "file" / "lines.parquet")
    assert client.requests == []
