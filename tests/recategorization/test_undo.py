"""Undo a run from its journal: everything is as before, and changes by other users stay."""

import collections
import datetime as dt
import functools
import json
import random
import re

import httpx
import pytest
from filelock import FileLock

import accounting_analytics as aa
from accounting_analytics.errors import PlanError

YEAR = ("2025-03-01", "2025-12-31")


def snapshot(books):
    """Return every line entry with its categories, and the report."""
    ledgers = aa.discover_ledgers(books.client, *YEAR)
    lines = aa.load_line_entries(books.client, ledgers["id"], *YEAR)
    report = aa.load_cash_flow_report(books.client, *YEAR)
    return lines, report.ledgers, report.lines


def assert_as_before(before, after):
    """Check that the books are as they were."""
    for old, new in zip(before, after, strict=True):
        assert old.equals(new)


def move(books, transaction_id, category, updated):
    """Change a category as another user."""
    books.client.recategorize_transaction(
        books.bank,
        transaction_id,
        updated_category_ledger_id=updated,
        category_ledger_id=category,
        modified_by="another user",
    )


class AddingCategory(httpx.BaseTransport):
    """The real transport, with one more category of one transaction in every listing."""

    def __init__(self, transaction_id, ledger_id):
        self._real = httpx.HTTPTransport()
        self._transaction_id, self._ledger_id = transaction_id, ledger_id

    def handle_request(self, request):
        """Return the response of the service with the category added."""
        response = self._real.handle_request(request)
        content = json.loads(response.read())
        for record in content.get("records", []):
            if record.get("transaction_id") == self._transaction_id:
                record["opposing_ledger_ids"].append(self._ledger_id)
        return httpx.Response(response.status_code, json=content)

    def close(self):
        """Close the real transport."""
        self._real.close()


@pytest.fixture
def applied(books, plan, tmp_path):
    """Return the journal of a run that completed."""
    aa.apply_plan(books.client, plan, journal=tmp_path / "run.journal", confirm=True, modified_by="ana")
    return tmp_path / "run.journal"


def test_undo_restores_everything(books, plan, tmp_path):
    """After undoing a run, line entries, categories and the report are as before; the audit log has both changes."""
    before = snapshot(books)
    aa.apply_plan(books.client, plan, journal=tmp_path / "run.journal", confirm=True, modified_by="ana")
    undo = aa.undo_plan(books.client, tmp_path / "run.journal")
    assert (undo.notes, len(undo.left_out), undo.instance_id) == ((), 0, books.instance)
    assert set(undo.frame["updated_category_ledger_name"]) == {"Uncategorized Cash Outflow"}
    outcomes = aa.apply_plan(books.client, undo, journal=tmp_path / "undo.journal", confirm=True, modified_by="ben")
    assert set(outcomes["outcome"]) == {"done"}
    assert_as_before(before, snapshot(books))
    changes = collections.Counter((row["transaction_id"], row["modified_by"]) for row in books.audit())
    assert changes == {(one, user): 1 for one in plan.frame["transaction_id"] for user in ("ana", "ben")}


def test_undo_plan_is_readable(books, plan, applied):
    """An item shows the description and the amount of its transaction; of a split the changed part is not known."""
    undo = aa.undo_plan(books.client, applied)
    mine, theirs = (one.frame.set_index("transaction_id").sort_index() for one in (undo, plan))
    for name in ("ledger_id", "journal_entry_id", "datetime", "description", "amount"):
        assert mine[name].equals(theirs[name]), name
    assert mine["category_amount"].drop("txn_split").equals(theirs["category_amount"].drop("txn_split"))
    assert mine["category_amount"].isna().sum() == 1
    assert mine["rule"].equals("undo: " + theirs["rule"])
    assert mine["group_id"].equals(theirs["group_id"])
    assert set(mine.loc["txn_split", "opposing_ledger_ids"].split("|")) == {books.meals, books.rent}


