"""Applying and verifying a plan on a real service: what is sent, what is refused, and the outcomes."""

import datetime as dt
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.core.errors import AuthenticationError, InputError, PlanError, ServiceError
from accounting_analytics.recategorization.outcomes import OUTCOMES, compare_with_books

PAGE = Path(__file__).parents[2] / ".github" / "ARCHITECTURE.md"


def test_table_of_outcomes_is_in_architecture():
    head = ["response", *next(iter(OUTCOMES.values()))]
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    start = lines.index(head)
    shown = [[cell.strip("`") for cell in line] for line in lines[start + 2 : start + 2 + len(OUTCOMES)]]
    assert shown == [[response, *row.values()] for response, row in OUTCOMES.items()]


def test_dry_run_considers_the_journal(company_books, plan, tmp_path):
    journal = tmp_path / "journal"
    aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    content = journal.read_bytes()
    undo = aa.undo_plan(company_books.client, journal)
    with pytest.raises(PlanError, match=f"belongs to another plan .{plan.plan_id}., not to {undo.plan_id}"):
        aa.apply_plan(company_books.client, undo, journal=journal)
    aa.apply_plan(company_books.client, undo, journal=tmp_path / "undo", confirm=True)
    dry = aa.apply_plan(company_books.client, plan, journal=journal)
    assert set(dry["outcome"]) == {"changed_elsewhere"}
    assert "a run with a new journal" in dry["reason"].iloc[0]
    assert journal.read_bytes() == content
    pd.testing.assert_frame_equal(dry, aa.apply_plan(company_books.client, plan, journal=journal, confirm=True))
    assert set(aa.apply_plan(company_books.client, plan, journal=tmp_path / "new")["outcome"]) == {"would_change"}


def test_an_unusable_journal_is_refused_before_a_request(company_books, build, plan, tmp_path):
    (tmp_path / "plan.csv").write_text("transaction_id,ledger_id\n")
    (tmp_path / "other").write_text('{"event": "plan", "plan_id": "q"}\n')
    build.rewrite(tmp_path / "other", lambda event: event)
    transport = build.Faulty()
    with company_books.connected(transport) as client:
        unusable = {"": "Is a directory", "plan.csv": "not a journal", "other": "another plan", "other/a": "cannot be"}
        for name, message in unusable.items():
            for confirm in (False, True):
                with pytest.raises(PlanError, match=message):
                    aa.apply_plan(client, plan, journal=tmp_path / name, confirm=confirm)
    assert transport.gets == transport.puts == 0


def test_confirmed_run_applies_every_item_once(company_books, plan, tmp_path):
    with company_books.connected(time_zone="Pacific/Kiritimati") as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True, modified_by="Zoë")
        assert set(aa.verify_plan(client, plan)["outcome"]) == {"done"}
    assert set(frame["outcome"]) == {"done"}
    assert frame["transaction_id"].tolist() == plan.frame["transaction_id"].tolist()
    assert [row["modified_by"] for row in company_books.audit()] == ["Zoë"] * len(plan)
    assert sorted(row["transaction_id"] for row in company_books.audit()) == sorted(plan.frame["transaction_id"])


def test_unchanged_item_is_unknown_until_a_minute_passed(company_books, build, many, tmp_path):
    plan, journal = many(2), tmp_path / "journal"
    assert "without the journal" in aa.verify_plan(company_books.client, plan)["reason"].iloc[0]
    with pytest.raises(PlanError, match="does not exist or is empty"):
        aa.verify_plan(company_books.client, plan, journal=tmp_path / "nowhere")
    assert not list(tmp_path.glob("nowhere*"))
    with company_books.connected(build.Faulty(on_put=lambda *_: "lost before")) as client:
        aa.apply_plan(client, plan, journal=journal, confirm=True)
    early = aa.verify_plan(company_books.client, plan, journal=journal)
    assert set(early["outcome"]) == {"unknown"}
    assert early["reason"].str.contains("sent less than 60 seconds before may still be carried out").all()
    build.rewrite(journal, build.a_minute_ago)
    assert set(aa.verify_plan(company_books.client, plan, journal=journal)["outcome"]) == {"not_done"}
    with pytest.raises(PlanError, match="belongs to another plan"):
        aa.verify_plan(company_books.client, aa.Plan.from_frame(plan.frame[:1]), journal=journal)


