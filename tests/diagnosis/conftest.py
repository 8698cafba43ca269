"""Small books on a real service, checked directly and through distorted responses."""

from types import SimpleNamespace

import pytest
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.diagnosis import Diagnosis
from accounting_analytics.diagnosis.doctor import check_service, check_service_and_books, request_first_report

PERIOD = aa.Period.of("2025-01-01", "2025-02-10")
LEDGERS = {
    "bank": "bank_account",
    "card": "credit_card",
    "receivable": "accounts_receivable",
    "rent": "expense operating_expenses debit",
    "meals": "expense operating_expenses debit",
    "sales": "revenue operating_revenues credit",
}
MEALS = enumerate(("01-11", "01-14", "01-21", "02-01", "02-04", "02-06", "02-07"), 11)
SALES = enumerate(("01-12", "01-28", "02-04", "02-09"), 310)
ENTRIES = [
    ("2025-01-02", {"rent": "1200.00", "bank": "-1200.00"}),
    ("2025-02-02", {"rent": Part("1250.00", tags=("project=roof",)), "bank": "-1250.00"}),
    ("2025-01-20", {"card": "40.00", "bank": "-40.00"}),
    ("2025-02-05", {"rent": "60.00", "meals": "40.00", "bank": "-100.00"}),
    ("2025-02-03", {"receivable": "500.00", "sales": "-500.00"}),
    ("2025-02-08", {"bank": "500.00", "receivable": "-500.00"}),
    *((f"2025-{day}", {"meals": f"{number}.25", "card": f"-{number}.25"}) for number, day in MEALS),
    *((f"2025-{day}", {"bank": f"{number}.10", "sales": f"-{number}.10"}) for number, day in SALES),
]
"""Two months: rent, meals, a split, a transfer, sales in cash and on account, one tag."""


def flow_of(report, ledger_id):
    """Return the object of a ledger in a report's JSON; None if there is none."""
    return next((ledger for ledger in report["cash_flow_ledgers"] if ledger["ledger_id"] == ledger_id), None)


@pytest.fixture(scope="session")
def small_books(posted_books):
    """Return the books: address, token, instance, ledgers, and a function that connects; tests do not change them."""
    access = posted_books.create(ENTRIES, LEDGERS)
    return SimpleNamespace(
        base_url=access.base_url,
        database=posted_books.path,
        instance=access.instance_id,
        token=access.token,
        connect=access.client,
        flow_of=flow_of,
        **{ledger_id: ledger_id for ledger_id in LEDGERS},
    )


@pytest.fixture
def diagnose_books(small_books, distortion, forwarding):
    """Return a function that checks service and books through a distortion, without the checks of the machine."""

    def diagnose_books(through=None, period=PERIOD, **options):
        with (
            forwarding(small_books.base_url, through or distortion()) as base_url,
            small_books.connect(base_url, max_attempts=2, **options) as client,
        ):
            checked_days, findings = check_service_and_books(client, period, period.time_zone)
        return Diagnosis("subject", checked_days, findings)

    return diagnose_books


@pytest.fixture
def diagnose_service(small_books, distortion, forwarding):
    """Return a function that checks the service alone, with the report of one day, through a distortion."""

    def diagnose_service(**distorted):
        day = aa.Period.of("2025-02-05", "2025-02-05")
        with (
            forwarding(small_books.base_url, distortion(**distorted)) as base_url,
            small_books.connect(base_url, max_attempts=2) as client,
        ):
            return Diagnosis("subject", None, check_service(client, day, request_first_report(client, day)))

    return diagnose_service


@pytest.fixture
def finding_of():
    """Return a function that returns the only finding of a check."""

    def finding_of(diagnosis, check):
        (finding,) = [finding for finding in diagnosis.findings if finding.check == check]
        return finding

    return finding_of


@pytest.fixture
def failed_checks():
    return lambda diagnosis: [finding.check for finding in diagnosis.failed]
