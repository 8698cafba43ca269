"""Small books on a real service, checked directly and through distorted responses."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis import Diagnosis
from accounting_analytics.diagnosis.checkup import check_service_and_books
from accounting_analytics.periods import Period
from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, NewTag, post_entries
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

PERIOD = Period.of("2025-01-01", "2025-02-10")
TAG = NewTag("project", "roof")


def category(name, type_, sub_type, **fields):
    """Return a ledger to create that reports no cash flow."""
    side = "credit" if type_ == "revenue" else "debit"
    given = {"report_cash_flow": False, "sort_code": "5", "debit_credit": side} | fields
    return NewLedger(name, type=type_, sub_type=sub_type, **given)


def post_books(store, instance):
    """Post two months: rent, meals, a split, a transfer, sales in cash and on account, one tag; return the ledgers."""
    new = {
        "bank": NewLedger("Bank", financial_account_type="bank_account"),
        "card": NewLedger("Card", financial_account_type="credit_card"),
        "receivable": NewLedger("Receivable", financial_account_type="accounts_receivable"),
        "rent": category("Rent", "expense", "operating_expenses"),
        "meals": category("Meals", "expense", "operating_expenses"),
        "sales": category("Sales", "revenue", "operating_revenues"),
    }
    ids = {name: create_ledger(store, instance, ledger).id for name, ledger in new.items()}

    def entry(day, *lines):
        posted = [
            NewLine(ids[name], "debit" if Decimal(amount) > 0 else "credit", abs(Decimal(amount)), tags=tuple(tags))
            for name, amount, *tags in lines
        ]
        return NewJournalEntry(dt.datetime.fromisoformat(f"{day}T12:00:00+00:00"), f"entry of {day}", tuple(posted))

    entries = [
        entry("2025-01-02", ("rent", "1200.00"), ("bank", "-1200.00")),
        entry("2025-02-02", ("rent", "1250.00", TAG), ("bank", "-1250.00")),
        entry("2025-01-20", ("card", "40.00"), ("bank", "-40.00")),
        entry("2025-02-05", ("rent", "60.00"), ("meals", "40.00"), ("bank", "-100.00")),
        entry("2025-02-03", ("receivable", "500.00"), ("sales", "-500.00")),
        entry("2025-02-08", ("bank", "500.00"), ("receivable", "-500.00")),
        *(
            entry(f"2025-{day}", ("meals", f"{number}.25"), ("card", f"-{number}.25"))
            for number, day in enumerate(("01-11", "01-14", "01-21", "02-01", "02-04", "02-06", "02-07"), 11)
        ),
        *(
            entry(f"2025-{day}", ("bank", f"{number}.10"), ("sales", f"-{number}.10"))
            for number, day in enumerate(("01-12", "01-28", "02-04", "02-09"), 310)
        ),
    ]
    post_entries(store, instance, entries)
    return ids


def flow_of(report, ledger_id):
    """Return the object of a ledger in a report's JSON; None if there is none."""
    return next((ledger for ledger in report["cash_flow_ledgers"] if ledger["ledger_id"] == ledger_id), None)


@pytest.fixture(scope="session")
def books(tmp_path_factory):
    """Return the books: address, token, instance, ledgers, and a function that connects; tests do not change them."""
    database = tmp_path_factory.mktemp("diagnosis") / "books.db"
    with Store.open(database) as store:
        instance = create_instance(store)
        token = issue_token(store, instance)
        ledgers = post_books(store, instance)
    with running(database) as service:

        def connect(base_url=service.base_url, **options):
            return aa.LedgerClient(base_url, **{"token": token, "instance_id": instance} | options)

        yield SimpleNamespace(
            base_url=service.base_url,
            database=database,
            instance=instance,
            token=token,
            connect=connect,
            flow_of=flow_of,
            **ledgers,
        )


@pytest.fixture
def diagnose_books(books, distortion, forwarding):
    """Return a function that checks service and books through a distortion, without the checks of the machine."""

    def diagnose_books(through=None, period=PERIOD, **options):
        with (
            forwarding(books.base_url, through or distortion()) as base_url,
            books.connect(base_url, max_attempts=2, **options) as client,
        ):
            checked = check_service_and_books(client, period, period.time_zone)
        return Diagnosis("subject", checked.period, checked.findings)

    return diagnose_books


@pytest.fixture
def finding_of():
    """Return a function that returns the only finding of a check."""

    def finding_of(diagnosis, check):
        (finding,) = [finding for finding in diagnosis.findings if finding.check == check]
        return finding

    return finding_of


@pytest.fixture
def failed_checks():
    """Return a function that returns the names of the checks that failed."""
    return lambda diagnosis: [finding.check for finding in diagnosis.failed]
