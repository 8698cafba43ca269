"""Undo a run from its journal: everything is as before, and changes by other users stay."""

import collections
import re

import pytest
from filelock import FileLock

import accounting_analytics as aa
from accounting_analytics.core.errors import PlanError


def test_undo_restores_everything(company_books, plan, tmp_path):
    before = company_books.snapshot()
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "run.journal", confirm=True, modified_by="ana")
    undo = aa.undo_plan(company_books.client, tmp_path / "run.journal")
    assert (undo.notes, len(undo.left_out), undo.instance_id) == ((), 0, company_books.instance)
    assert set(undo.frame["updated_category_ledger_name"]) == {"Uncategorized Cash Outflow"}
    outcomes = aa.apply_plan(
        company_books.client, undo, journal=tmp_path / "undo.journal", confirm=True, modified_by="ben"
    )
    assert set(outcomes["outcome"]) == {"done"}
    assert company_books.snapshot() == before
    changes = collections.Counter((row["transaction_id"], row["modified_by"]) for row in company_books.audit())
    assert changes == {(one, user): 1 for one in plan.frame["transaction_id"] for user in ("ana", "ben")}


def test_undo_plan_is_readable(company_books, plan, applied):
    undo = aa.undo_plan(company_books.client, applied)
    mine, theirs = (one.frame.set_index("transaction_id").sort_index() for one in (undo, plan))
    for name in ("ledger_id", "journal_entry_id", "datetime", "description", "transaction_amount"):
        assert mine[name].equals(theirs[name]), name
    assert mine["rule"].equals("undo: " + theirs["rule"])
    assert mine["group_id"].equals(theirs["group_id"])
    assert set(mine.loc["txn_split", "opposing_ledger_ids"].split("|")) == {company_books.meals, company_books.rent}


def test_named_groups_and_transactions_alone_are_undone(company_books, plan, applied, tmp_path):
    groups = plan.frame.set_index("transaction_id")["group_id"]
    assert groups["txn_split"] != groups["txn_0"] != ""
    wanted = {one for one in groups.index if groups[one] == groups["txn_0"]} | {"txn_split"}
    assert wanted < set(groups.index)
    undo = aa.undo_plan(company_books.client, applied, groups=[groups["txn_0"], "txn_split"])
    assert (set(undo.frame["transaction_id"]), undo.notes) == (wanted, ())
    aa.apply_plan(company_books.client, undo, journal=tmp_path / "part.journal", confirm=True, modified_by="part")
    assert {row["transaction_id"] for row in company_books.audit() if row["modified_by"] == "part"} == wanted
    rest = aa.undo_plan(company_books.client, applied)
    assert set(rest.frame["transaction_id"]) == set(groups.index)
    outcomes = aa.apply_plan(company_books.client, rest, journal=tmp_path / "rest.journal", confirm=True)
    assert set(outcomes.loc[outcomes["outcome"] == "already_done", "transaction_id"]) == wanted
    redo = aa.undo_plan(company_books.client, tmp_path / "rest.journal")
    aa.apply_plan(company_books.client, redo, journal=tmp_path / "redo.journal", confirm=True)
    again = aa.undo_plan(
        company_books.client, tmp_path / "part.journal", groups=groups["txn_0"]
    )  # of an undo, one group
    assert set(again.frame["transaction_id"]) == wanted - {"txn_split"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [("txn_00", "did you mean 'txn_0' or "), ("nothing of this kind", "it has 4 changes of 3 groups; without")],
)
def test_unknown_groups_are_refused_with_those_that_exist(company_books, applied, text, hint):
    with pytest.raises(PlanError, match=re.escape(f"no change of group or transaction '{text}'; {hint}")):
        aa.undo_plan(company_books.client, applied, groups=["txn_1", text])


def test_changes_by_other_users_stay(company_books, build, applied, tmp_path):
    company_books.move("txn_0", company_books.meals, company_books.rent)
    company_books.move("txn_split", company_books.rent, company_books.software)  # the other part of the split
    undo = aa.undo_plan(company_books.client, applied)
    assert (len(undo), undo.left_out, undo.notes) == (4, (), ())
    company_books.move("txn_1", company_books.meals, company_books.rent)
    outcomes = aa.apply_plan(
        company_books.client, undo, journal=tmp_path / "undo.journal", confirm=True, modified_by="us"
    )
    theirs = dict.fromkeys(["txn_0", "txn_1", "txn_split"], "changed_elsewhere")
    assert build.outcomes(outcomes) == theirs | {"txn_2": "done"}
    assert outcomes["reason"][outcomes["outcome"] != "done"].str.startswith("its categories are now ").all()
    assert {row["transaction_id"] for row in company_books.audit() if row["modified_by"] == "us"} == {"txn_2"}


