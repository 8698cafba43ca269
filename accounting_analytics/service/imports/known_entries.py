"""Comparison of the entries of a file with the entries that are in the books.

Entries that the books already have are not posted again, and entries that the file no longer has are named. A known
entry with other content is refused. An entry is the same if its id is the same: the id that the file states, else an id
that follows from day, text, accounts and amounts, with a number if several entries are equal. If a file states no ids
and an entry is changed, the file lacks the former entry and has a new entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from accounting_analytics.core.errors import BooksDoNotTieError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import local_date
from accounting_analytics.journals.accounts import path_id
from accounting_analytics.service import tables
from accounting_analytics.service.database import id_batches
from accounting_analytics.service.post_entries import AS_POSTED
from accounting_analytics.service.stored_values import IMPORT_BOOKS, AnyRow, Instance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from accounting_analytics.journals.accounts import AccountMapping
    from accounting_analytics.journals.entries import NewJournalEntry
    from accounting_analytics.journals.file_entries import FileEntries

SERIES = "series"
"""Field of an import's audit row that names its series. The first import of a series does not have it."""

_MAX_NAMED = 3
_ENTRIES = tables.journal_entries.c


class KnownEntries(NamedTuple):
    """Ids of the entries that both file and books have, and entries that the file lacks.

    `missing` are entries of the same days, imported from the same `series` of files, that are no longer in this file.
    The books keep these entries unchanged. Each file of a series has an entry in common with an earlier file.
    """

    ids: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    series: str | None = None


def compare_with_books(
    connection: Connection,
    instance: Instance,
    books: FileEntries,
    mapping: AccountMapping,
    *,
    local: ZoneInfo,
    paths: Mapping[str, str],
) -> KnownEntries:
    """Compare the entries of a file with the entries in the books.

    `paths` maps the ids of ledgers in the books to paths. A file is refused if it has other content for an entry of the
    books.
    """
    file_ids = {str(entry.id): entry_id for entry_id, entry in books.entries.items()}
    days = [local_date(entry.datetime, local) for entry in books.entries.values()]
    first_day, last_day = min(days), max(days)
    query = select(_ENTRIES.pk, _ENTRIES.id, _ENTRIES.datetime, _ENTRIES.description)
    query = query.where(_ENTRIES.instance_pk == instance.pk).order_by(_ENTRIES.datetime, _ENTRIES.id)
    known, others = dict[str, AnyRow](), list[AnyRow]()
    for row in connection.execute(query, execution_options={"yield_per": 2000}):
        if row.id in file_ids:
            known[file_ids[row.id]] = row
        elif first_day <= local_date(row.datetime, local) <= last_day:
            others.append(row)
    if not known:
        return KnownEntries()
    runs = _earlier_imports(connection, instance)
    series = {run.series for run in runs if any(row.pk in run.keys for row in known.values())}
    from_series = [run.keys for run in runs if run.series in series]
    ledger_ids = _ledger_ids(mapping, books.options.id_suffix)
    of_file = {ledger_id: name for name, ledger_id in ledger_ids.items() if name not in mapping.openings}
    names = {**paths, **of_file}
    comparison = _Comparison(ledger_ids, names, local, instance.scale)
    lines = _stored_lines(connection, [row.pk for row in known.values()])
    changed = [
        f"{books.locations[entry_id]}: {_text(before, local)}: {differences}"
        for entry_id, before in known.items()
        if (differences := comparison.differences(before, books.entries[entry_id], lines[before.pk]))
    ]
    if changed:
        named = "; ".join(changed[:_MAX_NAMED])
        more = f"; and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
        count = count_of(len(changed), "entry is", "entries are")
        raise BooksDoNotTieError(
            f"{books.path.name}: nothing was imported: {count} in the books with other content: {named}{more}; leave "
            "out what the books have, or import the file into a new database"
        )
    return KnownEntries(
        frozenset(known),
        tuple(_text(row, local) for row in others if any(row.pk in keys for keys in from_series)),
        min(series, default=None),
    )


class _Import(NamedTuple):
    """An earlier import: its entries' keys, and its series of files."""

    keys: range
    series: str


def _earlier_imports(connection: Connection, instance: Instance) -> list[_Import]:
    audit = tables.audit.c
    query = select(audit.after).where(audit.instance_pk == instance.pk, audit.operation == IMPORT_BOOKS)
    return [
        _Import(range(int(row["first_key"]), int(row["last_key"]) + 1), row.get(SERIES, row["first_key"]))
        for row in connection.execute(query).scalars()
    ]


class _Comparison(NamedTuple):
    """Comparison of entries of a file with entries in the books.

    `ledger_ids` has the ledger of each account, and `names` the name of each ledger.
    """

    ledger_ids: Mapping[str, str]
    names: Mapping[str, str]
    local: ZoneInfo
    scale: int

    def differences(self, before: AnyRow, after: NewJournalEntry, stored: list[AnyRow]) -> str:
        """Describe how an entry in the file differs, or return "" if it does not.

        The categories of an entry that was recategorized are not compared.
        """
        texts = []
        if before.datetime != after.datetime:
            days = [local_date(instant, self.local) for instant in (before.datetime, after.datetime)]
            texts.append(f"the file has {after.datetime if days[0] == days[1] else days[1]}")
        if before.description != after.description:
            texts.append(f"the file has the text {quote(after.description)}")
        books = Counter((line.ledger_id, line.units) for line in stored)
        file = Counter((self.ledger_ids[line.ledger_id], line.units) for line in after.lines)
        if not {line.categorization_method for line in stored} <= {None, AS_POSTED}:
            fixed = {line.ledger_id for line in stored if line.categorization_method is not None}
            books, file = (
                Counter({line: lines[line] for line in lines if line[0] in fixed}) for lines in (books, file)
            )
        if books != file:
            texts.append(f"the file has {self._lines(file - books)} instead of {self._lines(books - file)}")
        return ", ".join(texts)

    def _lines(self, lines: Counter[tuple[str, int]]) -> str:
        named = [
            f"{format_amount(from_minor_units(units, self.scale))} on {self.names.get(ledger, ledger)}"
            for ledger, units in lines.elements()
        ]
        return " and ".join(named) or "no such line"


def _ledger_ids(mapping: AccountMapping, id_suffix: str) -> dict[str, str]:
    """Return the ledger of each account.

    The ledger may have been renamed or moved since.
    """
    new = {account.id for account in mapping.new}
    return {
        name: path_id(name, id_suffix) if account.id in new else account.id
        for name, account in mapping.accounts.items()
    }


def _stored_lines(connection: Connection, keys: list[int]) -> dict[int, list[AnyRow]]:
    """Return lines by entry key, with ledgers and categorization methods."""
    lines, transactions, ledgers = tables.line_entries, tables.transactions, tables.ledgers
    found = defaultdict[int, list[AnyRow]](list)
    for chunk in id_batches(keys):
        query = (
            select(lines.c.journal_entry_pk, ledgers.c.id.label("ledger_id"), lines.c.units)
            .add_columns(transactions.c.categorization_method)
            .join_from(lines, ledgers, lines.c.ledger_pk == ledgers.c.pk)
            .outerjoin(transactions, transactions.c.line_entry_pk == lines.c.pk)
            .where(lines.c.journal_entry_pk.in_(chunk))
        )
        for row in connection.execute(query):
            found[row.journal_entry_pk].append(row)
    return found


def _text(entry: AnyRow, local: ZoneInfo) -> str:
    return f"{local_date(entry.datetime, local)} {quote(entry.description)}"