def test_undo_after_saving_and_undo_of_an_undo(books, plan, applied, tmp_path):
    """A saved undo is an ordinary plan file, and the journal of an undo can be undone in turn."""
    after = snapshot(books)
    aa.undo_plan(books.client, applied).save(tmp_path / "undo.csv")
    saved = aa.Plan.load(tmp_path / "undo.csv")
    aa.apply_plan(books.client, saved, journal=tmp_path / "undo.journal", confirm=True)
    redo = aa.undo_plan(books.client, tmp_path / "undo.journal")
    assert redo.plan_id == plan.plan_id
    aa.apply_plan(books.client, redo, journal=tmp_path / "redo.journal", confirm=True)
    assert_as_before(after, snapshot(books))


def test_undo_of_groups_and_transactions(books, plan, applied, tmp_path):
    """Only the changes of the groups and transactions that are named are taken back; the rest can be undone later."""
    groups = plan.frame.set_index("transaction_id")["group_id"]
    assert groups["txn_split"] != groups["txn_0"] != ""
    wanted = {one for one in groups.index if groups[one] == groups["txn_0"]} | {"txn_split"}
    assert wanted < set(groups.index)
    undo = aa.undo_plan(books.client, applied, groups=[groups["txn_0"], "txn_split"])
    assert (set(undo.frame["transaction_id"]), undo.notes) == (wanted, ())
    aa.apply_plan(books.client, undo, journal=tmp_path / "part.journal", confirm=True, modified_by="part")
    assert {row["transaction_id"] for row in books.audit() if row["modified_by"] == "part"} == wanted
    rest = aa.undo_plan(books.client, applied)
    assert set(rest.frame["transaction_id"]) == set(groups.index)
    outcomes = aa.apply_plan(books.client, rest, journal=tmp_path / "rest.journal", confirm=True)
    assert set(outcomes.loc[outcomes["outcome"] == "already_done", "transaction_id"]) == wanted
    redo = aa.undo_plan(books.client, tmp_path / "rest.journal")
    aa.apply_plan(books.client, redo, journal=tmp_path / "redo.journal", confirm=True)
    again = aa.undo_plan(books.client, tmp_path / "part.journal", groups=groups["txn_0"])  # of an undo, one group
    assert set(again.frame["transaction_id"]) == wanted - {"txn_split"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [("txn_00", "did you mean 'txn_0' or "), ("nothing of this kind", "it has 4 changes of 3 groups; without")],
)
def test_undo_of_an_unknown_group(books, applied, text, hint):
    """What is misspelt is refused with what is meant, and what is unknown with what there is."""
    with pytest.raises(PlanError, match=re.escape(f"no change of group or transaction '{text}'; {hint}")):
        aa.undo_plan(books.client, applied, groups=["txn_1", text])


def test_undo_of_a_journal_without_groups(books, build, applied):
    """The journal of a plan without groups offers its transactions."""
    build.rewrite(applied, lambda event: event | dict.fromkeys(event.keys() & {"rule", "group_id"}, ""))
    undo = aa.undo_plan(books.client, applied, groups="txn_1")
    assert undo.frame[["transaction_id", "rule", "group_id"]].to_numpy().tolist() == [["txn_1", "undo", ""]]
    with pytest.raises(PlanError, match="'merchant'; it does not state groups: give ids of transactions"):
        aa.undo_plan(books.client, applied, groups=["merchant"])


def test_changes_by_other_users_stay(books, build, applied, tmp_path):
    """A transaction that another user changed since, before or after planning the undo, is not changed."""
    move(books, "txn_0", books.meals, books.rent)
    move(books, "txn_split", books.rent, books.software)  # the other part of the split
    undo = aa.undo_plan(books.client, applied)
    left_out = undo.left_out
    assert build.outcomes(left_out) == {"txn_0": "changed_elsewhere", "txn_split": "changed_elsewhere"}
    assert left_out["reason"].str.startswith("its categories are now ").all()
    assert undo.notes == ("2 of 4 changes left out: another user has changed them since: txn_0, txn_split.",)
    move(books, "txn_1", books.meals, books.rent)
    outcomes = aa.apply_plan(books.client, undo, journal=tmp_path / "undo.journal", confirm=True, modified_by="us")
    assert build.outcomes(outcomes) == {"txn_1": "changed_elsewhere", "txn_2": "done"}
    assert {row["transaction_id"] for row in books.audit() if row["modified_by"] == "us"} == {"txn_2"}


