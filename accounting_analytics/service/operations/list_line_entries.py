"""Listing the line entries of a ledger."""

from __future__ import annotations

from itertools import groupby, starmap
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from msgspec import UNSET
from sqlalchemy import Connection, select

from accounting_analytics.service.operations.ledger_lookup import expand_parent, find_ledger
from accounting_analytics.service.operations.line_entry_records import (
    COLUMNS,
    LineEntryRow,
    PageContext,
    SiblingLine,
    line_entry_of_row,
)
from accounting_analytics.service.operations.line_filters import has_all_tags, period_boundaries
from accounting_analytics.service.operations.page_query import LedgerLineFilter, find_page
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.streamed_rows import plain_rows
from accounting_analytics.service.wire.page_tokens import PageTokens
from accounting_analytics.service.wire.response_models import LineEntryPage, NestedLedger, Tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import UnsetType
    from sqlalchemy import Subquery

    from accounting_analytics.service.wire.requests import ListLineEntriesQuery
    from accounting_analytics.service.wire.stored_values import Instance, StoredLedger

_LINES = tables.line_entries.c
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
    ledger = find_ledger(connection, instance, ledger_id)
    start, end = period_boundaries(instance, query)
    conditions = has_all_tags(connection, instance, query.tag_ids)
    line_filter = LedgerLineFilter(ledger.pk, start, end, conditions, query.is_cashflow)
    location = find_page(connection, line_filter, query.limit, cursor)
    selected = location.lines.subquery()
    page = PageContext(
        ledger=ledger,
        scale=instance.scale,
        expand=query.expand,
        nested_ledger=_nested_ledger(connection, instance, ledger, query.expand),
        siblings=_siblings(connection, selected),
        tags=_tags(connection, selected),
    )
    return LineEntryPage(
        records=[line_entry_of_row(row, page) for row in _rows(connection, selected)],
        next_page_token=tokens.write(location.after) if location.after else None,
        prev_page_token=tokens.write(location.before) if location.before else None,
    )


def page_tokens(key: bytes, instance: Instance, ledger_id: str, query: ListLineEntriesQuery) -> PageTokens:
    """Page tokens of one query; they are bound to every parameter except the token."""
    parameters = sorted(query.model_dump(exclude={"page_token"}).items())
    unordered = ((name, sorted(value) if isinstance(value, tuple) else value) for name, value in parameters)
    return PageTokens(key, [instance.id, ledger_id, *(f"{name}={value}" for name, value in unordered)])


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
    return sorted(map(LineEntryRow.from_columns, plain_rows(connection, query)), key=_ORDER)


def _siblings(connection: Connection, selected: Subquery) -> dict[int, list[SiblingLine]]:
    """Lines of the journal entries of the page, in the order they were posted, by line of the page."""
    ledgers = tables.ledgers.c
    query = (
        select(selected.c.pk, _LINES.pk, _LINES.id, _LINES.debit_credit, ledgers.id)
        .join_from(selected, tables.line_entries, _LINES.journal_entry_pk == selected.c.journal_entry_pk)
        .join(tables.ledgers, ledgers.pk == _LINES.ledger_pk)
    )
    lines = sorted(starmap(SiblingLine, plain_rows(connection, query)), key=_POSTED)
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
        for key, rows in groupby(plain_rows(connection, query), itemgetter(0))
    }
