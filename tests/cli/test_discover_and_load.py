"""Commands that load: dry runs, checkpoints, partial loads, and what is refused before a load."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faulty_service import running_with_faults
from long_cases import also_long

import accounting_analytics as aa

PROJECT = Path(__file__).parents[2]
PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
LOADS = {
    "reconcile": (),
    "queue": (),
    "propose": ("--rules", PROJECT / "data/rules.toml"),
    "plan": ("--rules", PROJECT / "data/rules.toml", "--output", "plan.csv"),
    "export": ("--output", "parquet"),
    "statements": ("income",),
    "register": ("Rent",),
    "bridge": (),
}


@pytest.mark.parametrize("command", ["reconcile", "export", *also_long(*sorted(set(LOADS) - {"reconcile", "export"}))])
def test_dry_run(run, tmp_path, demo_company, command):
    """A dry run of each command that loads prints the cost of the load, and writes nothing."""
    finished = run(command, *PERIOD, *LOADS[command], "--dry-run", "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    plan = json.loads(finished.stdout)
    assert plan["calls"] == sum(ledger["calls"] for ledger in plan["ledgers"]) > 0
    assert plan["lines"] == sum(ledger["lines"] for ledger in plan["ledgers"]) > 0
    assert "no lines were loaded" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_dry_run_as_text(run, demo_company):
    """Without --json the plan is a sentence, and the extra reports are counted."""
    days = ("--start-date", "2025-03-01", "--end-date", "2025-04-30")
    finished = run("reconcile", *days, "--dry-run", **demo_company.environment())
    assert re.match(r"\d+ requests for about [\d,]+ lines of \d+ ledgers: at least ", finished.stdout)
    assert "2 reports are extra" in finished.stderr


@pytest.mark.long
def test_checkpoint(run, assert_refused, tmp_path, demo_company):
    """Loaded lines stay in the checkpoint: a dry run then needs no requests, and a second run ties too."""
    arguments = (*PERIOD, "--checkpoint", "windows")
    first = run("reconcile", *arguments, "--json", **demo_company.environment())
    assert first.returncode == 0, first.stderr
    assert "no day changed while it was read" in first.stderr
    planned = run("reconcile", *arguments, "--dry-run", "--json", **demo_company.environment())
    plan = json.loads(planned.stdout)
    assert plan["calls"] == plan["lines"] == 0 < plan["kept_lines"]
    assert list((tmp_path / "windows").glob("window-*"))
    second = run("reconcile", *arguments, "--json", **demo_company.environment())
    assert second.stdout == first.stdout
    exported = run("export", *arguments, "--output", "parquet", **demo_company.environment())
    assert exported.returncode == 0, exported.stderr
    other = run("export", "--start-date", "2025-03-01", "--end-date", "2025-03-30", "--checkpoint", "windows",
                "--output", "other", **demo_company.environment())  # fmt: skip
    assert_refused(other, 2, "windows belongs to another load")


@pytest.mark.long
def test_interrupted_with_a_checkpoint(tmp_path, demo_company):
    """Ctrl-C during a load is 5, and the message says how to resume."""
    with running_with_faults(demo_company.database, "latency:ms=100") as slow:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": slow.base_url}
        command = [sys.executable, "-m", "accounting_analytics", "reconcile", *PERIOD, "--checkpoint", "windows"]
        process = subprocess.Popen(  # noqa: S603 (our own program)
            command,
            cwd=tmp_path,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not list(tmp_path.glob("windows/window-*")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, messages = process.communicate(timeout=120)
    assert (process.returncode, printed) == (5, "")
    assert messages.endswith("finished windows are saved in windows: run the same command again to resume\nstopped\n")


@pytest.mark.long
def test_allow_partial(run, assert_refused, tmp_path, demo_company, failing_ledger):
    """A ledger that cannot be loaded ends a command; with --allow-partial the results are marked PARTIAL."""
    base_url, ledger = failing_ledger
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
    assert_refused(run("reconcile", *PERIOD, **environment), 4, "400", ledger)
    partial = run("reconcile", *PERIOD, "--allow-partial", **environment)
    assert partial.returncode == 3, partial.stderr
    assert partial.stdout.startswith("PARTIAL: ")
    assert "NOT COMPLETE" in partial.stderr
    statement = ("statements", "cash-flow", *PERIOD, "--allow-partial")
    assert_refused(run(*statement, **environment), 3, "no column is known", ledger)
    exported = run("export", *PERIOD, "--output", "parquet", "--allow-partial", **environment)
    assert exported.returncode == 3, exported.stderr
    assert "PARTIAL" in exported.stdout
    assert json.loads((tmp_path / "parquet" / "current" / "manifest.json").read_text())["partial"] is True
    assert_refused(run("export", *PERIOD, "--output", "whole", **environment), 4, "400", ledger)
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize(
    "case",
    [
        (("reconcile", *PERIOD, "--since", "2025-03-15"), "--since 2025-03-15 is after 2025-03-01; it is"),
        (("reconcile", *PERIOD, "--since", "2025-02-30"), "--since '2025-02-30'"),
        (("reconcile", *PERIOD, "--time-zone", "localtime"), "localtime"),
        (("export", *PERIOD, "--time-zone", "localtime", "--output", "parquet"), "localtime"),
        (("report", *PERIOD, "--time-zone", ""), "''"),
        (("export", *PERIOD, "--output", PROJECT / "README.md"), "is a file"),
        (("export", *PERIOD, "--output", PROJECT / "data"), "files that are not part of an export"),
        (("export", *PERIOD, "--output", "new", "--format", "pdf"), "unknown export format 'pdf'; the formats are"),
        (("plan", *PERIOD, "--rules", PROJECT / "data/rules.toml", "--output", "absent/plan.csv"), "absent"),
        (("plan", *PERIOD, "--rules", "absent.toml", "--output", "plan.csv"), "absent.toml"),
    ],
)
def test_refused_before_a_request(run, assert_refused, demo_company, recorded_service, case):
    """What cannot succeed is refused before any request is sent."""
    command, text = case
    base_url, sent = recorded_service
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
    assert_refused(run(*command, **environment), 2, text)
    assert sent.requests == []


@pytest.fixture
def recorded_service(demo_company, distortion, forwarding):
    """Forward to the demo company; return the address, and the object that records the requests."""
    recorder = distortion()
    with forwarding(demo_company.base_url, recorder) as base_url:
        yield base_url, recorder


@pytest.fixture
def failing_ledger(demo_company, distortion, forwarding):
    """Forward to the demo company, except the lines of one ledger; return the address and the ledger's id."""
    reported = aa.load_cash_flow_report(demo_company.client, "2025-03-01", "2025-03-31").ledgers
    ledger = reported["ledger_id"].iloc[-1]

    def status(path, params):
        return 400 if ledger in path and "journal_entry" in params.get("expand", "") else None

    with forwarding(demo_company.base_url, distortion(status=status)) as base_url:
        yield base_url, ledger