def test_category_that_another_user_added(books, build, applied):
    """A transaction that another user split since, so that it has one more category, is not changed."""
    with books.connected(AddingCategory("txn_0", books.rent)) as client:
        undo = aa.undo_plan(client, applied)
    assert build.outcomes(undo.left_out) == {"txn_0": "changed_elsewhere"}
    assert books.rent in undo.left_out["reason"].iloc[0]
    assert "txn_0" not in set(undo.frame["transaction_id"])


def test_a_split_that_another_user_joined_stays(books, build, applied):
    """Where another user joined the changed part with another part, the undo would move both: it is left out."""
    move(books, "txn_split", books.rent, books.meals)
    assert build.outcomes(aa.undo_plan(books.client, applied).left_out) == {"txn_split": "changed_elsewhere"}


def test_joined_parts_are_refused(books, build, tmp_path):
    """A part that joined another part, whether planned or not before, cannot be restored; the rest is."""
    joining = build.plan(
        books.instance,
        build.item("txn_split", books.bank, books.outflow, books.rent, opposing=[books.outflow, books.rent]),
        build.item("txn_1", books.bank, books.outflow, books.rent, 1),
    )
    aa.apply_plan(books.client, joining, journal=tmp_path / "journal", confirm=True, allow_irreversible=True)
    undo = aa.undo_plan(books.client, tmp_path / "journal")
    assert undo.frame["transaction_id"].tolist() == ["txn_1"]
    assert build.outcomes(undo.left_out) == {"txn_split": "refused"}
    assert "joined this part of a split" in undo.left_out["reason"].iloc[0]


@pytest.mark.parametrize("carried_out", [1, 2])
def test_parts_with_one_new_category(books, build, tmp_path, carried_out):
    """Two parts that got one new category cannot be distinguished; if only one did, it is restored."""
    opposing = [books.outflow, books.rent]
    both = build.plan(
        books.instance,
        *(build.item("txn_split", books.bank, one, books.meals, opposing=opposing, entry="entry") for one in opposing),
    )
    transport = build.Faulty(on_put=lambda count, _: "late" if count > carried_out else None)
    with books.connected(transport) as client:
        aa.apply_plan(client, both, journal=tmp_path / "journal", confirm=True, allow_irreversible=True)
    past = (dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)).isoformat()
    build.rewrite(tmp_path / "journal", lambda event: event | {"at": past})
    undo = aa.undo_plan(books.client, tmp_path / "journal")
    if carried_out == 1:
        assert len(undo) == 1
        assert undo.left_out["outcome"].tolist() == ["already_done"]
        aa.apply_plan(books.client, undo, journal=tmp_path / "undo.journal", confirm=True)
        lines = books.client.iter_line_entries(books.bank, *YEAR, expand=["opposing_ledger_ids"])
        (now,) = (line.opposing_ledger_ids for line in lines if line.transaction_id == "txn_split")
        assert sorted(now) == sorted(opposing)
    else:
        assert len(undo) == 0
        assert undo.left_out["outcome"].tolist() == ["refused", "refused"]


