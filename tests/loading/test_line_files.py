"""Files of line entries: what was saved is read back, wrong files are refused, and a load is written whole or not."""

import json
import sys
from decimal import Decimal

import httpx
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    AmountError,
    FrameError,
    InputError,
    NotFoundError,
    ProtocolError,
    ServerFaultError,
)
from accounting_analytics.core.load_metadata import LOAD_METADATA_KEY
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.loading import line_files as files

MARCH = ("2025-03-01", "2025-03-31")
ASSUMED = "No scale is stated; amounts are assumed to have 2 fraction digits."
NOT_WHOLE = (
    "lines.csv is not known to be whole: a CSV file that was cut after a row reads like a whole one; "
    "pass expected_rows=."
)


@pytest.fixture
def lines(connected, pages, line):
    """Return loaded lines whose ids and texts a spreadsheet would change."""
    sent = [
        line(
            "1",
            amount="24.33",
            transaction_id="00123",
            description="NA",
            tags=[{"id": "1e5", "name": "NA", "tag_group_id": "007"}],
            editable=True,
        ),
        line("2", amount="-0.07", description='a, "b"\nc', opposing_ledger_ids=["led_2", "led_3"], editable=False),
        line("3", amount="9999999999999.99", transaction={"id": "txn_3", "amount": "0.29"}, ledger_name="Zoë"),
    ]
    return aa.load_line_entries(connected(pages(sent)), ["led_1"], *MARCH)


@pytest.fixture
def cells(lines):
    """Return the lines as a frame of text, which is what a CSV file holds."""
    texts = lines.assign(datetime=lines["datetime"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return texts.astype(object).where(lines.notna(), None)


def saved(frame, path):
    """Save a frame by the suffix of the path."""
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
        case ".xlsx":
            naive = {name: frame[name].dt.tz_localize(None) for name in frame.select_dtypes("datetimetz")}
            frame.assign(**naive).to_excel(path, index=False, engine="openpyxl")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_saved_lines_are_read_back(lines, tmp_path, suffix):
    """Each kind of file gives the frame that was saved, and the figures recomputed from it are the same."""
    read = aa.read_line_entries(saved(lines, tmp_path / f"lines{suffix}"))
    pd.testing.assert_frame_equal(read, lines)
    assert read.attrs["scale"] == 2
    assert (ASSUMED in aa.notes(read)) == (suffix != ".parquet")
    assert ("load" in read.attrs) == (suffix == ".parquet")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".CSV"])
def test_a_changed_index_does_not_matter(lines, tmp_path, suffix):
    """A frame that was filtered and sorted is read in its order, with a new index; suffixes in any case."""
    path = saved(lines.iloc[[2, 0]], tmp_path / f"lines{suffix.lower()}").rename(tmp_path / f"lines{suffix}")
    pd.testing.assert_frame_equal(aa.read_line_entries(str(path)), lines.iloc[[2, 0]].reset_index(drop=True))


def test_a_parquet_file_of_a_load_states_the_load(connected, pages, line, tmp_path):
    """Decimals become floats, and metadata, notes and scale of the load are those of the frame."""
    sent = [line(amount="0.30000000000000004")]
    frame = aa.load_line_entries(connected(pages(sent), scale=3), ["led_1"], *MARCH)
    written = aa.load_line_entries_to_parquet(
        connected(pages(sent), scale=3), ["led_1"], *MARCH, tmp_path / "a.parquet"
    )
    read = aa.read_line_entries(written.path)
    pd.testing.assert_frame_equal(read, frame)
    assert read["amount"].tolist() == [0.3]
    assert read.attrs["scale"] == 3
    of_another_time = {"notes": (), "read_at": frame.attrs["load"]["read_at"]}
    assert read.attrs["load"]["read_at"] > frame.attrs["load"]["read_at"]
    assert read.attrs["load"] | of_another_time == frame.attrs["load"] | of_another_time
    assert aa.notes(read) == aa.notes(frame) != ()
    with pytest.raises(FrameError, match=r"no single scale: .* state \[2, 3\]"):
        aa.read_line_entries(written.path, scale=2)


def test_a_csv_file_that_was_cut(lines, tmp_path):
    """A CSV file without its last rows is noted as not known to be whole, and refused with the expected number."""
    path = saved(lines, tmp_path / "lines.csv")
    whole = aa.read_line_entries(path, expected_rows=3)
    assert aa.notes(whole) == (ASSUMED,)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    cut = aa.read_line_entries(path)
    assert (len(cut), aa.notes(cut)) == (2, (NOT_WHOLE, ASSUMED))
    with pytest.raises(InputError, match=r"has 2 rows, and expected_rows is 3: it was cut .*; file .*lines\.csv"):
        aa.read_line_entries(path, expected_rows=3)


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_the_expected_rows_of_other_files(lines, tmp_path, suffix):
    """Excel and Parquet files cannot be cut unnoticed; another number of rows is refused for them too."""
    path = saved(lines, tmp_path / f"lines{suffix}")
    assert not any("whole" in note for note in aa.notes(aa.read_line_entries(path)))
    assert len(aa.read_line_entries(path, expected_rows=3)) == 3
    with pytest.raises(InputError, match=rf"expected_rows is 4: .*; file .*lines{suffix}"):
        aa.read_line_entries(path, expected_rows=4)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"is damaged or another kind of file|is not an Excel workbook, or damaged"):
        aa.read_line_entries(path)


