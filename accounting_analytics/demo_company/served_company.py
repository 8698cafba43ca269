"""The demo company, served for real: an embedded service on loopback with its books, and a client of it."""

from __future__ import annotations

import atexit
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from accounting_analytics.chart_of_accounts import RequiredLedger
from accounting_analytics.client import LedgerClient
from accounting_analytics.demo_company import accounts, entry_generator
from accounting_analytics.demo_company.calendar import END_DATE, START_DATE
from accounting_analytics.demo_company.daybook import TIME_ZONE
from accounting_analytics.messages import fit_terminal
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.new_ledgers import create_ledger
from accounting_analytics.service.bookkeeping.post_entries import post_entries
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

if TYPE_CHECKING:
    import datetime as dt

INSTANCE_ID = "harbor-lane"
_KEY_OF_REQUIRED = {
    RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: accounts.TRANSFERS,
    RequiredLedger.OPENING_BALANCE: accounts.OPENING_BALANCE,
    RequiredLedger.UNCATEGORIZED_INFLOW: accounts.UNCATEGORIZED_INFLOW,
    RequiredLedger.UNCATEGORIZED_OUTFLOW: accounts.UNCATEGORIZED_OUTFLOW,
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
    start_date: dt.date = START_DATE
    end_date: dt.date = END_DATE
    time_zone: str = TIME_ZONE

    def __init__(self, database: Path | None = None) -> None:
        with ExitStack() as stack:
            if database is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="harbor-lane-"))
                database = Path(folder) / "books.db"
            self.database = database
            self.token = _post_books(database)
            self.base_url = stack.enter_context(running(database)).base_url
            self.client = stack.enter_context(
                LedgerClient(self.base_url, token=self.token, instance_id=self.instance_id, time_zone=self.time_zone)
            )
            self._resources = stack.pop_all()
        atexit.register(self.close)

    def environment(self) -> dict[str, str]:
        """Environment variables that connect another process, such as a notebook, to the company."""
        return {
            "ACCOUNTING_ANALYTICS_BASE_URL": self.base_url,
            "ACCOUNTING_ANALYTICS_INSTANCE_ID": self.instance_id,
            "ACCOUNTING_ANALYTICS_TOKEN": self.token,
            "ACCOUNTING_ANALYTICS_TIME_ZONE": self.time_zone,
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
        days = f"{self.start_date} to {self.end_date} ({self.time_zone})"
        return fit_terminal(f"<DemoCompany {entry_generator.COMPANY!r} at {self.base_url}, {days}>")


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
    """Post the company's books unless the database has them, and return a new access token."""
    with Store.open(database) as store:
        if INSTANCE_ID not in {instance.id for instance in store.instances()}:
            required = {key: accounts.ledger_id(key) for key in accounts.REQUIRED_LEDGERS}
            create_instance(
                store,
                NewInstance(
                    name=entry_generator.COMPANY,
                    id=INSTANCE_ID,
                    localtime=TIME_ZONE,
                    # fixed ids: a plan made with one demo company applies to the next
                    required_ledger_ids={kind: required[key] for kind, key in _KEY_OF_REQUIRED.items()},
                ),
            )
            for ledger in accounts.new_ledgers():
                create_ledger(store, INSTANCE_ID, ledger)
            post_entries(store, INSTANCE_ID, entry_generator.journal_entries(required))
        return issue_token(store, INSTANCE_ID)