def test_change_that_may_still_be_carried_out(books, build, many, tmp_path):
    """A lost change is left out while it may still be carried out, and undone afterwards."""
    plan, journal = many(3), tmp_path / "journal"
    transport = build.Faulty(on_put=lambda count, _: "late" if count != 2 else None)
    with books.connected(transport) as client:
        aa.apply_plan(client, plan, journal=journal, confirm=True)
        early = aa.undo_plan(client, journal)
        assert len(early) == 1
        assert early.left_out["outcome"].tolist() == ["unknown", "unknown"]
        transport.carry_out_late()
    late = aa.undo_plan(books.client, journal)
    assert len(late) == 3
    outcomes = aa.apply_plan(books.client, late, journal=tmp_path / "undo.journal", confirm=True)
    assert set(outcomes["outcome"]) == {"done"}


def test_interrupted_undo_is_resumed(books, build, applied, tmp_path):
    """Planning an interrupted undo again gives the same plan, which its journal resumes."""
    undo = aa.undo_plan(books.client, applied)
    with books.connected(build.Faulty(on_put=build.only(3, "killed"))) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, undo, journal=tmp_path / "undo.journal", confirm=True)
    again = aa.undo_plan(books.client, applied)
    assert again.plan_id == undo.plan_id
    outcomes = aa.apply_plan(books.client, again, journal=tmp_path / "undo.journal", confirm=True)
    assert sorted(outcomes["outcome"]) == ["already_done", "already_done", "done", "unknown"]  # one was under way
    outcomes = aa.apply_plan(books.client, again, journal=tmp_path / "other.journal", confirm=True)
    assert sorted(outcomes["outcome"]) == ["already_done", "already_done", "already_done", "done"]


def test_undo_of_a_change_whose_response_was_not_recorded(books, build, many, tmp_path):
    """A resumed run records that the change of a killed run is done: it can be undone, and is not sent again then."""
    plan, journal = many(1), tmp_path / "journal"

    def killed():
        raise KeyboardInterrupt

    transport = build.Faulty(on_put=lambda *_: "lost after", on_get=lambda *_: killed if transport.puts else None)
    with books.connected(transport) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=journal, confirm=True)
    build.rewrite(journal, lambda event: None if event["event"] == "unknown" else event)  # killed before the response
    resumed = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert resumed["outcome"].tolist() == ["already_done"]
    undo = aa.undo_plan(books.client, journal)
    aa.apply_plan(books.client, undo, journal=tmp_path / "undo", confirm=True)
    assert aa.undo_plan(books.client, journal).plan_id == undo.plan_id
    again = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert again["outcome"].tolist() == ["changed_elsewhere"]
    assert len(books.audit()) == 2


def test_refused_changes_have_nothing_to_undo(books, build, plan, tmp_path):
    """A change that the service refused is not part of the undo."""
    with books.connected(build.Faulty(on_put=build.only(2, 422))) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    undo = aa.undo_plan(books.client, tmp_path / "journal")
    done = {one for one, outcome in build.outcomes(frame).items() if outcome == "done"}
    assert set(undo.frame["transaction_id"]) == done
    assert len(undo.left_out) == 0


def test_journal_without_the_name_of_a_category(books, build, many, tmp_path):
    """Where the run did not know the name of the previous category, its id stands in."""
    plan, journal = many(2), tmp_path / "journal"
    aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    for number in range(4):
        move(books, f"txn_{number}", books.outflow, books.rent)
    move(books, "txn_split", books.outflow, books.software)  # no line shows the name any more
    named = aa.undo_plan(books.client, journal)
    assert (set(named.frame["updated_category_ledger_name"]), named.notes) == ({"Uncategorized Cash Outflow"}, ())
    build.rewrite(journal, lambda event: event | dict.fromkeys(event.keys() & {"category_name"}))
    unnamed = aa.undo_plan(books.client, journal)
    assert set(unnamed.frame["updated_category_ledger_name"]) == {books.outflow}
    assert "names of 1 previous category" in unnamed.notes[0]
    outcomes = aa.apply_plan(books.client, unnamed, journal=tmp_path / "undo.journal", confirm=True)
    assert set(outcomes["outcome"]) == {"done"}


