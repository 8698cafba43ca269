"""A diagnosis as it is read: exit code, text, table, HTML, JSON; and the configuration it starts from."""

import json

import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis import Finding, Part, Verdict, checkup
from accounting_analytics.errors import InputError, PeriodError
from accounting_analytics.periods import Period

HOSTILE = "<script>alert(1)</script>\x1b[31m\n" + "words " * 30


def diagnosis(*findings):
    """Return a diagnosis of findings."""
    return aa.Diagnosis("Service http://ledgers.test", Period.of("2025-01-01", "2025-01-31"), findings)


@pytest.fixture
def configured(books, monkeypatch, tmp_path):
    """Configure the books in the environment, and nothing else."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(books.token, encoding="utf-8")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", books.base_url)
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", books.instance)
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN_FILE", str(token))
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TIME_ZONE", "Europe/Berlin")
    return token


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((), 0),
        ((Part.BOOKS,), 3),
        ((Part.SERVICE,), 4),
        ((Part.BOOKS, Part.SERVICE), 4),
        ((Part.SERVICE, Part.MACHINE, Part.BOOKS), 2),
    ],
)
def test_exit_codes(parts, code):
    """The cause gives the exit code: configuration before service before books; warnings give none."""
    warned = Finding(Part.MACHINE, "disk", Verdict.WARNING, "little room")
    assert diagnosis(warned, *(Finding(part, "check", Verdict.FAILED, "said") for part in parts)).exit_code == code


def test_an_error_keeps_its_exit_code():
    """A check of the books that the service ended is the service's failure."""
    ended = Finding(Part.BOOKS, "identity", Verdict.FAILED, "503", error_code=4)
    assert diagnosis(ended).exit_code == 4


@pytest.mark.parametrize("width", [80, 120])
def test_text_is_as_wide_as_asked(width):
    """No line is wider, what is long is folded under itself, and nothing steers the terminal."""
    finding = Finding(Part.BOOKS, "identity", Verdict.FAILED, HOSTILE, "do " * 50)
    lines = diagnosis(finding).explain(width).splitlines()
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert any(line.startswith("failed       identity  <script>") for line in lines)
    assert any("-> do do" in line for line in lines)


def test_the_same_advice_is_given_once():
    """What several checks advise stands under the first of them; the table has it in every row."""
    one = diagnosis(*(Finding(Part.BOOKS, name, Verdict.FAILED, "said", "ask them") for name in ("first", "second")))
    assert one.explain().count("-> ask them") == 1
    assert list(one.frame["next step"]) == ["ask them", "ask them"]


def test_html_and_table_hold_text_only():
    """HTML escapes what the books say; table and JSON carry it without control characters."""
    one = diagnosis(Finding(Part.BOOKS, "identity", Verdict.FAILED, HOSTILE, "look"))
    assert "<script>" not in one._repr_html_()
    assert "&lt;script&gt;" in one._repr_html_()
    assert list(one.frame.columns) == ["part", "check", "verdict", "finding", "next step"]
    assert "\x1b" not in json.dumps(one.as_json())
    assert one.as_json()["exit_code"] == 3


def test_the_configured_service(configured, found):
    """Without a client the configured service is examined, in its zone; sources are told, values and secrets not."""
    examined = aa.doctor(None, "2025-02-01", "2025-02-05")
    assert examined.failed == (), examined
    assert examined.period == Period.of("2025-02-01", "2025-02-05", "Europe/Berlin")
    said = found(examined, "configuration").said
    assert "base_url, token_file, instance_id, time_zone from environment" in said
    assert configured.read_text(encoding="utf-8") not in f"{examined}{examined.as_json()}"


@pytest.mark.usefixtures("configured")
def test_a_configuration_that_cannot_be_used(monkeypatch, found):
    """What is wrong with the configuration is a finding, not an exception; only the machine is examined."""
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "ledgers.example.com")
    examined = aa.doctor()
    assert "'ledgers.example.com' is not an http(s) address" in found(examined, "configuration").said
    assert examined.exit_code == 2
    assert {finding.part for finding in examined.findings} == {Part.MACHINE}
    assert len(examined.findings) > 5


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("setting", "value"),
    [("TOKEN_FILE", "/not/there"), ("TIME_ZONE", "Mars/Olympus"), ("REQUESTS_PER_MINUTE", "many"), ("PROFILE", "none")],
)
def test_settings_that_cannot_be_used(monkeypatch, setting, value):
    """Each setting that cannot be used is named."""
    monkeypatch.setenv(f"ACCOUNTING_ANALYTICS_{setting}", value)
    configured = checkup._configured(None)
    assert configured.client is None
    assert configured.finding.verdict == "failed"
    assert value in configured.finding.said


@pytest.mark.usefixtures("configured")
def test_periods_are_checked_first():
    """Half a period, a period backwards and an unknown zone are refused before anything is looked at."""
    with pytest.raises(InputError, match="both start_date and end_date"):
        aa.doctor(None, "2025-01-01")
    with pytest.raises(PeriodError, match="before"):
        aa.doctor(None, "2025-02-01", "2025-01-01")
    with pytest.raises(PeriodError, match="Mars"):
        aa.doctor(None, "2025-01-01", "2025-02-01", time_zone="Mars/Olympus")
