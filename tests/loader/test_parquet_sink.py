"""The Parquet sink: the same lines in the same order as the frame, whole or not at all."""

import json

import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError, ProtocolError, ServerFaultError
from accounting_analytics.loader import (
    iter_line_entry_batches,
    line_entry_batches,
    load_line_entries_to_parquet,
    parquet_sink,
)
from accounting_analytics.schemas import LineEntries

PERIOD = ("2025-01-01", "2025-03-31")
DAYS = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
LEDGERS = ["led_3", "led_1", "led_2"]


@pytest.fixture
def service(make_ledgers, spread):
    """Return three ledgers whose windows interleave."""
    return make_ledgers(
        spread({"led_1": dict.fromkeys(DAYS, 40), "led_2": dict.fromkeys(DAYS, 3), "led_3": {"2025-02-03": 30}}),
        page_size=100,
    )


@pytest.mark.parametrize("rows", [1, 500, 1 << 16])
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns", "localtime"])
def test_the_file_is_the_frame(connected, service, tmp_path, monkeypatch, *, rows, zone):
    """Row for row and type for type the same as load_line_entries, in batches of any size."""
    monkeypatch.setattr(line_entry_batches, "_ROWS_A_BATCH", rows)
    frame = aa.load_line_entries(connected(service), LEDGERS, *PERIOD, time_zone=zone)
    path = tmp_path / "deep" / "lines.parquet"
    written = load_line_entries_to_parquet(connected(service), LEDGERS, *PERIOD, path, time_zone=zone)
    table = pq.read_table(path)
    assert table.column_names == list(frame.columns)
    assert table["signed_amount"].type == pa.decimal128(38, 2)
    assert table["id"].to_pylist() == frame["id"].tolist()
    assert table["signed_amount"].to_pylist() == frame["signed_amount"].tolist()
    assert written.lines == len(frame) > 3600
    assert written.load == frame.attrs["load"]
    assert json.loads(table.schema.metadata[parquet_sink.LOAD_METADATA_KEY])["complete"] is True
    assert [one.name for one in path.parent.iterdir()] == ["lines.parquet"]


def test_batches_are_the_frame(connected, service, monkeypatch):
    """Validated frames, each line once, in order."""
    monkeypatch.setattr(line_entry_batches, "_ROWS_A_BATCH", 700)
    frame = aa.load_line_entries(connected(service), LEDGERS, *PERIOD)
    batches = list(iter_line_entry_batches(connected(service), LEDGERS, *PERIOD))
    assert len(batches) > 2
    assert all(len(LineEntries.checked(batch)) for batch in batches)
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), frame, check_flags=False)


def test_no_lines_are_a_file_too(connected, make_ledgers, tmp_path):
    """An empty ledger gives a file with all columns and no row, and no batch."""
    written = load_line_entries_to_parquet(connected(make_ledgers([])), ["led_1"], *PERIOD, tmp_path / "none.parquet")
    assert (written.lines, pq.read_metadata(tmp_path / "none.parquet").num_rows) == (0, 0)
    assert list(iter_line_entry_batches(connected(make_ledgers([])), ["led_1"], *PERIOD)) == []


def test_a_failed_load_writes_nothing(connected, service, tmp_path):
    """An error leaves the old file as it was, and no temporary one."""
    path = tmp_path / "lines.parquet"
    path.write_bytes(b"old")
    broken = connected(lambda _: service(_) if service.requests < 9 else httpx.Response(500))
    with pytest.raises(ServerFaultError):
        load_line_entries_to_parquet(broken, LEDGERS, *PERIOD, path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["lines.parquet"]


def test_a_sink_goes_on_from_its_checkpoint(connected, service, tmp_path):
    """With a checkpoint the windows stay, and a second call writes the file without a request."""
    kept, client = tmp_path / "kept", connected(service)
    for name in ("one", "two"):
        load_line_entries_to_parquet(client, LEDGERS, *PERIOD, tmp_path / name, checkpoint=kept)
        requests = len(client.requests)
    assert len(client.requests) == requests
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("moved", [{}, {"datetime": "2025-03-20T00:00:00+00:00"}])
def test_one_id_with_two_contents_is_refused(connected, service, tmp_path, moved):
    """The same id in two ledgers, at the same time or weeks apart, is refused before a line is written."""
    service.lines.append(service.lines[5] | {"ledger_id": "led_2"} | moved)
    with pytest.raises(ProtocolError, match="was sent twice with different content"):
        load_line_entries_to_parquet(connected(service), LEDGERS, *PERIOD, tmp_path / "lines.parquet")
    with pytest.raises(ProtocolError, match="was sent twice with different content"):
        next(iter_line_entry_batches(connected(service), LEDGERS, *PERIOD))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(connected, service, tmp_path):
    """A path below a file is refused before anything is asked."""
    (tmp_path / "file").touch()
    client = connected(service)
    with pytest.raises(InputError, match="no request was sent"):
        load_line_entries_to_parquet(client, LEDGERS, *PERIOD, tmp_path / "file" / "lines.parquet")
    assert client.requests == []
