"""Lost responses, refusals, rate limits and service failures: outcomes match the books, each change is made once."""

import collections
import random
import signal
import subprocess
import sys
import textwrap

import pytest

import accounting_analytics as aa

SEEDS = range(6)


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
        ("lost before", "done"),
        ("lost after", "done"),
        (503, "done"),
        (500, "done"),
        (429, "done"),
        (408, "done"),
        (409, "refused"),
        (422, "refused"),
        (404, "refused"),
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
    assert set(found.values()) <= {"done", "changed_elsewhere", "not_done"}
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="us")
    ours = collections.Counter(row["transaction_id"] for row in books.audit() if row["modified_by"] == "us")
    assert ours == dict.fromkeys(set(found) - theirs, 1)


@pytest.mark.parametrize("fault", ["lost before", "lost after", "killed", 401, 403])
def test_fault_at_every_position(books, build, plan, tmp_path, fault):
    """With a fault at any position, the run reports right outcomes or raises, and the next run completes the plan."""
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
        aa.apply_plan(books.client, plan, journal=journal, confirm=True)
        assert recategorized(books, plan) == set(plan.frame["transaction_id"])
        assert len(books.audit()) - before == len(plan)
        for transaction_id, old, new in reset:
            books.client.recategorize_transaction(
                books.bank, transaction_id, updated_category_ledger_id=old, category_ledger_id=new
            )


def test_one_bad_row_in_a_thousand(books, build, many, tmp_path):
    """One item whose request always fails is not done; the other 999 are."""
    plan = many(1000)

    def broken(_count, request):
        return 503 if "/txn_500/" in request.url.path else None

    with books.connected(build.Faulty(on_put=broken)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert collections.Counter(frame["outcome"]) == {"done": 999, "not_done": 1}
    (bad,) = frame[frame["outcome"] == "not_done"].itertuples()
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


@pytest.mark.parametrize("fault", ["lost before", 503, 429])
def test_run_stops_if_every_change_fails(books, build, many, tmp_path, fault):
    """If every change fails although reads succeed, the run stops after a few attempts."""
    plan = many(250)
    transport = build.Faulty(on_put=lambda *_: fault)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"not_done"}
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
    assert {one for one, outcome in build.outcomes(frame).items() if outcome == "not_done"} == failing
    assert collections.Counter(frame["outcome"]) == {"done": 45, "not_done": 15}


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


def start_run(books, plan, journal, *, limit=0):
    """Start a run in its own process; `limit` is the maximum file size in bytes."""
    plan.save(journal.with_suffix(".csv"))
    arguments = [
        books.base_url,
        books.token,
        books.instance,
        str(journal.with_suffix(".csv")),
        str(journal),
        str(limit),
    ]
    return subprocess.Popen([sys.executable, "-c", APPLY, *arguments], stderr=subprocess.PIPE, text=True)  # noqa: S603 (our own code)


@pytest.mark.soak
def test_killed_run_loses_and_repeats_nothing(books, many, tmp_path, soak_count):
    """After runs are killed, a run with the same journal completes the plan; each transaction changes once."""
    kills = soak_count(40)
    plan = many(40 * kills)
    killed = []
    for kill in range(kills):
        run = start_run(books, plan, tmp_path / "journal")
        while run.poll() is None and len(books.audit()) < 25 * (kill + 1):
            pass
        run.kill()
        run.communicate()
        killed.append(run.returncode)
    assert killed[0] == -signal.SIGKILL
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done"}
    assert recategorized(books, plan) == set(plan.frame["transaction_id"])
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


@pytest.mark.parametrize("limit", [100, 1500, 4000])
def test_full_disk_stops_before_the_next_change(books, many, tmp_path, limit):
    """When the journal cannot be extended, no further change is sent; with free space the same journal completes."""
    plan = many(30)
    journal = tmp_path / "journal"
    run = start_run(books, plan, journal, limit=limit)
    _, message = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "cannot be written" in message
    assert "Traceback" not in message
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
