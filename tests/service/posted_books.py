"""Books that tests of other wings post or import, served on loopback, so that they need no module of the service."""

import datetime as dt
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import accounting_analytics as aa
from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, NewTransaction, to_units
from accounting_analytics.service.audit_log import list_changes
from accounting_analytics.service.database import Store
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.instances import REQUIRED_LEDGERS, NewInstance, create_instance, issue_token
from accounting_analytics.service.ledgers import NewLedger, create_ledger, rename_ledger
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.server import running
from accounting_analytics.service.stored_values import RECATEGORIZE_TRANSACTION

REQUIRED = {role: str(role) for role in REQUIRED_LEDGERS}
"""Ids of the required ledgers in books that are posted."""
UNCATEGORIZED_OUTFLOW = "uncategorized cash outflow"


class Part(NamedTuple):
    """What an entry posts to a ledger: a signed amount, debits positive; a transaction; tags such as ``group=name``."""

    amount: object
    transaction: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()


class Access(NamedTuple):
    """How to reach books that are served."""

    base_url: str
    token: str
    instance_id: str

    def environment(self, base_url=None):
        """Environment variables of a command on these books, perhaps through another address."""
        settings = {"BASE_URL": base_url or self.base_url, "TOKEN": self.token, "INSTANCE_ID": self.instance_id}
        return {f"ACCOUNTING_ANALYTICS_{name}": setting for name, setting in settings.items()}

    def client(self, base_url=None, **options):
        """Return a client, perhaps through another address."""
        own = {"token": self.token, "instance_id": self.instance_id}
        return aa.LedgerClient(base_url or self.base_url, **own | options)


def post(store, instance_id, entries, time_zone="UTC"):
    """Post entries: each a day or an instant, an amount or a part for each ledger, perhaps a description and an id."""
    scale, zone = store.instance(instance_id).scale, ZoneInfo(time_zone)
    post_entries(store, instance_id, [_journal_entry((scale, zone), *entry) for entry in entries])


def recategorizations(store, instance_id):
    """Return what the audit log says of each category that was changed, oldest first."""
    changes, _ = list_changes(store, instance_id)
    return [change for change in reversed(changes) if change.operation == RECATEGORIZE_TRANSACTION]


def recategorizations_in(database, instance_id):
    """Return the same of a database that another program may have open."""
    with Store.open(database) as store:
        return recategorizations(store, instance_id)


def post_to(database, instance_id, *entries):
    """Post entries to a database that another program may have open."""
    with Store.open(database) as store:
        post(store, instance_id, entries)


def _journal_entry(scale_and_zone, when, amounts, description="", entry_id=None):
    scale, zone = scale_and_zone
    instant = when if isinstance(when, dt.datetime) else dt.datetime.fromisoformat(str(when))
    if instant.tzinfo is None:
        is_day = "T" not in str(when) and " " not in str(when)
        instant = instant.replace(tzinfo=zone, **({"hour": 12} if is_day else {}))
    parts = amounts.items() if isinstance(amounts, dict) else amounts
    return NewJournalEntry(instant, description, tuple(_line(scale, *part) for part in parts), id=entry_id)


def _line(scale, ledger_id, part):
    amount, transaction, description, tags = part if isinstance(part, Part) else Part(part)
    return NewLine(
        ledger_id, to_units(Decimal(str(amount)), scale),
        transaction=NewTransaction(description, id=transaction) if transaction or description else None,
        tags=tuple(NewTag(*tag.split("=")) for tag in tags),
    )  # fmt: skip


def _ledger_fields(ledger_id, fields, number):
    """Fields of a new ledger, from the text that describes it."""
    if isinstance(fields, str):
        kinds = fields.split()
        names = ("financial_account_type",) if len(kinds) == 1 else ("type", "sub_type", "debit_credit")
        fields = dict(zip(names, kinds, strict=True))
    if "financial_account_type" not in fields:
        fields = {"report_cash_flow": False} | fields
    return {"id": ledger_id, "name": ledger_id.capitalize(), "sort_code": f"{number:03}"} | fields


class PostedBooks:
    """A service on loopback, in which each set of books is an instance of its own."""

    def __init__(self, path):
        self.path, self._clients = path, []
        self.store = Store.open(path)
        self._running = running(path)
        self.base_url = self._running.__enter__().base_url

    def __call__(self, entries, ledgers, *, time_zone="UTC", transport=None, **instance):
        """Post entries to new books, and return a client, whose transport may rewrite responses."""
        access = self.create(entries, ledgers, time_zone=time_zone, **instance)
        self._clients.append(access.client(time_zone=time_zone, transport=transport))
        return self._clients[-1]

    def create(self, entries=(), ledgers=None, *, time_zone="UTC", **instance):
        """Post entries to new books, and return how to reach them.

        A ledger is its id with its type, sub_type and normal side, such as ``expense operating_expenses debit``, or a
        financial account type, or a mapping of fields.
        """
        new = NewInstance(localtime=time_zone, required_ledger_ids=REQUIRED, **instance)
        instance_id = create_instance(self.store, new)
        for number, (ledger_id, fields) in enumerate((ledgers or {}).items()):
            self.add_ledger(instance_id, ledger_id, fields, number)
        post(self.store, instance_id, entries, time_zone)
        return Access(self.base_url, issue_token(self.store, instance_id), instance_id)

    def add_ledger(self, instance_id, ledger_id, fields, number=None):
        number = len(self.store.ledgers(instance_id)) if number is None else number
        create_ledger(self.store, instance_id, NewLedger(**_ledger_fields(ledger_id, fields, number)))

    def rename_ledger(self, instance_id, ledger, name):
        rename_ledger(self.store, instance_id, ledger, name)

    def import_file(self, file, **options):
        """Import a file into new books, and return how to reach them."""
        access = self.create(time_zone=options.get("time_zone", "UTC"))
        self.import_into(access.instance_id, file, **options)
        return access

    def import_into(self, instance_id, file, **options):
        """Import a file into books, and return what was imported."""
        return import_books(self.store, instance_id, file, **options)

    def issue_token(self, instance_id):
        return issue_token(self.store, instance_id)

    def post(self, instance_id, *entries):
        post(self.store, instance_id, entries)

    def execute(self, statement, *values):
        """Change the database, and return the rows of a result."""
        with self.store.writing() as connection:
            result = connection.exec_driver_sql(statement, values)
            return result.all() if result.returns_rows else []

    def close(self):
        """Close the clients and end the service."""
        for client in self._clients:
            client.close()
        self._running.__exit__(None, None, None)
        self.store.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