def test_csv_amounts_are_read_digit_by_digit(cells, tmp_path):
    """Amounts are exact at any scale, noise in their text is counted, and other text is refused by id."""
    texts = ["12345.6789012345", "0.1", "1e3"]
    frame = cells.assign(amount=texts, signed_amount=texts, transaction_amount=None)
    read = aa.read_line_entries(saved(frame, tmp_path / "lines.csv"), scale=10)
    assert read["amount"].tolist() == [12345.6789012345, 0.1, 1000.0]
    assert (read.attrs["scale"], aa.notes(read)) == (10, (NOT_WHOLE,))
    noisy = frame.assign(amount=["0.30000000000000004", "1", "2"], signed_amount=["0.3", "1", "2"])
    read = aa.read_line_entries(saved(noisy, tmp_path / "lines.csv"))
    assert aa.notes(read) == (NOT_WHOLE, ASSUMED, "1 amount had float rounding noise, which was removed.")
    wrong = (("24.335", "scale=3"), ("0.01000001", "scale=8"), ("1,000.00", "not an amount"), ("NaN", "not an amount"))
    for text, message in wrong:
        saved(frame.assign(amount=["1", text, "2"]), tmp_path / "lines.csv")
        with pytest.raises(AmountError, match=rf"column 'amount', id lin_2: .*{message}.*; file .*lines.csv"):
            aa.read_line_entries(tmp_path / "lines.csv")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_too_large_amounts_are_refused(lines, tmp_path, suffix):
    """An amount that a float cannot hold is named."""
    large = pd.Series([Decimal(10**13)] * 3, dtype=LineEntries.dtypes(as_decimals=True)["amount"])
    path = saved(lines.assign(amount=large, signed_amount=large), tmp_path / f"lines{suffix}")
    with pytest.raises(AmountError, match=r"amount 10,000,000,000,000.00 has too many digits for float64.*lines"):
        aa.read_line_entries(path)