def test_joined_parts_are_refused(company_books, build, tmp_path):
    joining = build.plan(
        company_books.instance,
        build.item(
            "txn_split",
            company_books.bank,
            company_books.outflow,
            company_books.rent,
            opposing=[company_books.outflow, company_books.rent],
        ),
        build.item("txn_1", company_books.bank, company_books.outflow, company_books.rent, 1),
    )
    done = aa.apply_plan(
        company_books.client, joining, journal=tmp_path / "journal", confirm=True, allow_irreversible=True
    )
    assert set(done["outcome"]) == {"done"}
    undo = aa.undo_plan(company_books.client, tmp_path / "journal")
    assert undo.frame["transaction_id"].tolist() == ["txn_1"]
    assert [one.transaction_id for one in undo.left_out] == ["txn_split"]
    assert undo.notes[0].startswith("1 of 2 changes left out: they joined a part of a split with another part; these")
    assert undo.notes[0].endswith("on 2025-03-10, -1.50 (txn_split).")


def test_journal_without_its_end_is_undone_only_on_request(company_books, applied):
    lines = applied.read_text().splitlines(keepends=True)
    applied.write_text("".join(lines[:7]))
    with pytest.raises(PlanError, match=r"has no end line: .*incomplete=True \(--incomplete\)"):
        aa.undo_plan(company_books.client, applied)
    undo = aa.undo_plan(company_books.client, applied, incomplete=True)
    assert 0 < len(undo) < 4
    assert undo.notes == (
        "The journal has no end line: its run was interrupted, or the end of it is missing, so it may lack changes.",
    )
    with pytest.raises(aa.errors.InputError, match="incomplete is of type str"):
        aa.undo_plan(company_books.client, applied, incomplete="False")


def test_unusable_journals_are_refused(company_books, build, applied, tmp_path):
    with pytest.raises(PlanError, match="does not exist or is empty; pass the journal of the run"):
        aa.undo_plan(company_books.client, tmp_path / "nowhere")
    assert list(tmp_path.glob("nowhere*")) == []
    with FileLock(f"{applied}.lock"), pytest.raises(PlanError, match="another run uses the journal"):
        aa.undo_plan(company_books.client, applied)
    build.rewrite(applied, lambda event: event | ({"instance_id": "x"} if event["event"] == "plan" else {}))
    with pytest.raises(PlanError, match="belongs to instance 'x'"):
        aa.undo_plan(company_books.client, applied)


def test_unrecorded_change_of_a_killed_run_can_be_undone(company_books, build, many, tmp_path):
    plan, journal = many(1), tmp_path / "journal"

    def killed():
        raise KeyboardInterrupt

    transport = build.Faulty(on_put=lambda *_: "lost after", on_get=lambda *_: killed if transport.puts else None)
    with company_books.connected(transport) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=journal, confirm=True)
    build.rewrite(journal, lambda event: None if event["event"] == "response" else event)  # killed before the response
    resumed = aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    assert resumed["outcome"].tolist() == ["already_done"]
    undo = aa.undo_plan(company_books.client, journal)
    aa.apply_plan(company_books.client, undo, journal=tmp_path / "undo", confirm=True)
    assert aa.undo_plan(company_books.client, journal).plan_id == undo.plan_id
    build.rewrite(journal, build.a_minute_ago)
    again = aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    assert again["outcome"].tolist() == ["changed_elsewhere"]
    assert len(company_books.audit()) == 2


def test_verify_and_apply_agree_after_an_undo(company_books, plan, tmp_path):
    journal = tmp_path / "journal"
    aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    aa.apply_plan(
        company_books.client, aa.undo_plan(company_books.client, journal), journal=tmp_path / "undo", confirm=True
    )
    verified = aa.verify_plan(company_books.client, plan, journal=journal)
    applied = aa.apply_plan(company_books.client, plan, journal=journal, confirm=True)
    assert set(verified["outcome"]) == set(applied["outcome"]) == {"changed_elsewhere"}
    assert verified["reason"].tolist() == applied["reason"].tolist()
