"""Stored ids and amounts, and instances, ledgers and audit rows as plain values.

An amount is a signed number of minor units (debit positive) of at most 18 digits. A database sums two
parts of nine digits each, so that sums of billions of lines are exact in 64 bits. Together the two sums are the exact
sum.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.journals.entries import check_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Row


_BYTES = 12
_SUFFIX_DIGITS = 12


def new_ids(prefix: str) -> Iterator[str]:
    """Yield ascending ids with a prefix, which keep an index compact."""
    first = int.from_bytes(os.urandom(_BYTES)) >> 1
    return (f"{prefix}_{number:0{2 * _BYTES}x}" for number in count(first))


def new_id(prefix: str) -> str:
    """Return a random id with a prefix."""
    return f"{prefix}_{os.urandom(_BYTES).hex()}"


def instance_suffix(instance_id: str) -> str:
    """Return the suffix of imported ids of an instance, so that each instance has different ids."""
    return f"-{instance_digest(instance_id)}"


def instance_digest(instance_id: str) -> str:
    """Return the hexadecimal digest that identifies an instance."""
    return sha256(instance_id.encode()).hexdigest()[:_SUFFIX_DIGITS]


def check_header_id(identifier: str, what: str) -> str:
    """Return an id. Refuse an id that a header cannot contain."""
    if not check_id(identifier, what).isascii() or identifier != identifier.strip():
        raise PostingRefusedError(
            f"{what} id {identifier[:60]!r} cannot be sent in a header: it must be ASCII, without spaces at its ends"
        )
    return identifier


SUMMED_APART = 10**9
"""Units are summed as ``units // SUMMED_APART`` and ``units % SUMMED_APART``, both with the sign of the units."""


def join_sums(high: int | None, low: int | None) -> int:
    """Join the sums of the two parts. None means that there are no lines."""
    return int(high or 0) * SUMMED_APART + int(low or 0)


def number_text(units: int, scale: int) -> str:
    """Write units as an exact JSON number without exponent: ``-0.05``."""
    if not scale:
        return str(units)
    digits = str(units)
    if len(digits) <= scale + 1:
        digits = f"{'-' if units < 0 else ''}{digits.lstrip('-').zfill(scale + 1)}"
    return f"{digits[:-scale]}.{digits[-scale:]}"


AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"
"""A row of any columns."""

RECATEGORIZE_TRANSACTION = "recategorize_transaction"
RENAME_LEDGER = "rename_ledger"
CREATE_LEDGER = "create_ledger"
POST_ENTRIES = "post_entries"
IMPORT_BOOKS = "import_books"
"""Operations of audit rows."""

CHANGES = frozenset({RECATEGORIZE_TRANSACTION, RENAME_LEDGER})
"""Operations that change existing rows."""


@dataclass(frozen=True)
class Instance:
    """One set of books in the database, with the scale of its currency and its tier.

    `localtime` is the time zone of its days, of its imports and of `entries_start`, and what ``localtime`` means in
    requests. It is None if nothing has stated it yet. No period begins before `entries_start`. Company and currency are
    in the headings of statements.
    """

    pk: int
    id: str
    name: str
    tier: int
    scale: int
    localtime: str | None
    entries_start: dt.date | None
    company: str | None
    currency: str | None

    @property
    def time_zone(self) -> str:
        """Time zone that ``localtime`` means, or UTC if nothing states it."""
        return self.localtime or "UTC"


@dataclass(frozen=True)
class StoredLedger:
    """A ledger of an instance, with the fields of the interface."""

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


@dataclass(frozen=True)
class AuditRow:
    """One row of the audit log.

    Before and after contain the ledger of every moved line by line id, the names of renamed or created ledgers by id,
    or the posted entries. The actor is the key of the access token, or ``local`` for a program with access to the
    database.
    """

    at: dt.datetime
    actor: str
    modified_by: str | None
    operation: str
    transaction_id: str | None
    before: dict[str, str]
    after: dict[str, str]


def now() -> dt.datetime:
    """Return the present instant in UTC."""
    return dt.datetime.now(dt.UTC)
