"""Selected rows of line entries, and the line entry and transaction of the response that each becomes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.response_models import (
    JournalEntry,
    LineEntry,
    NestedLedger,
    Tag,
    Transaction,
    number,
)
from accounting_analytics.service.wire.stored_values import StoredLedger, instant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_LINES = tables.line_entries.c
_TRANSACTIONS = tables.transactions.c
_SIDES = {side.value: side for side in DebitCredit}


class LineEntryRow(Struct, frozen=True, gc=False):
    """A line and its transaction, the fields of which are None if it has none; `units` are signed, debit positive."""

    units: int
    datetime: dt.datetime
    texts: dict[str, str]
    pk: int
    id: str
    journal_entry_pk: int
    debit_credit: str
    journal_entry_id: str
    journal_entry_description: str
    transaction_id: str | None
    transaction_description: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str | None
    categorization_method: str

    @classmethod
    def from_columns(cls, values: Sequence[Any]) -> LineEntryRow:
        """Row of the values of :data:`COLUMNS`."""
        units, moment = values[:_TEXTS_START]
        texts = dict(zip(tables.LINE_TEXTS, values[_TEXTS_START:_TEXTS_END], strict=True))
        return cls(units, instant(moment), texts, *values[_TEXTS_END:])


COLUMNS = (
    _LINES.units,
    _LINES.datetime,
    *(_LINES[name] for name in tables.LINE_TEXTS),
    _LINES.pk,
    _LINES.id,
    _LINES.journal_entry_pk,
    _LINES.debit_credit,
    tables.journal_entries.c.id.label("journal_entry_id"),
    tables.journal_entries.c.description.label("journal_entry_description"),
    _TRANSACTIONS.id.label("transaction_id"),
    _TRANSACTIONS.description.label("transaction_description"),
    _TRANSACTIONS.personal,
    _TRANSACTIONS.posted_status,
    _TRANSACTIONS.review_status,
    _TRANSACTIONS.source_account_id,
    _TRANSACTIONS.categorization_method,
)
"""Columns of a line and its transaction; :meth:`LineEntryRow.from_columns` reads their values."""

_TEXTS_START = 2
_TEXTS_END = _TEXTS_START + len(tables.LINE_TEXTS)


def transaction_of_line(row: LineEntryRow, transaction_id: str, ledger_id: str, scale: int) -> Transaction:
    """Transaction of a line; its amount has the sign of the line on its ledger."""
    return Transaction(
        id=transaction_id,
        amount=number(row.units, scale),
        datetime=row.datetime,
        description=row.transaction_description,
        journal_entry_id=row.journal_entry_id,
        ledger_id=ledger_id,
        line_entry_id=row.id,
        personal=bool(row.personal),
        posted_status=row.posted_status,
        review_status=row.review_status,
        source_account_id=row.source_account_id,
    )


class SiblingLine(Struct, frozen=True, gc=False):
    """A line of the journal entry of a line of the page; the line itself is one of them."""

    page_line_key: int
    key: int
    id: str
    debit_credit: str
    ledger_id: str


class PageContext(NamedTuple):
    """What all line entries of a page have in common, and what was read for them by the key of the line."""

    ledger: StoredLedger
    scale: int
    expand: Sequence[str]
    nested_ledger: NestedLedger | UnsetType
    siblings: Mapping[int, Sequence[SiblingLine]]
    tags: Mapping[int, list[Tag]]


def line_entry_of_row(row: LineEntryRow, page: PageContext) -> LineEntry:
    """Line entry of a row of a page, with the expansions of the page."""
    siblings = page.siblings[row.pk]
    opposing = [line for line in siblings if line.debit_credit != row.debit_credit]
    transaction_id = UNSET if row.transaction_id is None else row.transaction_id
    return LineEntry(
        id=row.id,
        amount=number(abs(row.units), page.scale),
        debit_credit=_SIDES[row.debit_credit],
        **row.texts,
        datetime=row.datetime,
        editable=page.ledger.editable,
        ledger_id=page.ledger.id,
        ledger_name=page.ledger.name,
        ledger=page.nested_ledger,
        related_line_entry_id=opposing[0].id if len(opposing) == 1 else UNSET,
        transaction_id=transaction_id,
        transaction=transaction_of_line(row, transaction_id, page.ledger.id, page.scale)
        if transaction_id is not UNSET and "transaction" in page.expand
        else UNSET,
        journal_entry_id=row.journal_entry_id,
        journal_entry_description=row.journal_entry_description,
        journal_entry=_journal_entry(row, siblings) if "journal_entry" in page.expand else UNSET,
        opposing_ledger_ids=_ledger_ids(opposing) if "opposing_ledger_ids" in page.expand else UNSET,
        tags=page.tags.get(row.pk, []),
    )


def _journal_entry(row: LineEntryRow, siblings: Sequence[SiblingLine]) -> JournalEntry:
    return JournalEntry(
        datetime=row.datetime,
        description=row.journal_entry_description,
        id=row.journal_entry_id,
        line_entry_ids=[line.id for line in siblings],
    )


def _ledger_ids(lines: Sequence[SiblingLine]) -> list[str]:
    return list(dict.fromkeys([line.ledger_id for line in lines]))
