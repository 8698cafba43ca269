"""Lost responses, refusals, rate limits and service failures: outcomes match the books, each change is made once."""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress

import httpx
import pytest
from faulty_service import running_with_faults
from long_cases import also_long

import accounting_analytics as aa

SEEDS = range(6)
IN_BOOKS = {"done", "already_done"}


def read_events(journal):
    """Return the events of a journal."""
    return [json.loads(line) for line in journal.read_text().splitlines()]


def assert_true_outcomes(frame, books, plan):
    """Check every outcome that claims to know against the books, once nothing is under way any more."""
    now = recategorized(books, plan)
    for row in frame.itertuples():
        if row.outcome in IN_BOOKS:
            assert row.transaction_id in now, row
        elif row.outcome != "unknown":
            assert row.transaction_id not in now, row


def recategorized(books, plan):
    """Return the planned transactions that have the new category in the books."""
    found = set()
    lines = books.client.iter_line_entries(books.bank, "2025-03-01", "2025-12-31", expand=["opposing_ledger_ids"])
    now = {line.transaction_id: line.opposing_ledger_ids for line in lines}
    for item in plan.items:
        if item.updated_category_ledger_id in now[item.transaction_id]:
            found.add(item.transaction_id)
    return found


def changes(books):
    """Return the number of changes of each transaction."""
    return collections.Counter(row["transaction_id"] for row in books.audit())


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("lost after", "done"),
        (503, "done"),
        (409, "refused"),
        *(pytest.param(one, "done", marks=pytest.mark.long) for one in ("lost before", 500, 429, 507, 408)),
        *(pytest.param(one, "refused", marks=pytest.mark.long) for one in (422, 404)),
    ],
)
def test_one_fault(books, build, plan, tmp_path, *, fault, expected):
    """A lost change is sent again if the books do not show it; a refusal refuses its item only; the rest is done."""
    with books.connected(build.Faulty(on_put=build.only(2, fault))) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == sorted(["done", "done", "done", expected])
    assert {one for one, outcome in build.outcomes(frame).items() if outcome == "done"} == recategorized(books, plan)
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) <= {"done", "already_done"}
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_responses_and_concurrent_changes(books, build, many, tmp_path, seed):
    """With a fifth of the responses lost and another user at work, outcomes are right and no change is overwritten."""
    plan = many(40)
    chance = random.Random(seed)  # noqa: S311 (a test that can be replayed)
    lose = build.at_random(seed)
    theirs = set()

    def fault(count, request):
        transaction_id = request.url.path.split("/")[-2]
        if (count == 1 or chance.random() < 0.1) and transaction_id not in theirs | recategorized(books, plan):
            theirs.add(transaction_id)
            books.client.recategorize_transaction(
                books.bank,
                transaction_id,
                updated_category_ledger_id=books.rent,
                category_ledger_id=books.outflow,
                modified_by="another user",
            )
        return lose(count, request)

    with books.connected(build.Faulty(on_put=fault)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True, modified_by="us")
    assert theirs
    found = build.outcomes(frame)
    assert {one for one, outcome in found.items() if outcome == "changed_elsewhere"} == theirs
    assert {one for one, outcome in found.items() if outcome == "done"} == recategorized(books, plan)
    assert set(found.values()) <= {"done", "changed_elsewhere", "unknown"}
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="us")
    ours = collections.Counter(row["transaction_id"] for row in books.audit() if row["modified_by"] == "us")
    assert ours == dict.fromkeys(set(found) - theirs, 1)


def test_late_write_is_unknown(books, many, tmp_path):
    """A change that the service carries out seconds after its 504 is never reported as not done."""
    plan = many(3)
    journal = tmp_path / "journal"
    with (
        running_with_faults(books.database, "late_write:ms=3000") as slow,
        aa.LedgerClient(slow.base_url, token=books.token, instance_id=books.instance) as client,
    ):
        frame = aa.apply_plan(client, plan, journal=journal, confirm=True)
        assert set(frame["outcome"]) <= {"unknown", "done"}
        assert_true_outcomes(frame[frame["outcome"] == "done"], books, plan)
        assert set(aa.verify_plan(client, plan, journal=journal)["outcome"]) <= {"unknown", "done"}
        while len(books.audit()) < len(plan):
            time.sleep(0.05)
        assert set(aa.verify_plan(client, plan, journal=journal)["outcome"]) == {"done"}
    assert set(changes(books).values()) == {1}


