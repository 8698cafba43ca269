"""Books to be exported: the demo's first quarter, and a generated year of a person."""

import csv
import subprocess
import sys

import beancount.core.convert
import beancount.core.data
import beancount.loader
import pytest
from beancount.core import realization

import accounting_analytics as aa

PERIOD = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"


def load_frames(client, start_date, end_date, time_zone):
    """Return line entries, ledgers and report of a period."""
    days = (start_date, end_date)
    ledgers = aa.discover_ledgers(client, *days, time_zone=time_zone)
    return {
        "line_entries": aa.load_line_entries(client, ledgers["id"], *days, time_zone=time_zone),
        "ledgers": ledgers,
        "report": aa.load_cash_flow_report(client, *days, time_zone=time_zone),
    }


@pytest.fixture(scope="session")
def frames(demo_company):
    """Return the demo's first quarter: line entries, ledgers, report."""
    return load_frames(demo_company.client, *PERIOD, ZONE)


class GeneratedBooks:
    """Transactions of beancount's ``bean-example`` as a table of line entries, in USD to the cent."""

    columns = (
        *("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount"),
        *("transaction_id", "transaction_description", "tags"),
    )
    cash = ("Assets:US:BofA:Checking", "Assets:US:ETrade:Cash", "Liabilities:US:Chase:Slate")
    uncategorized = ("Expenses:Food:Coffee", "Expenses:Home:Internet")
    """Accounts whose postings become uncategorized."""

    def __init__(self, path, first_day="2023-01-01", last_day="2023-12-31"):
        days = ("--date-begin", first_day, "--date-end", last_day)
        example = "from beancount.scripts.example import main; main()"
        subprocess.run(  # noqa: S603 (our own arguments)
            [sys.executable, "-c", example, *days, "--seed", "7", "-o", str(path)], check=True, capture_output=True
        )
        entries, errors, _ = beancount.loader.load_file(str(path))
        assert not errors
        self.entries = [entry for entry in entries if isinstance(entry, beancount.core.data.Transaction)]

    def rows(self):
        """Yield a row for each posting in USD; what shares cost below a cent is added to their posting."""
        for number, entry in enumerate(self.entries):
            weights = [beancount.core.convert.get_weight(posting) for posting in entry.postings]
            amounts = [round(weight.number, 2) if weight.currency == "USD" else 0 for weight in weights]
            gap = sum(amounts)
            for posting, amount in zip(entry.postings, amounts, strict=True):
                exact = amount - gap if posting.cost is not None else amount
                gap = 0 if posting.cost is not None else gap
                if exact:
                    yield self._row(f"e{number}", entry, posting.account, exact)
            assert gap == 0

    def _row(self, entry_id, entry, account, amount):
        description = " ".join(filter(None, (entry.payee, entry.narration)))
        is_cash = account in self.cash
        ledger = "Uncategorized Cash Outflow" if account in self.uncategorized else account
        return (
            *(entry_id, entry.date, description, ledger),
            *("debit" if amount > 0 else "credit", abs(amount)),
            *((f"{entry_id}:{account}", description) if is_cash else ("", "")),
            ";".join(f"trip={tag}" for tag in sorted(entry.tags)),
        )

    def balances(self, start_date, end_date):
        """Return the USD that beancount has on each account after the transactions of a period."""
        entries = [entry for entry in self.entries if start_date <= entry.date <= end_date]
        accounts = realization.iter_children(realization.realize(entries))
        return {one.account: one.balance.get_currency_units("USD").number for one in accounts}


@pytest.fixture(scope="session")
def generated_books(tmp_path_factory):
    """Return a generated year of a person."""
    return GeneratedBooks(tmp_path_factory.mktemp("generated_books") / "books.bean")


@pytest.fixture(scope="session")
def generated_frames(generated_books, posted_books, tmp_path_factory):
    """Return the generated year: line entries, ledgers, report; with tags and uncategorized lines."""
    file = tmp_path_factory.mktemp("generated") / "lines.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(generated_books.columns)
        writer.writerows(generated_books.rows())
    with posted_books.import_file(file, cash=generated_books.cash).client() as client:
        return load_frames(client, "2023-03-05", "2023-12-31", "UTC")
