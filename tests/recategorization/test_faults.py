"""Lost answers, refusals, rate limits and dead services: every outcome is what the books say, each change made once."""

import collections
import random
import signal
import subprocess
import sys
import textwrap

import pytest

import accounting_analytics as aa

SEEDS = range(6)


def outcomes(frame):
    """Return outcome by transaction."""
    return dict(zip(frame["transaction_id"], frame["outcome"], strict=True))


def holding(books, plan):
    """Return the planned transactions that the books really hold in the new category."""
    found = set()
    lines = books.client.iter_line_entries(books.bank, "2025-03-01", "2025-12-31", expand=["opposing_ledger_ids"])
    now = {line.transaction_id: line.opposing_ledger_ids for line in lines}
    for item in plan.items:
        if item.updated_category_ledger_id in now[item.transaction_id]:
            found.add(item.transaction_id)
    return found


def changes(books):
    """Return how often each transaction was changed."""
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
    """A lost answer is looked up and sent again if needed; a refusal is one refused item; the others are done."""
    with books.connected(build.Faulty(on_put=build.only(2, fault))) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == sorted(["done", "done", "done", expected])
    assert {one for one, outcome in outcomes(frame).items() if outcome == "done"} == holding(books, plan)
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) <= {"done", "already_done"}
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_answers_and_somebody_else_at_work(books, build, many, tmp_path, seed):
    """A fifth of the answers lost, others categorizing meanwhile: outcomes true, one change each, theirs untouched."""
    plan = many(40)
    chance = random.Random(seed)  # noqa: S311 (a test that can be replayed)
    lose = build.at_random(seed)
    theirs = set()

    def fault(count, request):
        transaction_id = request.url.path.split("/")[-2]
        if (count == 1 or chance.random() < 0.1) and transaction_id not in theirs | holding(books, plan):
            theirs.add(transaction_id)
            books.client.recategorize_transaction(
                books.bank,
                transaction_id,
                updated_category_ledger_id=books.rent,
                category_ledger_id=books.outflow,
                modified_by="somebody else",
            )
        return lose(count, request)

    with books.connected(build.Faulty(on_put=fault)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True, modified_by="us")
    assert theirs
    found = outcomes(frame)
    assert {one for one, outcome in found.items() if outcome == "changed_elsewhere"} == theirs
    assert {one for one, outcome in found.items() if outcome == "done"} == holding(books, plan)
    assert set(found.values()) <= {"done", "changed_elsewhere", "not_done"}
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="us")
    ours = collections.Counter(row["transaction_id"] for row in books.audit() if row["modified_by"] == "us")
    assert ours == dict.fromkeys(set(found) - theirs, 1)


@pytest.mark.parametrize("fault", ["lost before", "lost after", "killed", 401, 403])
def test_fault_at_every_position(books, build, plan, tmp_path, fault):
    """Whichever change is struck, the run ends truthful or loud, and the next one finishes, each change made once."""
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
                assert {one for one, outcome in outcomes(frame).items() if outcome == "done"} == holding(books, plan)
        with journal.open("a") as cut_short:
            cut_short.write('{"event": "int')
        aa.apply_plan(books.client, plan, journal=journal, confirm=True)
        assert holding(books, plan) == set(plan.frame["transaction_id"])
        assert len(books.audit()) - before == len(plan)
        for transaction_id, old, new in reset:
            books.client.recategorize_transaction(
                books.bank, transaction_id, updated_category_ledger_id=old, category_ledger_id=new
            )


def test_one_bad_row_in_a_thousand(books, build, many, tmp_path):
    """999 items are done and one is listed, though the service fails for it every time."""
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


def test_unreadable_books_after_sending_are_admitted(books, build, plan, tmp_path):
    """Where an answer is lost and the books cannot be read back, that item is unknown, never guessed."""
    transport = build.Faulty(on_put=build.only(2, "lost after"))
    transport._faults["GET"] = lambda *_: 503 if transport.puts else None
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["done", "done", "done", "unknown"]
    assert frame["reason"].str.contains("not read back").all()
    again = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) == {"already_done"}
    assert set(changes(books).values()) == {1}


def test_service_that_dies_stops_the_run(books, build, many, tmp_path):
    """Once the books cannot be read any more, the rest is not sent, and says why."""
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
def test_service_that_takes_no_changes_is_not_hammered(books, build, many, tmp_path, fault):
    """Where every change fails but reads go on, the run stops early: not one attempt for each of the items."""
    plan = many(250)
    transport = build.Faulty(on_put=lambda *_: fault)
    with books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"not_done"}
    assert transport.puts <= 30
    assert books.audit() == []


def test_bad_stretch_does_not_stop_the_good_rest(books, build, many, tmp_path):
    """Many failing items in a row at the start are tried again last; the others are done first."""
    plan = many(60)
    bad = {f"txn_{number}" for number in range(10, 25)}

    def broken(_count, request):
        return 503 if request.url.path.split("/")[-2] in bad else None

    with books.connected(build.Faulty(on_put=broken)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert {one for one, outcome in outcomes(frame).items() if outcome == "not_done"} == bad
    assert collections.Counter(frame["outcome"]) == {"done": 45, "not_done": 15}


def test_rate_limit_is_waited_for(books, build, many, tmp_path):
    """A service that takes 15 changes and then asks to wait gets all of them, one wait after the other."""
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


def run_apart(books, plan, journal, *, limit=0):
    """Start a run in a process of its own; `limit` is how many bytes a file may have."""
    plan.save(journal.with_suffix(".csv"))
    arguments = [
        books.base_url,
        books.token,
        books.instance,
        str(journal.with_suffix(".csv")),
        str(journal),
        str(limit),
    ]
    return subprocess.Popen([sys.executable, "-c", APPLY, *arguments], stderr=subprocess.PIPE, text=True)  # noqa: S603 (our own words)


@pytest.mark.soak
def test_kill_at_any_moment_loses_and_doubles_nothing(books, many, tmp_path, soak_count):
    """Runs killed without warning after a few changes: the same journal finishes, each transaction changed once."""
    kills = soak_count(40)
    plan = many(40 * kills)
    killed = []
    for kill in range(kills):
        run = run_apart(books, plan, tmp_path / "journal")
        while run.poll() is None and len(books.audit()) < 25 * (kill + 1):
            pass
        run.kill()
        run.communicate()
        killed.append(run.returncode)
    assert killed[0] == -signal.SIGKILL
    frame = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done"}
    assert holding(books, plan) == set(plan.frame["transaction_id"])
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


@pytest.mark.parametrize("limit", [100, 1500, 4000])
def test_full_disk_stops_before_the_next_change(books, many, tmp_path, limit):
    """When the journal cannot grow, no further change is sent; with room again the same journal finishes."""
    plan = many(30)
    journal = tmp_path / "journal"
    run = run_apart(books, plan, journal, limit=limit)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "cannot be written" in said
    assert "Traceback" not in said
    assert journal.read_text().count('"event": "intent"') >= len(books.audit())
    assert (limit == 4000) <= len(books.audit()) < len(plan)
    frame = aa.apply_plan(books.client, plan, journal=journal, confirm=True)
    assert set(frame["outcome"]) <= {"done", "already_done"}
    assert changes(books) == dict.fromkeys(plan.frame["transaction_id"], 1)


def test_two_runs_at_once(books, build, many, tmp_path):
    """A second run on the same journal is refused while the first goes on; on another journal it doubles nothing."""
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
