"""Line tables: every value is imported exactly or refused with its line, from CSV and Parquet alike."""

import csv
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.errors import ImportRefusedError, PeriodError
from accounting_analytics.journals.entries import NewTag, NewTransaction
from accounting_analytics.journals.file_entries import ReadOptions
from accounting_analytics.journals.read_file import read_books
from accounting_analytics.journals.read_line_table import OPTIONAL_COLUMNS, REQUIRED_COLUMNS

COLUMNS = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)


def row(**fields):
    """Return a row of a line table with all columns."""
    defaults = {
        "entry_id": "e1",
        "datetime": "2025-01-02",
        "ledger": "assets:bank",
        "debit_credit": "debit",
        "amount": "1",
    }
    return dict.fromkeys(COLUMNS, "") | defaults | fields


def pair(**fields):
    """Two rows that balance: the first has the fields, the second is the credit to equity."""
    other = {name: value for name, value in fields.items() if name in {"entry_id", "datetime", "amount"}}
    return [row(**fields), row(**other, ledger="equity:other", debit_credit="credit")]


@pytest.fixture(params=["csv", "parquet"])
def write(request, tmp_path):
    """Return a function that writes rows of text as a CSV or a Parquet file."""

    def write(rows):
        path = tmp_path / f"lines.{request.param}"
        if request.param == "csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, COLUMNS)
                table.writeheader()
                table.writerows(rows)
        else:
            pq.write_table(pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in COLUMNS])), path)
        return path

    return write


def lines_of_file(path, **options):
    return [line for entry in read_books(path, ReadOptions(**options)).entries.values() for line in entry.lines]


@pytest.mark.parametrize(
    ("written", "time_zone", "instant"),
    [
        ("2025-01-02", "UTC", "2025-01-02T12:00:00+00:00"),
        ("2025-01-02", "America/New_York", "2025-01-02T17:00:00+00:00"),
        ("2025-07-02", "America/New_York", "2025-07-02T16:00:00+00:00"),
        ("2025-07-02", "Etc/GMT+5", "2025-07-02T17:00:00+00:00"),
        ("2025-07-02T23:59:59", "America/New_York", "2025-07-03T03:59:59+00:00"),
        ("2025-07-02 08:30", "America/New_York", "2025-07-02T12:30:00+00:00"),
        ("2025-07-02T08:30:00.123456Z", "America/New_York", "2025-07-02T08:30:00.123456+00:00"),
        ("2025-11-02T01:30:00-05:00", "America/New_York", "2025-11-02T06:30:00+00:00"),
    ],
)
def test_bare_dates_are_noon_and_offsets_are_used(write, written, time_zone, instant):
    (entry,) = read_books(write(pair(datetime=written)), ReadOptions(time_zone=time_zone)).entries.values()
    assert entry.datetime == dt.datetime.fromisoformat(instant)


NEW_YORK = "America/New_York"
NOT_AN_INSTANT = (
    *("2025-02-29", "02/01/2025", "2025-W01-1", "20250102", "2025-01-02T10:00:00.123456789"),
    *("2025-01-02T24:00", "2025-01-02T23:59:60", "1735819200", ""),
)


@pytest.mark.parametrize(
    ("written", "message", "zone"),
    [
        *((written, "not a date or time", NEW_YORK) for written in NOT_AN_INSTANT),
        ("2025-03-09T02:30:00", f"does not exist in {NEW_YORK}", NEW_YORK),
        ("2025-11-02T01:30:00", f"occurs twice in {NEW_YORK}", NEW_YORK),
        ("0001-01-01T00:00:00+14:00", "outside the calendar", NEW_YORK),
        ("2011-12-30", "does not exist in Pacific/Apia", "Pacific/Apia"),
    ],
)
def test_invalid_and_ambiguous_times_are_refused_by_line(write, written, message, zone):
    with pytest.raises(ImportRefusedError, match=rf"(line 2|row 1): datetime .*{message}"):
        read_books(write(pair(datetime=written)), ReadOptions(time_zone=zone))


@pytest.mark.parametrize("name", ["Mars/Olympus", "localtime"])
def test_unknown_time_zones_are_refused(write, name):
    with pytest.raises(PeriodError, match=name):
        read_books(write(pair()), ReadOptions(time_zone=name))


