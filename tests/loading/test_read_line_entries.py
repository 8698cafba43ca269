"""Files of line entries: what was saved is read back, and wrong files are refused."""

import sys
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    AmountError,
    FrameError,
    InputError,
)

MARCH = ("2025-03-01", "2025-03-31")
ASSUMED = "No scale is stated; amounts are assumed to have 2 fraction digits."
NOT_WHOLE = (
    "lines.csv is not known to be whole: a CSV file that was cut after a row reads like a whole one; "
    "pass expected_rows=."
)


@pytest.fixture
def awkward_lines(connected, pages, line):
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
def cells(awkward_lines):
    """Return the lines as a frame of text, which is what a CSV file holds."""
    texts = awkward_lines.assign(datetime=awkward_lines["datetime"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return texts.astype(object).where(awkward_lines.notna(), None)


def saved(frame, path):
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".xlsx":
            naive = {name: frame[name].dt.tz_localize(None) for name in frame.select_dtypes("datetimetz")}
            frame.assign(**naive).to_excel(path, index=False, engine="openpyxl")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_saved_lines_are_read_back(awkward_lines, tmp_path, suffix):
    read = aa.read_line_entries(saved(awkward_lines, tmp_path / f"lines{suffix}"))
    pd.testing.assert_frame_equal(read, awkward_lines)
    assert read.attrs["scale"] == 2
    assert ASSUMED in aa.notes(read)
    assert "load" not in read.attrs


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".CSV"])
def test_a_changed_index_does_not_matter(awkward_lines, tmp_path, suffix):
    path = saved(awkward_lines.iloc[[2, 0]], tmp_path / f"lines{suffix.lower()}").rename(tmp_path / f"lines{suffix}")
    pd.testing.assert_frame_equal(aa.read_line_entries(str(path)), awkward_lines.iloc[[2, 0]].reset_index(drop=True))


def test_csv_file_that_was_cut_is_noted_or_refused(awkward_lines, tmp_path):
    path = saved(awkward_lines, tmp_path / "lines.csv")
    whole = aa.read_line_entries(path, expected_rows=3)
    assert aa.notes(whole) == (ASSUMED,)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    cut = aa.read_line_entries(path)
    assert (len(cut), aa.notes(cut)) == (2, (NOT_WHOLE, ASSUMED))
    with pytest.raises(InputError, match=r"has 2 rows, and expected_rows is 3: it was cut .*; file .*lines\.csv"):
        aa.read_line_entries(path, expected_rows=3)


def test_the_expected_rows_of_excel_files(awkward_lines, tmp_path):
    """Excel files cannot be cut unnoticed; another number of rows is refused for them too."""
    path = saved(awkward_lines, tmp_path / "lines.xlsx")
    assert not any("whole" in note for note in aa.notes(aa.read_line_entries(path)))
    assert len(aa.read_line_entries(path, expected_rows=3)) == 3
    with pytest.raises(InputError, match=r"expected_rows is 4: .*; file .*lines.xlsx"):
        aa.read_line_entries(path, expected_rows=4)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="is not an Excel workbook, or damaged"):
        aa.read_line_entries(path)


def test_csv_amounts_are_read_digit_by_digit(cells, tmp_path):
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


def test_too_large_amounts_are_refused(awkward_lines, tmp_path):
    large = pd.Series([Decimal(10**13)] * 3)
    path = saved(awkward_lines.assign(amount=large, signed_amount=large), tmp_path / "lines.csv")
    with pytest.raises(AmountError, match=r"amount 10,000,000,000,000.00 is too large for a pandas frame"):
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
    read = aa.read_line_entries(saved(cells.assign(datetime=text), tmp_path / "lines.csv"))
    assert set(read["datetime"]) == {pd.Timestamp(instant)}


def test_missing_local_dates_are_of_the_zone_given_ones_stay(awkward_lines, tmp_path):
    path = saved(awkward_lines.drop(columns="local_date"), tmp_path / "lines.csv")
    assert "local_date" not in aa.read_line_entries(path)
    read = aa.read_line_entries(path, time_zone="Pacific/Auckland")
    assert set(read["local_date"]) == {pd.Timestamp("2025-03-11")}
    assert list(read.columns) == list(awkward_lines.columns)
    assert any("EST" in note for note in aa.notes(aa.read_line_entries(path, time_zone="EST")))
    with pytest.raises(InputError, match=r"is 2025-03-10, in Pacific/Auckland 2025-03-11: name the zone of these days"):
        aa.read_line_entries(saved(awkward_lines, tmp_path / "dated.csv"), time_zone="Pacific/Auckland")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("form", ["instants", "dates"])
def test_midnights_of_utc_are_days_or_instants(cells, tmp_path, suffix, form):
    midnight = pd.Timestamp("2025-02-01T00:00:00Z")
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


def test_instants_at_other_times_refuse_the_reading_as_days(cells, tmp_path):
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


def test_the_byte_order_mark_of_a_spreadsheet_is_skipped(awkward_lines, tmp_path):
    awkward_lines.to_csv(tmp_path / "lines.csv", index=False, encoding="utf-8-sig")
    pd.testing.assert_frame_equal(aa.read_line_entries(tmp_path / "lines.csv"), awkward_lines)


