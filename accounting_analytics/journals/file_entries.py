"""Journal entries of a file, to which lines are added one by one, and the problems of the file."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from accounting_analytics.core.errors import ImportRefusedError, PostingRefusedError
from accounting_analytics.core.messages import join_ids, quote
from accounting_analytics.core.money import DEFAULT_SCALE, format_amount, from_minor_units
from accounting_analytics.core.periods import as_utc, local_date, zone
from accounting_analytics.journals.entries import NewJournalEntry, NewLine, check_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MAX_PROBLEMS = 5
_MAX_IDS = 3
_NOON = dt.time(12)
_CODE = re.compile("[A-Z]{3}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


def is_currency_code(text: str | None) -> bool:
    """Return whether a text is a currency code such as USD."""
    return text is not None and _CODE.fullmatch(text) is not None


class ReadOptions(NamedTuple):
    """Options for reading a file of books, as the import and ``open_journal`` describe them.

    All new ids end with the suffix, so that they differ between instances. Refusals state the outcome for the whole
    file.
    """

    time_zone: str = "UTC"
    scale: int = DEFAULT_SCALE
    id_suffix: str = ""
    commodity: str | None = None
    virtual: bool = False
    use_entry_dates: bool = False
    midnights: str | None = None
    roots: Sequence[tuple[str, str]] = ()
    outcome: str = "nothing was imported"


class Problem(NamedTuple):
    """A problem of a file: file, line, date and description of the entry, and reason."""

    file: str
    line: str
    date: str
    description: str
    problem: str

    def __str__(self) -> str:
        """Format place, problem and entry on one line."""
        entry = " ".join(filter(None, [self.date, quote(self.description) if self.description else ""]))
        return f"{self.line and f'{self.line}: '}{self.problem}{entry and f' ({entry})'}"


class FileErrors:
    """Collector of the problems of a file. The message names the first problems and counts the others."""

    def __init__(self, path: Path, outcome: str) -> None:
        self._path, self._outcome = path, outcome
        self._problems: list[Problem] = []

    def add(self, location: str, problem: str, *, date: str = "", description: str = "") -> None:
        """Add a problem. An empty location means the whole file."""
        self._problems.append(Problem(self._path.name, location, date, description, problem))

    def fail(self, problem: str, location: str = "") -> NoReturn:
        """Refuse a file that cannot be read any further."""
        self.add(location, problem)
        raise self._exception()

    def raise_if_any(self) -> None:
        """Refuse the file if it has problems."""
        if self._problems:
            raise self._exception()

    def _exception(self) -> ImportRefusedError:
        named = "; ".join(map(str, self._problems[:_MAX_PROBLEMS]))
        hidden = len(self._problems) - _MAX_PROBLEMS
        where = "--dry-run, or " if "imported" in self._outcome else ""
        more = f"; and {hidden} more ({where}problems of the error, names each)" if hidden > 0 else ""
        return ImportRefusedError(f"{self._path.name}: {self._outcome}: {named}{more}", problems=tuple(self._problems))


class FileEntries:
    """Journal entries of a file, in the order of their first lines. Readers add lines one by one.

    Lines name their ledgers as the file does. Entries and their first text lines are found by the id in the file.
    `accounts` maps accounts to their first text line, and `transactions` are the text lines that state a transaction.
    `padded` accounts have a line from a ``pad`` of beancount. `named` accounts may have no line. All amounts of a
    journal are in its `commodity`.
    """

    def __init__(self, path: Path, options: ReadOptions = ReadOptions()) -> None:  # noqa: B008 (immutable)
        self.path, self.options = path, options
        self.errors = FileErrors(path, options.outcome)
        self.instants = InstantParser(options.time_zone, options.midnights)
        self.entries: dict[str, NewJournalEntry] = {}
        self.locations: dict[str, str] = {}
        self.accounts: dict[str, str] = {}
        self.transactions: defaultdict[str, list[str]] = defaultdict(list)
        self.padded: set[str] = set()
        self.named: list[str] = []
        self.commodity: str | None = None
        self.notes: list[str] = []
        self._last_id = ""
        self._parts: dict[str, list[tuple[int, str]]] = {}
        self._unread: set[str] = set()

    def require_readable(self) -> None:
        """Refuse a file that cannot be read."""
        try:
            self.path.open("rb").close()
        except OSError as error:
            self.errors.fail(f"it cannot be read ({error.strerror})")

    def choose_currency(self, stated: str | None) -> str | None:
        """Return the stated currency, else the currency of the file. Refuse different codes."""
        of_file = self.commodity if is_currency_code(self.commodity) else None
        if of_file and is_currency_code(stated) and stated != of_file:
            self.errors.fail(
                f"its amounts are in {of_file}, and --currency (currency=) is {stated}: leave it out, or take a file "
                f"with amounts in {stated}"
            )
        return stated or of_file

    def add(self, location: str, entry_id: str, moment: object, description: str, line: NewLine) -> None:
        """Add a line to its entry, which has one instant and description."""
        instant = self.instants.parse(moment)
        entry = self.entries.get(entry_id)
        if entry is None:
            entry = NewJournalEntry(instant, description, [], f"{entry_id}{self.options.id_suffix}")
            self.entries[entry_id], self.locations[entry_id] = entry, location
        else:
            if entry_id != self._last_id:
                self._parts.setdefault(entry_id, []).append((len(entry.lines), location))
            if instant != entry.datetime or description != entry.description:
                column = "datetime" if instant != entry.datetime else "entry_description"
                text = f"entry {entry_id!r} has a different {column} than on {self.locations[entry_id]}"
                self._add_problem(location, text, entry)
        entry.lines.append(line)
        self._last_id = entry_id
        if line.ledger_id not in self.accounts:
            self.accounts[line.ledger_id] = location

    def add_unread(
        self, location: str, problem: str, entry_id: str = "", *, date: str = "", description: str = ""
    ) -> None:
        """Add the problem of an unreadable line.

        The entry with the id lacks this line. Without an id, any entry may lack it.
        """
        self.errors.add(location, problem, date=date, description=description)
        self._unread.add(entry_id.strip())

    def check(self) -> None:
        """Refuse a file with unreadable lines, or entries that cannot be posted."""
        if not self.entries:
            self.errors.raise_if_any()
            self.errors.fail("it has no lines to import")
        if "" not in self._unread:
            for entry_id, entry in self.entries.items():
                if entry_id not in self._unread:
                    self._check_entry(entry_id, entry)
        for entry_id, parts in self._parts.items():
            self._check_parts(entry_id, self.entries[entry_id].lines, parts)
        if midnight := self.instants.ambiguous_midnight():
            shown = f"{midnight.astimezone(zone(self.options.time_zone)):%Y-%m-%d %H:%M} in {self.options.time_zone}"
            self.errors.add(
                "",
                f"all instants are midnights of UTC: as days the first is {midnight:%Y-%m-%d}, as instants it is "
                f"{shown}; state --midnights days or --midnights instants (midnights='days' or 'instants')",
            )
        self.errors.raise_if_any()
        if self._parts:
            ids = join_ids(self._parts, limit=_MAX_IDS)
            self.notes.append(
                f"entries with lines in several parts of the file were joined ({len(self._parts)}): {ids}"
            )

    def _check_entry(self, entry_id: str, entry: NewJournalEntry) -> None:
        problem = ""
        try:
            check_id(entry_id, "entry")
        except PostingRefusedError as error:
            problem = str(error)
        if len(entry.lines) == 1:
            problem = f"entry {entry_id!r} has only one line; an entry has at least two"
        elif balance := sum([line.units for line in entry.lines]):
            excess = format_amount(from_minor_units(balance, self.options.scale))
            problem = (
                f"entry {entry_id!r} ({len(entry.lines)} lines) does not balance: debits exceed credits by {excess}"
            )
        if problem:
            self._add_problem(self.locations[entry_id], problem, entry)

    def _check_parts(self, entry_id: str, lines: Sequence[NewLine], parts: list[tuple[int, str]]) -> None:
        """Refuse an entry whose lines are repeated.

        A doubled file repeats lines.
        """
        starts = [0, *(start for start, _ in parts), len(lines)]
        first, *others = (lines[start:end] for start, end in pairwise(starts))
        if all(other == first for other in others) and not sum(line.units for line in first):
            self.errors.add(
                parts[0][1],
                f"entry {entry_id!r} is already in the file with the same lines, on {self.locations[entry_id]}: "
                "remove one of them, or give the second its own entry_id",
            )

    def _add_problem(self, location: str, problem: str, entry: NewJournalEntry) -> None:
        day = local_date(entry.datetime, zone(self.options.time_zone)).isoformat()
        self.errors.add(location, problem, date=day, description=entry.description)


class InstantParser:
    """Parser of dates and times in a time zone, unless they have an offset. Each distinct value is parsed once.

    `midnights` says how to read instants with an offset if all are midnights in UTC: as ``days`` or as ``instants``.
    """

    def __init__(self, time_zone: str, midnights: str | None = None) -> None:
        self._zone = zone(time_zone)
        self._name = time_zone
        self._midnights = midnights
        self._earliest: dt.datetime | None = None
        self._are_midnights = True
        self._parsed: dict[object, dt.datetime] = {}

    def parse(self, value: object) -> dt.datetime:
        """Convert a date or time to UTC. Refuse local times that are ambiguous or that clocks skip."""
        instant = self._parsed.get(value)
        if instant is None:
            instant = self._parsed[value] = self._to_utc(value)
        return instant

    def _to_utc(self, value: object) -> dt.datetime:
        moment = _read_moment(value)
        if moment.tzinfo is None:
            return self._in_utc(self._local(moment, value), value)
        instant = self._in_utc(moment, value)
        is_midnight = instant.time() == dt.time.min
        self._are_midnights &= is_midnight
        self._earliest = instant if self._earliest is None else min(self._earliest, instant)
        if self._midnights != "days":
            return instant
        if not is_midnight:
            raise ValueError(f"datetime {str(value)!r} is not a midnight of UTC, which --midnights days reads as a day")
        return self._in_utc(self._local(dt.datetime.combine(instant.date(), _NOON), value), value)

    def _in_utc(self, moment: dt.datetime, value: object) -> dt.datetime:
        try:
            return as_utc(moment)
        except OverflowError:
            raise ValueError(f"datetime {str(value)!r} is outside the calendar") from None

    def ambiguous_midnight(self) -> dt.datetime | None:
        """Return the first instant if all instants are midnights in UTC and may mean days."""
        first = self._earliest
        if self._midnights is not None or first is None or not self._are_midnights:
            return None
        moments = [
            instant.astimezone(self._zone).time() for instant in self._parsed.values() if instant.time() == dt.time.min
        ]
        return first if any(moment != dt.time.min for moment in moments) else None

    def _local(self, moment: dt.datetime, value: object) -> dt.datetime:
        first, second = (moment.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        # the two folds differ if the clock changed: forward past this time, or back so that it occurs twice
        exists = as_utc(first).astimezone(self._zone).replace(tzinfo=None) == moment
        problem = "occurs twice" if exists else "does not exist"
        raise ValueError(f"datetime {str(value)!r} {problem} in {self._name}; write it with its offset from UTC")


def _read_moment(value: object) -> dt.datetime:
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
    raise ValueError(f"datetime {text!r} is not a date or time; write it like 2025-01-31 or 2025-01-31T18:30:00-05:00")
