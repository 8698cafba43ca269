"""A small company with uncategorized transactions, on a real service."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest

import accounting_analytics as aa
from accounting_analytics.service.posting import NewJournalEntry, NewLedger, NewLine, NewTransaction
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

PERIOD = ("2025-03-01", "2025-03-31")
SPENDING = [
    ("SQ *BLUE BTTL 0423 SF CA", "4.50"),
    ("SQ *BLUE BTTL 0424 SF CA", "5.25"),
    ("GOOGLE *WORKSPACE CC@GOOGLE.COM", "144.00"),
    ("CHECK 1043", "900.00"),
]


def expense(name):
    """Return an expense ledger to create."""
    return NewLedger(
        name, type="expense", sub_type="operating_expenses", debit_credit="debit", report_cash_flow=False, sort_code="5"
    )


@pytest.fixture
def books(tmp_path):
    """Return the company: client, ledger ids, instance, store path, and how to load its frames."""
    database = tmp_path / "books.db"
    with Store.open(database) as store:
        instance = store.create_instance()
        token = store.issue_token(instance)
        outflow = next(ledger.id for ledger in store.ledgers(instance) if "outflow" in ledger.name.lower())
        bank = store.create_ledger(instance, NewLedger("Bank", financial_account_type="bank_account")).id
        meals, software, rent = (
            store.create_ledger(instance, expense(name)).id for name in ("Meals", "Software", "Rent")
        )
        noon = dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)
        entries = [
            NewJournalEntry(
                noon + dt.timedelta(days=number),
                "Card purchase",
                (
                    NewLine(
                        bank, "credit", Decimal(amount), transaction=NewTransaction(description, id=f"txn_{number}")
                    ),
                    NewLine(outflow, "debit", Decimal(amount)),
                ),
            )
            for number, (description, amount) in enumerate(SPENDING)
        ]
        entries.append(
            NewJournalEntry(
                noon,
                "Split",
                (
                    NewLine(
                        bank, "credit", Decimal("70.00"), transaction=NewTransaction("HARDWARE STORE", id="txn_split")
                    ),
                    NewLine(outflow, "debit", Decimal("30.00")),
                    NewLine(rent, "debit", Decimal("40.00")),
                ),
            )
        )
        entries += [  # a ledger without any line would not be discovered
            NewJournalEntry(
                noon, "Known", (NewLine(bank, "credit", Decimal(9)), NewLine(category, "debit", Decimal(9)))
            )
            for category in (meals, software)
        ]
        store.post(instance, entries)
    with running(database) as service, aa.LedgerClient(service.base_url, token=token, instance_id=instance) as client:

        def connected(**options):
            return aa.LedgerClient(service.base_url, token=token, instance_id=instance, **options)

        def load():
            ledgers = aa.discover_ledgers(client, *PERIOD)
            return ledgers, aa.load_line_entries(client, ledgers["id"], *PERIOD)

        yield SimpleNamespace(
            client=client,
            connected=connected,
            load=load,
            report=lambda: aa.load_cash_flow_report(client, *PERIOD),
            database=database,
            instance=instance,
            bank=bank,
            outflow=outflow,
            meals=meals,
            software=software,
            rent=rent,
        )


@pytest.fixture
def rules(tmp_path):
    """Return rules for coffee and software."""
    file = tmp_path / "rules.toml"
    file.write_text(
        '[[rule]]\nname = "coffee"\ncontains = "sq *blue"\ncategory = "Meals"\ndirection = "outflow"\n'
        '[[rule]]\nname = "software"\nregex = "^GOOGLE"\ncategory = "Software"\n'
        '[[rule]]\nname = "hardware"\ncontains = "hardware  store"\ncategory = "Meals"\nmax_amount = "100"\n',
        encoding="utf-8",
    )
    return aa.load_rules(file)


@pytest.fixture
def plan(books, rules):
    """Return the plan that the rules make."""
    ledgers, lines = books.load()
    return aa.plan_recategorization(aa.propose(aa.uncategorized_queue(lines, ledgers), rules, ledgers), ledgers=ledgers)
