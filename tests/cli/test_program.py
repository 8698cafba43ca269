"""The command line: one clear line and an exit code for every error, and a hint for usage errors."""

import inspect
import json
import signal
import socket
import sys
from io import BytesIO, TextIOWrapper
from unittest import mock

import pytest

import accounting_analytics as aa
from accounting_analytics import errors
from accounting_analytics.cli import program

PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


def test_every_error_is_one_line_and_its_exit_code(monkeypatch, capsys):
    """Each error class, a new one too, ends the program with its own exit code and one line."""
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


def test_the_encoding_of_stdout(run_here):
    """It is UTF-8 wherever the program runs, so that every name can be printed."""
    name = "Bücher 𝄞"
    content = BytesIO()
    create = ("instances", "create", "--database", "books.db", "--name", name)
    assert run_here(TextIOWrapper(content, encoding="ascii"), *create, "--json") == 0
    (created,) = json.loads(content.getvalue())
    assert created["name"] == name


def test_the_version(run):
    """The version is printed on stdout, before any command."""
    finished = run("--version")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"{aa.__version__}\n", "")


def test_wrong_token(run, assert_refused, demo_company):
    """A wrong token is 4, and the token is not repeated."""
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"}
    finished = run("report", *PERIOD, **environment)
    assert_refused(finished, 4, "401", "token")
    assert "not-the-token" not in finished.stderr


def test_the_demo_company_needs_no_proxy(run):
    """Where the environment names a proxy for everything, --demo and its notebooks still reach loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{free.getsockname()[1]}"
        names = [name for scheme in ("http", "https", "all") for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper())]
        environment = dict.fromkeys(names, proxy) | {"NO_PROXY": "", "no_proxy": ""}
        finished = run("report", "--demo", "--period", "2026-05", "--json", **environment)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)


def test_dead_port(run, assert_refused, demo_company):
    """A service that does not respond is 4, with its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": url}
    finished = run("report", *PERIOD, **environment)
    assert_refused(finished, 4, url)
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
def test_what_is_wrong_is_said_before_a_company_is_served(run_here, monkeypatch, capsys, options, message):
    """Nobody waits for the demo company to read that an option cannot be used."""
    monkeypatch.setattr(aa, "demo", lambda: pytest.fail("served"))
    assert run_here(sys.stdout, "statements", "income", "--demo", *options) == 2
    assert message in capsys.readouterr().err


def test_no_configuration(run, assert_refused):
    """Without any configuration the message says what to set and how to try the demo."""
    assert_refused(run("report", *PERIOD), 2, "ACCOUNTING_ANALYTICS_BASE_URL", "--demo")


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("verify-export",), "FOLDER requires an argument. See: accounting-analytics verify-export --help"),
        (("tokens", "revoke"), "See: accounting-analytics tokens revoke --help"),
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
    """A mistyped command line names the help of the command that was meant."""
    assert_refused(run(*command), 2, hint)
