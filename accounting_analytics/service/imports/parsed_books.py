"""Books read from a file: lines gathered into balanced journal entries, ready to post."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError, PostingRefusedError
from accounting_analytics.money import EXACT, PRECISION, format_amount, parse_amount
from accounting_analytics.periods import zone
from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine, NewTag, NewTransaction
from accounting_analytics.service.imports.account_paths import Chart, chart_of
from accounting_analytics.service.wire.identifiers import usable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger
    from accounting_analytics.service.imports.import_errors import Refusals
    from accounting_analytics.service.wire.stored_records import StoredLedger

_SHOWN = 3
_NOON = dt.time(12)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


class FileLine(NamedTuple):
    """One line entry as a file has it: account by path or id, amount signed (debit positive)."""

    place: str
    entry_id: str
    instant: dt.datetime
    entry_description: str
    account: str
    signed: Decimal
    description: str = ""
    transaction: NewTransaction | None = None
    tags: tuple[NewTag, ...] = ()
    must_be_transaction: bool = False


@dataclass(frozen=True)
class ImportedBooks:
    """Ledgers and journal entries read from a file; nothing is posted yet.

    Parameters
    ----------
    ledgers : tuple of NewLedger
        Ledgers that do not exist yet, parents before children.
    entries : tuple of NewJournalEntry
        Balanced entries, in the order of the file.
    places : dict of str to str
        Where each entry starts in the file, by entry id.
    cash : tuple of str
        Accounts that report cash flow.
    notes : tuple of str
        What was left out, and why.
    """

    ledgers: tuple[NewLedger, ...]
    entries: tuple[NewJournalEntry, ...]
    places: dict[str, str]
    cash: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def line_count(self) -> int:
        """Number of line entries."""
        return sum(len(entry.lines) for entry in self.entries)


class Instants:
    """Reads the dates and times of a file.

    Parameters
    ----------
    time_zone : str
        Zone of bare dates (that local day at noon) and of times without an offset.
    """

    def __init__(self, time_zone: str) -> None:
        self._zone = zone(time_zone)
        self._name = time_zone
        self._read: dict[object, dt.datetime] = {}

    def read(self, value: object) -> dt.datetime:
        """UTC instant of ISO 8601 text, a date or a datetime.

        Raises
        ------
        ValueError
            It is none of these, or a local time that does not exist or occurs twice; the message is the rule.
        """
        if isinstance(value, dt.datetime) and value.tzinfo is dt.UTC:
            return value
        known = self._read.get(value)
        if known is None:
            known = self._read[value] = self._instant(value)
        return known

    def _instant(self, value: object) -> dt.datetime:
        moment = self._moment(value)
        if moment.tzinfo is None:
            moment = self._local(moment, value)
        try:
            return moment.astimezone(dt.UTC)
        except OverflowError:
            msg = f"datetime {str(value)!r} is outside the calendar"
            raise ValueError(msg) from None

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
        msg = f"datetime {text!r} is not a date or time; write it like 2025-01-31 or 2025-01-31T18:30:00-05:00"
        raise ValueError(msg)

    def _local(self, moment: dt.datetime, value: object) -> dt.datetime:
        first, second = (moment.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        # where the two readings differ the clock jumped: forward over this time, or back to show it twice
        exists = first.astimezone(dt.UTC).astimezone(self._zone).replace(tzinfo=None) == moment
        trouble = "occurs twice" if exists else "does not exist"
        msg = f"datetime {str(value)!r} {trouble} in {self._name}; write it with its offset from UTC"
        raise ValueError(msg)


class Amounts:
    """Reads the amounts of a file exactly, at one scale."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._quantum = Decimal(1).scaleb(-scale)
        self._digits = PRECISION - scale
        self._read: dict[object, Decimal] = {}

    def read(self, value: object) -> Decimal:
        """Exact amount.

        Raises
        ------
        AmountError
            It is no exact amount at the scale; float dust is refused too: files hold what was written.
        """
        if isinstance(value, Decimal) and value.same_quantum(self._quantum) and value.adjusted() < self._digits:
            return value or abs(value)  # minus zero is zero
        known = self._read.get(value)
        if known is None:
            parsed = parse_amount(value, self._scale)
            if parsed.rounding_noise_removed:
                msg = f"amount {value} does not fit {self._scale} fraction digits"
                raise AmountError(msg)
            known = self._read[value] = parsed.amount
        return known


