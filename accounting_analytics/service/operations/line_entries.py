"""Listing the line entries of a ledger."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from accounting_analytics.service import tables
from accounting_analytics.service.local_days import boundary, boundary_after
from accounting_analytics.service.operations.lookup import (
    carries_all,
    ledger_or_404,
    parent_fields,
    refuse_before_start,
    zone_name,
)
from accounting_analytics.service.operations.pages import Matching, find_page
from accounting_analytics.service.operations.transactions import COLUMNS, TransactionLine, transaction_text
from accounting_analytics.service.page_tokens import PageTokens
from accounting_analytics.service.rendering import encode, nested_ledger_fields, quoted, timestamp
from accounting_analytics.service.rows import plain_rows
from accounting_analytics.service.units import joined, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Subquery

    from accounting_analytics.service.operations.pages import Page
    from accounting_analytics.service.requests import ListLineEntriesQuery
    from accounting_analytics.service.stored import Instance, StoredLedger

_LINES = tables.line_entries.c


class _Around(NamedTuple):
    """What stands around one line, as JSON where it is shown as it is."""

    line_entry_ids: str
    opposing_ledger_ids: str
    related_line_entry_id: str | None


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
    records = ",".join(_records(connection, page, _shown(connection, instance, ledger, query.expand)))
    following = quoted(tokens.write(page.after)) if page.after else "null"
    previous = quoted(tokens.write(page.before)) if page.before else "null"
    return f'{{"records":[{records}],"next_page_token":{following},"prev_page_token":{previous}}}'.encode()


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


def _records(connection: Connection, page: Page, shown: _Shown) -> Iterator[str]:
    """Render the records of a page; written out by hand, because a page has a thousand."""
    lines = page.lines.subquery()
    around = _around(connection, lines, shown.ledger_ids)
    tags = _tags(connection, lines)
    query = (
        select(*COLUMNS)
        .join_from(lines, tables.line_entries, _LINES.pk == lines.c.pk)
        .join(tables.journal_entries, tables.journal_entries.c.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
        .order_by(_LINES.datetime, _LINES.id)
    )
    for row in map(TransactionLine._make, plain_rows(connection, query)):
        yield _record(row, around[row.pk], tags.get(row.pk, "[]"), shown)


def _record(row: TransactionLine, around: _Around, tags: str, shown: _Shown) -> str:
    moment = timestamp(row.datetime)
    amount = number_text(joined(row.high, row.low), shown.scale)
    entry_id, entry_description = quoted(row.journal_entry_id), quoted(row.journal_entry_description)
    text = (
        f'{{"id":{quoted(row.id)},"amount":{amount.lstrip("-")},"debit_credit":"{row.debit_credit}",'
        f'"description":{quoted(row.description)},"datetime":"{moment}",{shown.ledger},"journal_entry_id":{entry_id},'
        f'"journal_entry_description":{entry_description},"tags":{tags}'
    )
    if around.related_line_entry_id is not None:
        text += f',"related_line_entry_id":{around.related_line_entry_id}'
    if row.transaction_id is not None:
        text += f',"transaction_id":{quoted(row.transaction_id)}'
        if shown.transaction:
            text += f',"transaction":{{{transaction_text(row, shown.ledger_id, amount, moment)}}}'
    if shown.journal_entry:
        text += (
            f',"journal_entry":{{"datetime":"{moment}","description":{entry_description},"id":{entry_id},'
            f'"line_entry_ids":{around.line_entry_ids}}}'
        )
    if shown.opposing_ledger_ids:
        text += f',"opposing_ledger_ids":{around.opposing_ledger_ids}'
    return f"{text}{shown.expanded_ledger}}}"


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


def _around(connection: Connection, page: Subquery, ledger_ids: Mapping[int, str]) -> dict[int, _Around]:
    """All lines of the page's journal entries, in the order they were posted, as each line of the page sees them."""
    query = (
        select(page.c.pk, _LINES.pk, _LINES.id, _LINES.debit_credit, _LINES.ledger_pk)
        .join_from(page, tables.line_entries, _LINES.journal_entry_pk == page.c.journal_entry_pk)
        .order_by(page.c.pk, _LINES.pk)
    )
    around = {}
    for key, rows in groupby(plain_rows(connection, query), itemgetter(0)):
        lines = [(line_key, quoted(line_id), side, ledger_key) for _, line_key, line_id, side, ledger_key in rows]
        own_side = next(side for line_key, _, side, _ in lines if line_key == key)
        opposing = [(line_id, ledger_ids[ledger_key]) for _, line_id, side, ledger_key in lines if side != own_side]
        around[key] = _Around(
            f"[{','.join([line_id for _, line_id, _, _ in lines])}]",
            f"[{','.join(dict.fromkeys([ledger_id for _, ledger_id in opposing]))}]",
            opposing[0][0] if len(opposing) == 1 else None,
        )
    return around


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