@pytest.mark.parametrize(
    ("side", "amount", "expected"),
    [
        ("debit", "12.30", 1230),
        ("credit", "-12.3", 1230),
        ("debit", "-0.01", -1),
        ("credit", "1e3", -100_000),
        ("debit", "12.50000", 1250),
        ("debit", "-0", 0),
        ("debit", "1234567890123456.78", 123_456_789_012_345_678),
    ],
)
def test_amounts_are_exact_and_negative_ones_change_sides(write, side, amount, expected):
    opposite = "credit" if side == "debit" else "debit"
    rows = [row(debit_credit=side, amount=amount), row(debit_credit=opposite, amount=amount, ledger="equity:other")]
    first, second = lines_of_file(write(rows))
    assert first.units == expected == -second.units


@pytest.mark.parametrize(
    "amount",
    ["", "1,000.00", "$5", "NaN", "Infinity", "1e400", "0.30000000000000004", "12.345", "1_0", "٣", " 5"],
)
def test_texts_that_are_not_amounts_are_refused_by_line(write, amount):
    with pytest.raises(ImportRefusedError, match=r"(line 2|row 1): .*; (line 3|row 2): "):
        read_books(write(pair(amount=amount)))


def test_invalid_fields_are_refused_on_every_line(write):
    for fields, message in (
        ({"debit_credit": "dr"}, "debit_credit must be 'debit' or 'credit', not 'dr'"),
        ({"debit_credit": "Debit"}, "not 'Debit'"),
        ({"entry_id": " "}, "entry_id is empty"),
        ({"ledger": ""}, "ledger is empty"),
        ({"tags": "channel"}, "tag 'channel' is not group=name"),
        ({"tags": "channel=;a=b"}, "tag 'channel=' is not group=name"),
        ({"personal": "maybe"}, "personal must be true or false, not 'maybe'"),
        ({"review_status": "done"}, "review_status must be 'reviewed' or 'unreviewed', not 'done'"),
    ):
        with pytest.raises(ImportRefusedError, match=rf"(line 2|row 1): .*{message}"):
            read_books(write(pair(**fields)), ReadOptions())
    with pytest.raises(ImportRefusedError, match="is read without --commodity"):
        read_books(write(pair()), ReadOptions(commodity="USD"))


def test_an_entry_has_one_datetime_and_description(write):
    first, second = pair()
    for column in ("datetime", "entry_description"):
        with pytest.raises(ImportRefusedError, match=rf"(line 3|row 2): entry 'e1' has a different {column} than on"):
            read_books(write([first, second | {column: "2025-01-03"}]))
    other = pair(entry_id="e2")
    books = read_books(write([first, other[0], second, other[1]]))
    assert [(entry.id, len(entry.lines)) for entry in books.entries.values()] == [("e1", 2), ("e2", 2)]


def test_transactions_are_of_the_file_or_of_descriptions(write):
    described = row(
        description="Card",
        transaction_id="t1",
        transaction_description="SQ *BLUE BTTL",
        personal="TRUE",
        review_status="reviewed",
        source_account_id="ext",
        tags="channel=cafe; team = front office",
    )
    first, second = lines_of_file(write([described, pair(description="Rest")[1]]), id_suffix="-a")
    assert first.transaction == NewTransaction(
        "SQ *BLUE BTTL", personal=True, review_status="reviewed", source_account_id="ext", id="t1-a"
    )
    assert first.tags == (NewTag("channel", "cafe"), NewTag("team", "front office"))
    assert second.transaction == NewTransaction()
    plain, _ = lines_of_file(write([row(entry_description="Second"), row(entry_description="Second", amount="-1")]))
    assert plain.transaction == NewTransaction("Second")


def test_a_quoted_line_break_does_not_shift_line_numbers(tmp_path):
    path = tmp_path / "lines.csv"
    header = ",".join(REQUIRED_COLUMNS)
    content = (
        f"{header}\r\n"
        'a,2025-01-02,"two\r\nlines",assets:b,debit,1\r\n'
        'a,2025-01-02,"two\r\nlines",equity:o,credit,1\r\n'
        "\r\n"
        "b,2025-01-02,x,assets:b,debit,oops\r\n"
    )
    path.write_text(f"\ufeff{content}", encoding="utf-8", newline="")
    with pytest.raises(ImportRefusedError, match="line 7: 'oops' is not an amount"):
        read_books(path)