@pytest.mark.parametrize("answer", [409, 422, 404, 429, 503])
def test_refusal_after_a_lost_response_is_unknown(books, build, many, tmp_path, answer):
    """A refusal does not show that an earlier attempt, whose response was lost, will not be carried out."""
    plan = many(1)
    transport = build.Faulty(on_put=lambda count, _: "late" if count == 1 else answer)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
        assert frame["outcome"].tolist() == ["unknown"]
        assert "may still be carried out" in frame["reason"].iloc[0]
        assert str(answer) in frame["reason"].iloc[0]
        transport.carry_out_late()
        assert aa.verify_plan(client, plan, journal=tmp_path / "journal")["outcome"].tolist() == ["done"]


def test_confirmed_change_that_the_books_do_not_show(books, build, many, tmp_path):
    """A change that was confirmed and is not in the books is unknown, and is not sent again over another change."""
    plan = many(1)
    (item,) = plan.items

    def revert():
        books.client.recategorize_transaction(
            books.bank, item.transaction_id, updated_category_ledger_id=books.outflow, category_ledger_id=books.meals
        )

    transport = build.Faulty(on_get=lambda *_: revert if transport.puts else None)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert frame["outcome"].tolist() == ["unknown"]
    assert "the service confirmed the change, but the books do not show it" in frame["reason"].iloc[0]
    assert transport.puts == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_no_outcome_is_false(books, build, many, tmp_path, seed):
    """With responses lost, changes carried out late and runs killed, no outcome is ever contradicted by the books."""
    plan = many(12)
    chance = random.Random(seed)  # noqa: S311 (a test that can be replayed)
    choices = ["lost before", "lost after", "late", "late", 503, 429, 409, "killed", None, None, None, None]

    def fault(_count, _request):
        if chance.random() < 0.2:
            transport.carry_out_late(1)
        return chance.choice(choices)

    transport, journal = build.Faulty(on_put=fault), tmp_path / "journal"
    frames = []
    with books.connected(transport) as client:
        while not frames:
            try:
                frames.append(aa.apply_plan(client, plan, journal=journal, confirm=True))
            except KeyboardInterrupt:
                continue
        frames.append(aa.verify_plan(client, plan, journal=journal))
        transport.carry_out_late()
        for frame in frames:
            assert_true_outcomes(frame, books, plan)
        build.rewrite(journal, build.a_minute_ago)
        settled = aa.verify_plan(client, plan, journal=journal)
    assert set(settled["outcome"]) <= {"done", "not_done"}
    assert_true_outcomes(settled, books, plan)
    resumed = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert set(resumed["outcome"]) <= IN_BOOKS | {"unknown"}
    assert_true_outcomes(resumed, books, plan)
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "new", confirm=True)
    assert set(again["outcome"]) <= IN_BOOKS
    assert set(changes(books).values()) == {1}


def test_item_that_is_sent_again_says_so(books, build, plan, tmp_path):
    """The reason names the items that were sent twice because a response was lost, and only those."""
    with books.connected(build.Faulty(on_put=build.only(3, "lost before"))) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"done"}
    (reason,) = frame.loc[frame["reason"] != "", "reason"]
    assert reason == "sent again: a response was lost, and the books did not show the change"
    assert set(changes(books).values()) == {1}