def test_transactions_that_share_a_line_change_it_once(company_books, build, tmp_path):
    parts = {
        company_books.bank: Part(-5, "txn_one", "SHARED"),
        company_books.savings: Part(-5, "txn_other", "SHARED"),
        company_books.outflow: 10,
    }
    company_books.post((build.NOON, parts))
    shared = build.plan(
        company_books.instance,
        build.item("txn_one", company_books.bank, company_books.outflow, company_books.meals, entry="shared"),
        build.item("txn_other", company_books.savings, company_books.outflow, company_books.meals, entry="shared"),
    )
    frame = aa.apply_plan(company_books.client, shared, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["already_done", "done"]
    assert len(company_books.audit()) == 1
    assert set(aa.verify_plan(company_books.client, shared)["outcome"]) == {"done"}


def test_invalid_rows_are_refused_individually(company_books, build, many, tmp_path):
    good = many(3)
    bad = [
        build.item("txn_nowhere", company_books.bank, company_books.outflow, company_books.meals),
        build.item("txn_ledger", "led_nowhere", company_books.outflow, company_books.meals),
        build.item("txn_2", company_books.bank, company_books.outflow, "led_nowhere"),
        build.item("..", company_books.bank, company_books.outflow, company_books.meals),
        build.item("txn_dots", "..", company_books.outflow, company_books.meals),
    ]
    mixed = aa.Plan([*good.items, *build.plan(None, *bad).items])
    frame = aa.apply_plan(company_books.client, mixed, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["done"] * 3 + ["refused"] * 5
    assert frame["reason"].iloc[3:].str.len().gt(0).all()
    assert len(company_books.audit()) == 3
    misdated = build.plan(
        None, build.item("txn_3", company_books.bank, company_books.outflow, company_books.meals, hours=24 * 90)
    )
    frame = aa.apply_plan(company_books.client, misdated, journal=tmp_path / "misdated", confirm=True)
    assert build.outcomes(frame) == {"txn_3": "refused"}


@pytest.mark.parametrize("confirm", [False, True])
def test_unusable_categories_refuse_their_items(company_books, build, many, tmp_path, confirm):
    edited = {
        "txn_0": ("led_nowhere", "Travel", "the books have no ledger 'led_nowhere' (list line entries"),
        "txn_1": ("..", "Dots", "the books have no ledger '..'"),
        "txn_2": (company_books.meals, "Travel", "is named 'Meals' in the books, not 'Travel'; decide which is meant"),
    }
    items = (
        build.item(one, company_books.bank, company_books.outflow, updated, updated_category_ledger_name=name)
        for one, (updated, name, _) in edited.items()
    )
    mixed = aa.Plan([*build.plan(None, *items).items, *many(2).items])
    transport = build.Faulty()
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, mixed, journal=tmp_path / "journal", confirm=confirm)
    assert frame["outcome"].tolist() == [*["refused"] * 3, *["done" if confirm else "would_change"] * 2]
    for reason, (*_, expected) in zip(frame["reason"], edited.values(), strict=False):
        assert expected in reason
    assert transport.puts == len(company_books.audit()) == (2 if confirm else 0)


def test_name_is_read_where_earlier_days_are_refused(company_books, build, tmp_path):
    edited = build.item(
        "txn_0", company_books.bank, company_books.outflow, company_books.meals, updated_category_ledger_name="Travel"
    )
    transport = build.Faulty(on_get=lambda _, request: 422 if "2024-" in str(request.url) else None)
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, build.plan(None, edited), journal=tmp_path / "journal")
    assert "is named 'Meals' in the books, not 'Travel'" in frame["reason"].iloc[0]


def test_category_without_lines_is_used(company_books, build, tmp_path):
    travel = company_books.client.create_ledger(
        name="Travel", type="expense", sub_type="operating_expenses", debit_credit="debit", report_cash_flow=False,
        sort_code="9", editable=True,
    )  # fmt: skip
    plan = build.plan(None, build.item("txn_0", company_books.bank, company_books.outflow, travel.id))
    frame = aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["done"]


def test_changes_already_made_are_not_refused_for_their_name(company_books, plan, tmp_path):
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    renamed = aa.Plan.from_frame(plan.frame.assign(updated_category_ledger_name="Other"), instance_id=plan.instance_id)
    frame = aa.apply_plan(company_books.client, renamed, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"already_done"}


def test_cash_ledger_cannot_be_a_category(company_books, build, tmp_path):
    plan = build.plan(
        company_books.instance, build.item("txn_0", company_books.bank, company_books.outflow, company_books.savings)
    )
    for confirm in (False, True):
        with pytest.raises(PlanError, match="reports cash flow"):
            aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=confirm)
    assert company_books.audit() == []


def test_plan_of_another_instance_is_refused(company_books, build, tmp_path):
    foreign = build.plan("other", build.item("txn_0", company_books.bank, company_books.outflow, company_books.meals))
    with pytest.raises(PlanError, match="'other'"):
        aa.apply_plan(company_books.client, foreign, journal=tmp_path / "journal", confirm=True)
    with pytest.raises(PlanError, match="'other'"):
        aa.verify_plan(company_books.client, foreign)
    assert company_books.audit() == []


