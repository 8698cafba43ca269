"""Loads beyond memory: the file equals the frame of a load, is written whole or not, and each line is in it once."""

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from long_cases import also_long
from resumable_loads import load_resumable, read_lines

import accounting_analytics as aa
from accounting_analytics.core.errors import CheckpointError, ProtocolError, ServerFaultError

PERIOD = ("2025-01-01", "2025-03-31")
LEDGERS = ["led_3", "led_1", "led_2"]


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.long), 500, 1 << 16])
@pytest.mark.parametrize("zone", ["America/St_Johns", *also_long("UTC")])
def test_the_file_equals_the_frame(connected, interleaved, tmp_path, monkeypatch, *, rows, zone):
    monkeypatch.setattr("accounting_analytics.loading.load_to_file._ROWS_PER_BATCH", rows)
    monkeypatch.setattr("accounting_analytics.loading.load_to_file._LINES_PER_PART", 4 * rows)
    frame = aa.load_line_entries(connected(interleaved), LEDGERS, *PERIOD, time_zone=zone)
    folder = tmp_path / "deep [1] *?" / "lines"
    path = load_resumable(connected(interleaved), LEDGERS, PERIOD, folder, time_zone=zone)
    table = pq.read_table(path)
    assert table.column_names == list(frame.columns)
    assert table["signed_amount"].type == pa.decimal128(38, 2)
    assert table["local_date"].type == pa.timestamp("us")
    assert table.num_rows > 3600
    assert read_lines(path).equals(frame)
    assert sorted(one.name for one in path.parent.iterdir()) == ["lines", "lines.parquet"]


def test_an_empty_ledger_is_a_file_without_rows(connected, make_ledgers, tmp_path):
    path = load_resumable(connected(make_ledgers([])), ["led_1"], PERIOD, tmp_path / "none")
    assert pq.read_metadata(path).num_rows == 0


def test_a_failed_load_writes_nothing(connected, interleaved, tmp_path):
    path = tmp_path / "lines.parquet"
    path.write_bytes(b"old")
    broken = connected(lambda request: interleaved(request) if interleaved.requests < 9 else httpx.Response(500))
    with pytest.raises(ServerFaultError):
        load_resumable(broken, LEDGERS, PERIOD, tmp_path / "lines")
    assert path.read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["lines", "lines.parquet"]


def test_a_file_is_written_from_a_finished_checkpoint(connected, interleaved, tmp_path):
    client = connected(interleaved)
    path = load_resumable(client, LEDGERS, PERIOD, tmp_path / "lines")
    first, requests = path.read_bytes(), len(client.requests)
    load_resumable(client, LEDGERS, PERIOD, tmp_path / "lines")
    assert len(client.requests) == requests
    assert path.read_bytes() == first


@pytest.mark.parametrize("moved", [{}, {"datetime": "2025-03-20T00:00:00+00:00"}])
def test_one_id_with_two_contents_is_refused(connected, interleaved, tmp_path, moved):
    interleaved.lines.append(interleaved.lines[5] | {"ledger_id": "led_2"} | moved)
    with pytest.raises(ProtocolError, match="was sent twice with different content"):
        load_resumable(connected(interleaved), LEDGERS, PERIOD, tmp_path / "lines")
    assert [one.name for one in tmp_path.iterdir()] == ["lines"]


def test_a_folder_that_cannot_be_written_is_named(connected, interleaved, tmp_path):
    (tmp_path / "file").touch()
    client = connected(interleaved)
    with pytest.raises(CheckpointError, match="no request was sent"):
        load_resumable(client, LEDGERS, PERIOD, tmp_path / "file" / "lines")
    assert client.requests == []