@pytest.mark.parametrize("fault", ["late", "killed", *also_long("lost before", "lost after", 503, "killed after")])
def test_change_that_may_have_been_reverted_is_left_alone(books, build, plan, tmp_path, fault):
    """What a killed run sent, and the books do not show, was not carried out or was reverted: it is left alone."""
    journal, items = tmp_path / "journal", {item.transaction_id: item for item in plan.items}
    sent = []

    def on_put(_, request):
        sent.append(request.url.path.split("/")[-2])
        return fault if len(sent) == 3 else None

    transport = build.Faulty(on_put=on_put, on_get=lambda *_: "killed" if len(sent) > 2 else None)
    with books.connected(transport) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=journal, confirm=True, modified_by="us")
    transport.carry_out_late()
    ours = changes(books)
    for transaction_id in ours:
        item = items[transaction_id]
        books.client.recategorize_transaction(
            books.bank,
            transaction_id,
            updated_category_ledger_id=item.category_ledger_id,
            category_ledger_id=item.updated_category_ledger_id,
        )
    dry = aa.apply_plan(books.client, plan, journal=journal)
    resumed = aa.apply_plan(books.client, plan, journal=journal, confirm=True, modified_by="us")
    expected = dict.fromkeys(items, "done") | dict.fromkeys(sent, "changed_elsewhere") | {sent[2]: "unknown"}
    assert build.outcomes(resumed) == expected
    new = {one: 1 for one in items if one not in sent}
    assert (
        collections.Counter(row["transaction_id"] for row in books.audit() if row["modified_by"] == "us") == ours | new
    )
    for frame in (dry, resumed):
        (reason,) = frame.loc[frame["outcome"] == "unknown", "reason"]
        assert "it was not carried out, or it was changed back since; it is left alone" in reason
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "new", confirm=True)
    assert set(again["outcome"]) <= IN_BOOKS


@pytest.mark.parametrize("fault", [None, "lost after"])
def test_change_whose_transaction_is_not_listed_afterwards(books, build, plan, tmp_path, fault):
    """A change that may have been made, of a transaction that the books do not list any more, is unknown."""
    journal = tmp_path / "journal"
    with books.connected(Hiding("txn_0", fault)) as client:
        frame = aa.apply_plan(client, plan, journal=journal, confirm=True).set_index("transaction_id")
        assert frame["outcome"].to_dict() == dict.fromkeys(frame.index, "done") | {"txn_0": "unknown"}
        lost = "the service confirmed the change, but the books do not show it; " if fault is None else fault
        assert frame.loc["txn_0", "reason"].startswith(lost) or fault
        assert "has no transaction txn_0 on 2025-03-10 (UTC)" in frame.loc["txn_0", "reason"]
        verified = build.outcomes(aa.verify_plan(client, plan, journal=journal))
        resumed = build.outcomes(aa.apply_plan(client, plan, journal=journal, confirm=True))
    assert verified["txn_0"] == resumed["txn_0"] == "unknown"
    assert set(changes(books).values()) == {1}


class Hiding(httpx.BaseTransport):
    """The real transport; once a transaction is changed, its response is lost or not, and no listing has it."""

    def __init__(self, transaction_id, fault):
        self._real = httpx.HTTPTransport()
        self._transaction_id, self._fault, self._is_changed = transaction_id, fault, False

    def handle_request(self, request):
        """Send the request and hide the transaction."""
        response = self._real.handle_request(request)
        if request.method == "PUT":
            if f"/{self._transaction_id}/" not in request.url.path:
                return response
            self._is_changed = True
            if self._fault:
                response.close()
                raise httpx.ReadError(self._fault)
            return response
        content = json.loads(response.read())
        if self._is_changed and "records" in content:
            content["records"] = [
                record for record in content["records"] if record.get("transaction_id") != self._transaction_id
            ]
        return httpx.Response(response.status_code, json=content)

    def close(self):
        """Close the real transport."""
        self._real.close()


def test_item_that_an_earlier_run_sent_and_this_run_does_not_read(books, build, many, tmp_path):
    """Where the run stops before a batch is read, an item that an earlier run sent is unknown, the others not done."""
    plan = many(102)
    journal = tmp_path / "journal"
    last = max(plan.items, key=lambda item: item.datetime)
    with books.connected(build.Faulty(on_put=build.only(1, "killed"))) as client, pytest.raises(KeyboardInterrupt):
        aa.apply_plan(client, plan, journal=journal, confirm=True)
    names = {"transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"}
    build.rewrite(journal, lambda event: event | {name: getattr(last, name) for name in event.keys() & names})
    transport = build.Faulty(on_get=lambda *_: "lost before" if transport.puts >= 100 else None)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=journal, confirm=True)
    assert collections.Counter(frame["outcome"]) == {"done": 100, "not_done": 1, "unknown": 1}
    assert build.outcomes(frame)[last.transaction_id] == "unknown"
    assert frame.set_index("transaction_id").loc[last.transaction_id, "reason"].startswith("not sent: ")


