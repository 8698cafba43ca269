"""Small books on a real service, examined as they are and through distortions."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis.checkup import _examine
from accounting_analytics.periods import Period
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine, NewTag
from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.posted_journal import post_entries
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


@pytest.fixture(scope="session")
def books(tmp_path_factory):
    """Return the books: address, token, instance, ledgers, and how to connect; tests do not change them."""
    database = tmp_path_factory.mktemp("diagnosis") / "books.db"
    with Store.open(database) as store:
        instance = create_instance(store)
        token = issue_token(store, instance)
        ledgers = post_books(store, instance)
    with running(database) as service:

        def connected(base_url=service.base_url, **options):
            return aa.LedgerClient(base_url, **{"token": token, "instance_id": instance} | options)

        yield SimpleNamespace(
            base_url=service.base_url,
            database=database,
            instance=instance,
            token=token,
            connected=connected,
            **ledgers,
        )


@pytest.fixture
def examine(books, distortion, forwarding):
    """Return a function that examines the books through a distortion; the machine is left out."""

    def examine(through=None, period=PERIOD, **options):
        with (
            forwarding(books.base_url, through or distortion()) as base_url,
            books.connected(base_url, max_attempts=2, **options) as client,
        ):
            examined = _examine(client, period, period.time_zone)
        return aa.Diagnosis("subject", examined.period, examined.findings)

    return examine


@pytest.fixture
def found():
    """Return a function that finds the finding of a check."""

    def found(diagnosis, check):
        (one,) = [finding for finding in diagnosis.findings if finding.check == check]
        return one

    return found