def test_parquet_types_are_imported_with_their_values(tmp_path):
    table = pa.table(
        {
            "entry_id": pa.array(["e", "e"]).dictionary_encode(),
            "datetime": pa.array([dt.datetime(2025, 1, 2, 5, tzinfo=dt.UTC)] * 2, pa.timestamp("ns", "UTC")),
            "entry_description": pa.array([None, None], pa.string()),
            "ledger": pa.array(["assets:bank", "equity:x"], pa.large_string()),
            "debit_credit": ["debit", "credit"],
            "amount": pa.array([Decimal("12.5000"), Decimal("12.5000")], pa.decimal128(20, 4)),
            "personal": [True, None],
        }
    )
    pq.write_table(table, tmp_path / "lines.parquet")
    (entry,) = read_books(tmp_path / "lines.parquet", ReadOptions()).entries.values()
    assert entry.datetime == dt.datetime(2025, 1, 2, 5, tzinfo=dt.UTC)
    assert entry.lines[0].units == 1250
    assert entry.lines[0].transaction.personal
    dates = table.set_column(1, "datetime", pa.array([dt.date(2025, 1, 2)] * 2))
    whole = dates.set_column(5, "amount", pa.array([12, 12]))
    pq.write_table(whole, tmp_path / "lines.parquet")
    (entry,) = read_books(tmp_path / "lines.parquet", ReadOptions(time_zone="Asia/Tokyo")).entries.values()
    assert entry.datetime == dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC)
    assert entry.lines[0].units == 1200


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("amount", pa.array([1.5, 1.5]), "row 1: an amount is exact number text, an int or a Decimal"),
        ("amount", pa.array([[1], [1]]), "the column amount has lists or structures, not values"),
        ("datetime", pa.array([1, 1], pa.timestamp("ns", "UTC")), "cannot be read as Parquet"),
        ("ledger", pa.array([1, 2]), "the column ledger is not text, but int64"),
    ],
)
def test_invalid_parquet_types_are_refused(tmp_path, column, values, message):
    plain = pa.Table.from_pylist([{name: line[name] for name in REQUIRED_COLUMNS} for line in pair()])
    table = plain.set_column(REQUIRED_COLUMNS.index(column), column, values)
    pq.write_table(table, tmp_path / "lines.parquet")
    with pytest.raises(ImportRefusedError, match=message):
        read_books(tmp_path / "lines.parquet")


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)


@given(
    entries=st.lists(
        st.tuples(
            st.datetimes(timezones=st.just(dt.UTC)),
            TEXT,
            st.lists(st.tuples(st.integers(-(10**16), 10**16), TEXT, st.integers(0, 4)), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_instants_texts_and_amounts_survive_csv_and_parquet(entries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rows, expected = [], []
    for number, (instant, words, legs) in enumerate(entries):
        closed = [*legs, (-sum(cents for cents, _, _ in legs), "rest", 5)]
        for cents, text, account in closed:
            sided = {"amount": f"{abs(cents)}e-2", "debit_credit": "debit" if cents >= 0 else "credit"}
            entry = {"entry_id": f"e{number}", "datetime": instant.isoformat(), "entry_description": words}
            rows.append(row(**entry, **sided, ledger=f"assets:a{account}", description=text))
            expected.append((instant, words, cents, text))
    read = []
    with (folder / "lines.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), folder / "lines.parquet")
    for name in ("lines.csv", "lines.parquet"):
        books = read_books(folder / name)
        found = ((entry, line) for entry in books.entries.values() for line in entry.lines)
        read.append([(entry.datetime, entry.description, line.units, line.description) for entry, line in found])
    assert read == [expected, expected]


def test_a_file_concatenated_with_itself_is_refused(write):
    rows = [*pair(entry_id="a"), *pair(entry_id="b")]
    with pytest.raises(ImportRefusedError, match=r"(line 6|row 5): entry 'a' is already in the file.* (line 2|row 1)"):
        read_books(write([*rows, *rows]))


def test_separated_lines_of_an_entry_are_joined(write):
    (debit, credit), between = pair(entry_id="a"), pair(entry_id="b")
    for rows in ([debit, *between, credit], [debit, credit, *between, debit, credit | {"ledger": "equity:more"}]):
        books = read_books(write(rows))
        assert [entry.id for entry in books.entries.values()] == ["a", "b"]
        assert len(books.entries["a"].lines) == len(rows) - 2
        assert books.notes == ["entries with lines in several parts of the file were joined (1): a"]
    assert not read_books(write([debit, credit, *between])).notes
