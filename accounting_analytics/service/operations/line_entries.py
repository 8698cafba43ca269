"""Listing the line entries of a ledger, page by page in (datetime, id) order."""

from __future__ import annotations

from collections import defaultdict
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, literal, select, tuple_

from accounting_analytics.service import tables
from accounting_analytics.service.local_days import on_or_after, up_to
from accounting_analytics.service.operations import transactions
from accounting_analytics.service.operations.lookup import carries_all, ledger_or_404, parent_fields, zone_name
from accounting_analytics.service.page_tokens import Cursor, PageTokens
from accounting_analytics.service.rendering import (
    encode,
    nested_ledger_fields,
    number,
    timestamp,
)
from accounting_analytics.service.units import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.service.requests import ListLineEntriesQuery
    from accounting_analytics.service.stored import AnyRow, Instance, StoredLedger

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_PLACE = tuple_(_LINES.datetime, _LINES.id)

_COLUMNS = (
    *transactions.COLUMNS,
    _LINES.description,
    _ENTRIES.description.label("journal_entry_description"),
)


class _Page(NamedTuple):
    rows: Sequence[AnyRow]
    before: Cursor | None
    after: Cursor | None


class _Line(NamedTuple):
    """A line of a journal entry, as seen from its other lines."""

    id: str
    debit_credit: str
    ledger_id: str


def list_line_entries(
    connection: Connection, instance: Instance, ledger_id: str, query: ListLineEntriesQuery, key: bytes
) -> bytes:
    """Page of line entries, as JSON.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database.
    instance : Instance
        Whose books.
    ledger_id : str
        Whose lines.
    query : ListLineEntriesQuery
        Filters, expansions and place.
    key : bytes
        Secret that page tokens are signed with.
    """
    tokens = PageTokens(key, [instance.id, ledger_id, *_bound(query)])
    cursor = tokens.read(query.page_token) if query.page_token is not None else None
    ledger = ledger_or_404(connection, instance, ledger_id)
    matching = _matching(connection, instance, ledger, query)
    page = _read_page(connection, matching, query.limit, cursor)
    return encode(
        {
            "records": _records(connection, instance, ledger, page.rows, query),
            "next_page_token": tokens.write(page.after) if page.after else None,
            "prev_page_token": tokens.write(page.before) if page.before else None,
        }
    )


def _bound(query: ListLineEntriesQuery) -> list[str]:
    """Return what a page token is bound to: every parameter but the token."""
    parameters = query.model_dump(exclude={"page_token"})
    unordered = {name: sorted(parameters[name]) for name in ("expand", "tag_ids")}
    return [f"{name}={value}" for name, value in sorted((parameters | unordered).items())]


def _matching(
    connection: Connection, instance: Instance, ledger: StoredLedger, query: ListLineEntriesQuery
) -> list[ColumnElement[bool]]:
    zone = zone_name(instance, query.time_zone)
    conditions = [
        _LINES.ledger_pk == ledger.pk,
        on_or_after(_LINES.datetime, query.start_date, zone),
        up_to(_LINES.datetime, query.end_date, zone),
        *carries_all(connection, instance, query.tag_ids),
    ]
    if query.is_cashflow is not None:
        conditions.append(_ENTRIES.cash_ledger_pk.is_not(None) == query.is_cashflow)
    return conditions


def _read_page(connection: Connection, matching: list[ColumnElement[bool]], limit: int, cursor: Cursor | None) -> _Page:
    backward = cursor is not None and cursor.backward
    found = connection.execute(_ordered(select(*_COLUMNS), matching, cursor, backward=backward).limit(limit + 1)).all()
    rows = found[:limit]
    more = len(found) > limit
    if backward:
        rows = rows[::-1]
    if cursor is None:
        return _Page(rows, None, _after(rows) if more else None)
    # the side the cursor came from: the line it names may have moved away since, so look
    if backward:
        back = _after(rows) or cursor._replace(backward=False, inclusive=not cursor.inclusive)
        return _Page(rows, _before(rows) if more else None, _if_any(connection, matching, back))
    back = _before(rows) or cursor._replace(backward=True, inclusive=not cursor.inclusive)
    return _Page(rows, _if_any(connection, matching, back), _after(rows) if more else None)


def _before(rows: Sequence[AnyRow]) -> Cursor | None:
    return Cursor(True, False, rows[0].datetime, rows[0].id) if rows else None  # noqa: FBT003 (fields of a tuple)


def _after(rows: Sequence[AnyRow]) -> Cursor | None:
    return Cursor(False, False, rows[-1].datetime, rows[-1].id) if rows else None  # noqa: FBT003 (fields of a tuple)


def _if_any(connection: Connection, matching: list[ColumnElement[bool]], cursor: Cursor) -> Cursor | None:
    """Cursor if there are lines where it leads."""
    query = _ordered(select(_LINES.pk), matching, cursor, backward=cursor.backward).limit(1)
    return cursor if connection.execute(query).first() is not None else None


