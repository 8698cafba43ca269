"""The way into a service: what stands in it is named, and nothing more is asked."""

import datetime as dt
import email.utils
import socket
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis.access import Knock, reachable
from accounting_analytics.diagnosis.cached_responses import Evidence, last_months
from accounting_analytics.diagnosis.checkup import _examine
from accounting_analytics.periods import Period
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine
from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.posted_journal import post_entries
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running
from accounting_analytics.service.web.service_options import ServiceOptions

PERIOD = Period.of("2025-01-01", "2025-02-10")


def test_a_wrong_token(books, found):
    """401: authentication failed, the token is not repeated, nothing else is claimed."""
    with books.connected(token="not-the-token-of-these-books") as client:
        diagnosis = aa.Diagnosis("", None, _examine(client, PERIOD, "UTC").findings)
    assert [finding.check for finding in diagnosis.failed] == ["authentication"]
    assert found(diagnosis, "reachable").verdict == "ok"
    assert "401" in found(diagnosis, "authentication").said
    assert "TOKEN_FILE" in found(diagnosis, "authentication").next_step
    assert "not-the-token" not in f"{diagnosis} {diagnosis.as_json()} {diagnosis._repr_html_()}"
    assert diagnosis.exit_code == 4


def test_another_instance(books, found):
    """404: the instance is not there, or not this token's; the finding names it and its setting."""
    with books.connected(instance_id="somebody-elses") as client:
        diagnosis = aa.Diagnosis("", None, _examine(client, PERIOD, "UTC").findings)
    finding = found(diagnosis, "authentication")
    assert finding.verdict == "failed"
    assert "does not know the instance 'somebody-elses'" in finding.said
    assert "INSTANCE_ID" in finding.next_step
    assert diagnosis.exit_code == 4


def test_a_lower_tier(tmp_path, found):
    """403 on tags is told as a warning with the tier; everything else is fine: exit code 0."""
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store, NewInstance(tier=2))
        token = issue_token(store, instance)
    with (
        running(tmp_path / "books.db") as service,
        aa.LedgerClient(service.base_url, token=token, instance_id=instance) as client,
    ):
        diagnosis = aa.Diagnosis("", None, _examine(client, PERIOD, "UTC").findings)
    finding = found(diagnosis, "filter by tags")
    assert finding.verdict == "warning"
    assert "Tier 3" in finding.said
    assert "403" in finding.said
    assert diagnosis.exit_code == 0


def test_tags_refused_over_real_lines(examine, distortion, found):
    """403 on a tag that lines carry: the tagged report is not checked, and nothing failed."""

    def status(path, params):
        return 403 if path.endswith("/cash-flow") and "tag_ids" in params else None

    diagnosis = examine(distortion(status=status))
    assert diagnosis.failed == ()
    assert "Tier 3" in found(diagnosis, "tagged report").said


def test_no_right_to_read(examine, distortion, found):
    """403 on the report itself is a failed permission, not a failed authentication."""
    diagnosis = examine(distortion(status=lambda path, _: 403 if path.endswith("/cash-flow") else None))
    assert [finding.check for finding in diagnosis.failed] == ["read reports"]
    assert found(diagnosis, "authentication").verdict == "ok"
    assert diagnosis.exit_code == 4


def test_no_right_to_list(examine, distortion, found):
    """403 on line entries is named as such."""
    diagnosis = examine(distortion(status=lambda path, _: 403 if path.endswith("/line-entries") else None))
    assert found(diagnosis, "read line entries").verdict == "failed"
    assert diagnosis.exit_code == 4


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3600, ("failed", "60 minute(s) ahead of the service's", 4)),
        (3600, ("failed", "60 minute(s) behind the service's", 4)),
        (120, ("warning", "2 minute(s) behind", 0)),
        (0, ("ok", "agree to a minute", 0)),
    ],
)
def test_the_clock(examine, distortion, found, seconds, expected):
    """A service whose date is an hour off fails the check, two minutes are a warning."""
    date = email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)
    diagnosis = examine(distortion(date=date), period=Period.of("2025-02-05", "2025-02-05"))
    finding = found(diagnosis, "clock")
    verdict, said, exit_code = expected
    assert (finding.verdict, diagnosis.exit_code) == (verdict, exit_code)
    assert said in finding.said


