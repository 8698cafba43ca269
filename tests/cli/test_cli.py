"""The command line: one clear line and its exit code for everything that goes wrong, and results that parse."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

import accounting_analytics as aa
from accounting_analytics.service.web.server import running

PROJECT = Path(__file__).parents[2]
PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the command line in an empty folder with only the given configuration."""

    def run(*arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ACCOUNTING_ANALYTICS_")}
        return subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-m", "accounting_analytics", *map(str, arguments)],
            cwd=tmp_path,
            env=clean | {"XDG_CONFIG_HOME": str(tmp_path / "config")} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def refused(finished, code, *said):
    """Check for one clear line on stderr, the exit code, and no traceback or result."""
    assert finished.returncode == code, finished.stderr
    assert "Traceback" not in finished.stderr
    lines = [line for line in finished.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, finished.stderr
    for words in said:
        assert words in lines[0]
    assert finished.stdout == ""


def test_wrong_token(run, demo_company):
    """A wrong token is 4, and the token is not repeated."""
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"}
    finished = run("report", *PERIOD, **environment)
    refused(finished, 4, "401", "token")
    assert "not-the-token" not in finished.stderr


def test_unknown_ledger(run, demo_company):
    """A ledger the service does not have is 4, by its id."""
    refused(
        run("queue", *PERIOD, "--ledger", "no-such-ledger", **demo_company.environment()), 4, "404", "no-such-ledger"
    )


def test_dead_port(run, demo_company):
    """A service that does not answer is 4, with the address tried."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": url}
    finished = run("report", *PERIOD, **environment)
    refused(finished, 4, url)
    assert len(finished.stderr.splitlines()) == 1, finished.stderr


def test_end_before_start(run, demo_company):
    """An end before the start is 2."""
    arguments = ("--start-date", "2025-03-31", "--end-date", "2025-03-01")
    refused(run("report", *arguments, **demo_company.environment()), 2, "2025-03-01 is before start_date 2025-03-31")


def test_unknown_zone(run, demo_company):
    """A zone that is none of the interface's is 2."""
    refused(run("report", *PERIOD, "--time-zone", "Mars/Olympus", **demo_company.environment()), 2, "Mars/Olympus")


def test_nothing_configured(run):
    """Without any configuration the message says what to set and how to try the demo."""
    refused(run("report", *PERIOD), 2, "ACCOUNTING_ANALYTICS_BASE_URL", "--demo")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("e1,2025-01-02,Rent,expenses:rent,debit,12.34\ne1,2025-01-02,Rent,assets:bank,credit,12.35\n", "line 2"),
        ("e1,2025-01-02,Rent,expenses:rent,debit,12.345\ne1,2025-01-02,Rent,assets:bank,credit,12.345\n", "12.345"),
    ],
    ids=["unbalanced", "too many fraction digits"],
)
def test_import_refused(run, tmp_path, rows, said):
    """A file with an entry that cannot be posted is 2, names the place, and imports nothing."""
    (tmp_path / "lines.csv").write_text(HEADER + rows, encoding="utf-8")
    finished = run("import", "lines.csv", "--database", "books.db", "--cash", "assets:bank")
    refused(finished, 2, said, "lines.csv", "nothing was imported")


