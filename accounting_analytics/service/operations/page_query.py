"""Pages of a ledger's lines in (datetime, id) order, each found by where it starts and not by its number."""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, literal, select, tuple_

from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.page_tokens import Cursor

if TYPE_CHECKING:
    from accounting_analytics.service.storage.local_dates import Boundary

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_PLACE = tuple_(_LINES.datetime, _LINES.id)
_UNINDEXED = _LINES.datetime + 0
_EXCLUSIVE = False


class Matching(NamedTuple):
    """Which lines of a ledger are listed.

    Attributes
    ----------
    ledger_key : int
        The ledger.
    start, end : Boundary
        Where the first day begins, and where the day after the last one does.
    further : list of conditions
        Whatever else must hold of the line.
    is_cashflow : bool or None
        Whether its journal entry must touch a cash ledger, or must not.
    """

    ledger_key: int
    start: Boundary
    end: Boundary | None
    further: list[ColumnElement[bool]]
    is_cashflow: bool | None

    def conditions(self, cursor: Cursor | None) -> list[ColumnElement[bool]]:
        """Conditions on the lines beyond a cursor.

        An index seeks by one bound an end. That must be the cursor's, or a page would cost more the later it comes;
        so the period's bound on the same end is written such that no index serves it.
        """
        conditions = [_LINES.ledger_pk == self.ledger_key, *self.further]
        seeking_up = cursor is not None and not cursor.backward
        seeking_down = cursor is not None and cursor.backward
        conditions.append(self.start.reached(_UNINDEXED if seeking_up else _LINES.datetime))
        if self.end is not None:
            conditions.append(self.end.before(_UNINDEXED if seeking_down else _LINES.datetime))
        if self.is_cashflow is not None:
            touches = _ENTRIES.cash_ledger_pk.is_not(None)
            conditions.append(touches if self.is_cashflow else ~touches)
        return conditions if cursor is None else [*conditions, _beyond(cursor)]


class Page(NamedTuple):
    """Where a page lies.

    Attributes
    ----------
    lines : Select
        Selects `pk` and `journal_entry_pk` of its lines.
    before, after : Cursor or None
        Where the previous and the next page lie; None at the ends.
    """

    lines: Select[*tuple[Any, ...]]
    before: Cursor | None
    after: Cursor | None


def find_page(connection: Connection, matching: Matching, limit: int, cursor: Cursor | None) -> Page:
    """Page of at most `limit` lines that match, at a cursor or at the start."""
    ordered = _ordered(matching, cursor)
    places = [tuple(place) for place in connection.execute(ordered.limit(limit + 1))]
    more, places = len(places) > limit, places[:limit]
    lines = ordered.with_only_columns(_LINES.pk, _LINES.journal_entry_pk).limit(limit)
    backward = cursor is not None and cursor.backward
    onward = Cursor(backward, _EXCLUSIVE, *places[-1]) if more else None
    back = _if_any(connection, matching, _back(places, cursor)) if cursor else None
    return Page(lines, onward, back) if backward else Page(lines, back, onward)


def _back(places: list[tuple[Any, ...]], cursor: Cursor) -> Cursor:
    """Cursor to the side that `cursor` came from."""
    if places:
        return Cursor(not cursor.backward, _EXCLUSIVE, *places[0])
    return cursor._replace(backward=not cursor.backward, inclusive=not cursor.inclusive)


def _if_any(connection: Connection, matching: Matching, cursor: Cursor) -> Cursor | None:
    """Cursor if there are lines where it leads: those it came from may have moved away since."""
    return cursor if connection.execute(_ordered(matching, cursor).limit(1)).first() else None


def _ordered(matching: Matching, cursor: Cursor | None) -> Select[*tuple[Any, ...]]:
    query = select(_LINES.datetime, _LINES.id).where(*matching.conditions(cursor))
    if matching.is_cashflow is not None:
        query = query.join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
    if cursor is not None and cursor.backward:
        return query.order_by(_LINES.datetime.desc(), _LINES.id.desc())
    return query.order_by(_LINES.datetime, _LINES.id)


def _beyond(cursor: Cursor) -> ColumnElement[bool]:
    compare = {(True, True): le, (True, False): lt, (False, True): ge, (False, False): gt}
    there = tuple_(literal(cursor.datetime), literal(cursor.line_entry_id))
    condition: ColumnElement[bool] = compare[cursor.backward, cursor.inclusive](_PLACE, there)
    return condition
