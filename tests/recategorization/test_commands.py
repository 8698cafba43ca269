"""The commands `categorize` and `undo` as processes: killed, with lost responses, a full disk, and other users."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import accounting_analytics as aa

YEAR = ("2025-03-01", "2025-12-31")
COUNT = 8
RULES = '[[rule]]\nname = "shops"\ncontains = "SHOP"\ncategory = "Meals"\nexact = true\n'
CATEGORIZE = (
    "categorize", "--start-date", YEAR[0], "--end-date", YEAR[1], "--rules", "rules.toml", "--max-amount", "16",
    "--modified-by", "job",
)  # fmt: skip
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}


@pytest.fixture(scope="module")
def program():
    """Return the program that forks for each command."""
    path = Path(__file__).with_name("forked_commands.py")
    with subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program
        program.stdin.close()


@pytest.fixture
def commands(program, books, many, tmp_path):
    """Return functions that start, wait for and run a command on books with purchases that a rule decides."""
    many(COUNT)
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    outputs = {}

    def send(order):
        program.stdin.write(f"{json.dumps(order)}\n")
        program.stdin.flush()
        return int(program.stdout.readline())

    def start(*arguments, base_url=books.base_url, limit=None):
        settings = {"BASE_URL": base_url, "TOKEN": books.token, "INSTANCE_ID": books.instance, "TIME_ZONE": "UTC"}
        order = {
            "folder": str(tmp_path),
            "output": f"output-{len(outputs)}",
            "environment": TERMINAL | {f"ACCOUNTING_ANALYTICS_{name}": text for name, text in settings.items()},
            "arguments": list(arguments),
            "limit": limit,
        }
        pid = send(order)
        outputs[pid] = tmp_path / order["output"]
        return pid

    def wait(pid):
        status = os.waitstatus_to_exitcode(send(pid))
        stdout, stderr = (outputs[pid].with_suffix(f".{name}").read_text() for name in ("stdout", "stderr"))
        assert "Traceback" not in stderr
        return SimpleNamespace(code=status, stdout=stdout, stderr=stderr)

    return SimpleNamespace(start=start, wait=wait, run=lambda *words, **options: wait(start(*words, **options)))


def snapshot(books):
    """Return every line entry with its categories, and the report, as text."""
    ledgers = aa.discover_ledgers(books.client, *YEAR)
    lines = aa.load_line_entries(books.client, ledgers["id"], *YEAR)
    report = aa.load_cash_flow_report(books.client, *YEAR)
    return [frame.to_csv() for frame in (lines, report.ledgers, report.lines)]


def changes(books, user="job"):
    """Return how often a user changed each transaction, by the audit log in the database."""
    return collections.Counter(row["transaction_id"] for row in books.audit() if row["modified_by"] == user)


def move(books, transaction_id, category, updated):
    """Change a category as another user."""
    books.client.recategorize_transaction(
        books.bank, transaction_id, updated_category_ledger_id=updated, category_ledger_id=category,
        modified_by="another user",
    )  # fmt: skip


def outcomes(finished):
    """Return the outcome of each transaction that a command printed."""
    return {row["transaction_id"]: row["outcome"] for row in json.loads(finished.stdout)["outcomes"]}


WITHIN = {f"txn_{number}" for number in range(10, 16)}
"""Purchases that are not above the limit."""


def test_categorize_and_undo(books, commands, tmp_path):
    """A dry run sends nothing; a confirmed one changes what is within the limit, lists the rest, and can be undone."""
    before = snapshot(books)
    dry = commands.run(*CATEGORIZE, "--dry-run")
    assert dry.code == 0, dry.stderr
    assert "dry run, nothing was sent: 6 would_change" in dry.stderr
    assert dry.stdout.startswith(
        "7 of 13 uncategorized transaction(s) are left for a person\n5 no rule, 2 above the limit\n"
    )
    assert max(map(len, dry.stdout.splitlines())) <= 80
    assert (books.audit(), list(tmp_path.glob("categorize-*"))) == ([], [])
    confirmed = commands.run(*CATEGORIZE, "--confirm", "--json")
    assert (confirmed.code, outcomes(confirmed)) == (0, dict.fromkeys(WITHIN, "done"))
    left = {row["transaction_id"]: row["reason"] for row in json.loads(confirmed.stdout)["transactions"]}
    assert left == {f"txn_{number}": "no rule" for number in range(4)} | {
        "txn_split": "no rule", "txn_16": "above the limit", "txn_17": "above the limit",
    }  # fmt: skip
    groups = json.loads(confirmed.stdout)["groups"]
    assert {(group["merchant"], group["reason"]) for group in groups} >= {("CHECK", "no rule")}
    assert changes(books) == dict.fromkeys(WITHIN, 1)
    again = commands.run(*CATEGORIZE, "--confirm", "--json")
    assert (again.code, outcomes(again)) == (0, {})
    assert "exact rules decide no transaction within the limit; nothing was sent" in again.stderr
    (journal,) = (path.name for path in tmp_path.glob("categorize-*.journal"))
    assert f"undo {journal}" in confirmed.stderr
    assert commands.run("undo", journal, "--journal", "undo", "--confirm").code == 0
    assert snapshot(books) == before


def test_full_disk_and_changes_by_another_user(books, commands):
    """On a full disk the run stops; the same journal completes its plan, and leaves what another user changed since."""
    command = (*CATEGORIZE, "--confirm", "--journal", "job.journal", "--json")
    stopped = commands.run(*command, limit=3000)
    assert (stopped.code, stopped.stdout) == (2, "")
    assert "job.journal cannot be written (File too large); the run stopped before the next change" in stopped.stderr
    done = set(changes(books))
    assert 0 < len(done) < len(WITHIN)
    theirs = min(WITHIN - done)
    move(books, theirs, books.outflow, books.rent)
    resumed = commands.run(*command)
    assert resumed.code == 6, resumed.stderr
    assert {one for one, outcome in outcomes(resumed).items() if outcome == "changed_elsewhere"} == {theirs}
    assert changes(books) == dict.fromkeys(WITHIN - {theirs}, 1)
    assert changes(books, "another user") == {theirs: 1}