def _ordered(
    query: Select[Any], matching: list[ColumnElement[bool]], cursor: Cursor | None, *, backward: bool
) -> Select[Any]:
    query = (
        query.select_from(tables.line_entries)
        .join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
        .where(*matching)
    )
    if cursor is not None:
        query = query.where(_beyond(cursor))
    if backward:
        return query.order_by(_LINES.datetime.desc(), _LINES.id.desc())
    return query.order_by(_LINES.datetime, _LINES.id)


def _beyond(cursor: Cursor) -> ColumnElement[bool]:
    compare = {(True, True): le, (True, False): lt, (False, True): ge, (False, False): gt}
    there = tuple_(literal(cursor.datetime), literal(cursor.line_entry_id))
    condition: ColumnElement[bool] = compare[cursor.backward, cursor.inclusive](_PLACE, there)
    return condition


def _records(
    connection: Connection,
    instance: Instance,
    ledger: StoredLedger,
    rows: Sequence[AnyRow],
    query: ListLineEntriesQuery,
) -> list[dict[str, Any]]:
    lines_of = _lines_of_entries(connection, [row.journal_entry_pk for row in rows])
    tags_of = _tags_of_lines(connection, [row.pk for row in rows])
    expanded_ledger = _expanded_ledger(connection, instance, ledger, query.expand)
    records = []
    for row in rows:
        lines = lines_of[row.journal_entry_pk]
        opposing = [line for line in lines if line.debit_credit != row.debit_credit]
        fields = {
            "id": row.id,
            "amount": number(abs(joined(row.high, row.low)), instance.scale),
            "debit_credit": row.debit_credit,
            "description": row.description,
            "datetime": timestamp(row.datetime),
            "editable": ledger.editable,
            "ledger_id": ledger.id,
            "ledger_name": ledger.name,
            "journal_entry_id": row.journal_entry_id,
            "journal_entry_description": row.journal_entry_description,
            "tags": tags_of.get(row.pk, ()),
        }
        if len(opposing) == 1:
            fields["related_line_entry_id"] = opposing[0].id
        if row.transaction_id is not None:
            fields["transaction_id"] = row.transaction_id
            if "transaction" in query.expand:
                fields["transaction"] = transactions.transaction_fields(row, ledger.id, instance.scale)
        if "journal_entry" in query.expand:
            fields["journal_entry"] = {
                "datetime": fields["datetime"],
                "description": row.journal_entry_description,
                "id": row.journal_entry_id,
                "line_entry_ids": [line.id for line in lines],
            }
        if "opposing_ledger_ids" in query.expand:
            fields["opposing_ledger_ids"] = list(dict.fromkeys([line.ledger_id for line in opposing]))
        if expanded_ledger is not None:
            fields["ledger"] = expanded_ledger
        records.append(fields)
    return records


def _expanded_ledger(
    connection: Connection, instance: Instance, ledger: StoredLedger, paths: Sequence[str]
) -> msgspec.Raw | None:
    """Render the ledger once: every record of the page carries the same."""
    levels = max((path.count("parent") for path in paths if path.startswith("ledger")), default=-1)
    if levels < 0:
        return None
    return msgspec.Raw(encode(nested_ledger_fields(ledger) | parent_fields(connection, instance, ledger, levels)))


def _lines_of_entries(connection: Connection, entry_keys: list[int]) -> dict[int, list[_Line]]:
    """All lines of the entries, in the order they were posted."""
    found: defaultdict[int, list[_Line]] = defaultdict(list)
    query = (
        select(_LINES.journal_entry_pk, _LINES.id, _LINES.debit_credit, tables.ledgers.c.id.label("ledger_id"))
        .join_from(tables.line_entries, tables.ledgers, tables.ledgers.c.pk == _LINES.ledger_pk)
        .where(_LINES.journal_entry_pk.in_(set(entry_keys)))
        .order_by(_LINES.journal_entry_pk, _LINES.pk)
    )
    for entry_key, *line in connection.execute(query):
        found[entry_key].append(_Line(*line))
    return found


def _tags_of_lines(connection: Connection, line_keys: list[int]) -> dict[int, list[dict[str, str]]]:
    """Tags of the lines, by name within their group."""
    found: defaultdict[int, list[dict[str, str]]] = defaultdict(list)
    tags, groups, carried = tables.tags, tables.tag_groups, tables.line_entry_tags
    query = (
        select(carried.c.line_entry_pk, tags.c.id, tags.c.name, groups.c.id.label("tag_group_id"))
        .join_from(carried, tags, tags.c.pk == carried.c.tag_pk)
        .join(groups, groups.c.pk == tags.c.tag_group_pk)
        .where(carried.c.line_entry_pk.in_(line_keys))
        .order_by(groups.c.name, tags.c.name)
    )
    for line_key, tag_id, name, group_id in connection.execute(query):
        found[line_key].append({"id": tag_id, "name": name, "tag_group_id": group_id})
    return found
