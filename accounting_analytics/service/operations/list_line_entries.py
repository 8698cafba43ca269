"""Listing the line entries of a ledger: pages, signed tokens, filters and expansions."""

from __future__ import annotations

import datetime as dt
from hashlib import sha256
from itertools import groupby, starmap
from operator import attrgetter, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from itsdangerous import BadData, URLSafeSerializer
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace
from sqlalchemy import ColumnElement, Connection, Select, Subquery, literal, select, tuple_

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.journals.entries import LINE_TEXTS
from accounting_analytics.service import tables
from accounting_analytics.service.interface import JournalEntry, LineEntry, LineEntryPage, NestedLedger, Tag, number
from accounting_analytics.service.operations.shared_queries import (
    LineRow,
    expand_parent,
    find_ledger,
    has_all_tags,
    requested_period,
    select_lines,
    transaction_of_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.core.periods import Interval
    from accounting_analytics.service.interface import ListLineEntriesQuery
    from accounting_analytics.service.operations.shared_queries import Call
    from accounting_analytics.service.stored_values import AnyRow, Instance, StoredLedger

_SIGNING = {"digest_method": sha256, "key_derivation": "hmac"}
_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_ORDER = (_LINES.datetime, _LINES.id)


def list_line_entries(call: Call, ledger_id: str, query: ListLineEntriesQuery) -> LineEntryPage:
    """List a page of line entries in (datetime, id) order."""
    connection, instance = call.connection, call.instance
    tokens = PageTokens(call.page_token_key, instance, ledger_id, query)
    cursor = tokens.read(query.page_token) if query.page_token is not None else None
    period = requested_period(instance, query)
    ledger = find_ledger(connection, instance, ledger_id)
    conditions = [_LINES.ledger_pk == ledger.pk, *has_all_tags(connection, instance, query.tag_ids)]
    if query.is_cashflow is not None:
        touches = (
            select(_ENTRIES.pk)
            .where(_ENTRIES.pk == _LINES.journal_entry_pk, _ENTRIES.cash_ledger_pk.is_not(None))
            .exists()
        )
        conditions.append(touches if query.is_cashflow else ~touches)
    lines = _LedgerLines(conditions, period.instants())
    page = lines.query(cursor).limit(query.limit).subquery()
    positions = connection.execute(lines.query(cursor).limit(query.limit + 1)).all()
    onward, back = _neighbours(connection, lines, positions, query.limit, cursor)
    following, previous = (back, onward) if cursor and cursor.backward else (onward, back)
    return LineEntryPage(
        records=_records(connection, instance, ledger, query.expand, page) if positions else [],
        next_page_token=tokens.write(following) if following else None,
        prev_page_token=tokens.write(previous) if previous else None,
    )


class Cursor(NamedTuple):
    """A position in the (datetime, id) order, and the direction to read from there.

    The line at this position may have been moved to another ledger since.
    """

    backward: bool
    inclusive: bool
    datetime: dt.datetime
    line_entry_id: str


class PageTokens:
    """Writer and reader of the page tokens of one query, which is an instance, a ledger and parameters."""

    def __init__(self, key: bytes, instance: Instance, ledger_id: str, query: ListLineEntriesQuery) -> None:
        sorted_query = replace(query, page_token=None, expand=sorted(query.expand), tag_ids=sorted(query.tag_ids))
        parameters = [f"{name}={value}" for name, value in asdict(sorted_query).items()]
        bound = "".join(f"{len(part)}:{part}" for part in ("page-token", instance.id, ledger_id, *parameters))
        self._serializer = URLSafeSerializer(key, salt=bound.encode(), signer_kwargs=_SIGNING)

    def write(self, cursor: Cursor) -> str:
        """Write a cursor as a token."""
        return str(self._serializer.dumps(list(cursor._replace(datetime=cursor.datetime.isoformat()))))  # type: ignore[arg-type]

    def read(self, token: str) -> Cursor:
        """Read a token. Refuse a modified token, or a token of another query, with 400."""
        try:
            backward, inclusive, moment, line_entry_id = self._serializer.loads(token)
            cursor = Cursor(backward, inclusive, dt.datetime.fromisoformat(moment), line_entry_id)
        except BadData as error:
            raise _invalid_token() from error
        if self.write(cursor) != token:  # base64 decoding ignores characters that are not base64
            raise _invalid_token()
        return cursor


def _invalid_token() -> OperationRefusedError:
    msg = "the page token belongs to another query; repeat every parameter with it, or start without a token"
    return OperationRefusedError(msg, status=400, error_code="invalid_page_token")


class _LedgerLines(NamedTuple):
    """The listed lines of a ledger.

    The lines can be read in both directions from any cursor.
    """

    conditions: list[ColumnElement[bool]]
    instants: Sequence[Interval]

    def query(self, cursor: Cursor | None) -> Select[*tuple[Any, ...]]:
        """Return the query of position, key and entry of the lines after a cursor."""
        query = select(*_ORDER, _LINES.pk, _LINES.journal_entry_pk)
        query = query.where(*self.conditions, tables.is_within(self._bounds(cursor), _LINES.datetime))
        if cursor is None:
            return query.order_by(*_ORDER)
        compare = {(True, True): le, (True, False): lt, (False, True): ge, (False, False): gt}
        position = tuple_(literal(cursor.datetime, tables.Instant), literal(cursor.line_entry_id))
        query = query.where(compare[cursor.backward, cursor.inclusive](tuple_(*_ORDER), position))
        return query.order_by(*(column.desc() if cursor.backward else column for column in _ORDER))

    def _bounds(self, cursor: Cursor | None) -> list[tuple[dt.datetime | None, dt.datetime | None]]:
        """Return the intervals without the bounds that the cursor has passed.

        A database index uses only one bound, and this must be the cursor.
        """
        if cursor is None:
            return [(start, end) for start, end in self.instants]
        if cursor.backward:
            return [(start, None if end and end > cursor.datetime else end) for start, end in self.instants]
        return [(None if start <= cursor.datetime else start, end) for start, end in self.instants]


def _neighbours(
    connection: Connection, lines: _LedgerLines, positions: Sequence[AnyRow], limit: int, cursor: Cursor | None
) -> tuple[Cursor | None, Cursor | None]:
    """Return the cursors after and before a page. A cursor is None if there are no lines in its direction.

    The lines before a page may have been moved to another ledger since.
    """
    backward = cursor is not None and cursor.backward
    onward = Cursor(backward, False, *positions[limit - 1][:2]) if len(positions) > limit else None  # noqa: FBT003
    if cursor is None:
        return onward, None
    back = cursor._replace(backward=not backward, inclusive=not cursor.inclusive)
    if positions:
        back = Cursor(not backward, False, *positions[0][:2])  # noqa: FBT003 (exclusive)
    return onward, back if connection.execute(lines.query(back).limit(1)).first() else None


class _Sibling(Struct, frozen=True, gc=False):
    """A line of an entry that has a line on the page."""

    page_line: int
    pk: int
    id: str
    debit_credit: str
    ledger_id: str


def _records(
    connection: Connection, instance: Instance, ledger: StoredLedger, expand: Sequence[str], page: Subquery
) -> list[LineEntry]:
    """Return the line entries of a page, with their expansions."""
    query = (
        select_lines()
        .select_from(page)
        .join(tables.line_entries, _LINES.pk == page.c.pk)
        .join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
    )
    # sorted in Python: the rows are nearly in order, but the database would sort whole rows again
    rows = sorted(starmap(LineRow, connection.execute(query).all()), key=attrgetter("datetime", "id"))
    paths = [path for path in expand if path.startswith("ledger")]
    parent = expand_parent(connection, instance, ledger, paths)
    nested = NestedLedger.from_stored(ledger, parent) if paths else UNSET
    siblings, tags = _siblings(connection, page), _tags(connection, page)
    return [
        _record(
            row,
            ledger,
            scale=instance.scale,
            expand=expand,
            nested_ledger=nested,
            siblings=siblings[row.pk],
            tags=tags.get(row.pk, []),
        )
        for row in rows
    ]


def _record(
    row: LineRow,
    ledger: StoredLedger,
    *,
    scale: int,
    expand: Sequence[str],
    nested_ledger: NestedLedger | UnsetType,
    siblings: Sequence[_Sibling],
    tags: list[Tag],
) -> LineEntry:
    """Return the line entry of a row. `siblings` include the line itself."""
    opposing = [line for line in siblings if line.debit_credit != row.debit_credit]
    has_transaction = row.transaction_id is not None
    journal_entry: JournalEntry | UnsetType = UNSET
    if "journal_entry" in expand:
        journal_entry = JournalEntry(
            datetime=row.datetime,
            description=row.journal_entry_description,
            id=row.journal_entry_id,
            line_entry_ids=[line.id for line in siblings],
        )
    ids = dict.fromkeys([line.ledger_id for line in opposing])
    return LineEntry(
        id=row.id,
        amount=number(abs(row.units), scale),
        debit_credit=DebitCredit(row.debit_credit),
        **{name: getattr(row, name) for name in LINE_TEXTS},
        datetime=row.datetime,
        editable=ledger.editable,
        ledger_id=ledger.id,
        ledger_name=ledger.name,
        ledger=nested_ledger,
        related_line_entry_id=opposing[0].id if len(opposing) == 1 else UNSET,
        transaction_id=row.transaction_id if has_transaction else UNSET,
        transaction=transaction_of_line(row, ledger.id, scale)
        if has_transaction and "transaction" in expand
        else UNSET,
        journal_entry_id=row.journal_entry_id,
        journal_entry_description=row.journal_entry_description,
        journal_entry=journal_entry,
        opposing_ledger_ids=list(ids) if "opposing_ledger_ids" in expand else UNSET,
        tags=tags,
    )


def _siblings(connection: Connection, page: Subquery) -> dict[int, list[_Sibling]]:
    """Return, for each page line, all lines of its entry.

    The lines are in posting order.
    """
    ledgers = tables.ledgers.c
    query = (
        select(page.c.pk, _LINES.pk, _LINES.id, _LINES.debit_credit, ledgers.id)
        .join_from(page, tables.line_entries, _LINES.journal_entry_pk == page.c.journal_entry_pk)
        .join(tables.ledgers, ledgers.pk == _LINES.ledger_pk)
    )
    lines = sorted(starmap(_Sibling, connection.execute(query).all()), key=attrgetter("page_line", "pk"))
    return {key: list(siblings) for key, siblings in groupby(lines, attrgetter("page_line"))}


def _tags(connection: Connection, page: Subquery) -> dict[int, list[Tag]]:
    """Return the tags of the page's lines, by group and name."""
    tags, groups, line_tags = tables.tags, tables.tag_groups, tables.line_entry_tags
    query = (
        select(line_tags.c.line_entry_pk, tags.c.id, tags.c.name, groups.c.id.label("tag_group_id"))
        .join_from(page, line_tags, line_tags.c.line_entry_pk == page.c.pk)
        .join(tags, tags.c.pk == line_tags.c.tag_pk)
        .join(groups, groups.c.pk == tags.c.tag_group_pk)
        .order_by(line_tags.c.line_entry_pk, groups.c.name, tags.c.name)
    )
    by_line = groupby(connection.execute(query).all(), attrgetter("line_entry_pk"))
    return {
        key: [Tag(id=row.id, name=row.name, tag_group_id=row.tag_group_id) for row in rows] for key, rows in by_line
    }
