"""Books that an older version of the package wrote are read and synced; those of a newer one are refused."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from accounting_analytics.books import Books
from accounting_analytics.books.storage import BooksFolder, table_schema
from accounting_analytics.errors import BooksError

LATER_COLUMNS = ["tag_group_ids", "transaction_personal", "transaction_amount"]


@pytest.fixture(scope="module")
def current(tmp_path_factory, demo_company):
    """Return books of two months as this version writes them."""
    books = Books.open(tmp_path_factory.mktemp("current") / "books")
    books.sync(demo_company.client, start_date="2026-01-01", end_date="2026-02-28")
    return books


def write_again(books, folder, record, without=()):
    """Write the newest version of books into another folder, without some columns and with another record."""
    old, new = BooksFolder(books.folder), BooksFolder(folder)
    (ledgers,) = old.ledgers.commits()
    table = old.ledgers.read(ledgers.parts["all"]).drop_columns(["found_by"] if without else [])
    new.ledgers.commit(table.schema, {"all": new.ledgers.save("all", table)}, ledgers.record, None)
    last = old.versions()[-1].commit
    parts = {
        month: new.lines.save(month, old.lines.read(file).drop_columns(list(without)))
        for month, file in last.parts.items()
    }
    kept = [field for field in table_schema(2) if field.name not in without]
    new.lines.commit(table_schema(2).empty_table().select([one.name for one in kept]).schema, parts, record, None)


def record_of(books):
    """Return the record of the newest version."""
    return BooksFolder(books.folder).versions()[-1].commit.record


def test_files_without_a_later_column_are_read_and_synced(current, demo_company, tmp_path):
    """A column that did not exist yet is null until a sync reads the days again; all else stays the same."""
    folder = tmp_path / "books"
    write_again(current, folder, record_of(current), without=LATER_COLUMNS)
    old = Books.open(folder)
    before, expected = old.line_entries(), current.line_entries()
    assert before[LATER_COLUMNS].isna().all(axis=None)
    pd.testing.assert_frame_equal(before.drop(columns=LATER_COLUMNS), expected.drop(columns=LATER_COLUMNS))
    assert old.report(old.period).exact_sums() == current.report(current.period).exact_sums()
    assert old.ledgers()["found_by"].isna().all()
    assert old.sync(demo_company.client, end_date="2026-02-28", months_a_night=0, lookback_days=0).ties
    assert old.sync(demo_company.client, end_date="2026-02-28", months_a_night=2).ties
    after = old.line_entries()
    pd.testing.assert_frame_equal(after[after["local_date"] <= "2026-02-28"], expected)
    assert old.as_of(0).line_entries()[LATER_COLUMNS].isna().all(axis=None)
    files = BooksFolder(folder).versions()[-1].commit.parts
    assert set(LATER_COLUMNS) <= set(pq.read_schema(folder / "lines" / files["2026-01"].name).names)


def test_a_newer_format_is_refused(current, demo_company, tmp_path):
    """Books of a later version of the package are neither read nor written, and the message says what to do."""
    folder = tmp_path / "books"
    write_again(current, folder, record_of(current) | {"format": 2, "something": "new"})
    log = sorted((folder / "lines" / "_delta_log").iterdir())
    message = (
        r"the local books have the format 2, this version of the package reads 1; update it \(pip install --upgrade "
        r"accounting-analytics\), or sync into a new folder"
    )
    for use in (lambda: Books.open(folder), lambda: Books(folder).sync(demo_company.client)):
        with pytest.raises(BooksError, match=message):
            use()
    assert sorted((folder / "lines" / "_delta_log").iterdir()) == log


def test_fields_that_are_not_known_are_left_out(current, tmp_path):
    """A record of the same format may state more than this version reads."""
    write_again(current, tmp_path / "books", record_of(current) | {"something": "new"})
    assert json.loads(Books.open(tmp_path / "books").to_json())["version"] == 0
