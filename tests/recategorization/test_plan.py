"""Plans: their content, their preview, and contradictions that are refused."""

import dataclasses
from decimal import Decimal, localcontext

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import FrameError, InputError, PlanError
from accounting_analytics.schemas import CashFlowLedgers, CashFlowLines, LedgerChanges


def test_plan_contains_the_proposals(books, plan):
    """A plan made from a real service contains the rule and, for a split, the uncategorized part."""
    frame = plan.frame.set_index("transaction_id")
    assert frame["rule"].to_dict() == {
        "txn_2": "software",
        "txn_split": "hardware",
        "txn_1": "coffee",
        "txn_0": "coffee",
    }
    assert frame.loc["txn_split", "category_amount"] == -30.00
    assert set(frame.loc["txn_split", "opposing_ledger_ids"].split("|")) == {books.outflow, books.rent}
    assert plan.instance_id == books.instance


def test_preview_predicts_the_report(books, plan):
    """The preview lists the exact change of each ledger; the changes sum to zero."""
    previewed = plan.preview(books.report())
    preview = LedgerChanges.exact(previewed.frame).frame
    assert dict(zip(preview["ledger_id"], preview["change"], strict=True)) == {
        books.software: Decimal("-144.00"),
        books.meals: Decimal("-39.75"),
        books.outflow: Decimal("183.75"),
    }
    assert preview["change"].sum() == 0
    assert preview["name"].tolist()[:2] == ["Software", "Meals"]
    columns = (preview[name] for name in ("before", "change", "predicted"))
    assert all(before + change == after for before, change, after in zip(*columns, strict=True))
    assert previewed.notes == ()


def test_preview_notes_items_without_effect(books, plan):
    """A note names items whose lines are outside the period or have another category by now."""
    narrow = aa.load_cash_flow_report(books.client, "2025-03-11", "2025-03-31")
    preview = plan.preview(narrow)
    assert preview.frame.empty
    assert "4 of 4 items would change nothing" in preview.notes[0]
    assert "txn_split" in preview.notes[0]
    books.client.recategorize_transaction(
        books.bank, "txn_2", updated_category_ledger_id=books.rent, category_ledger_id=books.outflow
    )
    moved = plan.preview(books.report())
    assert books.software not in set(moved.frame["ledger_id"])
    assert "1 of 4 items would change nothing" in moved.notes[0]


def test_preview_refuses_a_tagged_report(books, plan):
    """A report filtered by tags does not contain all lines, so it is refused."""
    report = books.report()
    tagged = dataclasses.replace(report, tag_ids=("tag",))
    with pytest.raises(InputError, match="tags"):
        plan.preview(tagged)


def test_preview_refuses_what_the_report_contradicts(books, build, plan):
    """A new category that is cash, or has another name in the report than in the plan, is refused."""
    report = books.report()
    frame = plan.frame
    first = frame["transaction_id"].iloc[0]
    frame.loc[0, "updated_category_ledger_name"] = "Travel"
    with pytest.raises(PlanError, match=rf"1 of 4 items cannot be applied; first: transaction {first}: ledger"):
        aa.Plan(frame).preview(report)
    cash = build.plan(None, build.item("txn_0", books.bank, books.outflow, books.savings))
    with pytest.raises(PlanError, match=r"transaction txn_0: ledger .* reports cash flow"):
        cash.preview(report)
    frame.loc[0, "updated_category_ledger_name"] = "  SOFTWARE"
    assert len(aa.Plan(frame).preview(report).frame) == 3


def test_preview_notes_irreversible_items(books, build):
    """A note names a part of a split that moves to a category the split already has, which cannot be undone."""
    plan = build.plan(
        None, build.item("txn_split", books.bank, books.outflow, books.rent, opposing=[books.outflow, books.rent])
    )
    note = plan.preview(books.report()).notes[-1]
    assert "cannot be undone: described on 2025-03-10, -1.50 (txn_split). They are refused unless" in note


def report_of(report, now, amounts, *, as_decimals):
    """Return a report in which these amounts moved to the ledger "out", and one cent to the ledger "in"."""
    amounts = [Decimal(amount) for amount in amounts]
    count = len(amounts)
    with localcontext(prec=200):
        moved = sum(amounts)
    lines = CashFlowLines.from_columns(
        {
            "line_id": list(map(str, range(count))), "ledger_id": ["out"] * count, "amount": amounts,
            "datetime": [now] * count, "cash_flow_ledger_name": ["Bank"] * count, "journal_entry_id": ["entry"] * count,
            "journal_entry_description": [""] * count,
        },
        as_decimals=as_decimals,
    )  # fmt: skip
    flows = CashFlowLedgers.from_columns(
        {"ledger_id": ["out", "in"], "name": ["Out", "In"]}
        | {name: [moved, Decimal("0.01")] for name in ("net_cash_flow", "total_net_cash_flow")},
        as_decimals=as_decimals,
    )
    return dataclasses.replace(report, ledgers=flows, lines=lines)


