"""The demo company: its books on an embedded service, a client, and JupyterLab."""

from __future__ import annotations

import atexit
import csv
import datetime as dt
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from accounting_analytics.client import LedgerClient
from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.messages import fit_terminal
from accounting_analytics.core.periods import Period, period_label
from accounting_analytics.service.database import Store, read_instance
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.instances import NewInstance, create_instance, issue_token
from accounting_analytics.service.ledgers import NewLedger, add_ledgers
from accounting_analytics.service.server import running

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPANY = "Harbor Lane Coffee Roasters"
CURRENCY = "USD"
INSTANCE_ID = "harbor-lane"
_FILES = Path(__file__).parent
_REQUIRED_LEDGER_IDS = {
    RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: "led_transfers",
    RequiredLedger.OPENING_BALANCE: "led_opening_balance",
    RequiredLedger.UNCATEGORIZED_INFLOW: "led_uncategorized_inflow",
    RequiredLedger.UNCATEGORIZED_OUTFLOW: "led_uncategorized_outflow",
}


class DemoCompany:
    """Harbor Lane Coffee Roasters and its books, served on 127.0.0.1 until closed; get one with :func:`demo`.

    A context manager; it also closes itself when the interpreter exits.

    Attributes
    ----------
    client : LedgerClient
        Connected to the service; its days are local to `time_zone`.
    base_url, instance_id, token : str
        Settings for any other client.
    database : Path
        The SQLite file.
    start_date, end_date : datetime.date
        First and last day of the books, in `time_zone`. The opening balances are an entry of the first day.
    time_zone : str
        The company's own zone.
    """

    instance_id: str = INSTANCE_ID
    start_date: dt.date = dt.date(2025, 1, 1)
    end_date: dt.date = dt.date(2026, 6, 30)
    time_zone: str = "America/New_York"

    def __init__(self, database: Path | None = None) -> None:
        with ExitStack() as stack:
            if database is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="harbor-lane-"))
                database = Path(folder) / "books.db"
            self.database = database
            self.token = _post_books(database)
            self.base_url = stack.enter_context(running(database)).base_url
            self.client = stack.enter_context(
                LedgerClient(
                    self.base_url,
                    token=self.token,
                    instance_id=self.instance_id,
                    time_zone=self.time_zone,
                    company=COMPANY,
                    currency=CURRENCY,
                )
            )
            self._resources = stack.pop_all()
        atexit.register(self.close)

    def environment(self) -> dict[str, str]:
        """Return environment variables that connect another process, such as a notebook."""
        return {
            "ACCOUNTING_ANALYTICS_BASE_URL": self.base_url,
            "ACCOUNTING_ANALYTICS_INSTANCE_ID": self.instance_id,
            "ACCOUNTING_ANALYTICS_TOKEN": self.token,
            "ACCOUNTING_ANALYTICS_TIME_ZONE": self.time_zone,
            "ACCOUNTING_ANALYTICS_SCALE": str(self.client.scale),
            "ACCOUNTING_ANALYTICS_COMPANY": COMPANY,
            "ACCOUNTING_ANALYTICS_CURRENCY": CURRENCY,
        }

    def close(self) -> None:
        """Stop the service and delete a temporary database; closing again does nothing."""
        atexit.unregister(self.close)
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        days = period_label(Period(self.start_date, self.end_date, self.time_zone))
        return fit_terminal(f"<DemoCompany {COMPANY!r} at {self.base_url}, {days}>")


def demo(*, database: str | Path | None = None) -> DemoCompany:
    """Start a small demo company: eighteen months of books, served by a real service on loopback.

    Parameters
    ----------
    database : str or Path, optional
        SQLite file for the books. A file that has the company already is served unchanged; without a file the books
        are created in a temporary folder and deleted at the end.

    Returns
    -------
    DemoCompany
        With a connected ``client``. Close it or use it as a context manager; otherwise it closes when the interpreter
        exits.
    """
    return DemoCompany(None if database is None else Path(database))


def _post_books(database: Path) -> str:
    """Post the company's books if absent, and return a new token."""
    with Store.open(database) as store:
        if INSTANCE_ID not in {instance.id for instance in store.instances()}:
            create_instance(
                store,
                NewInstance(
                    name=COMPANY,
                    id=INSTANCE_ID,
                    localtime=DemoCompany.time_zone,
                    company=COMPANY,
                    currency=CURRENCY,
                    # ids are fixed, so that a plan made with one demo company also applies to the next
                    required_ledger_ids=_REQUIRED_LEDGER_IDS,
                ),
            )
            with store.writing() as connection:
                add_ledgers(connection, read_instance(connection, INSTANCE_ID), _ledgers())
            import_books(store, INSTANCE_ID, _FILES / "line_entries.parquet")
        return issue_token(store, INSTANCE_ID)


def _ledgers() -> Iterator[NewLedger]:
    """Yield the ledgers that are not required ledgers, parents first."""
    with (_FILES / "ledgers.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            is_financial = bool(row["financial_account_type"])
            given: dict[str, object] = {name: value for name, value in row.items() if value}
            given |= {"editable": not is_financial, "report_cash_flow": None if is_financial else False}
            yield msgspec.convert(given, NewLedger)
