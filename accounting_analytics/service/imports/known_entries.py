"""Which entries of a file are in the books already, which changed in the file, and which it does not have any more.

An entry is the same if its id is the same: the id that the file gives it, or else one that follows from its day, text,
accounts and amounts, with a number where several entries are equal. Without ids of its own, a file with a changed entry
lacks one entry and has a new one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from accounting_analytics.messages import quote
from accounting_analytics.money import format_amount, from_minor_units
from accounting_analytics.periods import local_date
from accounting_analytics.service.bookkeeping.post_entries import AS_POSTED, NewJournalEntry
from accounting_analytics.service.imports.account_paths import path_id
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import id_batches
from accounting_analytics.service.wire.stored_values import (
    IMPORT_BOOKS,
    Instance,
    instance_suffix,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping
    from zoneinfo import ZoneInfo

    from accounting_analytics.service.imports.parsed_books import ParsedBooks

SERIES = "series"
"""Name of the series in the audit row of an import; the first import of one has none."""

_Lines = Counter[tuple[str, int]]
"""Signed units by ledger, of each line of an entry."""


class KnownEntries(NamedTuple):
    """Ids of the entries of a file that are not in the books, and what differs between both.

    `changed` are entries with the same id and other content. `missing` are those of the same days that were imported
    from the same `series` of files, each of which has an entry in common with an earlier one, and are not in this file
    any more. The books keep both as they are.
    """

    new: frozenset[str]
    known: int
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    series: str | None = None


class _Stored(NamedTuple):
    key: int
    id: str
    moment: dt.datetime
    description: str


def compare_with_books(
    connection: Connection, instance: Instance, books: ParsedBooks, local: ZoneInfo, paths: Mapping[str, str]
) -> KnownEntries:
    """Compare the entries of a file with those in the books, whose ledgers have the given paths by id."""
    suffix = instance_suffix(instance.id)
    file_ids = {f"{entry_id}{suffix}": entry_id for entry_id in books.locations}
    stored = {file_ids[entry.id]: entry for entry in _entries_by_id(connection, instance, list(file_ids))}
    if not stored:
        return KnownEntries(frozenset(books.locations), 0, (), ())
    entries = dict(zip(books.locations, books.entries, strict=True))
    names = {ledger_id: account for account, ledger_id in books.ledger_ids.items()}
    created = {ledger.id: path_id(names[ledger.id], suffix) for ledger in books.ledgers if ledger.id in names}
    lines, recategorized = _lines_of(connection, [entry.key for entry in stored.values()])
    texts = _EntryTexts(instance.scale, local, {**paths, **names})
    changed = []
    for entry_id, before in stored.items():
        after = entries[entry_id]
        books_lines = lines[before.key]
        file_lines = Counter((created.get(line.ledger_id, line.ledger_id), line.units) for line in after.lines)
        if before.key in recategorized:
            books_lines, file_lines = (_only(recategorized[before.key], one) for one in (books_lines, file_lines))
        if differences := texts.differences(before, after, books_lines, file_lines):
            changed.append(
                f"{books.locations[entry_id]}: {texts.entry(before.moment, before.description)}: {differences}"
            )
    days = [local_date(entry.datetime, local) for entry in books.entries]
    keys = {entry.key for entry in stored.values()}
    runs = _runs(connection, instance)
    series = {run.series for run in runs if any(run.first_key <= key <= run.last_key for key in keys)}
    missing = [
        texts.entry(entry.moment, entry.description)
        for entry in _others_of_imports(connection, instance, [run for run in runs if run.series in series], keys)
        if min(days) <= local_date(entry.moment, local) <= max(days)
    ]
    new = frozenset(books.locations.keys() - stored.keys())
    return KnownEntries(new, len(stored), tuple(changed), tuple(missing), min(series, default=None))


class _EntryTexts(NamedTuple):
    """Writes entries and lines for people."""

    scale: int
    local: ZoneInfo
    paths: Mapping[str, str]

    def entry(self, moment: dt.datetime, description: str) -> str:
        return f"{local_date(moment, self.local)} {quote(description)}"

    def differences(self, before: _Stored, after: NewJournalEntry, books: _Lines, file: _Lines) -> str:
        """Describe what is different in the file; empty if nothing is."""
        texts = []
        if before.moment != after.datetime:
            days = [local_date(one, self.local) for one in (before.moment, after.datetime)]
            texts.append(f"the file has {after.datetime if days[0] == days[1] else days[1]}")
        if before.description != after.description:
            texts.append(f"the file has the text {quote(after.description)}")
        if books != file:
            texts.append(f"the file has {self.lines(file - books)} instead of {self.lines(books - file)}")
        return ", ".join(texts)

    def lines(self, lines: _Lines) -> str:
        named = [
            f"{format_amount(from_minor_units(units, self.scale))} on {self.paths.get(ledger, ledger)}"
            for ledger, units in lines.elements()
        ]
        return " and ".join(named) or "no such line"


def _only(accounts: set[str], lines: _Lines) -> _Lines:
    return Counter({line: count for line, count in lines.items() if line[0] in accounts})


def _entries_by_id(connection: Connection, instance: Instance, entry_ids: list[str]) -> Iterable[_Stored]:
    entries = tables.journal_entries.c
    for chunk in id_batches(entry_ids):
        query = select(entries.pk, entries.id, entries.datetime, entries.description)
        rows = connection.execute(query.where(entries.instance_pk == instance.pk, entries.id.in_(chunk)))
        yield from (_Stored(*row) for row in rows)


def _lines_of(connection: Connection, keys: list[int]) -> tuple[dict[int, _Lines], dict[int, set[str]]]:
    """Lines of entries as they are; and, of entries with a category that was changed here, the accounts to compare.

    The categories of such an entry are no longer those of the file, but its accounts with transactions are.
    """
    lines, transactions, ledgers = tables.line_entries, tables.transactions, tables.ledgers
    found: defaultdict[int, _Lines] = defaultdict(Counter)
    accounts: defaultdict[int, set[str]] = defaultdict(set)
    changed = set()
    for chunk in id_batches(keys):
        query = (
            select(lines.c.journal_entry_pk, ledgers.c.id, lines.c.units, transactions.c.categorization_method)
            .join_from(lines, ledgers, lines.c.ledger_pk == ledgers.c.pk)
            .outerjoin(transactions, transactions.c.line_entry_pk == lines.c.pk)
            .where(lines.c.journal_entry_pk.in_(chunk))
        )
        for key, ledger, units, method in connection.execute(query):
            found[key][ledger, units] += 1
            if method is not None:
                accounts[key].add(ledger)
                if method != AS_POSTED:
                    changed.add(key)
    return dict(found), {key: accounts[key] for key in changed}


class _Run(NamedTuple):
    """An earlier import: the range of the keys of its entries, and the series of files that it belongs to."""

    first_key: int
    last_key: int
    series: str


def _runs(connection: Connection, instance: Instance) -> list[_Run]:
    audit = tables.audit.c
    query = select(audit.after).where(audit.instance_pk == instance.pk, audit.operation == IMPORT_BOOKS)
    rows = connection.execute(query).scalars()
    return [
        _Run(int(row["first_key"]), int(row["last_key"]), row.get(SERIES, row["first_key"]))
        for row in rows
        if "first_key" in row
    ]


def _others_of_imports(connection: Connection, instance: Instance, runs: list[_Run], keys: set[int]) -> list[_Stored]:
    """Entries of imports, without those of the given keys."""
    entries = tables.journal_entries.c
    others: list[_Stored] = []
    for run in runs:
        rows = connection.execute(
            select(entries.pk, entries.id, entries.datetime, entries.description)
            .where(entries.instance_pk == instance.pk)
            .where(entries.pk.between(run.first_key, run.last_key))
            .order_by(entries.datetime, entries.id)
        )
        others.extend(entry for entry in map(_Stored._make, rows) if entry.key not in keys)
    return others