def books_of(
    lines: Iterable[FileLine],
    *,
    cash: Sequence[str],
    existing: Iterable[StoredLedger],
    refusals: Refusals,
    notes: Sequence[str] = (),
) -> ImportedBooks:
    """Gather lines into entries and accounts into ledgers; raises ImportRefusedError if anything was refused."""
    entries: dict[str, list[FileLine]] = {}
    scattered: dict[str, list[int]] = {}
    accounts: dict[str, str] = {}
    last = None
    for line in lines:
        gathered = entries.setdefault(line.entry_id, [])
        if gathered and line.entry_id != last:
            scattered.setdefault(line.entry_id, [0]).append(len(gathered))
        gathered.append(line)
        last = line.entry_id
        accounts.setdefault(line.account, line.place)
    refusals.raise_if_any()  # before balances are checked: an entry with a refused line would not balance
    if not entries:
        reason = "it has no lines to import"
        raise refusals.refuse(reason)
    for entry_id, gathered in entries.items():
        _check_entry(entry_id, gathered, refusals)
    for entry_id, starts in scattered.items():
        _check_not_repeated(entry_id, entries[entry_id], starts, refusals)
    if scattered:
        shown = ", ".join(list(scattered)[:_SHOWN])
        notes = (*notes, f"entries whose lines stand in several places were put together ({len(scattered)}): {shown}")
    chart = chart_of(accounts, cash=cash, existing=existing, refusals=refusals)
    _check_transactions(entries.values(), chart, refusals)
    refusals.raise_if_any()
    places = {entry_id: gathered[0].place for entry_id, gathered in entries.items()}
    return ImportedBooks(
        ledgers=chart.new_ledgers,
        entries=tuple(_entry(entry_id, entries.pop(entry_id), chart) for entry_id in places),  # one form in memory
        places=places,
        cash=chart.cash,
        notes=tuple(notes),
    )


def _check_entry(entry_id: str, lines: list[FileLine], refusals: Refusals) -> None:
    first = lines[0]
    try:
        usable(entry_id, "entry")
    except PostingRefusedError as error:
        refusals.add(first.place, str(error))
    if len(lines) == 1:
        refusals.add(first.place, f"entry {entry_id!r} has one line only; an entry has at least two")
        return
    balance = reduce(EXACT.add, [line.signed for line in lines])
    if balance:
        refusals.add(
            first.place,
            f"entry {entry_id!r} ({len(lines)} lines) does not balance: debits exceed credits by "
            f"{format_amount(balance)}",
        )
    for line in lines[1:]:
        if line.instant != first.instant:
            refusals.add(line.place, f"entry {entry_id!r} has another datetime than on {first.place}")
        if line.entry_description != first.entry_description:
            refusals.add(line.place, f"entry {entry_id!r} has another entry_description than on {first.place}")


def _check_not_repeated(entry_id: str, lines: list[FileLine], starts: list[int], refusals: Refusals) -> None:
    """Refuse an entry whose lines stand in the file again, as in a file that was put together twice."""
    parts = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    contents = {
        tuple((line.account, line.signed, line.description, line.transaction) for line in part) for part in parts
    }
    if len(contents) == 1 and not reduce(EXACT.add, [line.signed for line in parts[0]]):
        refusals.add(
            parts[1][0].place,
            f"entry {entry_id!r} is in the file already, with the same lines, on {parts[0][0].place}: "
            "leave one of them out, or give the second an entry_id of its own",
        )


def _check_transactions(entries: Iterable[list[FileLine]], chart: Chart, refusals: Refusals) -> None:
    refused: dict[str, list[str]] = {}
    for lines in entries:
        for line in lines:
            if line.must_be_transaction and line.account not in chart.financial:
                refused.setdefault(line.account, []).append(line.place)
    for account, places in refused.items():
        refusals.add(
            places[0],
            f"account {account!r} is not a cash account, so its lines ({len(places)}) cannot be transactions; "
            "name it as cash (--cash), or leave the transaction columns empty",
        )


def _entry(entry_id: str, lines: list[FileLine], chart: Chart) -> NewJournalEntry:
    return NewJournalEntry(
        datetime=lines[0].instant,
        description=lines[0].entry_description,
        lines=tuple(
            NewLine(
                ledger_id=chart.ledger_ids[line.account],
                debit_credit=DebitCredit.CREDIT if line.signed < 0 else DebitCredit.DEBIT,
                amount=line.signed.copy_abs(),
                description=line.description,
                transaction=_transaction(line) if line.account in chart.financial else None,
                tags=line.tags,
                id=f"{entry_id}-{number}",
            )
            for number, line in enumerate(lines, start=1)
        ),
        id=entry_id,
    )


def _transaction(line: FileLine) -> NewTransaction:
    return line.transaction or NewTransaction(line.description or line.entry_description)