def test_journal_without_its_end(books, applied):
    """A journal that was cut at the end of a line is undone only where that is asked for, and the plan says so."""
    lines = applied.read_text().splitlines(keepends=True)
    applied.write_text("".join(lines[:7]))
    with pytest.raises(PlanError, match=r"has no end line: .*incomplete=True \(--incomplete\)"):
        aa.undo_plan(books.client, applied)
    undo = aa.undo_plan(books.client, applied, incomplete=True)
    assert 0 < len(undo) < 4
    assert undo.notes == (
        "The journal has no end line: its run was interrupted, or the end of it is missing, so it may lack changes.",
    )
    with pytest.raises(aa.errors.InputError, match="incomplete is of type str"):
        aa.undo_plan(books.client, applied, incomplete="False")


def test_interrupted_run_can_be_undone(books, build, plan, tmp_path):
    """The changes of a killed run are undone where that is asked for; once it is resumed, without."""
    journal = tmp_path / "journal"
    with books.connected(build.Faulty(on_put=build.only(3, "killed"))) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=journal, confirm=True)
    with pytest.raises(PlanError, match="has no end line"):
        aa.undo_plan(books.client, journal)
    assert len(aa.undo_plan(books.client, journal, incomplete=True)) == 2
    aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert len(aa.undo_plan(books.client, journal)) == 3


def test_unusable_journals(books, build, applied, tmp_path):
    """A missing journal, one of another instance and one that a run uses are refused."""
    with pytest.raises(PlanError, match="does not exist or is empty; pass the journal of the run"):
        aa.undo_plan(books.client, tmp_path / "nowhere")
    assert list(tmp_path.glob("nowhere*")) == []
    with FileLock(f"{applied}.lock"), pytest.raises(PlanError, match="another run uses the journal"):
        aa.undo_plan(books.client, applied)
    build.rewrite(applied, lambda event: event | ({"instance_id": "x"} if event["event"] == "plan" else {}))
    with pytest.raises(PlanError, match="belongs to instance 'x'"):
        aa.undo_plan(books.client, applied)


def apply_with_faults(books, build, chance, make_plan, journal):
    """Apply a plan in runs that are killed anywhere, with a fifth of the responses lost, until one completes.

    What a run leaves alone as unknown is sent with a further journal.
    """
    choices = ["lost before", "lost after", "killed", *[None] * 12]
    for _ in range(200):
        transport = build.Faulty(
            on_put=lambda *_: chance.choice(choices), on_get=lambda *_: chance.choice(["killed", *[None] * 30])
        )
        try:
            with books.connected(transport) as client:
                frame = aa.apply_plan(client, make_plan(client), journal=journal, confirm=True)
        except KeyboardInterrupt:
            continue
        if frame["outcome"].isin(["done", "already_done", "changed_elsewhere"]).all():
            return frame
        journal = journal.with_name(f"{journal.name}-more")
    pytest.fail("the run never completed")


@pytest.mark.long
@pytest.mark.soak
def test_undo_under_faults(books, build, many, tmp_path, soak_count):
    """With runs killed between any two requests, responses lost and another user at work, the books are as before."""
    plan = many(8)
    for seed in range(soak_count(100, fewer=4)):
        chance = random.Random(seed)  # noqa: S311 (a reproducible test)
        before, changes = snapshot(books), len(books.audit())
        journal = tmp_path / f"run-{seed}"
        apply_with_faults(books, build, chance, lambda _client: plan, journal)
        build.rewrite(journal, build.a_minute_ago)
        theirs = chance.sample(sorted(plan.frame["transaction_id"]), 2)
        for one in theirs:
            move(books, one, books.meals, books.rent)
        inverse = functools.partial(aa.undo_plan, journal=journal)
        apply_with_faults(books, build, chance, inverse, tmp_path / f"undo-{seed}")
        made = collections.Counter(row["transaction_id"] for row in books.audit()[changes:])
        assert made == dict.fromkeys(plan.frame["transaction_id"], 2)
        for one in theirs:
            move(books, one, books.rent, books.outflow)
        assert_as_before(before, snapshot(books))
