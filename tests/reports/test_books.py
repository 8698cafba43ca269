"""`Books` as a value: copies, pickles, threads, cells that run again, frames changed afterwards, and other days."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import EmptyPeriodError, IncompleteLoadError, InputError

MAY = "2026-05"
CALLS = (
    aa.income_statement,
    aa.balance_sheet,
    aa.recompute_cash_flow,
    aa.bridge,
    aa.ageing,
    aa.recurring_payments,
    aa.check_completeness,
    aa.reconcile,
)


@pytest.fixture(scope="module")
def may_books(demo_company):
    return aa.load_books(demo_company.client, MAY, progress=False)


def texts(books):
    """Return what every call answers."""
    return [call(books).to_json() for call in CALLS]


@pytest.fixture(scope="module")
def expected(may_books):
    return texts(may_books)


def test_copies_are_the_books_and_pickles_find_everything_again(demo_company, expected):
    books = aa.load_books(demo_company.client, MAY, progress=False)
    assert copy.copy(books) is copy.deepcopy(books) is books
    fresh = pickle.dumps(books)
    assert texts(books) == expected
    kept = pickle.dumps(books)
    assert len(kept) < 1.01 * len(fresh)
    read = pickle.loads(kept)  # noqa: S301 (our own)
    assert read is not books
    assert texts(read) == expected
    assert read.explain() == books.explain()


def test_threads_share_books(demo_company, expected):
    fresh = aa.load_books(demo_company.client, MAY, progress=False)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda call: call(fresh).to_json(), CALLS * 3))
    assert found == expected * 3


def test_a_cell_that_runs_again_gives_the_same(demo_company, expected):
    again = aa.load_books(demo_company.client, MAY, progress=False)
    assert texts(again) == expected
    options = {"reports": again.reports, "company": again.company, "currency": again.currency}
    assert texts(aa.Books(again.lines, again.ledgers, MAY, **options)) == expected


def test_frames_are_yours_to_change(may_books, expected):
    lines, ledgers = may_books.lines, may_books.ledgers
    lines["signed_amount"] = 0.0
    lines["mine"] = "x"
    ledgers["name"] = "renamed"
    lines.attrs.clear()
    assert "mine" not in may_books.lines
    assert texts(may_books) == expected
    assert may_books.lines.attrs["load"]["lines"] == len(may_books.lines)


def test_other_days_are_those_of_an_argument(may_books):
    april = may_books.of("2026-04")
    assert aa.income_statement(april).to_json() == aa.income_statement(may_books, "2026-04").to_json()
    assert may_books.period == aa.Period.parse(MAY, time_zone=may_books.time_zone)
    with pytest.raises(IncompleteLoadError, match="the load covers Jan 2025 to May 2026"):
        aa.recompute_cash_flow(may_books, "2026-06")


def test_days_that_cannot_be_loaded_are_refused(demo_company):
    with pytest.raises(EmptyPeriodError, match="the first entry of the books is of 2025-01-01"):
        aa.load_books(demo_company.client, "2024-12", progress=False)
    with pytest.raises(InputError, match="since is 2026-06-01, which is after the last day, 2026-05-31; nothing was"):
        aa.load_books(demo_company.client, MAY, since="2026-06-01", progress=False)


def test_lines_in_an_engine_are_not_in_pandas(may_books):
    polars = pytest.importorskip("polars")
    lazy = polars.from_pandas(may_books.lines.drop(columns="local_date")).lazy()
    scanned = aa.Books(lazy, may_books.ledgers, MAY, time_zone=may_books.time_zone)
    figures = [aa.income_statement(one)["net_income", MAY].exact() for one in (may_books, scanned)]
    assert figures[0] == figures[1]
    chosen = may_books.lines.head()
    pandas_only = (
        aa.uncategorized_queue,
        aa.outlook,
        aa.ageing,
        aa.check_completeness,
        aa.analysis_frame,
        pickle.dumps,
    )
    for call in (*pandas_only, lambda one: one.with_lines(chosen, label="x")):
        with pytest.raises(InputError, match="takes lines in pandas"):
            call(scanned)


def test_books_show_company_days_opening_and_next_call(may_books):
    shown = may_books._repr_html_()
    for text in (
        "Harbor Lane Coffee Roasters",
        "Jan 2025 to May 2026 (America/New_York)",
        "the first day of the books",
        "USD",
    ):
        assert text in shown
    assert "aa.income_statement(books, &quot;2026-05&quot;" in shown
    later = aa.Books(may_books.lines, may_books.ledgers, ("2026-01-01", "2026-12-31"))
    assert 'aa.income_statement(books, "2026-05"' in later.explain()  # the last month with lines
    left_out = may_books.with_lines(may_books.lines[may_books.lines["ledger_name"] != "Rent"], label="without rent")
    assert "without rent: 17 lines left out" in left_out.explain()
    assert isinstance(may_books.frame, pd.DataFrame)
    assert list(may_books.frame["fact"])[-1] == "Next"