def test_import_and_serve_what_hledger_printed(run, tmp_path):
    """The README's import: a new database gets an instance and a token file that only its owner reads."""
    finished = run(
        "import", PROJECT / "data/sample_hledger.csv", "--database", "books.db", "--cash", "assets:bank*", "--json"
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["entries"] > 0
    (token,) = tmp_path.glob("*.token")
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text().strip() not in finished.stdout + finished.stderr


def test_report_as_json_is_exact(run, demo_company):
    """The JSON report carries amounts as text, and keeps the identity."""
    finished = run("report", *PERIOD, "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    flows = sum(Decimal(ledger["net_cash_flow"]) for ledger in report["ledgers"])
    assert flows == Decimal(report["ending_cash_balance"]) - Decimal(report["starting_cash_balance"]) != 0


def test_reconcile_ties(run, demo_company):
    """Every month of the demo's first quarter ties, with starting balances summed from history."""
    arguments = ("--start-date", "2025-01-01", "--end-date", "2025-03-31", "--since", "2025-01-01", "--json")
    finished = run("reconcile", *arguments, **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    months = json.loads(finished.stdout)
    assert [(month["ties"], month["anchored"], month["differences"]) for month in months] == [(True, False, 0)] * 3


def test_plan_preview_apply_verify(run):
    """The shell's way from rules to changed books: dry run first, the report before and after, then verified."""
    period = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")
    with aa.demo() as company:
        environment = company.environment()
        rules = ("--rules", PROJECT / "data/rules.toml")
        planned = run("plan", *period, *rules, "--output", "plan.csv", "--json", **environment)
        assert planned.returncode == 0, planned.stderr
        items = json.loads(planned.stdout)
        previewed = run("preview", "plan.csv", *period, "--json", **environment)
        changes = [Decimal(row["change"]) for row in json.loads(previewed.stdout)]
        assert sum(changes) == 0 < len(changes)
        apply = ("apply", "plan.csv", "--journal", "journal")
        assert "dry run, nothing was sent" in run(*apply, **environment).stderr
        unverified = run("verify", "plan.csv", **environment)
        assert unverified.returncode == 6, unverified.stderr
        applied = run(*apply, "--confirm", "--modified-by", "ana", "--json", **environment)
        assert applied.returncode == 0, applied.stderr
        answer = json.loads(applied.stdout)
        assert [row["outcome"] for row in answer["outcomes"]] == ["done"] * len(items)
        assert answer["before"] != answer["after"]
        assert run("verify", "plan.csv", **environment).returncode == 0


LOADS = {
    "reconcile": (),
    "queue": (),
    "propose": ("--rules", PROJECT / "data/rules.toml"),
    "plan": ("--rules", PROJECT / "data/rules.toml", "--output", "plan.csv"),
    "export": ("--output", "parquet"),
}


@pytest.mark.parametrize("command", LOADS)
def test_dry_run(run, tmp_path, demo_company, command):
    """A dry run of each command that loads prints what the load would cost, and leaves nothing behind."""
    finished = run(command, *PERIOD, *LOADS[command], "--dry-run", "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    plan = json.loads(finished.stdout)
    assert plan["calls"] == sum(ledger["calls"] for ledger in plan["ledgers"]) > 0
    assert plan["lines"] == sum(ledger["lines"] for ledger in plan["ledgers"]) > 0
    assert "no lines were loaded" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_dry_run_for_people(run, demo_company):
    """Without --json the plan is a sentence, and the reports that come on top are counted."""
    days = ("--start-date", "2025-03-01", "--end-date", "2025-04-30")
    finished = run("reconcile", *days, "--dry-run", **demo_company.environment())
    assert re.match(r"\d+ requests for about [\d,]+ lines of \d+ ledger\(s\): at least ", finished.stdout)
    assert "2 report(s) come on top" in finished.stderr


def test_checkpoint(run, tmp_path, demo_company):
    """What a command loaded stays in its checkpoint: a dry run then has nothing to ask for, a second run ties too."""
    arguments = (*PERIOD, "--checkpoint", "kept")
    first = run("reconcile", *arguments, "--json", **demo_company.environment())
    assert first.returncode == 0, first.stderr
    planned = run("reconcile", *arguments, "--dry-run", "--json", **demo_company.environment())
    plan = json.loads(planned.stdout)
    assert plan["calls"] == plan["lines"] == 0 < plan["kept_lines"]
    assert list((tmp_path / "kept").glob("window-*"))
    second = run("reconcile", *arguments, "--json", **demo_company.environment())
    assert second.stdout == first.stdout
    exported = run("export", *arguments, "--output", "parquet", **demo_company.environment())
    assert exported.returncode == 0, exported.stderr
    other = run("export", "--start-date", "2025-03-01", "--end-date", "2025-03-30", "--checkpoint", "kept",
                "--output", "other", **demo_company.environment())  # fmt: skip
    refused(other, 2, "kept is of another load")


def test_interrupted_with_a_checkpoint(tmp_path, demo_company):
    """Ctrl-C in mid-load is 5, at once, and says where the load goes on."""
    with running(demo_company.database, faults="latency:ms=100") as slow:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": slow.base_url}
        command = [sys.executable, "-m", "accounting_analytics", "reconcile", *PERIOD, "--checkpoint", "kept"]
        process = subprocess.Popen(  # noqa: S603 (our own program)
            command,
            cwd=tmp_path,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not list(tmp_path.glob("kept/window-*")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=20)
    assert (process.returncode, printed) == (5, "")
    assert said.endswith("finished windows are kept in kept: the same command goes on from there\nstopped\n")


def test_allow_partial(run, tmp_path, demo_company, distortion, forwarding):
    """A ledger that cannot be loaded ends a command, or with --allow-partial stamps what it prints and writes."""
    reported = aa.load_cash_flow_report(demo_company.client, "2025-03-01", "2025-03-31").ledgers
    ledger = reported["ledger_id"].iloc[-1]

    def status(path, params):
        return 400 if ledger in path and "journal_entry" in params.get("expand", "") else None

    with forwarding(demo_company.base_url, distortion(status=status)) as base_url:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        refused(run("reconcile", *PERIOD, **environment), 4, "400", ledger)
        partial = run("reconcile", *PERIOD, "--allow-partial", **environment)
        assert partial.returncode == 3, partial.stderr
        assert "PARTIAL: lines are missing" in partial.stdout
        assert "NOT COMPLETE" in partial.stderr
        exported = run("export", *PERIOD, "--output", "parquet", "--allow-partial", **environment)
        assert exported.returncode == 3, exported.stderr
        assert "PARTIAL" in exported.stdout
        assert json.loads((tmp_path / "parquet" / "manifest.json").read_text())["partial"] is True
        refused(run("export", *PERIOD, "--output", "whole", **environment), 4, "400", ledger)
        assert not (tmp_path / "whole").exists()


def test_doctor_on_the_demo(run):
    """The doctor finds nothing wrong with the demo company, and its JSON says so."""
    finished = run("doctor", "--demo", "--json")
    assert finished.returncode == 0, finished.stderr
    diagnosis = json.loads(finished.stdout)
    assert (diagnosis["exit_code"], diagnosis["start_date"], diagnosis["end_date"]) == (0, "2026-04-01", "2026-06-30")
    books = [row for row in diagnosis["findings"] if row["part"] == "The books"]
    assert {row["verdict"] for row in books} == {"ok"}


def test_doctor_says_what_is_wrong(run, demo_company):
    """Without configuration the doctor ends with 2, with a wrong token with 4; the findings stand on stdout."""
    finished = run("doctor")
    assert finished.returncode == 2
    assert "failed       configuration" in finished.stdout
    assert finished.stderr.startswith("error: 1 check(s) failed: configuration")
    refusing = run("doctor", **demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"})
    assert refusing.returncode == 4
    assert "failed       authentication" in refusing.stdout
    assert "not-the-token" not in refusing.stdout + refusing.stderr
    assert "Traceback" not in finished.stderr + refusing.stderr


def test_every_command_explains_itself(run):
    """Every command of the design's list that exists here has help with a sentence."""
    finished = run("--help")
    commands = re.findall(r"^\W ([a-z]+) {2,}\S", finished.stdout, re.MULTILINE)
    assert {
        "demo",
        "serve",
        "import",
        "discover",
        "report",
        "reconcile",
        "queue",
        "propose",
        "plan",
        "preview",
        "apply",
        "doctor",
    } < set(commands)
    for command in commands:
        helped = run(command, "--help")
        assert helped.returncode == 0, command
        assert "Usage" in helped.stdout


def test_a_plan_of_one_demo_fits_the_next(run):
    """The demo's ids are always the same: a plan made of it is previewed by a later command."""
    period = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")
    planned = run("plan", "--demo", *period, "--rules", PROJECT / "data/rules.toml", "--output", "plan.csv", "--json")
    assert planned.returncode == 0, planned.stderr
    following = re.search(r"accounting-analytics (preview .*)", planned.stderr).group(1)
    previewed = run(*following.split(), "--json")
    assert sum(Decimal(row["change"]) for row in json.loads(previewed.stdout)) == 0
    assert "change nothing" not in previewed.stderr
    assert json.loads(previewed.stdout)


def test_preview_of_another_instance(run, tmp_path, demo_company):
    """A plan of other books is refused before it is previewed; one of other days says that nothing changes."""
    rules = ("--rules", PROJECT / "data/rules.toml")
    environment = demo_company.environment()
    planned = run("plan", *PERIOD, *rules, "--output", "plan.csv", **environment)
    assert planned.returncode == 0, planned.stderr
    elsewhere = run("preview", "plan.csv", "--start-date", "2026-01-01", "--end-date", "2026-01-31", **environment)
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert "change nothing in the report" in elsewhere.stderr
    plan = tmp_path / "plan.csv"
    plan.write_text(plan.read_text().replace("harbor-lane", "other-books"))
    refused(run("preview", "plan.csv", *PERIOD, **environment), 2, "other-books", "harbor-lane")


@pytest.mark.parametrize(
    "case",
    [
        (("reconcile", *PERIOD, "--since", "2025-03-15"), "--since 2025-03-15 is after --start-date 2025-03-01"),
        (("reconcile", *PERIOD, "--since", "2025-02-30"), "--since '2025-02-30'"),
        (("reconcile", *PERIOD, "--time-zone", "localtime"), "localtime"),
        (("export", *PERIOD, "--time-zone", "localtime", "--output", "parquet"), "localtime"),
        (("report", *PERIOD, "--time-zone", ""), "''"),
        (("export", *PERIOD, "--output", PROJECT / "README.md"), "is a file"),
        (("export", *PERIOD, "--output", PROJECT / "data"), "contains other files"),
        (("export", *PERIOD, "--output", "new", "--format", "pdf"), "unknown export format 'pdf'; the formats are"),
        (("plan", *PERIOD, "--rules", PROJECT / "data/rules.toml", "--output", "absent/plan.csv"), "absent"),
    ],
)
def test_refused_before_loading(run, distortion, forwarding, demo_company, case):
    """What cannot come to an end is refused before the service is asked for anything."""
    (command, said), asked = case, distortion()
    with forwarding(demo_company.base_url, asked) as base_url:
        refused(run(*command, **demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}), 2, said)
    assert asked.requests == []


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("report",), "Missing option '--start-date'. See: accounting-analytics report --help"),
        (("tokens", "revoke"), "See: accounting-analytics tokens revoke --help"),
        (("reprot",), "Did you mean 'report', 'export'? See: accounting-analytics --help"),
        (("serve", "--port", "x", "--database", "b.db"), "an integer. See: accounting-analytics serve --help"),
    ],
)
def test_usage_hint(run, command, hint):
    """A mistyped command line names the help of the command that was meant."""
    finished = run(*command)
    refused(finished, 2)
    assert hint in finished.stderr.replace("unable to parse string as an integer", "an integer")


def test_where_profiles_are(run, tmp_path):
    """`config show` says which file profiles are read from, and whether it is there."""
    assert run("config", "show").stderr.endswith("config.toml, which is not there\n")
    file = tmp_path / "config" / "accounting-analytics" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[sandbox]\nbase_url = "http://127.0.0.1:8080"\n')
    shown = run("config", "show", "--profile", "sandbox")
    assert f"profile 'sandbox' of {file}\n" in shown.stderr
    assert "http://127.0.0.1:8080" in shown.stdout


def test_no_password_of_an_address(run):
    """A password in the base address is refused, and not repeated."""
    environment = {"INSTANCE_ID": "i", "TOKEN": "t", "BASE_URL": "http://ana:canary@127.0.0.1:1"}
    environment = {f"ACCOUNTING_ANALYTICS_{name}": value for name, value in environment.items()}
    finished = run("report", *PERIOD, **environment)
    refused(finished, 2, "base_url must not hold a name or password")
    shown = run("config", "show", **environment)
    assert "http://***@127.0.0.1:1" in shown.stdout
    assert "canary" not in finished.stderr + shown.stdout + shown.stderr


def test_the_end_is_quick():
    """When a command ends nobody looks for garbage in what it imported."""
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))  # the last to be called\n"
        "from accounting_analytics.cli import main\n"
        "sys.argv[1:] = ['config', 'show']\n"
        "main()\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 (our own words)
    assert told.stdout.splitlines()[-1] == "True"