def test_unusable_arguments_are_refused_first(company_books, plan, tmp_path):
    journal = tmp_path / "journal"
    with pytest.raises(InputError, match=r"confirm is of type str, not bool; pass True or False"):
        aa.apply_plan(company_books.client, plan, journal=journal, confirm="False")
    with pytest.raises(InputError, match="allow_irreversible is of type str, not bool"):
        aa.apply_plan(company_books.client, plan, journal=journal, allow_irreversible="no")
    for name in ("Zoë\n", " Zoë", ""):
        with pytest.raises(InputError, match="modified_by"):
            aa.apply_plan(company_books.client, plan, journal=journal, confirm=True, modified_by=name)
    assert not journal.exists()


def test_a_closed_client_is_an_error(company_books, plan, tmp_path):
    """A client that cannot read the books does not make its transactions look absent from them."""
    journal = tmp_path / "journal"
    aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    with company_books.connected(None) as client:
        pass
    for call in (aa.verify_plan, aa.apply_plan):
        with pytest.raises(InputError, match="the client is closed"):
            call(client, plan, journal=journal)


def test_empty_plan_does_nothing(company_books, build, tmp_path):
    frame = aa.apply_plan(company_books.client, build.plan(None), journal=tmp_path / "journal", confirm=True)
    assert frame.empty
    assert aa.verify_plan(company_books.client, build.plan(None)).empty
    assert not (tmp_path / "journal").exists()


def test_expired_token_stops_the_run(company_books, build, plan, tmp_path):
    transport = build.Faulty(on_put=build.only(2, 401))
    with (
        company_books.connected(transport) as client,
        pytest.raises(AuthenticationError, match="run again with the same journal") as caught,
    ):
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert transport.puts == 2
    assert company_books.token not in str(caught.value)
    assert len(company_books.audit()) == 1
    frame = aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["already_done", "done", "done", "done"]
    assert len(company_books.audit()) == len(plan)


def test_unreadable_books_stop_before_the_first_change(company_books, build, plan, tmp_path):
    transport = build.Faulty(on_get=lambda *_: 503)
    with company_books.connected(transport) as client, pytest.raises(ServiceError):
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert transport.puts == 0


def test_only_the_days_of_the_plan_are_read(company_books, build, tmp_path):
    hours = [0, 2, 48, 24 * 40, 24 * 41, 24 * 90]
    numbers = range(10, 10 + len(hours))
    entries = [
        build.purchase(number, f"SHOP {number}", "1.00", company_books.bank, company_books.outflow)
        for number in numbers
    ]
    days = [build.NOON + dt.timedelta(hours=later) for later in hours]
    company_books.post(*((day, *entry[1:]) for entry, day in zip(entries, days, strict=True)))
    plan = build.plan(
        company_books.instance,
        *(
            build.item(f"txn_{number}", company_books.bank, company_books.outflow, company_books.meals, later)
            for number, later in zip(numbers, hours, strict=True)
        ),
    )
    listings = []

    def add_listing(_count, request):
        if request.url.path.endswith(f"/{company_books.bank}/line-entries"):
            listings.append((request.url.params["start_date"], request.url.params["end_date"]))

    with company_books.connected(build.Faulty(on_get=add_listing)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal")
    assert set(frame["outcome"]) == {"would_change"}
    assert listings == [("2025-03-10", "2025-03-12"), ("2025-04-19", "2025-04-20"), ("2025-06-08", "2025-06-08")]


@pytest.fixture
def joining(company_books, build):
    """Return a plan that joins the parts of a split, and changes another transaction."""
    opposing = [company_books.outflow, company_books.rent]
    return build.plan(
        company_books.instance,
        build.item("txn_split", company_books.bank, company_books.outflow, company_books.rent, opposing=opposing),
        build.item("txn_1", company_books.bank, company_books.outflow, company_books.rent, 1),
    )


@pytest.mark.parametrize("confirm", [False, True])
def test_a_join_is_refused_and_the_rest_is_done(company_books, build, joining, tmp_path, confirm):
    frame = aa.apply_plan(company_books.client, joining, journal=tmp_path / "journal", confirm=confirm)
    assert build.outcomes(frame) == {"txn_split": "refused", "txn_1": "done" if confirm else "would_change"}
    assert "cannot be undone; choose another new category, or allow it" in frame["reason"].iloc[0]
    assert {row["transaction_id"] for row in company_books.audit()} == ({"txn_1"} if confirm else set())


def test_two_parts_with_one_new_category_are_refused(company_books, build, tmp_path):
    opposing = [company_books.outflow, company_books.rent]
    both = build.plan(
        company_books.instance,
        *(
            build.item("txn_split", company_books.bank, one, company_books.meals, opposing=opposing, entry="one")
            for one in opposing
        ),
    )
    note = both.preview(company_books.report()).notes[-1]
    assert "2 of 2 items would join a part of a split" in note
    assert "cannot be undone: described on 2025-03-10, -1.50 (txn_split); described on" in note
    frame = aa.apply_plan(company_books.client, both, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["refused", "refused"]
    assert company_books.audit() == []


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