def test_csv_tells_empty_text_from_null(cells, tmp_path):
    """An empty cell is null and a quoted one empty text, so that an empty list is not an unknown one."""
    path = tmp_path / "lines.csv"
    saved(cells.assign(tag_ids=["EMPTY", None, "NA"]), path)
    path.write_text(path.read_text().replace("EMPTY", '""'))
    assert aa.read_line_entries(path)["tag_ids"].fillna("null").tolist() == ["", "null", "NA"]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2025-03-10T12:00:00", "2025-03-10T12:00:00Z"),
        ("2025-03-10 12:00:00+05:30", "2025-03-10T06:30:00Z"),
        ("2025-03-10T12:00:00.123456Z", "2025-03-10T12:00:00.123456Z"),
        ("2025-03-10", "2025-03-10T00:00:00Z"),
    ],
)
def test_instants_without_a_zone_are_utc(cells, tmp_path, text, instant):
    """Offsets are applied, and an instant without one is in UTC."""
    read = aa.read_line_entries(saved(cells.assign(datetime=text), tmp_path / "lines.csv"))
    assert set(read["datetime"]) == {pd.Timestamp(instant)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_local_dates_in_another_zone(lines, tmp_path, suffix):
    """With a zone, the local dates are those of that zone; those of the file are never replaced by others."""
    path = saved(lines, tmp_path / f"days{suffix}")
    assert "local_date" in aa.read_line_entries(path)
    with pytest.raises(InputError, match="is 2025-03-10, in Pacific/Auckland 2025-03-11: name the zone of these days"):
        aa.read_line_entries(path, time_zone="Pacific/Auckland")
    path = saved(lines.drop(columns="local_date"), tmp_path / f"no_days{suffix}")
    assert "local_date" not in aa.read_line_entries(path)
    read = aa.read_line_entries(path, time_zone="Pacific/Auckland")
    assert set(read["local_date"]) == {pd.Timestamp("2025-03-11")}
    assert list(read.columns) == list(lines.columns)
    assert any("EST" in note for note in aa.notes(aa.read_line_entries(path, time_zone="EST")))


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
@pytest.mark.parametrize("form", ["instants", "dates"])
def test_midnights_of_utc_are_days_or_instants(cells, lines, tmp_path, suffix, form):
    """Instants that are all midnights of UTC have two readings in another zone: refused until one is named."""
    midnight = pd.Timestamp("2025-02-01T00:00:00Z")
    if suffix == ".parquet":
        frame = lines.drop(columns="local_date").assign(datetime=midnight if form == "instants" else midnight.date())
    else:
        frame = cells.drop(columns="local_date", errors="ignore")
        frame["datetime"] = "2025-02-01T00:00:00Z" if form == "instants" else "2025-02-01"
    path = saved(frame, tmp_path / f"lines{suffix}")
    for zone, instant in (("America/New_York", "2025-01-31 19:00"), ("Europe/Berlin", "2025-02-01 01:00")):
        message = f"as days the first is 2025-02-01, as instants it is {instant} in {zone}; state midnights='days' or"
        with pytest.raises(InputError, match=message):
            aa.read_line_entries(path, time_zone=zone)
        days = aa.read_line_entries(path, time_zone=zone, midnights="days")
        assert set(days["local_date"]) == {pd.Timestamp("2025-02-01")}
        assert set(days["datetime"].dt.tz_convert(zone).dt.strftime("%Y-%m-%d %H:%M")) == {"2025-02-01 12:00"}
        instants = aa.read_line_entries(path, time_zone=zone, midnights="instants")
        assert set(instants["local_date"]) == {pd.Timestamp(instant[:10])}
        assert set(instants["datetime"]) == {midnight}
        assert (
            instants["local_date"] == aa.read_line_entries(saved(instants, path), time_zone=zone)["local_date"]
        ).all()
        saved(frame, path)
    for same in ("UTC", "Europe/London", "Africa/Abidjan"):
        assert set(aa.read_line_entries(path, time_zone=same)["local_date"]) == {pd.Timestamp("2025-02-01")}


def test_what_midnights_cannot_be(cells, tmp_path):
    """One instant at another time shows that they are instants; days are refused then, and without a zone."""
    times = ["2025-02-01T00:00:00Z", "2025-02-01T00:00:00.000001Z", "2025-02-02T00:00:00Z"]
    path = saved(cells.drop(columns="local_date", errors="ignore").assign(datetime=times), tmp_path / "lines.csv")
    read = aa.read_line_entries(path, time_zone="America/New_York")
    assert read["local_date"].dt.day.tolist() == [31, 31, 1]
    with pytest.raises(InputError, match=r"midnights='days': these lines are not at midnight of UTC: lin_2"):
        aa.read_line_entries(path, time_zone="America/New_York", midnights="days")
    with pytest.raises(InputError, match=r"midnights='days' needs time_zone="):
        aa.read_line_entries(path, midnights="days")
    with pytest.raises(InputError, match=r"midnights is 'noon'; it must be 'days' or 'instants'"):
        aa.read_line_entries(path, midnights="noon")


def test_the_byte_order_mark_of_a_spreadsheet_is_skipped(lines, tmp_path):
    """A CSV file that a spreadsheet saved starts with a byte order mark."""
    lines.to_csv(tmp_path / "lines.csv", index=False, encoding="utf-8-sig")
    pd.testing.assert_frame_equal(aa.read_line_entries(tmp_path / "lines.csv"), lines)


def test_numbers_and_texts_of_excel(lines, tmp_path):
    """Numbers with noise and whole numbers are amounts, text cells are read digit by digit, ids must be text."""
    amounts = {
        "noise": [0.3 + 1e-13, 24.33, 5],
        "text": ["0.30", "24.33", "5"],
    }
    for name, cells in amounts.items():
        column = pd.Series(cells, dtype="object")
        frame = lines.assign(amount=column, signed_amount=column, transaction_amount=np.nan)
        read = aa.read_line_entries(saved(frame, tmp_path / f"{name}.xlsx"))
        assert read["amount"].tolist() == [0.3, 24.33, 5.0]
        assert any("2 amounts had" in note for note in aa.notes(read)) == (name == "noise")
    saved(lines.assign(amount=[0.3, 24.335, 5.0]), tmp_path / "lines.xlsx")
    with pytest.raises(
        AmountError, match=r"id lin_2: amount 24\.335 does not fit 2 fraction digits.*; file .*lines.xlsx"
    ):
        aa.read_line_entries(tmp_path / "lines.xlsx")
    saved(lines.assign(amount=[0.3, 0.01000001, 5.0]), tmp_path / "lines.xlsx")
    with pytest.raises(AmountError, match=r"id lin_2: amount 0\.01000001 does not fit 2 .*scale=8; .*lines.xlsx"):
        aa.read_line_entries(tmp_path / "lines.xlsx")
    saved(lines.assign(transaction_id=[123, 4, 5]), tmp_path / "lines.xlsx")
    with pytest.raises(FrameError, match=r"transaction_id: dtype is not"):
        aa.read_line_entries(tmp_path / "lines.xlsx")


def test_the_sheet_with_the_columns_is_read(lines, tmp_path):
    """Other sheets may come before it; a column that occurs twice is refused."""
    path = saved(lines, tmp_path / "lines.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook.create_sheet("notes", 0).append(["checked by Eva"])
    workbook.save(path)
    pd.testing.assert_frame_equal(aa.read_line_entries(path), aa.read_line_entries(saved(lines, path)))
    workbook.worksheets[1].cell(1, 2, "id")
    workbook.save(path)
    with pytest.raises(FrameError, match="column occurs more than once: id"):
        aa.read_line_entries(path)


def test_excel_needs_its_extra(tmp_path, monkeypatch):
    """Without openpyxl the message says what to install."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "lines.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match=r"pip install 'accounting-analytics\[excel\]'"):
        aa.read_line_entries(tmp_path / "lines.xlsx")


@pytest.mark.parametrize("name", ["lines.txt", "lines", "lines.csv.gz", "lines.xls"])
def test_other_files_are_refused(tmp_path, name):
    """Another suffix is refused with those that are read."""
    with pytest.raises(InputError, match=r"read from \.csv, \.xlsx, \.parquet files"):
        aa.read_line_entries(tmp_path / name)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_missing_and_damaged_files_are_named(tmp_path, suffix):
    """A file that does not exist, a folder, and a file of another kind are named in one line."""
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / f"damaged{suffix}").write_bytes(b"\xff\xfe\x00PAR1" * 9)
    (tmp_path / f"empty{suffix}").write_bytes(b"")
    for name in ("none", "folder", "damaged", "empty"):
        with pytest.raises(InputError, match=rf"{name}{suffix} (cannot be read|is damaged)") as caught:
            aa.read_line_entries(tmp_path / f"{name}{suffix}")
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_wrong_columns_are_named(lines, tmp_path, suffix):
    """A missing, an unknown and a repeated column are named with the file."""
    path = tmp_path / f"lines{suffix}"
    for frame, message in (
        (lines.drop(columns="journal_entry_id"), "journal_entry_id: column is missing"),
        (lines[["id"]], "column is missing"),
        (lines.assign(memo="x"), "memo: column is not part of this table"),
    ):
        saved(frame, path)
        with pytest.raises(FrameError, match=rf"{message}.*; file .*lines{suffix}"):
            aa.read_line_entries(path)


def test_wrong_cells_are_named(cells, tmp_path):
    """A repeated column, and cells that are no instant, boolean or side are named by column."""
    path = tmp_path / "lines.csv"
    for column, cell in (("datetime", "yesterday"), ("editable", "maybe"), ("debit_credit", "DR"), ("local_date", "x")):
        saved(cells.assign(**{column: cell}), path)
        with pytest.raises(FrameError, match=rf"{column}.*; file .*lines.csv"):
            aa.read_line_entries(path)
    saved(pd.concat([cells, cells[["id"]]], axis="columns"), path)
    with pytest.raises(FrameError, match="column occurs more than once: id; file"):
        aa.read_line_entries(path)


def test_cells_of_a_workbook_that_are_no_values(lines, tmp_path):
    """An error of a formula is null, formatted cells beside the table are not read, and a note beside it is named."""
    path = saved(lines, tmp_path / "lines.xlsx")
    expected = aa.read_line_entries(path)
    workbook = openpyxl.load_workbook(path)
    sheet = workbook.active
    width = sheet.max_column
    for column in (width + 1, width + 3):
        sheet.cell(1, column).fill = openpyxl.styles.PatternFill("solid", "FFFF00")
    workbook.save(path)
    pd.testing.assert_frame_equal(aa.read_line_entries(path), expected)
    note = sheet.cell(3, width + 2, "checked by Eva")
    workbook.save(path)
    with pytest.raises(FrameError, match=f"column {width + 1} has cells, but no name in the first row"):
        aa.read_line_entries(path)
    note.value = None
    names = [cell.value for cell in sheet[1]]
    sheet.cell(2, names.index("ledger_id") + 1, "#N/A")
    workbook.save(path)
    with pytest.raises(FrameError, match="ledger_id: null where a value is required"):
        aa.read_line_entries(path)


def test_a_workbook_without_the_columns_is_refused(tmp_path):
    """The message names what is missing, and the file."""
    for cells in ([], [["a", "b"], [1, 2]]):
        workbook = openpyxl.Workbook()
        for row in cells:
            workbook.active.append(row)
        workbook.save(tmp_path / "other.xlsx")
        with pytest.raises(FrameError, match=r"LineEntries is not valid: .*other.xlsx"):
            aa.read_line_entries(tmp_path / "other.xlsx")


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
