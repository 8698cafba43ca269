"""Listing the line entries of a ledger."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from accounting_analytics.service import tables
from accounting_analytics.service.local_days import boundary, boundary_after
from accounting_analytics.service.operations.lookup import carries_all, ledger_or_404, parent_fields, zone_name
from accounting_analytics.service.operations.pages import Matching, find_page
from accounting_analytics.service.operations.transactions import COLUMNS, TransactionLine, transaction_text
from accounting_analytics.service.page_tokens import PageTokens
from accounting_analytics.service.rendering import encode, nested_ledger_fields, quoted, timestamp
from accounting_analytics.service.rows import plain_rows
from accounting_analytics.service.units import joined, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Subquery

    from accounting_analytics.service.operations.pages import Page
    from accounting_analytics.service.requests import ListLineEntriesQuery
    from accounting_analytics.service.stored import Instance, StoredLedger

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c


class _Around(NamedTuple):
    """What stands around one line, as JSON where it is shown as it is."""

    line_entry_ids: str
    opposing_ledger_ids: str
    related_line_entry_id: str | None


class _Texts(NamedTuple):
    """Texts of one line, as JSON."""

    description: str
    journal_entry_description: str
    tags: str


class _Shown(NamedTuple):
    """What every record of a page shows alike, as JSON, and which expansions differ from record to record."""

    scale: int
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
    tokens = PageTokens(key, [instance.id, ledger_id, *_bound(query)])
    cursor = tokens.read(query.page_token) if query.page_token is not None else None
    ledger = ledger_or_404(connection, instance, ledger_id)
    page = find_page(connection, _matching(connection, instance, ledger, query), query.limit, cursor)
    records = ",".join(_records(connection, page, _shown(connection, instance, ledger, query.expand)))
    following = quoted(tokens.write(page.after)) if page.after else "null"
    previous = quoted(tokens.write(page.before)) if page.before else "null"
    return f'{{"records":[{records}],"next_page_token":{following},"prev_page_token":{previous}}}'.encode()


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
    if query.is_cashflow is not None:
        touches = _ENTRIES.cash_ledger_pk.is_not(None)
        further.append(touches if query.is_cashflow else ~touches)
    return Matching(ledger.pk, boundary(query.start_date, zone), boundary_after(query.end_date, zone), further)


def _records(connection: Connection, page: Page, shown: _Shown) -> Iterator[str]:
    """Render the records of a page; written out by hand, because a page has a thousand."""
    lines = page.lines.subquery()
    around = _around(connection, lines)
    tags = _tags(connection, lines)
    query = (
        select(*COLUMNS, _LINES.description, _ENTRIES.description)
        .join_from(lines, tables.line_entries, _LINES.pk == lines.c.pk)
        .join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.transactions, tables.transactions.c.line_entry_pk == _LINES.pk)
        .order_by(_LINES.datetime, _LINES.id)
    )
    for *columns, description, entry_description in plain_rows(connection, query):
        row = TransactionLine._make(columns)
        texts = _Texts(quoted(description), quoted(entry_description), tags.get(row.pk, "[]"))
        yield _record(row, texts, around[row.pk], shown)


def _record(row: TransactionLine, texts: _Texts, around: _Around, shown: _Shown) -> str:
    moment = timestamp(row.datetime)
    entry_id = quoted(row.journal_entry_id)
    text = (
        f'{{"id":{quoted(row.id)},"amount":{number_text(abs(joined(row.high, row.low)), shown.scale)},'
        f'"debit_credit":"{row.debit_credit}","description":{texts.description},"datetime":"{moment}",{shown.ledger},'
        f'"journal_entry_id":{entry_id},"journal_entry_description":{texts.journal_entry_description},"tags":{texts.tags}'
    )
    if around.related_line_entry_id is not None:
        text += f',"related_line_entry_id":{around.related_line_entry_id}'
    if row.transaction_id is not None:
        text += f',"transaction_id":{quoted(row.transaction_id)}'
        if shown.transaction:
            text += f',"transaction":{{{transaction_text(row, shown.ledger_id, shown.scale)}}}'
    if shown.journal_entry:
        text += (
            f',"journal_entry":{{"datetime":"{moment}","description":{texts.journal_entry_description},"id":{entry_id},'
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
        ledger_id=quoted(ledger.id),
        ledger=f'"editable":{editable},"ledger_id":{quoted(ledger.id)},"ledger_name":{quoted(ledger.name)}',
        expanded_ledger=expanded,
        transaction="transaction" in expand,
        journal_entry="journal_entry" in expand,
        opposing_ledger_ids="opposing_ledger_ids" in expand,
    )


def _around(connection: Connection, page: Subquery) -> dict[int, _Around]:
    """All lines of the page's journal entries, in the order they were posted, as each line of the page sees them."""
    own = tables.line_entries.alias()
    query = (
        select(page.c.pk, own.c.debit_credit, _LINES.id, _LINES.debit_credit, tables.ledgers.c.id)
        .join_from(page, own, own.c.pk == page.c.pk)
        .join(tables.line_entries, _LINES.journal_entry_pk == page.c.journal_entry_pk)
        .join(tables.ledgers, tables.ledgers.c.pk == _LINES.ledger_pk)
        .order_by(page.c.pk, _LINES.pk)
    )
    around = {}
    for key, lines in groupby(plain_rows(connection, query), itemgetter(0)):
        ids, opposing_ids = [], []
        opposing_ledgers: dict[str, None] = {}
        for _, own_side, line_id, side, ledger_id in lines:
            ids.append(quoted(line_id))
            if side != own_side:
                opposing_ids.append(ids[-1])
                opposing_ledgers[quoted(ledger_id)] = None
        around[key] = _Around(
            f"[{','.join(ids)}]",
            f"[{','.join(opposing_ledgers)}]",
            opposing_ids[0] if len(opposing_ids) == 1 else None,
        )
    return around


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