@pytest.mark.parametrize("fault", ["lost after", "killed", *also_long("lost before", 401, 403)])
def test_fault_at_every_position(books, build, plan, tmp_path, fault):
    """With a fault at any position, the run reports right outcomes or raises, and the next runs complete the plan.

    One with the same journal leaves alone what a killed run sent; one with a new journal sends it.
    """
    reset = [(item.transaction_id, item.category_ledger_id, item.updated_category_ledger_id) for item in plan.items]
    for position in range(1, len(plan) + 1):
        journal = tmp_path / f"journal-{position}"
        before = len(books.audit())
        with books.connected(build.Faulty(on_put=build.only(position, fault))) as client:
            try:
                frame = aa.apply_plan(client, plan, journal=journal, confirm=True)
            except (KeyboardInterrupt, aa.errors.StatusError):
                assert fault in {"killed", 401, 403}
            else:
                assert fault not in {"killed", 401, 403}
                assert {one for one, outcome in build.outcomes(frame).items() if outcome == "done"} == recategorized(
                    books, plan
                )
        with journal.open("a") as truncated:
            truncated.write('{"event": "int')
        resumed = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
        assert (resumed["outcome"] == "unknown").sum() == (fault == "killed")  # that change was under way
        aa.apply_plan(books.client, plan, journal=tmp_path / f"new-{position}", confirm=True)
        assert recategorized(books, plan) == set(plan.frame["transaction_id"])
        assert len(books.audit()) - before == len(plan)
        for transaction_id, old, new in reset:
            books.client.recategorize_transaction(
                books.bank, transaction_id, updated_category_ledger_id=old, category_ledger_id=new
            )


@pytest.mark.long
def test_one_bad_row_in_a_thousand(books, build, many, tmp_path):
    """One item whose request always fails is unknown; the other 999 are done."""
    plan = many(1000)

    def broken(_count, request):
        return 503 if "/txn_500/" in request.url.path else None

    with books.connected(build.Faulty(on_put=broken)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert collections.Counter(frame["outcome"]) == {"done": 999, "unknown": 1}
    (bad,) = frame[frame["outcome"] == "unknown"].itertuples()
    assert bad.transaction_id == "txn_500"
    assert "503" in bad.reason
    assert set(changes(books).values()) == {1}


def test_unreadable_books_after_sending_are_reported(books, build, plan, tmp_path):
    """An item whose response is lost is unknown if the books cannot be read back."""
    transport = build.Faulty(on_put=build.only(2, "lost after"))
    transport._faults["GET"] = lambda *_: 503 if transport.puts else None
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["done", "done", "done", "unknown"]
    assert frame["reason"].str.contains("not read back").all()
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) == {"already_done"}
    assert set(changes(books).values()) == {1}


def test_unavailable_service_stops_the_run(books, build, many, tmp_path):
    """Once the books cannot be read any more, the remaining items are not sent, and their reason says why."""
    plan = many(250)
    transport = build.Faulty(on_get=lambda *_: "lost before" if transport.puts >= 100 else None)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert transport.puts == 100
    assert collections.Counter(frame["outcome"]) == {"done": 100, "not_done": 150}
    assert frame.loc[frame["outcome"] == "not_done", "reason"].str.startswith("not sent: ").all()
    assert set(aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)["outcome"]) == {
        "done", "already_done",
    }  # fmt: skip
    assert set(changes(books).values()) == {1}


@pytest.mark.parametrize("fault", ["lost before", 503, 429, 507])
def test_run_stops_if_every_change_fails(books, build, many, tmp_path, fault):
    """If every change fails although reads succeed, the run stops after a few attempts and says why."""
    plan = many(250)
    transport = build.Faulty(on_put=lambda *_: fault)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    sent = {event["transaction_id"] for event in read_events(tmp_path / "journal") if event["event"] == "intent"}
    found = build.outcomes(frame)
    unchanged = fault in {429, 507}  # the service has certainly changed nothing
    assert {one for one, outcome in found.items() if outcome == "unknown"} == (set() if unchanged else sent)
    assert set(found.values()) == {"not_done"} | (set() if unchanged else {"unknown"})
    why = {429: "the service is limiting the request rate"}.get(fault, str(fault))
    assert frame.loc[~frame["transaction_id"].isin(sent), "reason"].str.contains(why, regex=False).all()
    assert transport.puts <= 30
    assert books.audit() == []


