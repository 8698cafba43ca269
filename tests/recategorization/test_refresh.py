"""Books are older than the service after a change: they say so, their results too, and are loaded again."""

import pickle
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

OLD = "Read before changes were applied at "
DAYS = ("2025-03-01", "2025-03-31")


@pytest.fixture
def loaded(company_books):
    """Return the books, loaded before a change."""
    return aa.load_books(company_books.client, DAYS)


@pytest.fixture
def applied(company_books, loaded, plan, tmp_path):
    """Apply the plan after the load, and return the outcomes."""
    assert not any(OLD in note for note in loaded.notes)
    return aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)


@pytest.mark.usefixtures("applied")
def test_books_and_results_say_that_they_are_old(loaded):
    results = [loaded, aa.income_statement(loaded), aa.recompute_cash_flow(loaded), aa.reconcile(loaded)]
    for found in (*(one.notes for one in results), aa.notes(aa.uncategorized_queue(loaded))):
        assert sum(note.startswith(OLD) for note in found) == 1
    assert "BEFORE CHANGES were applied at" in repr(loaded)
    assert "books.refresh(client)" in loaded._repr_html_()


def test_only_changes_are_noted(company_books, loaded, plan, applied, tmp_path):
    assert aa.notes(applied) == (
        "Books that were loaded before show the old categories: books.refresh(client) loads them again.",
    )
    new = aa.load_books(company_books.client, DAYS)
    assert aa.notes(aa.apply_plan(company_books.client, plan, journal=tmp_path / "other", confirm=True)) == ()
    undo = aa.undo_plan(company_books.client, tmp_path / "journal")
    assert aa.notes(aa.apply_plan(company_books.client, undo, journal=tmp_path / "undo")) == ()
    assert not any(OLD in note for note in new.notes)
    undone = aa.apply_plan(company_books.client, undo, journal=tmp_path / "undo", confirm=True)
    assert aa.notes(undone) == aa.notes(applied)
    assert any(OLD in note for note in new.notes)
    assert loaded.refresh(company_books.client).changed_lines.empty


@pytest.mark.usefixtures("applied")
def test_refreshed_books_say_which_lines_changed(company_books, loaded, plan):
    earlier = loaded.of("2025-03-10")
    new = earlier.refresh(company_books.client)
    assert (new.period, new.extent.days) == (earlier.period, loaded.extent.days)
    assert [one.period for one in new.reports] == [one.period for one in loaded.reports]
    assert aa.reconcile(new).ties
    pd.testing.assert_frame_equal(new.lines, aa.load_books(company_books.client, DAYS).lines)
    changed = new.changed_lines
    assert set(changed["kind"]) == {"recategorized"}
    by_side = {side: set(rows["ledger_id"]) for side, rows in changed.groupby("change")}
    frame = plan.frame
    assert by_side == {"before": set(frame["category_ledger_id"]), "after": set(frame["updated_category_ledger_id"])}
    assert changed["id"].nunique() == len(plan)
    assert f"{len(plan)} lines recategorized (changed_lines lists them)" in repr(new)
    assert not any(OLD in note for note in new.notes)
    again = pickle.loads(pickle.dumps(new)).refresh(company_books.client)  # noqa: S301 (our own)
    assert again.changed_lines.empty
    assert "no line differs from those that were read before" in again.explain()


@pytest.mark.usefixtures("applied")
def test_refreshed_books_keep_the_opening_that_was_given(company_books):
    given = aa.load_books(company_books.client, DAYS, since=DAYS[0], opening=(DAYS[0], {"led_bank": Decimal("100.00")}))
    new = given.refresh(company_books.client)
    assert new.opening == given.opening
    assert new.opening.basis == "given"
    ends = [aa.cash_flow_statement(one)["ending_cash_balance", "2025-03"].exact() for one in (given, new)]
    assert ends[0] == ends[1]


def test_local_books_are_refreshed_after_a_sync(company_books, plan, tmp_path):
    local = aa.LocalBooks.open(tmp_path / "books")
    local.sync(company_books.client, start_date=DAYS[0], end_date=DAYS[1], progress=False)
    loaded = aa.load_books(local)
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert any(OLD in note for note in loaded.refresh(local).notes)
    local.sync(company_books.client, end_date=DAYS[1], progress=False)
    new = loaded.refresh(local)
    assert new.changed_lines["id"].nunique() == len(plan)
    assert new.version == loaded.version + 1


def test_books_that_cannot_be_refreshed_are_refused(company_books, loaded, demo_company):
    refused = {
        "made of frames; load_books": lambda: aa.Books(loaded.lines, loaded.ledgers).refresh(company_books.client),
        "these are 'two'": lambda: loaded.with_lines(loaded.lines.head(2), label="two").refresh(company_books.client),
        "load_books loads others": lambda: loaded.refresh(demo_company.client),
        "source is of type str": lambda: loaded.refresh("http://127.0.0.1"),
    }
    for message, call in refused.items():
        with pytest.raises(InputError, match=message):
            call()