def test_excel_numbers_texts_and_ids_are_read(awkward_lines, tmp_path):
    amounts = {
        "noise": [0.3 + 1e-13, 24.33, 5],
        "text": ["0.30", "24.33", "5"],
    }
    for name, cells in amounts.items():
        column = pd.Series(cells, dtype="object")
        frame = awkward_lines.assign(amount=column, signed_amount=column, transaction_amount=np.nan)
        read = aa.read_line_entries(saved(frame, tmp_path / f"{name}.xlsx"))
        assert read["amount"].tolist() == [0.3, 24.33, 5.0]
        assert any("2 amounts had" in note for note in aa.notes(read)) == (name == "noise")
    saved(awkward_lines.assign(amount=[0.3, 24.335, 5.0]), tmp_path / "lines.xlsx")
    with pytest.raises(
        AmountError, match=r"id lin_2: amount 24\.335 does not fit 2 fraction digits.*; file .*lines.xlsx"
    ):
        aa.read_line_entries(tmp_path / "lines.xlsx")
    saved(awkward_lines.assign(amount=[0.3, 0.01000001, 5.0]), tmp_path / "lines.xlsx")
    with pytest.raises(AmountError, match=r"id lin_2: amount 0\.01000001 does not fit 2 .*scale=8; .*lines.xlsx"):
        aa.read_line_entries(tmp_path / "lines.xlsx")
    saved(awkward_lines.assign(transaction_id=[123, 4, 5]), tmp_path / "lines.xlsx")
    with pytest.raises(FrameError, match=r"transaction_id: dtype is not"):
        aa.read_line_entries(tmp_path / "lines.xlsx")


def test_the_sheet_with_the_columns_is_read(awkward_lines, tmp_path):
    path = saved(awkward_lines, tmp_path / "lines.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook.create_sheet("notes", 0).append(["checked by Eva"])
    workbook.save(path)
    pd.testing.assert_frame_equal(aa.read_line_entries(path), aa.read_line_entries(saved(awkward_lines, path)))
    workbook.worksheets[1].cell(1, 2, "id")
    workbook.save(path)
    with pytest.raises(FrameError, match="column occurs more than once: id"):
        aa.read_line_entries(path)


def test_excel_needs_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "lines.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match=r"pip install 'accounting-analytics\[excel\]'"):
        aa.read_line_entries(tmp_path / "lines.xlsx")


@pytest.mark.parametrize("name", ["lines.txt", "lines", "lines.csv.gz", "lines.xls", "lines.parquet"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"read from \.csv, \.xlsx files"):
        aa.read_line_entries(tmp_path / name)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("name", ["none", "folder", "damaged", "empty"])
def test_missing_and_damaged_files_are_named(tmp_path, suffix, name):
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / f"damaged{suffix}").write_bytes(b"\xff\xfe\x00PAR1" * 9)
    (tmp_path / f"empty{suffix}").write_bytes(b"")
    with pytest.raises(InputError, match=rf"{name}{suffix} (cannot be read|is damaged)") as caught:
        aa.read_line_entries(tmp_path / f"{name}{suffix}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_wrong_columns_are_named(awkward_lines, tmp_path, suffix):
    path = tmp_path / f"lines{suffix}"
    for frame, message in (
        (awkward_lines.drop(columns="journal_entry_id"), "journal_entry_id: column is missing"),
        (awkward_lines[["id"]], "column is missing"),
        (awkward_lines.assign(memo="x"), "memo: column is not part of this table"),
    ):
        saved(frame, path)
        with pytest.raises(FrameError, match=rf"{message}.*; file .*lines{suffix}"):
            aa.read_line_entries(path)


def test_wrong_cells_are_named(cells, tmp_path):
    path = tmp_path / "lines.csv"
    for column, cell in (("datetime", "yesterday"), ("editable", "maybe"), ("debit_credit", "DR"), ("local_date", "x")):
        saved(cells.assign(**{column: cell}), path)
        with pytest.raises(FrameError, match=rf"{column}.*; file .*lines.csv"):
            aa.read_line_entries(path)
    saved(pd.concat([cells, cells[["id"]]], axis="columns"), path)
    with pytest.raises(FrameError, match="column occurs more than once: id; file"):
        aa.read_line_entries(path)


def test_cells_of_a_workbook_that_are_no_values(awkward_lines, tmp_path):
    path = saved(awkward_lines, tmp_path / "lines.xlsx")
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


@pytest.mark.parametrize("cells", [[], [["a", "b"], [1, 2]]])
def test_a_workbook_without_the_columns_is_refused(tmp_path, cells):
    workbook = openpyxl.Workbook()
    for row in cells:
        workbook.active.append(row)
    workbook.save(tmp_path / "other.xlsx")
    with pytest.raises(FrameError, match=r"LineEntries is not valid: .*other.xlsx"):
        aa.read_line_entries(tmp_path / "other.xlsx")
