"""The doctor: its diagnosis as exit code, text, table, HTML and JSON, and the configuration it uses."""

import json

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.diagnosis import Diagnosis, Finding, Part, Verdict
from accounting_analytics.diagnosis.doctor import check_configuration

HOSTILE = "<script>alert(1)</script>\x1b[31m\n" + "words " * 30


def diagnosis(*findings):
    return Diagnosis("Service http://ledgers.test", aa.Period.of("2025-01-01", "2025-01-31"), findings)


@pytest.fixture
def configured(small_books, monkeypatch, tmp_path):
    """Configure the books in the environment, and nothing else."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(small_books.token, encoding="utf-8")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", small_books.base_url)
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", small_books.instance)
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
def test_exit_code_is_configuration_then_service_then_books(parts, code):
    warned = Finding(Verdict.WARNING, "little space", part=Part.MACHINE, check="disk")
    failures = (Finding(Verdict.FAILED, "message", part=part, check="check") for part in parts)
    assert diagnosis(warned, *failures).exit_code == code
    ended = Finding(Verdict.FAILED, "503", error_code=4, part=Part.BOOKS, check="days add up")  # by an error
    assert diagnosis(ended).exit_code == 4


@pytest.mark.parametrize("width", [80, 120])
def test_text_has_the_given_width(width):
    finding = Finding(Verdict.FAILED, HOSTILE, "do " * 50, part=Part.BOOKS, check="complete")
    lines = diagnosis(finding).explain(width).splitlines()
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert any(line.startswith("failed       complete  <script>") for line in lines)
    assert any("-> do do" in line for line in lines)


def test_repeated_advice_is_printed_once():
    one = diagnosis(*(Finding(Verdict.FAILED, "message", "ask them", check=name) for name in ("first", "second")))
    assert one.explain().count("-> ask them") == 1
    assert list(one.frame["next step"]) == ["ask them", "ask them"]


def test_html_and_table_are_escaped():
    one = diagnosis(Finding(Verdict.FAILED, HOSTILE, "step", check="complete"))
    assert "<script>" not in one._repr_html_()
    assert "&lt;script&gt;" in one._repr_html_()
    assert list(one.frame.columns) == ["part", "check", "verdict", "finding", "next step"]
    assert "\x1b" not in one.to_json()
    assert json.loads(one.to_json())["exit_code"] == 3


@pytest.mark.long
def test_configured_service_is_checked_without_values_or_secrets(configured, finding_of):
    result = aa.doctor(None, "2025-02-01", "2025-02-05")
    assert result.failed == (), result
    assert result.period == aa.Period.of("2025-02-01", "2025-02-05", "Europe/Berlin")
    message = finding_of(result, "configuration").message
    assert "base_url, token_file, instance_id, time_zone from environment" in message
    assert configured.read_text(encoding="utf-8") not in f"{result}{result.to_json()}"


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("BASE_URL", "ledgers.example.com"), ("TOKEN_FILE", "/not/there"), ("TIME_ZONE", "Mars/Olympus")),
        *(("REQUESTS_PER_MINUTE", "many"), ("PROFILE", "none")),
    ],
)
def test_invalid_settings_are_findings(monkeypatch, setting, value):
    monkeypatch.setenv(f"ACCOUNTING_ANALYTICS_{setting}", value)
    client, finding = check_configuration(None, None)
    assert (client, finding.verdict) == (None, "failed")
    assert value in finding.message


@pytest.mark.usefixtures("configured")
def test_invalid_periods_are_refused():
    with pytest.raises(InputError, match="both start_date and end_date"):
        aa.doctor(None, "2025-01-01")
    with pytest.raises(PeriodError, match="before"):
        aa.doctor(None, "2025-02-01", "2025-01-01")
    with pytest.raises(PeriodError, match="Mars"):
        aa.doctor(None, "2025-01-01", "2025-02-01", time_zone="Mars/Olympus")


def test_consistent_books_pass_every_check(diagnose_books, distortion):
    recorder = distortion()
    diagnosis = diagnose_books(recorder)
    books = [finding for finding in diagnosis.findings if finding.part == "The books"]
    verdicts = {finding.check: finding.verdict for finding in books}
    assert set(verdicts.values()) == {"ok"}, diagnosis
    assert len(verdicts) == 4
    assert diagnosis.exit_code == 0
    assert {path.rsplit("/", 1)[1] for path, _ in recorder.requests} == {"cash-flow", "line-entries"}
    assert len(recorder.requests) < 100


def test_failing_daily_report_fails_one_check_and_exits_4(diagnose_books, failed_checks, distortion, finding_of):
    def status(path, params):
        return (
            503 if path.endswith("/cash-flow") and params["start_date"] == params["end_date"] == "2025-02-09" else None
        )

    diagnosis = diagnose_books(distortion(status=status))
    assert failed_checks(diagnosis) == ["days add up"]
    assert "503" in finding_of(diagnosis, "days add up").message
    assert finding_of(diagnosis, "reconciled").message == "because the service failed in an earlier check"
    assert diagnosis.exit_code == 4
