"""Listing the line entries of a ledger: pages of a consistent order, their signed tokens, filters and expansions."""

from __future__ import annotations

from hashlib import sha256
from itertools import groupby, starmap
from operator import attrgetter, ge, gt, itemgetter, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from itsdangerous import BadData, URLSafeSerializer
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace
from sqlalchemy import ColumnElement, Connection, Select, Subquery, literal, select, tuple_

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.operations.line_entry_records import (
    COLUMNS,
    LineEntryRow,
    PageContext,
    SiblingLine,
    line_entry_of_row,
)
from accounting_analytics.service.operations.resource_lookup import (
    expand_parent,
    find_ledger,
    has_all_tags,
    requested_period,
)
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import is_within
from accounting_analytics.service.wire.response_models import LineEntry, LineEntryPage, NestedLedger, Tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.periods import Interval
    from accounting_analytics.service.wire.requests import ListLineEntriesQuery
    from accounting_analytics.service.wire.stored_values import AnyRow, Instance, StoredLedger

_SIGNING = {"digest_method": sha256, "key_derivation": "hmac"}


class Cursor(NamedTuple):
    """A position in the (datetime, id) order of line entries, and the direction to read from there.

    The line at the position may have been moved to another ledger since.
    """

    backward: bool
    inclusive: bool
    datetime: int
    line_entry_id: str


class PageTokens:
    """Writes and reads the page tokens of one query: its instance, ledger and every parameter except the token."""

    def __init__(self, key: bytes, query: Sequence[str]) -> None:
        bound = "".join(f"{len(part)}:{part}" for part in ("page-token", *query))
        self._serializer = URLSafeSerializer(key, salt=bound.encode(), signer_kwargs=_SIGNING)

    def write(self, cursor: Cursor) -> str:
        """Token of a cursor."""
        return str(self._serializer.dumps(list(cursor)))

    def read(self, token: str) -> Cursor:
        """Cursor of a token; 400 for one that was modified, or belongs to another query or instance."""
        try:
            cursor = Cursor(*self._serializer.loads(token))
        except BadData as error:
            raise _invalid_token() from error
        if self.write(cursor) != token:  # base64 ignores characters that do not belong to it
            raise _invalid_token()
        return cursor


def _invalid_token() -> OperationRefusedError:
    msg = "the page token belongs to another query; repeat every parameter with it, or start without a token"
    return OperationRefusedError(msg, status=400, error_code="invalid_page_token")


_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_POSITION = tuple_(_LINES.datetime, _LINES.id)
_UNINDEXED = _LINES.datetime + 0
_EXCLUSIVE = False


class LedgerLineFilter(NamedTuple):
    """Which lines of a ledger are listed."""

    ledger_key: int
    instants: Sequence[Interval]
    conditions: list[ColumnElement[bool]]
    is_cashflow: bool | None

    def after(self, cursor: Cursor | None) -> list[ColumnElement[bool]]:
        """Conditions on the lines after a cursor, in its direction."""
        # An index seeks with one bound at each end. At the end where the cursor is, that has to be the cursor, or later
        # pages would take longer than earlier ones: SQLite would start at the period's bound and skip all lines up to
        # the cursor. Adding 0 to the column hides the period's bound from the index.
        conditions = [_LINES.ledger_pk == self.ledger_key, *self.conditions]
        seeking_up = cursor is not None and not cursor.backward
        seeking_down = cursor is not None and cursor.backward
        since, until = (_UNINDEXED if seeking else _LINES.datetime for seeking in (seeking_up, seeking_down))
        conditions.append(is_within(self.instants, since, until))
        if self.is_cashflow is not None:
            touches = _ENTRIES.cash_ledger_pk.is_not(None)
            conditions.append(touches if self.is_cashflow else ~touches)
        return conditions if cursor is None else [*conditions, _after(cursor)]


class PageLocation(NamedTuple):
    """A query of the `pk` and `journal_entry_pk` of the lines of a page, if any, and where its neighbours start."""

    lines: Select[*tuple[Any, ...]] | None
    before: Cursor | None
    after: Cursor | None


def find_page(connection: Connection, line_filter: LedgerLineFilter, limit: int, cursor: Cursor | None) -> PageLocation:
    """Page of at most `limit` lines that pass the filter, at a cursor or at the start."""
    ordered = _ordered(line_filter, cursor)
    positions = connection.execute(ordered.limit(limit + 1)).all()
    more, positions = len(positions) > limit, positions[:limit]
    lines = ordered.with_only_columns(_LINES.pk, _LINES.journal_entry_pk).limit(limit) if positions else None
    backward = cursor is not None and cursor.backward
    onward = Cursor(backward, _EXCLUSIVE, *positions[-1]) if more else None
    back = _if_lines(connection, line_filter, _reverse(positions, cursor)) if cursor else None
    return PageLocation(lines, onward, back) if backward else PageLocation(lines, back, onward)


def _reverse(positions: Sequence[AnyRow], cursor: Cursor) -> Cursor:
    """Cursor in the opposite direction: before the first line of the page, or at `cursor` if there is none."""
    if positions:
        return Cursor(not cursor.backward, _EXCLUSIVE, *positions[0])
    return cursor._replace(backward=not cursor.backward, inclusive=not cursor.inclusive)


def _if_lines(connection: Connection, line_filter: LedgerLineFilter, cursor: Cursor) -> Cursor | None:
    """Cursor if it leads to lines: they may have been moved to another ledger since."""
    return cursor if connection.execute(_ordered(line_filter, cursor).limit(1)).first() else None


