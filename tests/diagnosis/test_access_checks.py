"""Checks of the service: each obstacle is reported under its own check, and dependent checks are skipped."""

import datetime as dt
import email.utils
import socket

import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis import Diagnosis
from accounting_analytics.diagnosis.books_checks import CheckedBooks
from accounting_analytics.diagnosis.doctor import (
    FirstResponse,
    check_reachable,
    check_service,
    check_service_and_books,
    request_first_report,
)
from accounting_analytics.diagnosis.findings import NotCheckedError
from accounting_analytics.service.app import ServiceOptions
from accounting_analytics.service.server import running

PERIOD = aa.Period.of("2025-01-01", "2025-02-10")


def test_wrong_token_fails_authentication_alone(small_books, finding_of):
    with small_books.connect(token="not-the-token-of-these-books") as client:
        diagnosis = Diagnosis("", None, check_service_and_books(client, PERIOD, "UTC")[1])
    assert [finding.check for finding in diagnosis.failed] == ["authentication"]
    assert finding_of(diagnosis, "reachable").verdict == "ok"
    assert "401" in finding_of(diagnosis, "authentication").message
    assert "TOKEN_FILE" in finding_of(diagnosis, "authentication").next_step
    assert "not-the-token" not in f"{diagnosis} {diagnosis.to_json()} {diagnosis._repr_html_()}"
    assert diagnosis.exit_code == 4


def test_unknown_instance_is_named_with_its_setting(small_books, finding_of):
    with small_books.connect(instance_id="another-instance") as client:
        diagnosis = Diagnosis("", None, check_service_and_books(client, PERIOD, "UTC")[1])
    finding = finding_of(diagnosis, "authentication")
    assert finding.verdict == "failed"
    assert "does not know the instance 'another-instance'" in finding.message
    assert "INSTANCE_ID" in finding.next_step
    assert diagnosis.exit_code == 4


def test_refused_permission_is_no_failed_authentication(diagnose_books, diagnose_service, distortion, finding_of):
    diagnosis = diagnose_books(distortion(status=lambda path, _: 403 if path.endswith("/cash-flow") else None))
    assert [finding.check for finding in diagnosis.failed] == ["read reports"]
    assert finding_of(diagnosis, "authentication").verdict == "ok"
    assert diagnosis.exit_code == 4
    diagnosis = diagnose_service(status=lambda path, _: 403 if path.endswith("/line-entries") else None)
    assert finding_of(diagnosis, "read line entries").verdict == "failed"
    assert diagnosis.exit_code == 4


@pytest.mark.parametrize(
    ("seconds", "found", "text"),
    [
        (-3600, ("failed", 4), "60 minutes ahead of the service's"),
        (3600, ("failed", 4), "60 minutes behind the service's"),
        (120, ("warning", 0), "2 minutes behind"),
        (0, ("ok", 0), "agree to a minute"),
    ],
)
def test_clock_an_hour_off_fails_two_minutes_warn(diagnose_service, finding_of, seconds, found, text):
    date = email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)
    diagnosis = diagnose_service(date=date)
    finding = finding_of(diagnosis, "clock")
    assert (finding.verdict, diagnosis.exit_code) == found
    assert text in finding.message


def test_a_clock_that_cannot_be_read_is_not_checked(diagnose_service, finding_of):
    assert finding_of(diagnose_service(date="half past nine"), "clock").verdict == "not checked"


def test_dead_port_is_unreachable_and_the_rest_unchecked(small_books, finding_of):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with small_books.connect(url) as client:
        diagnosis = Diagnosis("", None, check_service_and_books(client, PERIOD, "UTC")[1])
    assert [finding.check for finding in diagnosis.failed] == ["reachable"]
    assert url in finding_of(diagnosis, "reachable").message
    assert finding_of(diagnosis, "complete").message == "because no report could be read"
    assert diagnosis.exit_code == 4


def test_failing_service_is_unreachable_with_its_status(diagnose_books, distortion, finding_of):
    diagnosis = diagnose_books(distortion(status=lambda *_: 503))
    assert [finding.check for finding in diagnosis.failed] == ["reachable"]
    assert "503" in finding_of(diagnosis, "reachable").message


def test_plain_http_to_another_machine_is_a_warning():
    assert check_reachable("http://ledgers.example.com", FirstResponse(None)).verdict == "warning"
    assert "token" in check_reachable("http://ledgers.example.com", FirstResponse(None)).message
    assert "TLS" in check_reachable("https://ledgers.example.com", FirstResponse(None)).message


@pytest.mark.parametrize("address", ["http://127.0.0.1:80", "http://[::1]:80", "http://localhost:80"])
def test_plain_http_to_loopback_is_fine(address):
    assert check_reachable(address, FirstResponse(None)).verdict == "ok"


def test_stated_rate_limit_is_reported(small_books, finding_of):
    options = ServiceOptions(requests_per_minute=320)
    with running(small_books.database, options) as service, small_books.connect(service.base_url) as client:
        day = aa.Period.of("2025-02-05", "2025-02-05")
        findings = check_service(client, day, request_first_report(client, day))
    assert "320 requests per minute" in finding_of(Diagnosis("", None, findings), "rate limit").message


def test_last_three_full_months_are_checked_by_default(small_books):
    with small_books.connect() as client:
        for today in (dt.date(2025, 3, 1), dt.date(2025, 6, 15)):
            assert CheckedBooks(client, None, today, "UTC").period == aa.Period.of("2024-12-01", "2025-02-28")
        with pytest.raises(NotCheckedError, match="no cash flow in the last twelve months"):
            CheckedBooks(client, None, dt.date(2027, 6, 15), "UTC").period  # noqa: B018


def test_refused_months_before_the_books_are_left_out(posted_books):
    opened = ("2025-02-03", {"bank": 5, "opening balance retained earnings": -5})
    access = posted_books.create([opened], {"bank": "bank_account"}, entries_start=dt.date(2025, 2, 1))
    with access.client() as client:
        assert CheckedBooks(client, None, dt.date(2025, 3, 1), "UTC").period == aa.Period.of("2025-02-01", "2025-02-28")
        with pytest.raises(NotCheckedError, match="no cash flow"):
            CheckedBooks(client, None, dt.date(2025, 2, 10), "UTC").period  # noqa: B018
