"""What a reader must not be misled about: parts of trees, unchecked days, zones, sections; figures that are kept."""

import pickle
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError


def test_a_part_of_a_tree_says_so(books):
    """A ledger whose descendants are in other sections too names its section; its name still finds it."""
    lines, ledgers, _ = books
    sheet = aa.balance_sheet(lines, ledgers, columns=["2026-01"], books_start="2025-01-01")
    assert sheet["Liabilities"].label.startswith("Liabilities (current liabilities), ")
    assert sheet["Liabilities"].exact() + sheet["Equipment Loan"].exact() == sheet["Total liabilities"].exact()
    assert sheet["Payables"].label.startswith("Payables, ")


def test_days_that_nothing_states_are_noted(books):
    """A frame that does not state its load says that days were not checked, and which its lines are of."""
    lines, ledgers, _ = books
    assert "not checked" not in " ".join(aa.income_statement(lines, ledgers, columns=["2026-01"]).notes)
    plain = lines.copy()
    plain.attrs = {}
    statement = aa.income_statement(plain, ledgers, columns=["2026-01"], time_zone="America/New_York")
    assert any("not checked; its lines are of 2025-01-01 to 2026-05-31" in note for note in statement.notes)


def test_days_without_entries_are_noted(books):
    """A statement of days that no line is in says so first: the year may be wrong."""
    lines, ledgers, _ = books
    load = dict(lines.attrs["load"]) | {"lines": 0, "end_date": "2026-12-31"}
    nothing = lines.iloc[:0].copy()
    nothing.attrs = lines.attrs | {"load": load}
    statement = aa.income_statement(nothing, ledgers, columns=["2026-05"])
    assert statement.notes[0] == "There are no line entries in these days."
    assert not any("no line entries" in note for note in aa.income_statement(lines, ledgers, columns=["2026-05"]).notes)


def test_entries_have_the_days_of_the_statement(books):
    """The local date of an entry is that of the statement's zone, not that of the load."""
    lines, ledgers, _ = books
    statement = aa.income_statement(lines, ledgers, columns=["2026-02"], time_zone="Asia/Tokyo")
    for row in statement.rows:
        if row.kind == "ledger":
            assert statement[row.key].entries["local_date"].between("2026-02-01", "2026-02-28").all()


def test_a_section_of_a_parent_is_that_of_its_descendants(books):
    """A parent that a table of sections names takes its descendants along; cash has no section."""
    lines, ledgers, _ = books
    statement = aa.cash_flow_statement(lines, ledgers, columns=["2026-05"], sections={"Premises": "premises"})
    assert statement["Rent"].exact() + statement["Utilities"].exact() == statement["premises"].exact()
    with pytest.raises(InputError, match="'Operating Account' is a cash or uncategorized ledger"):
        aa.cash_flow_statement(lines, ledgers, sections={"Operating Account": "x"})


def test_a_figure_can_be_kept(books):
    """A figure that was pickled has its amount and its entries."""
    lines, ledgers, _ = books
    figure = pickle.loads(pickle.dumps(aa.income_statement(lines, ledgers, columns=["2026-05"])["Rent"]))  # noqa: S301
    assert figure.exact() == Decimal("7900.00")
    assert figure.entries["figure_amount"].tolist() == [7900.0]


def test_total_inflows_are_of_one_period(books):
    """The whole of the shares is that of a column; its change and its total are not amounts of their own."""
    lines, ledgers, _ = books
    statement = aa.cash_flow_statement(
        lines, ledgers, columns=["2026-04", "2026-05"], compare=["prior", "change", "share", "total"]
    )
    assert sum(term.exact() for term in statement["total_inflows", "2026-05"].terms) == (
        statement["total_inflows", "2026-05"].exact()
    )
    for column in ("2026-05 change", "total"):
        with pytest.raises(InputError, match="total inflows are those of one period"):
            statement["total_inflows", column].entries  # noqa: B018 (it raises)


def test_unknown_sub_types_are_counted(books):
    """Ledgers of a sub_type that the interface does not have are in the section Other of their type, and counted."""
    lines, ledgers, _ = books
    changed = ledgers.copy()
    changed.loc[changed["id"] == "led_savings", "sub_type"] = "digital_assets"
    sheet = aa.balance_sheet(lines, changed, columns=["2026-05"], books_start="2025-01-01")
    assert sheet["asset_other"].exact() == sheet["Savings Account"].exact() != 0
    counted = "1 ledger of type asset whose sub_type is unknown, or belongs to another type."
    assert f"Other (asset) has {counted}" in sheet.notes