def test_a_clock_that_cannot_be_read(examine, distortion, found):
    """A date that is none is not guessed at."""
    diagnosis = examine(distortion(date="half past nine"), period=Period.of("2025-02-05", "2025-02-05"))
    assert found(diagnosis, "clock").verdict == "not checked"


def test_nobody_there(books, found):
    """A dead port: reachable failed with the address, the rest not checked."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with books.connected(url) as client:
        diagnosis = aa.Diagnosis("", None, _examine(client, PERIOD, "UTC").findings)
    assert [finding.check for finding in diagnosis.failed] == ["reachable"]
    assert url in found(diagnosis, "reachable").said
    assert found(diagnosis, "identity").said == "because the service let us read no report"
    assert diagnosis.exit_code == 4


@pytest.mark.parametrize("status", [500, 503])
def test_a_service_that_fails(examine, distortion, found, status):
    """5xx: the service is there and does not work."""
    diagnosis = examine(distortion(status=lambda *_: status))
    assert [finding.check for finding in diagnosis.failed] == ["reachable"]
    assert str(status) in found(diagnosis, "reachable").said


def test_the_way_in_clear_text():
    """Plain HTTP to another machine is a warning; TLS is not, nor is loopback."""
    assert reachable("http://ledgers.example.com", Knock(None)).verdict == "warning"
    assert "token" in reachable("http://ledgers.example.com", Knock(None)).said
    assert "TLS" in reachable("https://ledgers.example.com", Knock(None)).said
    for address in ("http://127.0.0.1:80", "http://[::1]:80", "http://localhost:80"):
        assert reachable(address, Knock(None)).verdict == "ok"


def test_the_rate_limit(books, found):
    """What the service says of its rate limit is told."""
    with (
        running(books.database, ServiceOptions(requests_per_minute=320)) as service,
        books.connected(service.base_url) as client,
    ):
        diagnosis = aa.Diagnosis("", None, _examine(client, Period.of("2025-02-05", "2025-02-05"), "UTC").findings)
    assert "320 requests a minute" in found(diagnosis, "rate limit").said


def test_the_last_three_months(books):
    """Without a period the last three full months are taken, the third of which has flows, a year back at most."""
    with books.connected() as client:
        assert last_months(Evidence(client), dt.date(2025, 3, 1), "UTC") == Period.of("2024-12-01", "2025-02-28")
        assert last_months(Evidence(client), dt.date(2025, 6, 15), "UTC") == Period.of("2024-12-01", "2025-02-28")
        assert last_months(Evidence(client), dt.date(2027, 6, 15), "UTC") is None


def test_books_that_began_later(tmp_path):
    """Months before the start of the books, which a service refuses to show, are left out."""
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store, NewInstance(entries_start=dt.date(2025, 2, 1)))
        token = issue_token(store, instance)
        equity = next(ledger.id for ledger in store.ledgers(instance) if ledger.sub_type == "equity")
        bank = create_ledger(store, instance, NewLedger("Bank", financial_account_type="bank_account")).id
        opened = dt.datetime(2025, 2, 3, 12, tzinfo=dt.UTC)
        lines = (NewLine(bank, "debit", Decimal(5)), NewLine(equity, "credit", Decimal(5)))
        post_entries(store, instance, [NewJournalEntry(opened, "opened", lines)])
    with (
        running(tmp_path / "books.db") as service,
        aa.LedgerClient(service.base_url, token=token, instance_id=instance) as client,
    ):
        assert last_months(Evidence(client), dt.date(2025, 3, 1), "UTC") == Period.of("2025-02-01", "2025-02-28")
        assert last_months(Evidence(client), dt.date(2025, 2, 10), "UTC") is None
