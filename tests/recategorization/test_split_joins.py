"""Joining parts of a split is refused, unless it is allowed, because it cannot be undone."""

import pytest

import accounting_analytics as aa
from accounting_analytics.recategorization.changes import compare_with_books


@pytest.fixture
def joining(books, build):
    """Return a plan that joins the parts of a split, and changes another transaction."""
    opposing = [books.outflow, books.rent]
    return build.plan(
        books.instance,
        build.item("txn_split", books.bank, books.outflow, books.rent, opposing=opposing),
        build.item("txn_1", books.bank, books.outflow, books.rent, 1),
    )


@pytest.mark.parametrize("confirm", [False, True])
def test_a_join_is_refused_and_the_rest_is_done(books, build, joining, tmp_path, confirm):
    """The item is refused with the reason, in a dry run too, and nothing is sent for it."""
    frame = aa.apply_plan(books.client, joining, journal=tmp_path / "journal", confirm=confirm)
    assert build.outcomes(frame) == {"txn_split": "refused", "txn_1": "done" if confirm else "would_change"}
    assert "cannot be undone; choose another new category, or allow it" in frame["reason"].iloc[0]
    assert {row["transaction_id"] for row in books.audit()} == ({"txn_1"} if confirm else set())


def test_two_parts_with_one_new_category(books, build, tmp_path):
    """Two items that give two parts of a split one new category are both refused, and the preview names them."""
    opposing = [books.outflow, books.rent]
    both = build.plan(
        books.instance,
        *(build.item("txn_split", books.bank, one, books.meals, opposing=opposing, entry="one") for one in opposing),
    )
    note = both.preview(books.report()).notes[-1]
    assert "2 of 2 items would join a part of a split" in note
    assert "cannot be undone: described on 2025-03-10, -1.50 (txn_split); described on" in note
    frame = aa.apply_plan(books.client, both, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["refused", "refused"]
    assert books.audit() == []


def test_books_that_changed_since_the_plan(books, build, plan, tmp_path):
    """A split of which another user changed another part since is left alone: only its own parts are certain."""
    books.client.recategorize_transaction(
        books.bank, "txn_split", updated_category_ledger_id=books.meals, category_ledger_id=books.rent
    )
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert build.outcomes(frame)["txn_split"] == "changed_elsewhere"
    assert [row["transaction_id"] for row in books.audit()].count("txn_split") == 1


@pytest.mark.parametrize(
    ("opposing", "new", "now", "done", "shown"),
    [
        ("o", {"o": "m"}, "o", "", "previous category"),
        ("o", {"o": "m"}, "m", "", "new category"),
        ("o", {"o": "m"}, "r", "", "another category"),
        ("o", {"o": "m"}, "or", "", "another category"),  # split since
        ("or", {"o": "m"}, "or", "", "previous category"),
        ("or", {"o": "m"}, "mr", "", "new category"),
        ("or", {"o": "m"}, "o", "", "another category"),  # the other part was moved into the one that is replaced
        ("or", {"o": "m"}, "om", "", "another category"),
        ("oi", {"o": "m", "i": "s"}, "os", "", "previous category"),
        ("oi", {"o": "m", "i": "s"}, "ms", "", "new category"),
        ("or", {"o": "r"}, "or", "", "previous category"),
        ("or", {"o": "r"}, "r", "", "new category"),
        ("ort", {"o": "r"}, "rt", "", "unclear parts"),
        ("ort", {"o": "r"}, "rt", "o", "new category"),
        ("ort", {"o": "r", "t": "r"}, "or", "t", "previous category"),
        ("ort", {"o": "r", "t": "r"}, "or", "", "unclear parts"),
    ],
)
def test_what_the_books_show(build, opposing, new, *, now, done, shown):
    """A part is certain if every part of its split has its previous or its planned category, and there is no other."""
    items = (build.item("t", "bank", old, updated, entry="e", opposing=[*opposing]) for old, updated in new.items())
    planned = build.plan(None, *items).items
    found = compare_with_books(planned[0], set(now), planned, lambda change: change.category_ledger_id in done)
    assert found == shown
