"""The journal of a run: its content, how it is resumed, and what it refuses."""

import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import PlanError


def test_journal_is_enough_to_undo_a_run(company_books, build, plan, tmp_path):
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="ana")
    header, *rest = build.events(tmp_path / "journal")
    assert (header["event"], header["plan_id"], header["instance_id"]) == ("plan", plan.plan_id, company_books.instance)
    assert plan.instance_id == company_books.instance
    intents = {event["transaction_id"]: event for event in rest if event["event"] == "intent"}
    assert set(intents) == set(plan.frame["transaction_id"])
    split = intents["txn_split"]
    assert split["opposing_ledger_ids"].split("|") == sorted([company_books.outflow, company_books.rent])
    assert (split["description"], split["transaction_amount"]) == ("HARDWARE STORE", "-70.00")
    assert split["uncategorized_amount"] == "-30.00"
    assert (split["category_ledger_id"], split["updated_category_ledger_id"]) == (
        company_books.outflow,
        company_books.meals,
    )
    assert (split["ledger_id"], split["modified_by"]) == (company_books.bank, "ana")
    assert {one: intents[one]["rule"] for one in intents} == {
        "txn_0": "coffee", "txn_1": "coffee", "txn_2": "software", "txn_split": "hardware",
    }  # fmt: skip
    order = [event["event"] for event in rest if event.get("transaction_id") == "txn_split"]
    assert order == ["intent", "response", "outcome"]
    assert company_books.token not in (tmp_path / "journal").read_text()


def test_a_suggestion_is_recorded_with_its_reason(company_books, build, tmp_path):
    ledgers, lines = company_books.load()
    why = {"confidence": 0.99, "reason": "all of 9 past transactions in Meals"}
    proposals = build.proposals(aa.uncategorized_queue(aa.Books(lines, ledgers)), {"txn_0": company_books.meals}, **why)
    plan = aa.plan_recategorization(proposals, books_of(ledgers))
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    (intent,) = [event for event in build.events(tmp_path / "journal") if event["event"] == "intent"]
    assert {name: intent[name] for name in why} == why
    (undone,) = aa.undo_plan(company_books.client, tmp_path / "journal").items
    assert (undone.confidence, undone.reason) == (None, None)


def test_run_that_ends_says_so(company_books, build, plan, applied):
    end = build.events(applied)[-1]
    assert (end["event"], end["sent"], end["outcomes"]) == ("end", 4, {"done": 4})
    aa.apply_plan(company_books.client, plan, journal=applied, confirm=True)
    assert [(event["sent"], event["outcomes"]) for event in build.events(applied) if event["event"] == "end"] == [
        (4, {"done": 4}), (4, {"already_done": 4}),
    ]  # fmt: skip
    killed = applied.with_name("killed")
    undo = aa.undo_plan(company_books.client, applied)
    with (
        company_books.connected(build.Faulty(on_put=build.only(2, "killed"))) as client,
        pytest.raises(KeyboardInterrupt),
    ):
        aa.apply_plan(client, undo, journal=killed, confirm=True)
    assert [event["event"] for event in build.events(killed)] == ["plan", "intent", "response", "intent"]


def damaged_copies(lines):
    """Return the content of journals that were edited, with the first line that shows it, and that may be removed."""
    for number in range(len(lines)):
        yield [*lines[:number], lines[number].replace(b'"2026', b'"2025', 1), *lines[number + 1 :]], number
        yield [*lines[:number], lines[number].replace(b'{"event"', b'{"even"', 1), *lines[number + 1 :]], number
        if number < len(lines) - 1:
            yield [*lines[:number], *lines[number + 1 :]], number
            yield [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]], number
        yield [*lines[: number + 1], *lines[number:]], number + 1
        without_hash = lines[number].rpartition(b', "hash"')[0] + b"}\n"
        yield [*lines[:number], without_hash, *lines[number + 1 :]], number
    yield [*lines, b'{"event":' * 100_000 + b"\n"], len(lines)


def test_every_edit_is_found(company_books, plan, applied):
    made = len(company_books.audit())
    content = applied.read_bytes()
    lines = content.splitlines(keepends=True)
    for number, (copy, first) in enumerate(damaged_copies(lines)):
        path = applied.with_name(f"damaged-{number}")
        path.write_bytes(b"".join(copy))
        use = [
            lambda path=path: aa.undo_plan(company_books.client, path, incomplete=True),
            lambda path=path: aa.verify_plan(company_books.client, plan, journal=path),
            lambda path=path: aa.apply_plan(company_books.client, plan, journal=path, confirm=True),
        ]
        with pytest.raises(PlanError) as caught:
            use[number % 3]()
        assert f", line {first + 1} " in str(caught.value) or (first == 0 and "not a journal" in str(caught.value))
        assert path.read_bytes() == b"".join(copy)
    assert len(company_books.audit()) == made
    moved = content.replace(company_books.outflow.encode(), company_books.rent.encode())
    applied.write_bytes(moved)
    with pytest.raises(PlanError, match="line 2 was edited, or lines before it were removed: its hash is another one"):
        aa.undo_plan(company_books.client, applied)


def test_undo_states_what_a_resumed_journal_lost(company_books, plan, applied):
    assert aa.undo_plan(company_books.client, applied).notes == ()
    lines = applied.read_bytes().splitlines(keepends=True)
    (second, *_) = [number for number, line in enumerate(lines) if b'"intent"' in line][1:]
    applied.write_bytes(b"".join(lines[:second]))
    aa.apply_plan(company_books.client, plan, journal=applied, confirm=True)
    undo = aa.undo_plan(company_books.client, applied)
    assert len(undo) == 1
    assert undo.notes[0].startswith("The books already had 3 changes of the plan that no run with this journal sent")


def test_only_the_owner_may_read_a_journal_and_a_plan(company_books, plan, applied):
    plan.save(applied.with_name("plan.csv"))
    plan.save(applied.with_name("plan.xlsx"))
    for name in ("run.journal", "plan.csv", "plan.xlsx"):
        assert applied.with_name(name).stat().st_mode & 0o777 == 0o600, name
    applied.chmod(0o640)
    aa.apply_plan(company_books.client, plan, journal=applied, confirm=True)
    assert applied.stat().st_mode & 0o777 == 0o640
