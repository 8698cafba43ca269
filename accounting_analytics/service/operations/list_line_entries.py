"""Listing the line entries of a ledger."""

from __future__ import annotations

from itertools import compress, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, select

from accounting_analytics.service.operations.page_query import Matching, find_page
from accounting_analytics.service.operations.requested_records import (
    carries_all,
    ledger_or_404,
    parent_fields,
    refuse_before_start,
    zone_name,
)
from accounting_analytics.service.operations.transaction_columns import (
    COLUMNS,
    LineColumns,
    TransactionLine,
    line_columns,
    transaction_columns,
)
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.local_dates import boundary, boundary_after
from accounting_analytics.service.storage.streamed_rows import plain_rows
from accounting_analytics.service.wire.json_columns import elements, joined, numbers, texts
from accounting_analytics.service.wire.page_tokens import PageTokens
from accounting_analytics.service.wire.rendering import encode, nested_ledger_fields, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Subquery

    from accounting_analytics.service.operations.page_query import Page
    from accounting_analytics.service.wire.requests import ListLineEntriesQuery
    from accounting_analytics.service.wire.stored_records import Instance, StoredLedger

_LINES = tables.line_entries.c
_PLACE = itemgetter(TransactionLine._fields.index("datetime"), TransactionLine._fields.index("id"))


class _Around(NamedTuple):
    """What stands around the lines of a page, as JSON: ids with commas between them, and one id or null."""

    line_entry_ids: pa.Array
    opposing_ledger_ids: pa.Array
    related_line_entry_id: pa.Array


class _Shown(NamedTuple):
    """What every record of a page shows alike, as JSON, and which expansions differ from record to record."""

    scale: int
    ledger_ids: dict[int, str]
    ledger_id: str
    ledger: str
    expanded_ledger: str
    transaction: bool
    journal_entry: bool
    opposing_ledger_ids: bool


def list_line_entries(
    connection: Connection, instance: Instance, ledger_id: str, query: ListLineEntriesQuery, key: bytes
) -> bytes:
    """Page of line entries in (datetime, id) order, as JSON.

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
    tokens = page_tokens(key, instance, ledger_id, query)
    cursor = tokens.read(query.page_token) if query.page_token is not None else None
    ledger = ledger_or_404(connection, instance, ledger_id)
    refuse_before_start(instance, query.start_date)
    page = find_page(connection, _matching(connection, instance, ledger, query), query.limit, cursor)
    records = _records(connection, page, _shown(connection, instance, ledger, query.expand))
    following = quoted(tokens.write(page.after)) if page.after else "null"
    previous = quoted(tokens.write(page.before)) if page.before else "null"
    tail = f'],"next_page_token":{following},"prev_page_token":{previous}}}'
    return b"".join((b'{"records":[', records, tail.encode()))


def page_tokens(key: bytes, instance: Instance, ledger_id: str, query: ListLineEntriesQuery) -> PageTokens:
    """Page tokens of one query: those of any other are not read."""
    return PageTokens(key, [instance.id, ledger_id, *_bound(query)])


def _bound(query: ListLineEntriesQuery) -> list[str]:
    """Return what a page token is bound to: every parameter but the token."""
    parameters = query.model_dump(exclude={"page_token"})
    unordered = {name: sorted(parameters[name]) for name in ("expand", "tag_ids")}
    return [f"{name}={value}" for name, value in sorted((parameters | unordered).items())]


def _matching(
    connection: Connection, instance: Instance, ledger: StoredLedger, query: ListLineEntriesQuery
) -> Matching:
    zone = zone_name(instance, query.time_zone)
    further = carries_all(connection, instance, query.tag_ids)
    start, end = boundary(query.start_date, zone), boundary_after(query.end_date, zone)
    return Matching(ledger.pk, start, end, further, query.is_cashflow)


def _records(connection: Connection, page: Page, shown: _Shown) -> bytes | pa.Buffer:
    """Render the records of a page, column by column, because a page has a thousand."""
    page_lines = page.lines.subquery()
    query = (
        select(*COLUMNS)
        .join_from(page_lines, tables.line_entries, _LINES.pk == page_lines.c.pk)
        .join(tables.journal_entries, tables.journal_entries.c.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
    )
    # they come nearly in order, which the database would not see and sort all that it reads
    rows = sorted(plain_rows(connection, query), key=_PLACE)
    if not rows:
        return b""
    lines = line_columns(rows)
    around = _around(connection, page_lines, lines, shown.ledger_ids)
    tags = _tags(connection, page_lines)
    parts = [
        '{"id":"',
        lines.id,
        '","amount":',
        numbers(pc.abs(lines.units), shown.scale),
        ',"debit_credit":"',
        lines.debit_credit,
        '","description":"',
        lines.description,
        '","datetime":"',
        lines.datetime,
        f'",{shown.ledger},"journal_entry_id":"',
        lines.journal_entry_id,
        '","journal_entry_description":"',
        lines.journal_entry_description,
        '","tags":',
        pa.array([tags.get(key, "[]") for key in lines.pk], pa.string()),
        _where_there(',"related_line_entry_id":', around.related_line_entry_id),
        _where_there(',"transaction_id":"', lines.transaction_id, '"'),
    ]
    if shown.transaction:
        fields = transaction_columns(lines, shown.ledger_id, shown.scale)
        parts.append(_where_there(',"transaction":{', fields, "}"))
    if shown.journal_entry:
        parts += [',"journal_entry":{"datetime":"', lines.datetime]
        parts += ['","description":"', lines.journal_entry_description, '","id":"', lines.journal_entry_id]
        parts += ['","line_entry_ids":[', around.line_entry_ids, "]}"]
    if shown.opposing_ledger_ids:
        parts += [',"opposing_ledger_ids":[', around.opposing_ledger_ids, "]"]
    (records,) = elements(joined(*parts, f"{shown.expanded_ledger}}},"), [len(rows)])
    return records


def _where_there(*parts: pa.Array | str) -> pa.Array:
    """Texts put together; nothing where a part is null."""
    return pc.coalesce(joined(*parts), "")


def _shown(connection: Connection, instance: Instance, ledger: StoredLedger, expand: Sequence[str]) -> _Shown:
    editable = "true" if ledger.editable else "false"
    levels = max((path.count("parent") for path in expand if path.startswith("ledger")), default=None)
    expanded = ""
    if levels is not None:
        nested = nested_ledger_fields(ledger) | parent_fields(connection, instance, ledger, levels)
        expanded = f',"ledger":{encode(nested).decode()}'
    return _Shown(
        scale=instance.scale,
        ledger_ids=_ledger_ids(connection, instance),
        ledger_id=quoted(ledger.id),
        ledger=f'"editable":{editable},"ledger_id":{quoted(ledger.id)},"ledger_name":{quoted(ledger.name)}',
        expanded_ledger=expanded,
        transaction="transaction" in expand,
        journal_entry="journal_entry" in expand,
        opposing_ledger_ids="opposing_ledger_ids" in expand,
    )


def _around(connection: Connection, page: Subquery, lines: LineColumns, ledger_ids: Mapping[int, str]) -> _Around:
    """All lines of the page's journal entries, in the order they were posted, as each line of the page sees them."""
    query = select(page.c.pk, _LINES.pk, _LINES.id, _LINES.debit_credit, _LINES.ledger_pk).join_from(
        page, tables.line_entries, _LINES.journal_entry_pk == page.c.journal_entry_pk
    )
    keys, _, line_ids, sides, ledger_keys = zip(*sorted(plain_rows(connection, query)), strict=True)
    quoted_ids = joined('"', texts(line_ids), '"')
    own_side = dict(zip(lines.pk, lines.debit_credit.to_pylist(), strict=True))
    opposes = [side != own_side[key] for key, side in zip(keys, sides, strict=True)]
    opposing_ledgers = dict.fromkeys(compress(zip(keys, ledger_keys, strict=True), opposes))
    by_line = _ByLine(lines.pk)
    opposing_lines = by_line.lists(compress(keys, opposes), quoted_ids.filter(pa.array(opposes)))
    alone = pc.equal(pc.list_value_length(opposing_lines), 1)
    return _Around(
        line_entry_ids=pc.binary_join(by_line.lists(keys, quoted_ids), ","),
        opposing_ledger_ids=pc.binary_join(
            by_line.lists(
                (key for key, _ in opposing_ledgers),
                pa.array([ledger_ids[ledger_key] for _, ledger_key in opposing_ledgers], pa.string()),
            ),
            ",",
        ),
        related_line_entry_id=pc.if_else(alone, pc.binary_join(opposing_lines, ""), None),
    )


