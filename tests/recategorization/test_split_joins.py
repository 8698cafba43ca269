"""Joining parts of a split is refused, unless it is allowed, because it cannot be undone."""

import openpyxl
import pandas as pd
import pytest
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.errors import AuthenticationError, InputError


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


def test_a_join_that_is_allowed(books, build, joining, tmp_path):
    """With allow_irreversible, which must be a boolean, it is done."""
    options = {"journal": tmp_path / "journal", "confirm": True}
    with pytest.raises(InputError, match="allow_irreversible must be True or False, not 'no'"):
        aa.apply_plan(books.client, joining, allow_irreversible="no", **options)
    frame = aa.apply_plan(books.client, joining, allow_irreversible=True, **options)
    assert build.outcomes(frame) == {"txn_split": "done", "txn_1": "done"}


def test_two_parts_with_one_new_category(books, build, tmp_path):
    """Two items that give two parts of a split one new category are both refused, and the preview names them."""
    opposing = [books.outflow, books.rent]
    both = build.plan(
        books.instance,
        *(build.item("txn_split", books.bank, one, books.meals, opposing=opposing, entry="one") for one in opposing),
    )
    assert "2 of 2 items would join a part of a split" in both.preview(books.report()).notes[-1]
    frame = aa.apply_plan(books.client, both, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["refused", "refused"]
    assert books.audit() == []


def test_a_join_by_another_user_is_not_completed_by_sending_again(books, build, tmp_path):
    """A lost change is not sent again once another user has moved the other part of the split to its new category."""
    opposing = [books.outflow, books.rent]
    plan = build.plan(
        books.instance, build.item("txn_split", books.bank, books.outflow, books.meals, opposing=opposing)
    )

    def lose(count, _request):
        if count > 1:
            return None
        books.client.recategorize_transaction(
            books.bank, "txn_split", updated_category_ledger_id=books.meals, category_ledger_id=books.rent
        )
        return "lost before"

    transport = build.Faulty(on_put=lose)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert (transport.puts, len(books.audit())) == (1, 1)
    assert build.outcomes(frame) == {"txn_split": "unknown"}
    assert "may still be" in frame["reason"].iloc[0]
    assert "cannot be undone" in frame["reason"].iloc[0]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_edited_file(books, build, plan, tmp_path, suffix):
    """A category edited in the file to one that the split already has is listed, and refused unless allowed."""
    file = tmp_path / f"plan{suffix}"
    plan.save(file)
    _edit(file, "txn_split", {"updated_category_ledger_id": "", "updated_category_ledger_name": "Rent"})
    ledgers, _ = books.load()
    edited = aa.Plan.load(file, ledgers=ledgers)
    assert "1 of 4 items would join a part of a split" in edited.preview(books.report()).notes[-1]
    journal = tmp_path / "journal"
    assert build.outcomes(aa.apply_plan(books.client, edited, journal=journal))["txn_split"] == "refused"
    allowed = aa.apply_plan(books.client, edited, journal=journal, allow_irreversible=True)
    assert build.outcomes(allowed)["txn_split"] == "would_change"


def _edit(file, transaction_id, cells):
    """Change cells of the row of a transaction in a plan file."""
    if file.suffix == ".xlsx":
        workbook = openpyxl.load_workbook(file)
        sheet = workbook["plan"]
        header = [cell.value for cell in sheet[1]]
        (row,) = (row for row in sheet.iter_rows() if row[0].value == transaction_id)
        for name, text in cells.items():
            row[header.index(name)].value = text or None
        workbook.save(file)
        return
    frame = pd.read_csv(file, dtype="str", keep_default_na=False)
    for name, text in cells.items():
        frame.loc[frame["transaction_id"] == transaction_id, name] = text
    frame.to_csv(file, index=False)


def test_books_that_changed_since_the_plan(books, build, plan, tmp_path):
    """Where another user gave the other part the new category since, the change would join them and is refused."""
    books.client.recategorize_transaction(
        books.bank, "txn_split", updated_category_ledger_id=books.meals, category_ledger_id=books.rent
    )
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert build.outcomes(frame)["txn_split"] == "refused"
    assert [row["transaction_id"] for row in books.audit()].count("txn_split") == 1


@pytest.fixture
def three_parts(books, build):
    """Post a split of three parts, and return a plan of two items that both join the third."""
    parts = (books.outflow, books.software, books.rent)
    amounts = {one: number for number, one in enumerate(parts, start=1)}
    books.post((build.NOON, {books.bank: Part(-6, "txn_market", "MARKET")} | amounts, "Market"))
    options = {"opposing": parts, "entry": "market"}
    return build.plan(
        books.instance,
        *(build.item("txn_market", books.bank, one, books.rent, **options) for one in parts[:2]),
    )


def join_first(books, build, plan, journal, fault=401):
    """Run a plan that ends at its second change: refused because the token has expired, or killed."""
    ends = (KeyboardInterrupt, AuthenticationError)
    with books.connected(build.Faulty(on_put=build.only(2, fault))) as client, pytest.raises(ends):
        aa.apply_plan(client, plan, journal=journal, confirm=True, allow_irreversible=True)


@pytest.mark.parametrize(("fault", "outcome", "count"), [(401, "done", 2), ("killed", "unknown", 1)])
def test_joins_of_one_split_are_resumed(books, build, three_parts, tmp_path, *, fault, outcome, count):
    """Where a run joined one part, the same journal shows that no other user did; the other part is joined.

    If it was killed while it sent the other part, that is left alone.
    """
    join_first(books, build, three_parts, tmp_path / "journal", fault)
    verified = aa.verify_plan(books.client, three_parts, journal=tmp_path / "journal")
    assert "changed_elsewhere" not in set(verified["outcome"])
    options = {"journal": tmp_path / "journal", "confirm": True, "allow_irreversible": True}
    frame = aa.apply_plan(books.client, three_parts, **options)
    assert sorted(frame["outcome"]) == ["already_done", outcome]
    assert len(books.audit()) == count


def test_a_part_that_another_user_joined_in_the_meantime(books, build, three_parts, tmp_path):
    """If another user then moves the joined parts into the part that is left, it is not changed."""
    join_first(books, build, three_parts, tmp_path / "journal")
    left = three_parts.items[1].category_ledger_id
    books.client.recategorize_transaction(
        books.bank, "txn_market", updated_category_ledger_id=left, category_ledger_id=books.rent
    )
    options = {"journal": tmp_path / "journal", "confirm": True, "allow_irreversible": True}
    frame = aa.apply_plan(books.client, three_parts, **options)
    assert set(frame["outcome"]) == {"changed_elsewhere"}
    assert len(books.audit()) == 2
