"""Pages of a ledger's lines in (datetime, id) order, each found by its position and not by its number."""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, literal, select, tuple_

from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.streamed_rows import plain_rows
from accounting_analytics.service.wire.page_tokens import Cursor

if TYPE_CHECKING:
    from accounting_analytics.service.storage.local_date_boundaries import Boundary

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_POSITION = tuple_(_LINES.datetime, _LINES.id)
_UNINDEXED = _LINES.datetime + 0
_EXCLUSIVE = False


class LedgerLineFilter(NamedTuple):
    """Which lines of a ledger are listed.

    Attributes
    ----------
    ledger_key : int
        The ledger.
    start, end : Boundary
        Start of the first day, and of the day after the last one.
    conditions : list of conditions
        Further conditions on the line.
    is_cashflow : bool or None
        Whether its journal entry must touch a cash ledger, or must not; None for either.
    """

    ledger_key: int
    start: Boundary
    end: Boundary | None
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
        conditions.append(self.start.reached(_UNINDEXED if seeking_up else _LINES.datetime))
        if self.end is not None:
            conditions.append(self.end.before(_UNINDEXED if seeking_down else _LINES.datetime))
        if self.is_cashflow is not None:
            touches = _ENTRIES.cash_ledger_pk.is_not(None)
            conditions.append(touches if self.is_cashflow else ~touches)
        return conditions if cursor is None else [*conditions, _after(cursor)]


class PageLocation(NamedTuple):
    """The lines of a page, and where its neighbours start.

    Attributes
    ----------
    lines : Select
        Selects `pk` and `journal_entry_pk` of its lines.
    before, after : Cursor or None
        Positions of the previous and the next page; None at the ends.
    """

    lines: Select[*tuple[Any, ...]]
    before: Cursor | None
    after: Cursor | None


def find_page(connection: Connection, line_filter: LedgerLineFilter, limit: int, cursor: Cursor | None) -> PageLocation:
    """Page of at most `limit` lines that pass the filter, at a cursor or at the start."""
    ordered = _ordered(line_filter, cursor)
    positions = list(plain_rows(connection, ordered.limit(limit + 1)))
    more, positions = len(positions) > limit, positions[:limit]
    lines = ordered.with_only_columns(_LINES.pk, _LINES.journal_entry_pk).limit(limit)
    backward = cursor is not None and cursor.backward
    onward = Cursor(backward, _EXCLUSIVE, *positions[-1]) if more else None
    back = _if_lines(connection, line_filter, _reverse(positions, cursor)) if cursor else None
    return PageLocation(lines, onward, back) if backward else PageLocation(lines, back, onward)


def _reverse(positions: list[tuple[Any, ...]], cursor: Cursor) -> Cursor:
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