def test_preview_is_exact(books, build):
    """The preview of a report with decimals is exact at 38 digits, and has decimals."""
    large = report_of(books.report(), build.NOON, ["-123456789012345678901234567890123456.78"], as_decimals=True)
    preview = build.plan(None, build.item("t", "bank", "out", "in", entry="entry")).preview(large).frame
    assert [str(value) for value in preview["predicted"]] == [
        "-123456789012345678901234567890123456.77",
        "0.00",
    ]


def test_preview_has_the_nearest_floats(books, build):
    """The preview of a report with float64 amounts has float64 amounts, summed exactly."""
    report = report_of(books.report(), build.NOON, ["-0.10", "-0.20"], as_decimals=False)
    preview = build.plan(None, build.item("t", "bank", "out", "in", entry="entry")).preview(report).frame
    assert preview.to_dict("list") == {
        "ledger_id": ["in", "out"],
        "name": ["In", "Out"],
        "before": [0.01, -0.30],
        "change": [-0.30, 0.30],
        "predicted": [-0.29, 0.0],
    }


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([("t1", "out", "out", "e1")], "already has its new category"),
        ([("t1", "out", "meals", "e1"), ("t1", "out", "rent", "e1")], "appears twice"),
        ([("t1", "out", "meals", "e1"), ("t2", "out", "rent", "e1")], "journal entry e1"),
        ([("t1", "in", "out", "e1"), ("t1", "out", "meals", "e1")], "depend on their order"),
    ],
)
def test_contradictions_are_refused(build, items, message):
    """Items that change nothing, appear twice, contradict or depend on each other are refused."""
    with pytest.raises(PlanError, match=message):
        build.plan(None, *(build.item(t, "bank", before, after, entry=entry) for t, before, after, entry in items))


@pytest.mark.parametrize("column", ["transaction_id", "ledger_id", "journal_entry_id", "category_ledger_id"])
def test_an_empty_id_is_refused(build, column):
    """An item without an id cannot be sent, so it is refused before anything is."""
    frame = build.plan(None, build.item("t1", "bank", "out", "meals", entry="e1")).frame
    with pytest.raises(FrameError, match=f"{column}: empty where a value is required"):
        aa.Plan(frame.assign(**{column: ""}))


def test_two_transactions_may_share_an_entry(build):
    """Two accounts may pay one category line, and two categories of one entry may each get a new one."""
    shared = build.plan(
        None,
        build.item("t1", "bank", "out", "meals", entry="e"),
        build.item("t2", "card", "out", "meals", entry="e"),
        build.item("t1", "bank", "in", "sales", entry="e"),
    )
    assert len(shared) == 3


def test_plan_id_depends_on_the_changes_only(build):
    """Another order or description leaves plan_id unchanged; another category changes it."""
    items = [build.item(f"t{number}", "bank", "out", "meals") for number in range(3)]
    plan = build.plan("one", *items)
    assert build.plan("one", *reversed(items)).plan_id == plan.plan_id
    assert build.plan("one", *(one | {"description": "other"} for one in items)).plan_id == plan.plan_id
    assert build.plan("one", *items[:2]).plan_id != plan.plan_id
    assert build.plan("one", items[0] | {"updated_category_ledger_id": "rent"}, *items[1:]).plan_id != plan.plan_id


def test_plan_is_immutable(build):
    """Writing to its frame changes a copy."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals"))
    frame = plan.frame
    frame.loc[0, "updated_category_ledger_id"] = "bank"
    assert plan.frame["updated_category_ledger_id"].tolist() == ["meals"]
    with pytest.raises(AttributeError):
        plan.frame = pd.DataFrame()


def test_amounts_are_printed_with_every_digit(build):
    """Text and HTML of a plan show amounts with separators and all digits."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals", amount=Decimal("-1234.50")))
    assert plan.frame["amount"].tolist() == [-1234.5]
    assert " -1,234.50 " in repr(plan)
    assert "<td>-1,234.50</td>" in plan._repr_html_()


def test_html_is_escaped(build):
    """Descriptions are escaped in the HTML of a notebook."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals", description="<script>alert(1)</script>"))
    assert "<script>" not in plan._repr_html_()
    assert "items; .frame has all" not in plan._repr_html_()
    assert "&lt;script&gt;" in plan._repr_html_()


def test_minutes(build):
    """A plan states how long its changes take at 320 requests per minute, reads not counted."""
    items = (build.item(f"txn_{number}", "bank", "out", "meals") for number in range(80))
    assert build.plan(None, *items).minutes == 0.25
