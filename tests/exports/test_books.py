"""Batches of the books: whole months, and the same facts as of the whole period."""

import pyarrow as pa
import pytest

from accounting_analytics.exports.books import ExportedBooks
from accounting_analytics.exports.star_schema.build import StarSchema


@pytest.fixture(scope="module")
def books(frames):
    """Return the books of the demo's first quarter."""
    return ExportedBooks.from_frames(**frames)


def test_batches_are_whole_months(books):
    """Months are joined until there are enough lines; every line, and every line of the report, is in one batch."""
    january, february, march = books.period.months()
    enough = books.lines_by_month()["2025-01"] + 1
    for least_lines, expected in (
        (1, [january, february, march]),
        (enough, [january.__class__(january.start_date, february.end_date, january.time_zone), march]),
        (10**6, [books.period]),
    ):
        batches = list(books.in_batches(least_lines))
        assert [batch.period for batch in batches] == expected
        assert pa.concat_tables(batch.lines for batch in batches).equals(books.lines)
        assert sum(len(batch.report.lines) for batch in batches) == len(books.report.lines) > 0


@pytest.mark.parametrize("table", ["fact_line_entry", "fact_cash_flow_line", "fact_transfer", "bridge_line_entry_tag"])
def test_facts_of_batches_are_those_of_the_period(table, books):
    """Facts do not depend on the months that are made together."""
    star = StarSchema.from_books(books, books.same_proofs("agrees"))
    months, whole = (
        pa.concat_tables(facts[table] for _, facts in star.facts_by_month(least_lines)) for least_lines in (1, 10**6)
    )
    assert months.num_rows > 10
    assert months.equals(whole)


def test_books_without_lines_are_one_batch(books):
    """Months without lines are not left out."""
    empty = books._replace(lines=books.lines.slice(0, 0))
    assert [batch.period for batch in empty.in_batches()] == [books.period]
