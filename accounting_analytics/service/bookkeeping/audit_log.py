"""The audit log of an instance: who changed what, when, from which ledger to which."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from accounting_analytics.errors import PeriodError
from accounting_analytics.periods import parse_date, zone
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.local_date_boundaries import boundary, boundary_after
from accounting_analytics.service.storage.store import read_instance, read_ledgers
from accounting_analytics.service.wire.stored_values import (
    CREATE_LEDGER,
    RECATEGORIZE_TRANSACTION,
    RENAME_LEDGER,
    AuditRow,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement

    from accounting_analytics.service.storage.store import Store

_AUDIT = tables.audit.c
_COLUMNS = [_AUDIT[field.name] for field in fields(AuditRow)]
_OF_LEDGERS = (RENAME_LEDGER, CREATE_LEDGER)
_MOST_NAMES = 3
_SEPARATOR = "|"


@dataclass(frozen=True)
class Change:
    """One change of the books; several names or ids are joined by ``|``.

    Attributes
    ----------
    datetime : datetime
        Time of the change, in UTC.
    modified_by : str or None
        User, as in the header of the request.
    actor : str
        Key of the access token that acted; ``local``: a program with access to the database; ``before``: not known,
        because the row is older than version 5 of the database.
    operation : str
        ``recategorize_transaction``, ``rename_ledger``, ``create_ledger``, ``import_books``, ``post_entries`` or
        ``migrate_database``.
    transaction_id : str or None
        The transaction of a recategorization.
    before_names, before_ids : str
        Categories before the change, by their present names; or the ledger with its old name.
    after_names, after_ids : str
        The same after the change; of more than three new ledgers their number; of an import its file, the number of its
        entries, and the SHA-256 of the file.
    number : int
        Position in the log of the instance, from 1.
    """

    datetime: dt.datetime
    modified_by: str | None
    actor: str
    operation: str
    transaction_id: str | None
    before_names: str
    before_ids: str
    after_names: str
    after_ids: str
    number: int


class ChangeFilter(NamedTuple):
    """Which changes to list; all where nothing is given.

    Attributes
    ----------
    transaction_id : str, optional
        Only changes of this transaction.
    modified_by : str, optional
        Only changes by this user.
    start_date, end_date : str, optional
        First and last day, inclusive, ``YYYY-MM-DD``.
    time_zone : str
        Zone that these days are counted in.
    """

    transaction_id: str | None = None
    modified_by: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    time_zone: str = "UTC"

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield the SQL conditions on audit rows."""
        if self.transaction_id is not None:
            yield _AUDIT.transaction_id == self.transaction_id
        if self.modified_by is not None:
            yield _AUDIT.modified_by == self.modified_by
        start = parse_date(self.start_date, "--start-date") if self.start_date is not None else None
        end = parse_date(self.end_date, "--end-date") if self.end_date is not None else None
        if start and end and start > end:
            msg = f"the first day {start} is after the last day {end}"
            raise PeriodError(msg)
        key = zone(self.time_zone).key
        if start:
            yield boundary(start, key).reached(_AUDIT.at)
        if end and (after := boundary_after(end, key)):
            yield after.before(_AUDIT.at)


class ChangeList(NamedTuple):
    """The newest changes, newest first, and how many there are in all."""

    changes: list[Change]
    total: int


def list_changes(
    store: Store, instance_id: str, chosen: ChangeFilter | None = None, *, limit: int | None = None
) -> ChangeList:
    """Newest changes of an instance, at most `limit` of them.

    Raises
    ------
    InputError
        There is no such instance, or a day or the time zone is not valid.
    """
    conditions = list((chosen or ChangeFilter()).conditions())
    with store.reading() as connection:
        instance = read_instance(connection, instance_id)
        query = select(*_COLUMNS).where(_AUDIT.instance_pk == instance.pk, *conditions)
        total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
        rows = connection.execute(query.order_by(_AUDIT.pk.desc()).limit(limit)).mappings().all()
        names = {ledger.id: ledger.name for ledger in read_ledgers(connection, instance)}
    return ChangeList([_change(AuditRow.from_row(dict(row)), names) for row in rows], total)


def _change(row: AuditRow, names: Mapping[str, str]) -> Change:
    before, after = _Ledgers.from_row(row, row.before, names), _Ledgers.from_row(row, row.after, names)
    return Change(
        datetime=row.at,
        modified_by=row.modified_by,
        actor=row.actor,
        operation=row.operation,
        transaction_id=row.transaction_id,
        before_names=before.names,
        before_ids=before.ids,
        after_names=after.names,
        after_ids=after.ids,
        number=row.number,
    )


class _Ledgers(NamedTuple):
    names: str
    ids: str

    @classmethod
    def from_row(cls, row: AuditRow, ledgers: Mapping[str, str], names: Mapping[str, str]) -> _Ledgers:
        """Ledgers before or after a change; of entries that were posted, their file and number."""
        if row.operation in _OF_LEDGERS:
            names_or_count = ledgers.values() if len(ledgers) <= _MOST_NAMES else [f"{len(ledgers)} ledgers"]
            return cls(_join(names_or_count), _join(ledgers))
        if row.operation != RECATEGORIZE_TRANSACTION:
            entries = [f"{ledgers['entries']} entries"] if "entries" in ledgers else []
            return cls(_join([*filter(None, [ledgers.get("file")]), *entries]), ledgers.get("sha256", ""))
        ids = dict.fromkeys(ledgers.values())
        return cls(_join(names.get(ledger_id, ledger_id) for ledger_id in ids), _join(ids))


def _join(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(texts)
