"""Build balanced journal entries and new ledgers from the lines of a file, ready to post."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from accounting_analytics.errors import PostingRefusedError
from accounting_analytics.messages import join_ids
from accounting_analytics.money import DEFAULT_SCALE, format_amount, from_minor_units
from accounting_analytics.periods import as_utc, local_date, zone
from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, NewTag, NewTransaction
from accounting_analytics.service.imports.account_paths import AccountMapping, map_accounts
from accounting_analytics.service.wire.stored_values import check_id

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from accounting_analytics.service.bookkeeping.ledgers import NewLedger
    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.wire.stored_values import StoredLedger

_MAX_NAMED = 3
_NOON = dt.time(12)
_COLUMN_OF = {"instant": "datetime", "entry_description": "entry_description"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


class FileLine(msgspec.Struct, frozen=True, gc=False):
    """One line entry of a file: account by path or id, signed minor units (debit positive)."""

    location: str
    entry_id: str
    instant: dt.datetime
    entry_description: str
    account: str
    units: int
    description: str = ""
    transaction: NewTransaction | None = None
    tags: tuple[NewTag, ...] = ()
    must_be_transaction: bool = False


@dataclass(frozen=True)
class ParsedBooks:
    """Ledgers to create, parents first, and balanced entries of a file in its order, not posted yet.

    `locations` has the first line of each entry by its id in the file, `ledger_ids` the ledger of each account of the
    file; `local_count` says how many different dates or times had no zone of their own.
    """

    ledgers: tuple[NewLedger, ...]
    entries: tuple[NewJournalEntry, ...]
    locations: dict[str, str]
    cash: tuple[str, ...]
    ledger_ids: Mapping[str, str]
    notes: tuple[str, ...] = ()
    local_count: int = 0

    @property
    def line_count(self) -> int:
        """Number of line entries."""
        return sum(len(entry.lines) for entry in self.entries)

    def only(self, entry_ids: Container[str]) -> ParsedBooks:
        """Those of the entries, by their id in the file, and the ledgers that they need."""
        chosen = {
            entry_id: entry
            for entry_id, entry in zip(self.locations, self.entries, strict=True)
            if entry_id in entry_ids
        }
        needed = {line.ledger_id for entry in chosen.values() for line in entry.lines}
        ledgers: list[NewLedger] = []
        for ledger in reversed(self.ledgers):  # children before their parents
            if ledger.id in needed:
                ledgers.insert(0, ledger)
                needed.add(ledger.parent_id or "")
        return replace(
            self,
            ledgers=tuple(ledgers),
            entries=tuple(chosen.values()),
            locations={entry_id: self.locations[entry_id] for entry_id in chosen},
        )


class ImportOptions(NamedTuple):
    """How a file of books is read; :func:`.import_books.import_books` describes what people choose.

    The suffix ends the ids of what is created, so that they differ between instances.
    """

    time_zone: str = "UTC"
    cash: Sequence[str] = ()
    commodity: str | None = None
    scale: int = DEFAULT_SCALE
    existing: Sequence[StoredLedger] = ()
    id_suffix: str = ""
    virtual: bool = False
    use_entry_dates: bool = False
    roots: Sequence[tuple[str, str]] = ()


class InstantParser:
    """Parses dates and times, each distinct value once; `local_count` of them had no offset and got the time zone."""

    def __init__(self, time_zone: str) -> None:
        self._zone = zone(time_zone)
        self._name = time_zone
        self._parsed: dict[object, dt.datetime] = {}
        self.local_count = 0

    def parse(self, value: object) -> dt.datetime:
        """UTC instant of ISO 8601 text, a date or a datetime; refuse a local time that is not exactly one instant."""
        if isinstance(value, dt.datetime) and value.tzinfo is dt.UTC:
            return value
        instant = self._parsed.get(value)
        if instant is None:
            instant = self._parsed[value] = self._to_utc(value)
        return instant

    def _to_utc(self, value: object) -> dt.datetime:
        moment = self._moment(value)
        if moment.tzinfo is None:
            self.local_count += 1
            moment = self._local(moment, value)
        try:
            return as_utc(moment)
        except OverflowError:
            raise ValueError(f"datetime {str(value)!r} is outside the calendar") from None

    def _moment(self, value: object) -> dt.datetime:
        if isinstance(value, dt.datetime):
            return value
        if isinstance(value, dt.date):
            return dt.datetime.combine(value, _NOON)
        text = str(value)
        try:
            if _DATE.fullmatch(text):
                return dt.datetime.combine(dt.date.fromisoformat(text), _NOON)
            if _DATE_AND_TIME.fullmatch(text):
                return dt.datetime.fromisoformat(text)
        except ValueError:
            pass
        raise ValueError(
            f"datetime {text!r} is not a date or time; write it like 2025-01-31 or 2025-01-31T18:30:00-05:00"
        )

    def _local(self, moment: dt.datetime, value: object) -> dt.datetime:
        first, second = (moment.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        # the two folds differ if the clock changed: forward past this time, or back so that it occurs twice
        exists = as_utc(first).astimezone(self._zone).replace(tzinfo=None) == moment
        problem = "occurs twice" if exists else "does not exist"
        raise ValueError(f"datetime {str(value)!r} {problem} in {self._name}; write it with its offset from UTC")


def build_books(
    lines: Iterable[FileLine], options: ImportOptions, errors: ImportErrors, notes: Sequence[str] = ()
) -> ParsedBooks:
    """Build entries from lines and ledgers from accounts; refuse a file with any error."""
    entries, accounts, starts = _group_by_entry(lines)
    if not entries:
        errors.raise_if_any()
        errors.fail("it has no lines to import")
    for entry_id, entry_lines in entries.items():
        # an entry without an invalid line would not balance, which is not its problem
        if not errors.lost_lines and entry_id not in errors.incomplete:
            _check_entry(entry_id, entry_lines, options, errors)
    for entry_id, entry_starts in starts.items():
        _check_duplicate(entry_id, entries[entry_id], entry_starts, errors)
    if starts:
        ids = join_ids(starts, limit=_MAX_NAMED)
        notes = (*notes, f"entries with lines in several parts of the file were joined ({len(starts)}): {ids}")
    id_suffix = options.id_suffix
    mapping = map_accounts(accounts, cash=options.cash, existing=options.existing, id_suffix=id_suffix, errors=errors)
    _check_transactions(entries.values(), mapping, errors)
    errors.raise_if_any()
    locations = {entry_id: entry_lines[0].location for entry_id, entry_lines in entries.items()}
    # popping an entry frees its lines when it is built
    return ParsedBooks(
        ledgers=mapping.new_ledgers,
        entries=tuple(
            _build_entry(f"{entry_id}{id_suffix}", entries.pop(entry_id), mapping, id_suffix) for entry_id in locations
        ),
        locations=locations,
        cash=mapping.cash,
        notes=tuple(notes),
        ledger_ids=mapping.ledger_ids,
    )


def _group_by_entry(
    lines: Iterable[FileLine],
) -> tuple[dict[str, list[FileLine]], dict[str, str], dict[str, list[int]]]:
    """Lines by entry id; location of the first line by account; and where each part of a scattered entry starts."""
    entries: dict[str, list[FileLine]] = {}
    accounts: dict[str, str] = {}
    starts: dict[str, list[int]] = {}
    last_id = None
    for line in lines:
        entry_lines = entries.setdefault(line.entry_id, [])
        if entry_lines and line.entry_id != last_id:
            starts.setdefault(line.entry_id, [0]).append(len(entry_lines))
        entry_lines.append(line)
        last_id = line.entry_id
        accounts.setdefault(line.account, line.location)
    return entries, accounts, starts


def _check_entry(entry_id: str, lines: list[FileLine], options: ImportOptions, errors: ImportErrors) -> None:
    first = lines[0]
    problems = []
    try:
        check_id(entry_id, "entry")
    except PostingRefusedError as error:
        problems.append((first.location, str(error)))
    if len(lines) == 1:
        problems.append((first.location, f"entry {entry_id!r} has only one line; an entry has at least two"))
    elif balance := sum([line.units for line in lines]):
        text = f"does not balance: debits exceed credits by {format_amount(from_minor_units(balance, options.scale))}"
        problems.append((first.location, f"entry {entry_id!r} ({len(lines)} lines) {text}"))
    for line in lines:
        for name in ("instant", "entry_description"):
            if getattr(line, name) != getattr(first, name):
                text = f"has a different {_COLUMN_OF[name]} than on {first.location}"
                problems.append((line.location, f"entry {entry_id!r} {text}"))
    for location, problem in problems:
        day = local_date(first.instant, zone(options.time_zone)).isoformat()
        errors.add(location, problem, date=day, description=first.entry_description)


def _check_duplicate(entry_id: str, lines: list[FileLine], starts: list[int], errors: ImportErrors) -> None:
    """Refuse an entry whose lines occur twice, as in a file that was concatenated with itself."""
    parts = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    contents = {
        tuple((line.account, line.units, line.description, line.transaction) for line in part) for part in parts
    }
    if len(contents) == 1 and not sum(line.units for line in parts[0]):
        errors.add(
            parts[1][0].location,
            f"entry {entry_id!r} is already in the file with the same lines, on {parts[0][0].location}: "
            "remove one of them, or give the second its own entry_id",
        )


def _check_transactions(entries: Iterable[list[FileLine]], mapping: AccountMapping, errors: ImportErrors) -> None:
    locations_by_account: dict[str, list[str]] = {}
    for lines in entries:
        for line in lines:
            if line.must_be_transaction and line.account not in mapping.financial:
                locations_by_account.setdefault(line.account, []).append(line.location)
    for account, locations in locations_by_account.items():
        errors.add(
            locations[0],
            f"account {account!r} is not a cash account, so its lines ({len(locations)}) cannot be transactions; "
            "declare it as cash (--cash), or leave the transaction columns empty",
        )


def _build_entry(entry_id: str, lines: list[FileLine], mapping: AccountMapping, id_suffix: str) -> NewJournalEntry:
    new_lines = [
        NewLine(
            mapping.ledger_ids[line.account],
            line.units,
            line.description,
            _transaction(line, id_suffix) if line.account in mapping.financial else None,
            line.tags,
        )
        for line in lines
    ]
    return NewJournalEntry(lines[0].instant, lines[0].entry_description, tuple(new_lines), entry_id)


def _transaction(line: FileLine, id_suffix: str) -> NewTransaction:
    given = line.transaction or NewTransaction(line.description or line.entry_description)
    return given if given.id is None else msgspec.structs.replace(given, id=f"{given.id}{id_suffix}")
