"""Opening balances of a file that the books already have.

A file for the next month or year begins with the ending balances of the file before. Posting these balances would
count them twice.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NoReturn

from sqlalchemy import select

from accounting_analytics.core.chart_of_accounts import SubType
from accounting_analytics.core.errors import BooksDoNotTieError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import DAY, as_utc, day_label, local_date
from accounting_analytics.service import tables
from accounting_analytics.service.stored_values import join_sums

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

    from accounting_analytics.journals.accounts import Account
    from accounting_analytics.journals.file_entries import FileEntries
    from accounting_analytics.service.stored_values import StoredLedger

_LINES = tables.line_entries.c


def known_openings(
    connection: Connection,
    ledgers: Collection[StoredLedger],
    books: FileEntries,
    accounts: Mapping[str, Account],
    *,
    known: Collection[str],
    local: ZoneInfo,
) -> set[str]:
    """Find entries whose opening balances the books already have. Refuse balances that differ.

    An entry is posted if the books have no balance of its accounts on its day, as after a closing entry, or if it is
    itself a closing entry.
    """
    stored = {ledger.id: ledger.pk for ledger in ledgers}
    opening = {ledger.id for ledger in ledgers if ledger.is_required and ledger.sub_type == SubType.EQUITY}
    found = set()
    for entry_id, entry in books.entries.items():
        of_entry = {line.ledger_id: accounts[line.ledger_id].id for line in entry.lines}
        if entry_id in known or opening.isdisjoint(of_entry.values()):
            continue
        stated: dict[str, int] = {}
        for line in entry.lines:
            if of_entry[line.ledger_id] not in opening:
                stated[line.ledger_id] = stated.get(line.ledger_id, 0) + line.units
        keys = {name: stored[of_entry[name]] for name in stated if of_entry[name] in stored}
        day = local_date(entry.datetime, local)
        before, after = (_balances(connection, keys, start_day, local) for start_day in (day, day + DAY))
        if all(stated[name] * units <= 0 for name, units in (before | after).items()):
            continue
        if stated not in ({**dict.fromkeys(stated, 0), **balances} for balances in (before, after)):
            where = f"{books.locations[entry_id]}: {quote(entry.description)}"
            _refuse(books, where, stated, after, day)
        found.add(entry_id)
    return found


def _balances(connection: Connection, keys: Mapping[str, int], day: dt.date, local: ZoneInfo) -> dict[str, int]:
    """Return balances by account name, at the start of a day."""
    start = as_utc(dt.datetime.combine(day, dt.time(), local))
    query = select(*tables.SUM_OF_UNITS).where(_LINES.datetime < start)
    return {
        name: join_sums(*connection.execute(query.where(_LINES.ledger_pk == key)).one()) for name, key in keys.items()
    }


def _refuse(
    books: FileEntries, where: str, stated: Mapping[str, int], found: Mapping[str, int], day: dt.date
) -> NoReturn:
    differences = ", ".join(
        f"{name} with {_text(units, books)}, and the books have {_text(found.get(name, 0), books)}"
        for name, units in stated.items()
        if units != found.get(name, 0)
    )
    raise BooksDoNotTieError(
        f"{books.path.name}: nothing was imported: {where} begins {differences} by the end of {day_label(day)}: "
        "import what is missing between them first, or import the file into a new database"
    )


def _text(units: int, books: FileEntries) -> str:
    return format_amount(from_minor_units(units, books.options.scale))