def test_failing_items_do_not_stop_the_rest(books, build, many, tmp_path):
    """Many failing items in a row at the start are retried last; the others are done first."""
    plan = many(60)
    failing = {f"txn_{number}" for number in range(10, 25)}

    def broken(_count, request):
        return 503 if request.url.path.split("/")[-2] in failing else None

    with books.connected(build.Faulty(on_put=broken)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert {one for one, outcome in build.outcomes(frame).items() if outcome == "unknown"} == failing
    assert collections.Counter(frame["outcome"]) == {"done": 45, "unknown": 15}


def test_rate_limit_is_waited_for(books, build, many, tmp_path):
    """A run waits for the rate limit of 15 changes as often as needed and completes."""
    plan = many(40)
    state = {"left": 15}

    def limited(_count, _request):
        if not state["left"]:
            return 429
        state["left"] -= 1
        return None

    def refill(_count, _request):
        state["left"] = 15

    with books.connected(build.Faulty(on_put=limited, on_get=refill)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"done"}
    assert set(changes(books).values()) == {1}


APPLY = textwrap.dedent(
    """
    import sys
    import accounting_analytics as aa
    base_url, token, instance, plan, journal, limit = sys.argv[1:]
    if int(limit):
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    with aa.LedgerClient(base_url, token=token, instance_id=instance) as client:
        try:
            aa.apply_plan(client, aa.Plan.load(plan), journal=journal, confirm=True, progress=False)
        except aa.errors.PlanError as error:
            sys.exit(str(error))
    """
)


def arguments_of_run(books, plan, journal, *, limit=0):
    """Save a plan, and return the arguments of a run of it; `limit` is the maximum file size in bytes."""
    plan.save(journal.with_suffix(".csv"))
    return [books.base_url, books.token, books.instance, *map(str, (journal.with_suffix(".csv"), journal, limit))]


@pytest.mark.soak
def test_killed_run_loses_and_repeats_nothing(books, many, fork_server, tmp_path, soak_count):
    """After runs are killed, a run with the same journal completes the plan but for the changes that were under way.

    A new journal sends those; each transaction changes once.
    """
    kills = soak_count(40, fewer=2)
    plan = many(40 * kills)
    killed = []
    for kill in range(kills):
        arguments = arguments_of_run(books, plan, tmp_path / "journal")
        process_id = fork_server.start(APPLY, *arguments, folder=tmp_path)
        with suppress(ProcessLookupError):  # it may have ended
            while len(books.audit()) < 25 * (kill + 1):
                os.kill(process_id, 0)
        killed.append(fork_server.kill(process_id).returncode)
    assert killed[0] == -signal.SIGKILL
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done", "unknown"}
    assert (frame["outcome"] == "unknown").sum() <= kills
    assert_true_outcomes(frame, books, plan)
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "new", confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done"}
    assert recategorized(books, plan) == set(plan.frame["transaction_id"])
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


@pytest.mark.parametrize(
    "limit", [1500, pytest.param(100, marks=pytest.mark.long), pytest.param(4000, marks=pytest.mark.long)]
)
@pytest.mark.long
def test_full_disk_stops_before_the_next_change(books, many, tmp_path, limit):
    """When the journal cannot be extended, no further change is sent; with free space the same journal completes."""
    plan = many(30)
    journal = tmp_path / "journal"
    command = [sys.executable, "-c", APPLY, *arguments_of_run(books, plan, journal, limit=limit)]
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 (our own code)
    assert run.returncode == 1
    assert "cannot be written" in run.stderr
    assert "Traceback" not in run.stderr
    assert journal.read_text().count('"event": "intent"') >= len(books.audit())
    assert (limit == 4000) <= len(books.audit()) < len(plan)
    frame = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done"}
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


def test_two_runs_in_parallel(books, build, many, tmp_path):
    """A second run with the same journal is refused; with another journal no change is made twice."""
    plan = many(20)
    seen = []

    def second(_count, _request):
        def start():
            if seen:
                return
            seen.append("journal")
            with pytest.raises(aa.errors.PlanError, match="another run"):
                aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
            seen.append(aa.apply_plan(books.client, plan, journal=tmp_path / "other", confirm=True))

        return start

    with books.connected(build.Faulty(on_put=second)) as client:
        first = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(seen[1]["outcome"]) == {"done"}
    assert set(first["outcome"]) <= {"done", "already_done"}
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)