class _ByLine:
    """Puts what belongs to the lines of a page together, line by line in the order of the page.

    Parameters
    ----------
    keys : sequence of int
        The lines of the page.
    """

    def __init__(self, keys: Sequence[int]) -> None:
        self._sorted = np.sort(keys)
        self._places = np.searchsorted(self._sorted, keys)

    def lists(self, keys: Iterable[int], values: pa.Array) -> pa.ListArray:
        """Values of each line, given with its key and in the order of the keys."""
        given = np.fromiter(keys, np.int64)
        starts = np.append(np.searchsorted(given, self._sorted), len(given))
        return pa.ListArray.from_arrays(starts.astype(np.int32), values).take(pa.array(self._places))


def _ledger_ids(connection: Connection, instance: Instance) -> dict[int, str]:
    """Ids of the ledgers of the instance as JSON, by key."""
    ledgers = tables.ledgers.c
    query = select(ledgers.pk, ledgers.id).where(ledgers.instance_pk == instance.pk)
    return {key: quoted(ledger_id) for key, ledger_id in plain_rows(connection, query)}


def _tags(connection: Connection, page: Subquery) -> dict[int, str]:
    """Tags of the page's lines as JSON, by line, in the order of their groups and names."""
    tags, groups, carried = tables.tags, tables.tag_groups, tables.line_entry_tags
    query = (
        select(carried.c.line_entry_pk, tags.c.id, tags.c.name, groups.c.id)
        .join_from(page, carried, carried.c.line_entry_pk == page.c.pk)
        .join(tags, tags.c.pk == carried.c.tag_pk)
        .join(groups, groups.c.pk == tags.c.tag_group_pk)
        .order_by(carried.c.line_entry_pk, groups.c.name, tags.c.name)
    )
    return {
        key: encode(
            [{"id": tag_id, "name": name, "tag_group_id": group} for _, tag_id, name, group in of_line]
        ).decode()
        for key, of_line in groupby(plain_rows(connection, query), itemgetter(0))
    }
