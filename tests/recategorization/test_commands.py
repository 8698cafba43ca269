"""The commands `categorize` and `undo` as processes: killed, with lost responses, a full disk, and other users."""

import collections
import json
import os
import random
import signal
import time
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest
from faulty_service import running_with_faults

import accounting_analytics as aa
from accounting_analytics.cli import program
from accounting_analytics.cli.apply import run_plan
from accounting_analytics.cli.options import Run
from accounting_analytics.core.errors import RecategorizationIncompleteError, ServerFaultError
from accounting_analytics.recategorization.run_journal import open_run_journal

YEAR = ("2025-03-01", "2025-12-31")
COUNT = 8
RULES = '[[rule]]\nname = "shops"\ncontains = "SHOP"\ncategory = "Meals"\nexact = true\n'
CATEGORIZE = (
    "categorize", "--start-date", YEAR[0], "--end-date", YEAR[1], "--rules", "rules.toml", "--max-amount", "16",
    "--modified-by", "job",
)  # fmt: skip
LOST = "lost_answer:p=0.1,drop_connection:p=0.1:on=recategorize_transaction"
MAIN = "from accounting_analytics.cli import main; main()"
LIMITED = f"""
import resource, sys
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
{MAIN}
"""
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}


@pytest.fixture
def environment(company_books, tmp_path):
    """Return a function that returns the environment of a command on the books, perhaps through another address."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ACCOUNTING_ANALYTICS_")}
    own = {"ACCOUNTING_ANALYTICS_TIME_ZONE": "UTC", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return lambda base_url=None: clean | TERMINAL | own | company_books.environment(base_url)


@pytest.fixture
def commands(fork_server, environment, many, tmp_path):
    """Return functions that start a command, and run it to its end, on books with purchases that a rule decides."""
    many(COUNT)
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")

    def start(*arguments, limit=None, base_url=None):
        code, words = (MAIN, arguments) if limit is None else (LIMITED, (limit, *arguments))
        return fork_server.start(code, *words, folder=tmp_path, environment=environment(base_url))

    def run(*arguments, **options):
        start(*arguments, **options)
        return checked(fork_server.wait())

    return SimpleNamespace(start=start, run=run)


@pytest.fixture
def run_here(environment, monkeypatch, capsys):
    """Return a function that runs a command in this process, beside one in another."""

    def run_here(*arguments):
        for name, value in environment().items():
            monkeypatch.setenv(name, value)
        code = program.run([*arguments])
        return SimpleNamespace(returncode=code, **dict(zip(("stdout", "stderr"), capsys.readouterr(), strict=True)))

    return run_here


def checked(finished):
    """Return a process that has ended, without a traceback."""
    assert "Traceback" not in finished.stderr
    return finished


def changes(books, user="job", since=0):
    """Return how often a user changed each transaction, by the audit log in the database from some row on."""
    return collections.Counter(row["transaction_id"] for row in books.audit()[since:] if row["modified_by"] == user)


def outcomes(finished):
    return {row["transaction_id"]: row["outcome"] for row in json.loads(finished.stdout)["outcomes"]}


WITHIN = {f"txn_{number}" for number in range(10, 16)}
"""Purchases that are not above the limit."""


@pytest.mark.usefixtures("commands")
def test_categorize_changes_what_is_within_the_limit(company_books, run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dry = run_here(*CATEGORIZE, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "dry run, nothing was sent: 6 would_change" in dry.stderr
    assert dry.stdout.startswith("7 of 13 uncategorized transactions left for a person\n5 no rule, 2 above the limit\n")
    assert max(map(len, dry.stdout.splitlines())) <= 80
    assert (company_books.audit(), list(tmp_path.glob("categorize-*"))) == ([], [])
    confirmed = run_here(*CATEGORIZE, "--confirm", "--json")
    assert (confirmed.returncode, outcomes(confirmed)) == (0, dict.fromkeys(WITHIN, "done"))
    left = {row["transaction_id"]: row["reason"] for row in json.loads(confirmed.stdout)["transactions"]}
    assert left == {f"txn_{number}": "no rule" for number in range(4)} | {
        "txn_split": "no rule", "txn_16": "above the limit", "txn_17": "above the limit",
    }  # fmt: skip
    groups = json.loads(confirmed.stdout)["groups"]
    assert {(group["description"], group["reason"]) for group in groups} >= {("CHECK 1043", "no rule")}
    assert changes(company_books) == dict.fromkeys(WITHIN, 1)
    again = run_here(*CATEGORIZE, "--confirm", "--json")
    assert (again.returncode, outcomes(again)) == (0, {})
    assert "exact rules decide no transaction within the limit; nothing was sent" in again.stderr
    (journal,) = (path.name for path in tmp_path.glob("categorize-*.journal"))
    assert f"undo {journal}" in confirmed.stderr
    part = ("undo", journal, "--group", "txn_10", "--group", "txn_11", "--journal", "part.journal", "--json")
    undone = run_here(*part, "--confirm", "--modified-by", "part")
    assert (undone.returncode, outcomes(undone)) == (0, {"txn_10": "done", "txn_11": "done"})
    assert changes(company_books, "part") == {"txn_10": 1, "txn_11": 1}


@pytest.mark.long
def test_full_disk_and_changes_by_another_user(company_books, commands):
    before = company_books.snapshot()
    command = (*CATEGORIZE, "--confirm", "--journal", "job.journal", "--json")
    stopped = commands.run(*command, limit=3000)
    assert (stopped.returncode, stopped.stdout) == (2, "")
    assert "job.journal cannot be written (File too large); the run stopped before the next change" in stopped.stderr
    done = set(changes(company_books))
    assert 0 < len(done) < len(WITHIN)
    theirs = min(WITHIN - done)
    company_books.move(theirs, company_books.outflow, company_books.rent)
    resumed = commands.run(*command)
    assert resumed.returncode == 6, resumed.stderr
    assert {one for one, outcome in outcomes(resumed).items() if outcome == "changed_elsewhere"} == {theirs}
    assert changes(company_books) == dict.fromkeys(WITHIN - {theirs}, 1)
    assert changes(company_books, "another user") == {theirs: 1}
    assert "--incomplete" not in resumed.stderr
    undo = ("undo", "job.journal", "--journal", "undo.journal", "--confirm", "--modified-by", "undo")
    stopped = commands.run(*undo, limit=3000)
    assert stopped.returncode == 2
    assert "undo.journal cannot be written (File too large)" in stopped.stderr
    assert 0 < len(changes(company_books, "undo")) < len(WITHIN) - 1
    assert commands.run(*undo).returncode == 0
    assert changes(company_books, "undo") == dict.fromkeys(WITHIN - {theirs}, 1)
    company_books.move(theirs, company_books.rent, company_books.outflow)
    assert company_books.snapshot() == before


def test_two_runs_at_once_make_no_change_twice(company_books, commands, fork_server, *, run_here, tmp_path):
    command = [*CATEGORIZE, "--confirm", "--json", "--journal"]
    command[command.index("rules.toml")] = str(tmp_path / "rules.toml")
    with running_with_faults(company_books.database, "latency:ms=200:on=recategorize_transaction") as slow:
        commands.start(*command, "one", base_url=slow.base_url)
        while not company_books.audit():
            time.sleep(0.01)
        second = run_here(*command, str(tmp_path / "two"))
        first = checked(fork_server.wait())
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert outcomes(first).keys() == WITHIN
    assert {*outcomes(first).values(), *outcomes(second).values()} <= {"done", "already_done"}
    assert changes(company_books) == dict.fromkeys(WITHIN, 1)
    plan = aa.Plan.load(tmp_path / "one.csv")
    with open_run_journal(tmp_path / "one", plan.plan_id, instance_id=company_books.instance, base_url=slow.base_url):
        refused = run_here(*command, str(tmp_path / "one"))
    assert refused.returncode == 2
    assert "another run uses the journal" in refused.stderr


@pytest.mark.long
def test_transactions_added_since_the_plan_that_is_resumed(company_books, build, commands):
    """A job that always uses one journal fails when there is something new, instead of never changing it."""
    command = (*CATEGORIZE, "--confirm", "--journal", "job")
    assert commands.run(*command).returncode == 0
    company_books.post(build.purchase(9, "SHOP 9", "9.01", company_books.bank, company_books.outflow))
    again = commands.run(*command)
    assert again.returncode == 6
    assert "1 transaction that exact rules decide, but not in the plan that was resumed" in again.stderr
    assert changes(company_books) == dict.fromkeys(WITHIN, 1)


def run_killed(start, fork_server, chance, journal):
    """Start a command and kill it when its journal has some length, until one completes; return the kills.

    What a run leaves alone as unknown is sent with a further journal.
    """
    for kills in range(20):
        length, pid = chance.choice([*range(3 * COUNT), None, None]), start("--journal", journal)
        finished = fork_server.wait() if length is None else kill_at(fork_server, pid, journal, length)
        assert finished.returncode in {0, 6, -signal.SIGKILL}, finished.stderr
        open_outcomes = "unknown" in finished.stderr or "not_done" in finished.stderr
        if finished.returncode == 0 or ("1 changed_elsewhere" in finished.stderr and not open_outcomes):
            return kills
        if finished.returncode == 6:
            journal = journal.with_name(f"{journal.name}-more")
    return pytest.fail("the run never completed")


def kill_at(fork_server, pid, journal, length):
    """Kill a process when the journal has so many lines more, unless it ends before."""
    length += journal.read_bytes().count(b"\n") if journal.exists() else 0
    with suppress(ProcessLookupError):
        while not journal.exists() or journal.read_bytes().count(b"\n") <= length:
            os.kill(pid, 0)  # until it ends
            time.sleep(0.001)
        return fork_server.kill(pid)
    return fork_server.wait()


@pytest.mark.soak
def test_killed_runs_with_lost_responses(company_books, build, commands, fork_server, *, tmp_path, soak_count):
    before, kills = company_books.snapshot(), 0
    for seed in range(soak_count(100, fewer=1)):  # each seed runs many commands
        chance, first = random.Random(seed), len(company_books.audit())  # noqa: S311 (a reproducible test)
        done, undone = tmp_path / f"{seed}.journal", tmp_path / f"{seed}.undo"
        theirs = chance.choice(sorted(WITHIN))
        with running_with_faults(company_books.database, LOST, seed) as service:
            start = partial(commands.start, base_url=service.base_url)
            categorize = partial(start, *CATEGORIZE, "--confirm")
            kills += run_killed(categorize, fork_server, chance, done)
            assert changes(company_books, since=first) == dict.fromkeys(WITHIN, 1), seed
            build.rewrite(done, build.a_minute_ago)
            company_books.move(theirs, company_books.meals, company_books.rent)
            undo = partial(start, "undo", done, "--confirm", "--modified-by", "undo")
            kills += run_killed(undo, fork_server, chance, undone)
        assert changes(company_books, "undo", since=first) == dict.fromkeys(WITHIN - {theirs}, 1), seed
        company_books.move(theirs, company_books.rent, company_books.outflow)
        assert company_books.snapshot() == before, seed
    assert kills


def test_interrupted_run_states_how_to_go_on(company_books, build, plan, tmp_path, capsys):
    def interrupt(count, _):
        if count == 2:
            raise KeyboardInterrupt

    journal = tmp_path / "my journal"
    confirmed = Run("books", confirm=True)
    with company_books.connected(build.Faulty(on_put=interrupt)) as client, pytest.raises(KeyboardInterrupt):
        run_plan(client, plan, confirmed, journal, "UTC")
    printed = capsys.readouterr().err
    assert f"the journal {journal} records what is done: run the same command again to resume\n" in printed
    assert (
        f"accounting-analytics undo '{journal}' --journal '{tmp_path}/undo-my journal' --profile books --incomplete\n"
    ) in printed
    with company_books.connected(build.Faulty(on_get=interrupt)) as client, pytest.raises(KeyboardInterrupt):
        run_plan(client, plan, confirmed, tmp_path / "other", "UTC")
    assert "journal" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "error", "by"), [(None, ServerFaultError, "category"), (503, RecategorizationIncompleteError, "ledger")]
)
def test_outcomes_are_printed_where_the_service_stops(
    company_books, build, plan, tmp_path, capsys, *, fault, error, by
):
    transport = build.Faulty(on_put=build.only(4, fault))
    lost = {"cash-flow": lambda: transport.puts, "line-entries": lambda: fault and transport.puts > 3}
    transport._faults["GET"] = lambda _, request: 503 if lost[request.url.path.rpartition("/")[2]]() else None
    with company_books.connected(transport) as client, pytest.raises(error):
        run_plan(client, plan, Run(confirm=True), tmp_path / "journal", "UTC", by=by)
    printed = capsys.readouterr()
    assert f"{3 if fault else 4} done" in printed.out
    assert "to take back what this run changed: accounting-analytics undo" in printed.err
    assert "predicted" in printed.out or by != "ledger"