def _ordered(line_filter: LedgerLineFilter, cursor: Cursor | None) -> Select[*tuple[Any, ...]]:
    query = select(_LINES.datetime, _LINES.id).where(*line_filter.after(cursor))
    if line_filter.is_cashflow is not None:
        query = query.join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
    if cursor is not None and cursor.backward:
        return query.order_by(_LINES.datetime.desc(), _LINES.id.desc())
    return query.order_by(_LINES.datetime, _LINES.id)


def _after(cursor: Cursor) -> ColumnElement[bool]:
    compare = {(True, True): le, (True, False): lt, (False, True): ge, (False, False): gt}
    position = tuple_(literal(cursor.datetime), literal(cursor.line_entry_id))
    condition: ColumnElement[bool] = compare[cursor.backward, cursor.inclusive](_POSITION, position)
    return condition


_ORDER = attrgetter("datetime", "id")
_POSTED = attrgetter("page_line_key", "key")


def list_line_entries(
    connection: Connection, instance: Instance, ledger_id: str, query: ListLineEntriesQuery, key: bytes
) -> LineEntryPage:
    """Page of line entries in (datetime, id) order.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database.
    instance : Instance
        The books.
    ledger_id : str
        Ledger of the lines.
    query : ListLineEntriesQuery
        Filters, expansions and page.
    key : bytes
        Secret that page tokens are signed with.
    """
    tokens = page_tokens(key, instance, ledger_id, query)
    cursor = tokens.read(query.page_token) if query.page_token is not None else None
    instants = requested_period(instance, query).instants()
    ledger = find_ledger(connection, instance, ledger_id)
    conditions = has_all_tags(connection, instance, query.tag_ids)
    line_filter = LedgerLineFilter(ledger.pk, instants, conditions, query.is_cashflow)
    location = find_page(connection, line_filter, query.limit, cursor)
    records = [] if location.lines is None else _records(connection, instance, ledger, query.expand, location.lines)
    return LineEntryPage(
        records=records,
        next_page_token=tokens.write(location.after) if location.after else None,
        prev_page_token=tokens.write(location.before) if location.before else None,
    )


def _records(
    connection: Connection,
    instance: Instance,
    ledger: StoredLedger,
    expand: Sequence[str],
    lines: Select[*tuple[Any, ...]],
) -> list[LineEntry]:
    """Line entries of a page, with their expansions."""
    selected = lines.subquery()
    page = PageContext(
        ledger=ledger,
        scale=instance.scale,
        expand=expand,
        nested_ledger=_nested_ledger(connection, instance, ledger, expand),
        siblings=_siblings(connection, selected),
        tags=_tags(connection, selected),
    )
    return [line_entry_of_row(row, page) for row in _rows(connection, selected)]


def page_tokens(key: bytes, instance: Instance, ledger_id: str, query: ListLineEntriesQuery) -> PageTokens:
    """Page tokens of one query; they are bound to every parameter except the token."""
    parameters = asdict(replace(query, page_token=None, expand=sorted(query.expand), tag_ids=sorted(query.tag_ids)))
    return PageTokens(key, [instance.id, ledger_id, *(f"{name}={value}" for name, value in parameters.items())])


def _nested_ledger(
    connection: Connection, instance: Instance, ledger: StoredLedger, expand: Sequence[str]
) -> NestedLedger | UnsetType:
    paths = [path for path in expand if path.startswith("ledger")]
    if not paths:
        return UNSET
    return NestedLedger.from_stored(ledger, expand_parent(connection, instance, ledger, paths))


def _rows(connection: Connection, selected: Subquery) -> list[LineEntryRow]:
    """Rows of the page in order."""
    query = (
        select(*COLUMNS)
        .join_from(selected, tables.line_entries, _LINES.pk == selected.c.pk)
        .join(tables.journal_entries, tables.journal_entries.c.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
    )
    # sorted here: the rows arrive nearly in order, but the database would sort whole rows again
    return sorted(map(LineEntryRow.from_columns, connection.execute(query).all()), key=_ORDER)


def _siblings(connection: Connection, selected: Subquery) -> dict[int, list[SiblingLine]]:
    """Lines of the journal entries of the page, in the order they were posted, by line of the page."""
    ledgers = tables.ledgers.c
    query = (
        select(selected.c.pk, _LINES.pk, _LINES.id, _LINES.debit_credit, ledgers.id)
        .join_from(selected, tables.line_entries, _LINES.journal_entry_pk == selected.c.journal_entry_pk)
        .join(tables.ledgers, ledgers.pk == _LINES.ledger_pk)
    )
    lines = sorted(starmap(SiblingLine, connection.execute(query).all()), key=_POSTED)
    return {key: list(siblings) for key, siblings in groupby(lines, attrgetter("page_line_key"))}


def _tags(connection: Connection, selected: Subquery) -> dict[int, list[Tag]]:
    """Tags of the page's lines, by line, in the order of their groups and names."""
    tags, groups, line_tags = tables.tags, tables.tag_groups, tables.line_entry_tags
    query = (
        select(line_tags.c.line_entry_pk, tags.c.id, tags.c.name, groups.c.id)
        .join_from(selected, line_tags, line_tags.c.line_entry_pk == selected.c.pk)
        .join(tags, tags.c.pk == line_tags.c.tag_pk)
        .join(groups, groups.c.pk == tags.c.tag_group_pk)
        .order_by(line_tags.c.line_entry_pk, groups.c.name, tags.c.name)
    )
    return {
        key: [Tag(id=tag_id, name=name, tag_group_id=group_id) for _, tag_id, name, group_id in rows]
        for key, rows in groupby(connection.execute(query).all(), itemgetter(0))
    }
