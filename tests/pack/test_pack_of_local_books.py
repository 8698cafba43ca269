"""Packs of local books: proven by the last sync, and what changed since the last pack."""

import pytest
from recorded_figures import PageReader, RecordedSums, units_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError


@pytest.fixture(scope="module")
def changed_books(tmp_path_factory):
    """Return local books in which an entry of February got a category after February was closed."""
    folder = tmp_path_factory.mktemp("books")
    with aa.demo() as company:
        books = aa.Books.open(folder)
        books.sync(company.client, start_date="2025-01-01", end_date="2025-03-31", progress=False)
        february = aa.Period("2025-02-01", "2025-02-28", company.time_zone)
        books.close(february)
        lines, ledgers = books.line_entries(february), books.ledgers()
        queue = aa.uncategorized_queue(lines, ledgers)
        transaction = queue.loc[0, "transaction_id"]
        proposals = aa.decide(queue.head(1), {transaction: "Travel"}, ledgers)
        plan = aa.plan_recategorization(proposals, ledgers=ledgers)
        aa.apply_plan(company.client, plan, journal=folder / "run.journal", confirm=True)
        books.sync(company.client, end_date="2025-03-31", progress=False)
    return books


def test_local_books_are_proven_by_their_sync(changed_books):
    """Columns of days that the books do not have are not known; every month that is shown was compared."""
    pack = aa.monthly_pack(changed_books, "2025-03")
    assert pack.proven, pack.reasons
    assert pack.books_version == changed_books.version
    assert [one.label for one in pack.compared.values()] == ["Mar 2025", "Feb 2025", "2025 to date"]
    page = PageReader(pack.html)
    sums = RecordedSums(page.data)
    for figure in page.figures:
        units = sums.units(figure.table, figure.key)
        assert units_of(figure.text) == (abs(units) if figure.is_size else units), figure


@pytest.mark.long
def test_what_changed_since_the_last_close_or_a_version(changed_books):
    """The recategorized entry is shown, as a figure with its lines; without changes a sentence says so."""
    since_close = aa.monthly_pack(changed_books, "2025-03")
    table = since_close.content.tables["changes"].table
    kinds = {(row.label, row.cells[0].text, row.cells[1].text) for row in table.rows}
    assert ("Travel", "2025-02", "recategorized") in kinds
    figures = since_close.figures.query("table == 'changes'")
    for row in figures.itertuples():
        figure = since_close[f"changes:{row.key}"]
        assert round(figure.entries["figure_amount"].sum(), 2) == float(row.amount) != 0
    assert 'id="changes"' in since_close.html
    nothing = aa.monthly_pack(changed_books, "2025-03", since=changed_books.version)
    assert nothing.content.tables["changes"].table.rows == []
    assert "No line changed between" in nothing.html


def test_a_service_has_no_versions(demo_company):
    """The argument is for local books."""
    with pytest.raises(InputError, match="since is for local books"):
        aa.monthly_pack(demo_company.client, "2026-05", since=3)
