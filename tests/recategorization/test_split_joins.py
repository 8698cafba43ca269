"""Joining parts of a split is refused, unless it is allowed, because it cannot be undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@st.composite
def splits(draw):
    """Return the parts of a split, the new category that a plan gives some of them, and those that are changed."""
    parts = draw(st.sets(st.sampled_from("oirt"), min_size=1))
    planned = draw(st.sets(st.sampled_from(sorted(parts)), min_size=1))
    new = {old: draw(st.sampled_from(sorted({*"mrst"} - planned))) for old in sorted(planned)}
    return parts, new, draw(st.sets(st.sampled_from(sorted(planned))))


@given(split=splits(), is_known=st.booleans(), other=st.sampled_from(["", "x"]))
def test_what_the_books_show(build, split, *, is_known, other):
    """A part has its new category if it was changed; it is unclear only where the plan joins parts of the split.

    A category that is neither there before nor planned is another one.
    """
    parts, new, changed = split
    items = (build.item("t", "bank", old, updated, entry="e", opposing=sorted(parts)) for old, updated in new.items())
    planned = build.plan(None, *items).items
    now = {new[one] if one in changed else one for one in parts} | {*other}
    done = changed if is_known else ()
    found = compare_with_books(planned[0], now, planned, lambda change: change.category_ledger_id in done)
    after = [new.get(one, one) for one in parts]
    if other:
        assert found == "another category"
    elif found == "unclear parts":
        assert len({*after}) < len(after)
    else:
        assert found == ("new category" if planned[0].category_ledger_id in changed else "previous category")


@pytest.mark.parametrize(
    ("opposing", "new", "now", "done", "shown"),
    [
        ("or", {"o": "m"}, "o", "", "another category"),  # the other part was moved into the one that is replaced
        ("or", {"o": "r"}, "r", "", "new category"),
        ("ort", {"o": "r"}, "rt", "", "unclear parts"),
        ("ort", {"o": "r"}, "rt", "o", "new category"),
    ],
)
def test_what_the_books_show_of_some_splits(build, opposing, new, *, now, done, shown):
    """Every part of a split must have its previous or its planned category, and there must be no other."""
    items = (build.item("t", "bank", old, updated, entry="e", opposing=[*opposing]) for old, updated in new.items())
    planned = build.plan(None, *items).items
    found = compare_with_books(planned[0], set(now), planned, lambda change: change.category_ledger_id in done)
    assert found == shown
