"""The store: instances, tokens, ledgers and journal entries in one database.

One writer at a time, readers never wait: :meth:`Store.reading` gives a consistent snapshot, :meth:`Store.writing` the
write lock, and what is written there is committed as a whole or not at all.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec.structs import replace
from sqlalchemy import Connection, RootTransaction, insert, select
from sqlalchemy.exc import OperationalError

from accounting_analytics.errors import ConfigurationError, InputError, OperationRefusedError
from accounting_analytics.money import DEFAULT_SCALE, check_scale
from accounting_analytics.periods import LOCALTIME, zone
from accounting_analytics.service.auth.access_tokens import INSTANCE_COLUMNS, add_token, issue_token
from accounting_analytics.service.bookkeeping.new_ledgers import REQUIRED_LEDGERS, completed
from accounting_analytics.service.bookkeeping.posted_journal import Journal
from accounting_analytics.service.storage import postgresql, sqlite, tables
from accounting_analytics.service.wire.identifiers import new_id, unicode_text, usable, usable_in_header
from accounting_analytics.service.wire.stored_records import AuditRow, Instance, StoredLedger, now

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.chart_of_accounts import RequiredLedger
    from accounting_analytics.service.bookkeeping.new_records import NewJournalEntry, NewLedger
    from accounting_analytics.service.storage.database import Database

__all__ = [
    "AuditRow",
    "Instance",
    "Store",
    "StoredLedger",
    "add_ledger",
    "add_ledgers",
    "find_instance",
    "read_ledgers",
]

TIERS = (1, 2, 3)
LOCK_SECONDS = 10.0
_PAGE_KEY = "page_token_key"
_PAGE_KEY_BYTES = 32
_SELECT_PAGE_KEY = select(tables.settings.c.value).where(tables.settings.c.name == _PAGE_KEY)


class NewInstance(NamedTuple):
    """An instance to create; the fields are the parameters of :meth:`Store.create_instance`."""

    name: str = "books"
    tier: int = 3
    scale: int = DEFAULT_SCALE
    localtime: str = "UTC"
    entries_start: dt.date | None = None
    id: str | None = None
    required_ledger_ids: Mapping[RequiredLedger, str] = MappingProxyType({})


class Store:
    """Books of any number of instances in one database; a context manager that closes itself.

    Get one with :meth:`Store.open`. Every method may be called from any thread.
    """

    def __init__(self, database: Database, lock_seconds: float) -> None:
        self._database = database
        self._lock_seconds = lock_seconds
        self._writer = threading.Lock()

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self._database.name

    @property
    def path(self) -> Path | None:
        """File of the database; None for PostgreSQL."""
        return self._database.path

    @classmethod
    def open(cls, database: str | Path, *, lock_seconds: float = LOCK_SECONDS, create: bool = True) -> Self:
        """Open a database: an SQLite file, made when there is none, or an address ``postgresql://...``.

        Parameters
        ----------
        database : str or Path
            The file or the address.
        lock_seconds : float
            How long a writer waits for another one, in this process or elsewhere, before it is turned away.
        create : bool
            Whether to make the tables in a new or empty database; without, it is refused.

        Raises
        ------
        InputError
            It is something else; nothing was changed.
        ConfigurationError
            It cannot be opened or reached.
        """
        if "://" in str(database) and not postgresql.is_address(database):
            scheme = str(database).partition("://")[0]
            msg = f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
            raise ConfigurationError(msg)
        opened = (
            postgresql.open_database(str(database), lock_seconds, create=create)
            if postgresql.is_address(database)
            else sqlite.open_database(Path(database), lock_seconds, create=create)
        )
        store = cls(opened, lock_seconds)
        store._ensure_page_token_key()
        return store

    def close(self) -> None:
        """Close every connection to the database."""
        self._database.reader.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one snapshot of the database until the block ends."""
        with self._database.reader.connect() as connection:
            connection.begin()  # ended by closing: there is nothing to commit
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection that holds the write lock; committed when the block ends, rolled back when it raises.

        Raises
        ------
        OperationRefusedError
            503: another writer holds the lock for too long; nothing was changed.
        """
        if not self._writer.acquire(timeout=self._lock_seconds):
            raise _busy()
        try:
            with self._database.writer.connect() as connection, _begun(connection):
                yield connection
        finally:
            self._writer.release()

    def page_token_key(self) -> bytes:
        """Return the secret that page tokens of this database are signed with."""
        with self.reading() as connection:
            return bytes(connection.execute(_SELECT_PAGE_KEY).scalar_one())

    def _ensure_page_token_key(self) -> None:
        with self.reading() as connection:
            if connection.execute(_SELECT_PAGE_KEY).first():
                return
        with self.writing() as connection:
            if connection.execute(_SELECT_PAGE_KEY).first() is None:  # somebody else may have been faster
                row = {"name": _PAGE_KEY, "value": secrets.token_bytes(_PAGE_KEY_BYTES)}
                connection.execute(insert(tables.settings), row)

    # instances and tokens

    def create_instance(
        self,
        *,
        name: str = "books",
        tier: int = 3,
        scale: int = DEFAULT_SCALE,
        localtime: str = "UTC",
        entries_start: dt.date | None = None,
        instance_id: str | None = None,
        required_ledger_ids: Mapping[RequiredLedger, str] | None = None,
    ) -> str:
        """Create an instance with its four required ledgers and return its id.

        Parameters
        ----------
        name : str
            Name for people.
        tier : int
            Subscription tier, 1 to 3; filtering the cash flow report by tags needs 3.
        scale : int
            Fraction digits of its one currency, 0 to 10.
        localtime : str
            Time zone that ``localtime`` means.
        entries_start : date, optional
            First day of the books, in that zone: nothing earlier can be posted, and asking before it is refused.
        instance_id : str, optional
            Identifier to use.
        required_ledger_ids : mapping, optional
            Identifiers to use for required ledgers; the others get new ones.
        """
        ids = required_ledger_ids or {}
        new = NewInstance(name, tier, scale, localtime, entries_start, instance_id, ids)
        with self.writing() as connection:
            return _add_instance(connection, new).id

    def create_first_instance(self, new: NewInstance) -> tuple[str, str] | None:
        """Create an instance and an access token of it, both or neither, where there is no instance yet.

        Returns
        -------
        tuple of str or None
            Its id and the token; None where there is an instance already.
        """
        with self.writing() as connection:
            if connection.execute(select(tables.instances.c.pk).limit(1)).first():
                return None
            instance = _add_instance(connection, new)
            return instance.id, add_token(connection, instance.pk)

    def instances(self) -> list[Instance]:
        """All instances, oldest first."""
        with self.reading() as connection:
            rows = connection.execute(select(*INSTANCE_COLUMNS).order_by(tables.instances.c.pk))
            return [Instance(**row) for row in rows.mappings()]

    def instance(self, instance_id: str) -> Instance:
        """Instance with an id; refused when there is none."""
        with self.reading() as connection:
            return self._instance(connection, instance_id)

    def issue_token(self, instance_id: str) -> str:
        """Return a new access token of an instance; only its hash is kept, so it cannot be shown again."""
        return issue_token(self, instance_id)

    # ledgers and journal entries

    def create_ledger(self, instance_id: str, new: NewLedger) -> StoredLedger:
        """Create a ledger.

        Raises
        ------
        OperationRefusedError
            The fields are incomplete or do not agree, or the parent does not exist.
        """
        with self.writing() as connection:
            return add_ledger(connection, self._instance(connection, instance_id), new)

    def ledgers(self, instance_id: str) -> list[StoredLedger]:
        """Ledgers of an instance by (sort_code, id)."""
        with self.reading() as connection:
            return read_ledgers(connection, self._instance(connection, instance_id))

    def post(self, instance_id: str, entries: Iterable[NewJournalEntry]) -> list[str]:
        """Post journal entries, all of them or none, and return their ids in the order given.

        Raises
        ------
        PostingRefusedError
            An entry does not balance, names an unknown ledger, has an amount that does not fit, or an id is taken;
            ``entry_index`` says which entry. Nothing was posted.
        """
        with self.writing() as connection:
            instance = self._instance(connection, instance_id)
            ledgers = {ledger.id: ledger for ledger in read_ledgers(connection, instance)}
            return Journal(connection, instance, ledgers).post(entries)

    def audit(self, instance_id: str) -> list[AuditRow]:
        """Audit rows of an instance, oldest first."""
        audit = tables.audit
        columns = [column for column in audit.c if column.name not in {"pk", "instance_pk"}]
        with self.reading() as connection:
            instance = self._instance(connection, instance_id)
            rows = connection.execute(select(*columns).where(audit.c.instance_pk == instance.pk).order_by(audit.c.pk))
            return [AuditRow.from_row(dict(row)) for row in rows.mappings()]

    @staticmethod
    def _instance(connection: Connection, instance_id: str) -> Instance:
        instance = find_instance(connection, instance_id)
        if instance is None:
            msg = f"there is no instance {instance_id!r} in this database"
            raise InputError(msg)
        return instance


def _add_instance(connection: Connection, new: NewInstance) -> Instance:
    """Write a new instance with its required ledgers."""
    if new.tier not in TIERS:
        msg = f"tier must be one of {', '.join(map(str, TIERS))}, not {new.tier!r}"
        raise InputError(msg)
    if new.localtime == LOCALTIME:
        msg = "the time zone that 'localtime' means must be an IANA name such as 'America/New_York'"
        raise InputError(msg)
    row = {
        "id": new_id("ins") if new.id is None else usable_in_header(new.id, "instance"),
        "name": unicode_text(new.name, "the name of an instance"),
        "tier": new.tier,
        "scale": check_scale(new.scale),
        "localtime": zone(new.localtime).key,
        "entries_start": new.entries_start,
        "created_at": now(),
    }
    if find_instance(connection, str(row["id"])):
        msg = f"there is already an instance {row['id']!r}; nothing was changed"
        raise InputError(msg)
    connection.execute(insert(tables.instances), row)
    instance = find_instance(connection, str(row["id"]))
    if instance is None:
        msg = f"instance {row['id']!r} was not written"
        raise InputError(msg)
    ids = new.required_ledger_ids
    required = [replace(ledger, id=ids.get(kind)) for kind, ledger in REQUIRED_LEDGERS.items()]
    add_ledgers(connection, instance, required, is_required=True)
    return instance


def _begun(connection: Connection) -> RootTransaction:
    """Begin a transaction that writes, unless another process holds the lock for too long."""
    try:
        return connection.begin()
    except OperationalError as error:
        if error.connection_invalidated:
            raise
        raise _busy() from error


def _busy() -> OperationRefusedError:
    msg = "the books are being written to by somebody else; nothing was changed, try again in a moment"
    return OperationRefusedError(msg, status=503, error_code="busy", headers={"retry-after": "1"})


def find_instance(connection: Connection, instance_id: str) -> Instance | None:
    """Instance with an id, if there is one."""
    row = connection.execute(select(*INSTANCE_COLUMNS).where(tables.instances.c.id == instance_id)).mappings().first()
    return Instance(**row) if row else None


def read_ledgers(connection: Connection, instance: Instance) -> list[StoredLedger]:
    """Ledgers of an instance by (sort_code, id)."""
    ledgers, parents = tables.ledgers, tables.ledgers.alias()
    columns = [column for column in ledgers.c if column.name not in {"instance_pk", "parent_pk"}]
    rows = connection.execute(
        select(*columns, parents.c.id.label("parent_id"))
        .join_from(ledgers, parents, ledgers.c.parent_pk == parents.c.pk, isouter=True)
        .where(ledgers.c.instance_pk == instance.pk)
        .order_by(ledgers.c.sort_code, ledgers.c.id)
    )
    return [StoredLedger.from_row(dict(row)) for row in rows.mappings()]


def add_ledger(
    connection: Connection, instance: Instance, new: NewLedger, *, is_required: bool = False
) -> StoredLedger:
    """Write a new ledger of an instance in the transaction of `connection`."""
    return add_ledgers(connection, instance, [new], is_required=is_required)[-1]


def add_ledgers(
    connection: Connection, instance: Instance, news: Iterable[NewLedger], *, is_required: bool = False
) -> list[StoredLedger]:
    """Write new ledgers, parents before their children; returns all ledgers of the instance, the new ones last."""
    ledgers = read_ledgers(connection, instance)
    taken = {ledger.id for ledger in ledgers}
    for new in news:
        ledger_id = new_id("led") if new.id is None else usable(new.id, "ledger")
        if ledger_id in taken:
            msg = f"there is already a ledger {ledger_id!r} in instance {instance.id!r}; nothing was changed"
            raise InputError(msg)
        taken.add(ledger_id)
        row = completed(new, ledgers) | {
            "instance_pk": instance.pk,
            "id": ledger_id,
            "is_required": is_required,
            "created_at": now(),
        }
        key = connection.execute(insert(tables.ledgers).returning(tables.ledgers.c.pk), row).scalar_one()
        shown = {name: value for name, value in row.items() if name not in {"instance_pk", "parent_pk"}}
        ledgers.append(StoredLedger.from_row(shown | {"pk": key, "parent_id": new.parent_id}))
    return ledgers
