"""The command line: one clear line and an exit code for every error, its configuration, and days of commands."""

import datetime as dt
import inspect
import json
import re
import signal
import socket
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from unittest import mock
from zoneinfo import ZoneInfo

import pytest

import accounting_analytics as aa
from accounting_analytics import errors
from accounting_analytics.cli import program
from accounting_analytics.cli.options import GivenDays
from accounting_analytics.core.errors import InputError, PeriodError

PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


def test_every_error_is_one_line_and_its_exit_code(monkeypatch, capsys):
    for kind in ERRORS:
        monkeypatch.setattr(program, "app", mock.Mock(side_effect=kind.__new__(kind, "what is wrong")))
        assert program.run([]) == kind.exit_code
        assert capsys.readouterr().err == "error: what is wrong\n"


@pytest.fixture
def run_here(tmp_path, monkeypatch):
    """Return a function that runs the program in this process with a given stdout, and returns its exit code."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def run_here(stdout, *arguments):
        monkeypatch.setattr("sys.stdout", stdout)
        monkeypatch.setattr("sys.argv", ["accounting-analytics", *arguments])
        with pytest.raises(SystemExit) as ended:
            program.main()
        return ended.value.code

    yield run_here
    signal.signal(signal.SIGTERM, before)


def test_stdout_is_utf8_everywhere(run_here):
    name = "Bücher 𝄞"
    content = BytesIO()
    create = ("service", "instances", "create", "--database", "books.db", "--name", name)
    assert run_here(TextIOWrapper(content, encoding="ascii"), *create, "--json") == 0
    (created,) = json.loads(content.getvalue())
    assert created["name"] == name


def test_version_is_printed_on_stdout(run):
    assert run("--version") == (f"{aa.__version__}\n", "")


def test_wrong_token_exits_4_and_is_not_repeated(run_demo, assert_refused):
    finished = run_demo("report", *PERIOD, ACCOUNTING_ANALYTICS_TOKEN="not-the-token", code=4)
    assert_refused(finished, "401", "token")
    assert "not-the-token" not in finished.stderr


def test_the_demo_company_needs_no_proxy(run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{free.getsockname()[1]}"
        names = [name for scheme in ("http", "https", "all") for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper())]
        environment = dict.fromkeys(names, proxy) | {"NO_PROXY": "", "no_proxy": ""}
        finished = run("report", "--demo", "--period", "2026-05", "--json", **environment)
    assert finished.content


def test_unresponsive_service_exits_4_with_its_address(run_demo, assert_refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    finished = run_demo("report", *PERIOD, ACCOUNTING_ANALYTICS_BASE_URL=url, code=4)
    assert_refused(finished, url)
    assert len(finished.stderr.splitlines()) == 1, finished.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--period", "2026-13"), "'2026-13' is not a period"),
        (("--start-date", "2026-05-01", "--end-date", "2026-04-01"), "end_date 2026-04-01 is before start_date"),
        (("--period", "2026-05", "--time-zone", "America/New_Yrok"), "did you mean 'America/New_York'?"),
        (("--period", "2026-05", "--compare", "prior-yaer"), "did you mean 'prior_year'"),
    ],
)
def test_unusable_options_are_refused_before_a_company_is_served(run_here, monkeypatch, capsys, options, message):
    monkeypatch.setattr(aa, "demo", lambda: pytest.fail("served"))
    assert run_here(sys.stdout, "statements", "income", "--demo", *options) == 2
    assert message in capsys.readouterr().err


def test_config_show_names_the_profile_file(run, tmp_path):
    assert run("config", "show").stderr.endswith("config.toml, which does not exist\n")
    file = tmp_path / "config" / "accounting-analytics" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[sandbox]\nbase_url = "http://127.0.0.1:8080"\nfiscal_year_start_month = 7\n')
    finished = run("config", "show", "--profile", "sandbox")
    assert f"profile 'sandbox' of {file}\n" in finished.stderr
    assert "http://127.0.0.1:8080" in finished.stdout
    assert re.search(r"fiscal_year_start_month +7 +profile 'sandbox'", finished.stdout)


def test_password_in_an_address_is_refused_and_masked(run, assert_refused):
    environment = {"INSTANCE_ID": "i", "TOKEN": "t", "BASE_URL": "http://ana:canary@127.0.0.1:1"}
    environment = {f"ACCOUNTING_ANALYTICS_{name}": value for name, value in environment.items()}
    finished = run("report", *PERIOD, **environment, code=2)
    assert_refused(finished, "base_url must not contain a user name or password")
    shown = run("config", "show", **environment)
    assert "http://***@127.0.0.1:1" in shown.stdout
    assert "canary" not in finished.stderr + shown.stdout + shown.stderr


def test_doctor_exits_2_unconfigured_and_4_with_wrong_token(run, demo_company):
    finished = run("doctor", code=2)
    assert "failed       configuration" in finished.stdout
    assert finished.stderr.startswith("error: 1 check failed: configuration")
    unauthorized = run("doctor", **demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"}, code=4)
    assert "failed       authentication" in unauthorized.stdout
    assert "not-the-token" not in unauthorized.stdout + unauthorized.stderr
    assert "Traceback" not in finished.stderr + unauthorized.stderr


def test_missing_configuration_says_what_to_set(run, assert_refused):
    assert_refused(run("report", *PERIOD, code=2), "ACCOUNTING_ANALYTICS_BASE_URL", "--demo")


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("verify-export",), "FOLDER is missing, or has no value. See: accounting-analytics verify-export --help"),
        (("service", "tokens", "revoke"), "See: accounting-analytics service tokens revoke --help"),
        (("reprot",), 'Did you mean "report"?'),
        (("statements", "incom"), 'Did you mean "income"? See: accounting-analytics statements --help'),
        (("statements", "income", "2026-05"), "options are written --name VALUE. See: accounting-analytics statements"),
        (
            ("serve", "--port", "x", "--database", "b.db"),
            'unable to convert "x" into int. See: accounting-analytics ser',
        ),
    ],
)
def test_usage_errors_name_the_help(run, assert_refused, command, hint):
    assert_refused(run(*command, code=2), hint)


TOKYO = "Asia/Tokyo"


def test_dates_or_periods_become_days():
    assert GivenDays("2026-01-01", "2026-03-31").in_zone(TOKYO) == aa.Period("2026-01-01", "2026-03-31", TOKYO)
    assert GivenDays(period="2026-Q1").in_zone(TOKYO) == aa.Period("2026-01-01", "2026-03-31", TOKYO)
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart: never the same day
        before = dt.datetime.now(ZoneInfo(zone)).date()
        today = GivenDays(period="today").in_zone(zone)
        assert before <= today.start_date == today.end_date <= dt.datetime.now(ZoneInfo(zone)).date()
    assert GivenDays(None, "2026-01-01").optional_dates(TOKYO) == (None, "2026-01-01")
    assert GivenDays(period="2026-02").optional_dates(TOKYO) == ("2026-02-01", "2026-02-28")
    with pytest.raises(InputError, match="both given"):
        GivenDays(None, "2026-01-01", "2026").optional_dates(TOKYO)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (GivenDays(), "no days are given: add --period .such as last-month, 2026-Q1 or 2026-03., or --start-date and"),
        (GivenDays("2026-01-01"), "--end-date is missing: give both dates, or --period"),
        (GivenDays(end_date="2026-01-01"), "--start-date is missing: give both dates, or --period"),
        (GivenDays("2026-01-01", period="2026"), "--period and --start-date are both given: leave one of them out"),
        (GivenDays(None, "2026-01-01", "2026"), "--period and --end-date are both given"),
        (GivenDays(period="lastmonth"), "--period: 'lastmonth' is not a period; did you mean 'last-month'"),
        (GivenDays(period=""), "--period: '' is not a period; write it like 2026, 2026-H1"),
    ],
)
def test_unusable_days_name_their_option(given, message):
    with pytest.raises((InputError, PeriodError), match=message):
        given.in_zone(TOKYO)


def test_commands_get_days_and_suggest_dates(run_demo, run, assert_refused):
    first_quarter = ("--start-date", "2025-01-01", "--end-date", "2025-03-31")
    by_period = run_demo("report", "--period", "2025-Q1", "--json")
    assert by_period.content == run_demo("report", *first_quarter, "--json").content
    queued = run_demo("queue", "--period", "2025-03", "--output", "d.csv")
    assert "--start-date 2025-03-01 --end-date 2025-03-31" in queued.stderr
    assert_refused(run("queue", code=2), "no days are given: add --period")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (
            "RLIMIT_NOFILE, (3, 3)",
            "error: Too many open files; allow more open files, as with ulimit -n 1024, and run it again",
        ),
        ("RLIMIT_AS, (250_000_000, 250_000_000)", "error: there is not enough memory"),
    ],
)
def test_exhausted_machine_limits_are_named_in_one_line(limit, message):
    code = (
        "import resource, sys; from accounting_analytics.cli import program; "
        f"resource.setrlimit(resource.{limit}); sys.exit(program.run(['verify-export', 'nowhere']))"
    )
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own program)
    assert finished.returncode == 1
    assert finished.stderr.startswith(message)
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("queue", "--demo", "--limit", "20k"), "--limit is 20k; it must be a whole number, written in full"),
        (
            ("books", "close", "2026-05", "--books", "local"),
            "2026-05 is given without an option: write --period 2026-05;",
        ),
        (("report", "2026-Q2", "--demo"), "2026-Q2 is given without an option: write --period 2026-Q2;"),
        (("report", "canary-token", "--demo"), "There is an argument that the command does not have"),
    ],
)
def test_misplaced_words_are_named_without_secrets(run, assert_refused, command, message):
    finished = run(*command, code=2)
    assert_refused(finished, message)
    assert "canary" not in finished.stderr
