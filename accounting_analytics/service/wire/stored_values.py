"""Stored instances, ledgers and audit rows as plain values, and instants as they are stored."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Row

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"
"""A row of any columns."""

RECATEGORIZE_TRANSACTION = "recategorize_transaction"
RENAME_LEDGER = "rename_ledger"
CREATE_LEDGER = "create_ledger"
POST_ENTRIES = "post_entries"
IMPORT_BOOKS = "import_books"
MIGRATE_DATABASE = "migrate_database"
"""Operations of audit rows."""

CHANGES = frozenset({RECATEGORIZE_TRANSACTION, RENAME_LEDGER})
"""Those that change what was there before."""

MICROSECONDS_PER_DAY = 86_400_000_000

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Instance:
    """One set of books in the database.

    Attributes
    ----------
    id, name : str
        Identifier (the instance header of a request) and a name for people.
    tier : int
        Subscription tier; filtering the cash flow report by tags needs 3.
    scale : int
        Fraction digits of its one currency.
    localtime : str
        Time zone that ``localtime`` means.
    entries_start : date or None
        First day of the books, in that zone; earlier periods are refused. None if there is no first day.
    """

    pk: int
    id: str
    name: str
    tier: int
    scale: int
    localtime: str
    entries_start: dt.date | None


@dataclass(frozen=True)
class StoredLedger:
    """A ledger of an instance; the fields are those of the interface."""

    pk: int
    id: str
    name: str
    debit_credit: str
    editable: bool
    financial_account_type: str | None
    is_required: bool
    parent_id: str | None
    report_cash_flow: bool
    sort_code: str
    sub_type: str
    type: str
    created_at: dt.datetime

    @classmethod
    def from_row(cls, row: Iterable[Any]) -> StoredLedger:
        """Ledger of a row of its fields in this order; ``created_at`` in microseconds."""
        *values, created_at = row
        return cls(*(*values, instant(created_at)))


@dataclass(frozen=True)
class AuditRow:
    """One row of the audit log.

    Attributes
    ----------
    at : datetime
        Time of the change; never before that of the row above.
    modified_by : str or None
        User, as in the header of the request.
    operation : str
        :data:`RECATEGORIZE_TRANSACTION` or another of the operations above.
    transaction_id : str or None
        The transaction of a recategorization.
    before, after : dict of str to str
        Ledger of every moved line, by line entry id; or the name of the renamed or created ledgers, by their ids; or
        what was posted.
    number : int
        Position in the log of the instance, from 1.
    actor : str
        Key of the access token that acted; ``local``: a program with access to the database; ``before``: not known,
        because the row is older than version 5 of the database.
    """

    at: dt.datetime
    modified_by: str | None
    operation: str
    transaction_id: str | None
    before: dict[str, str]
    after: dict[str, str]
    number: int
    actor: str

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> AuditRow:
        """Audit row of a row of columns with these names; ledgers as JSON, no transaction as an empty text."""
        ledgers = {name: json.loads(row[name]) for name in ("before", "after")}
        return cls(**{**row, **ledgers, "at": instant(row["at"]), "transaction_id": row["transaction_id"] or None})


def microseconds(moment: dt.datetime) -> int:
    """Microseconds since 1970 of an aware instant."""
    return (moment - _EPOCH) // _MICROSECOND


def instant(stored: int) -> dt.datetime:
    """Aware instant, in UTC, of microseconds since 1970."""
    return _EPOCH + stored * _MICROSECOND


def now() -> int:
    """Return this moment in microseconds since 1970."""
    return microseconds(dt.datetime.now(dt.UTC))
