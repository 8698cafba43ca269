"""Postings of plain text journals: converted at their prices to one commodity, rounded, and balanced."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import AmountError
from accounting_analytics.ledger_names import PATH_SEPARATOR
from accounting_analytics.messages import join_ids
from accounting_analytics.money import EXACT, MAX_SCALE, format_amount, from_minor_units, parse_amount
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.imports.account_paths import TYPE_OF_ROOT
from accounting_analytics.service.imports.parsed_books import (
    FileLine,
    ImportOptions,
    InstantParser,
    ParsedBooks,
    build_books,
)
from accounting_analytics.service.wire.stored_values import to_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.service.imports.import_errors import ImportErrors

ROUNDING = "equity:rounding"
"""Account of what remains when converted amounts are rounded."""
VIRTUAL = "equity:virtual"
"""Account that balances unbalanced virtual postings."""
_MAX_NAMED = 5


class PricedPosting(NamedTuple):
    """A posting: its quantity of a commodity, and what that is at its price or cost."""

    location: str
    account: str
    quantity: Decimal
    commodity: str
    value: Decimal
    value_commodity: str
    is_virtual: bool = False
    is_balanced: bool = True
    comment: str = ""
    is_reviewed: bool = False
    date: str = ""
    """Day of its own, which the journal states beside the day of the entry."""

    @property
    def is_converted(self) -> bool:
        """Whether it has a price or cost."""
        return self.commodity != self.value_commodity


class JournalEntry(NamedTuple):
    """An entry of a journal: its place, day and text, and its postings."""

    location: str
    date: str
    description: str
    postings: list[PricedPosting]
    content: tuple[str, ...] = ()
    """What its id is a digest of: its postings as the journal has them, whatever is selected of them."""


def build_from_journal(
    entries: list[JournalEntry],
    options: ImportOptions,
    errors: ImportErrors,
    *,
    types: Mapping[str, str],
    notes: Sequence[str] = (),
) -> ParsedBooks:
    """Build entries in one commodity; `types` are the roots of accounts whose types the journal declares."""
    builder = _Builder(options, errors, types, list(notes))
    lines = builder.lines(builder.selected([_with_content(entry) for entry in builder.without_virtual(entries)]))
    books = build_books(lines, options, errors, builder.notes)
    return replace(books, local_count=builder.instants.local_count)


class _Builder:
    """Builds lines step by step, and notes what is left out."""

    def __init__(
        self, options: ImportOptions, errors: ImportErrors, types: Mapping[str, str], notes: list[str]
    ) -> None:
        self.options, self.errors, self.types, self.notes = options, errors, types, notes
        self.instants = InstantParser(options.time_zone)
        self.quantum = Decimal(1).scaleb(-options.scale)
        self.rounded: list[int] = []
        self.changes: defaultdict[str, Decimal] = defaultdict(Decimal)
        self.moved: list[str] = []
        self.joined: list[str] = []

    def without_virtual(self, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Entries without virtual postings, or with them as other postings."""
        count = sum(posting.is_virtual for entry in entries for posting in entry.postings)
        total = sum(len(entry.postings) for entry in entries)
        if count and not self.options.virtual:
            if count == total:
                self.errors.fail(
                    f"all {count} postings are virtual, to accounts in (parentheses) or [brackets], which are outside "
                    "double entry; --virtual imports them"
                )
            self.notes.append(
                f"{count} virtual postings, to accounts in (parentheses) or [brackets], were left out; --virtual "
                "imports them"
            )
            return [
                entry._replace(postings=[posting for posting in entry.postings if not posting.is_virtual])
                for entry in entries
            ]
        single = sum(not posting.is_balanced for entry in entries for posting in entry.postings)
        if single:
            self.notes.append(f"{single} virtual postings in (parentheses) were balanced with {VIRTUAL}")
        return [entry._replace(postings=[*entry.postings, *_counterparts(entry)]) for entry in entries]

    def selected(self, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Entries in the selected commodity, or in the only one; a zero belongs to any."""
        counts = Counter(
            posting.value_commodity
            for entry in entries
            for posting in entry.postings
            if posting.value_commodity or posting.value
        )
        commodity = self.options.commodity
        if not counts and commodity is None:
            return entries
        named = ", ".join(f"{name or '(no commodity)'} ({count})" for name, count in counts.most_common())
        if commodity is None and len(counts) > 1:
            first = shlex.quote(counts.most_common()[0][0])
            self.errors.fail(
                f"it has postings in several commodities, at their prices: {named}; select one (--commodity {first})"
            )
        if commodity is not None and commodity not in counts:
            self.errors.fail(f"it has no amounts in commodity {commodity!r}; it has, at their prices, {named}")
        chosen = next(iter(counts)) if commodity is None else commodity
        return self._only(entries, chosen)

    def _only(self, entries: list[JournalEntry], commodity: str) -> list[JournalEntry]:
        kept, left_out, whole = [], Counter[str](), []
        for entry in entries:
            postings = [
                posting for posting in entry.postings if posting.value_commodity == commodity or not posting.value
            ]
            others = [posting for posting in entry.postings if posting not in postings]
            left_out.update(posting.value_commodity or "(no commodity)" for posting in others)
            if others and not any(posting.value for posting in postings):
                whole.append(f"{entry.date} {entry.description!r}")
            elif postings:
                kept.append(entry._replace(postings=postings))
        if left_out:
            accounts = {posting.account for entry in entries for posting in entry.postings if posting.value} - {
                posting.account for entry in kept for posting in entry.postings
            }
            self.notes.append(
                f"{sum(left_out.values())} postings in other commodities were left out: "
                + ", ".join(f"{name} ({count})" for name, count in left_out.most_common())
                + (f"; among them {len(whole)} complete entries: {_first(whole)}" if whole else "")
                + (f"; of these accounts nothing is imported: {join_ids(accounts)}" if accounts else "")
            )
        return kept

    def lines(self, entries: list[JournalEntry]) -> list[FileLine]:
        """Lines of the entries with ids of their content, rounded to the scale and balanced."""
        single = [entry for entry in entries if len(entry.postings) == 1 and not entry.postings[0].value]
        if single:
            self.notes.append(
                f"{len(single)} entries of a single posting of zero were left out: "
                + _first([f"{entry.date} {entry.description!r}" for entry in single])
            )
        kept = [entry for entry in entries if entry.postings and entry not in single]
        contents = {str(number): entry.content for number, entry in enumerate(kept)}
        lines: list[FileLine] = []
        for entry, entry_id in zip(kept, content_ids(contents).values(), strict=True):
            lines += self._entry_lines(entry, entry_id)
        self._note_days()
        self._note_rounding()
        return lines

    def _day(self, entry: JournalEntry, entry_id: str) -> str:
        """Day of an entry: the one day of its postings; several are refused, or replaced by the entry's own."""
        days = sorted({posting.date or entry.date for posting in entry.postings if posting.value} or {entry.date})
        if days == [entry.date]:
            return entry.date
        if len(days) == 1:
            self.moved.append(f"{days[0]} {entry.description!r}")
            return days[0]
        if self.options.use_entry_dates:
            self.joined.append(f"{entry.date} {entry.description!r}")
            return entry.date
        self.errors.incomplete.add(entry_id)
        self.errors.add(
            entry.location,
            f"the postings of this entry have several days ({join_ids(days)}), and an entry has one day here: write an "
            "entry for each day, through an account such as assets:in transit, or import such entries on the day of "
            "the entry (--use-entry-dates)",
            date=entry.date,
            description=entry.description,
        )
        return entry.date

    def _note_days(self) -> None:
        """Note how many entries are on other days than the journal states for them or for their postings."""
        if self.moved:
            self.notes.append(
                f"{len(self.moved)} entries are on the day that all their postings have, which is not the day of the "
                f"entry: {_first(self.moved)}"
            )
        if self.joined:
            self.notes.append(
                f"{len(self.joined)} entries, whose postings have several days, are on the day of the entry "
                f"(--use-entry-dates): {_first(self.joined)}"
            )

    def _note_rounding(self) -> None:
        """Note how much rounding changed accounts, and what remained of entries."""
        changes = sorted(((abs(change), account) for account, change in self.changes.items() if change), reverse=True)
        if changes:
            named = ", ".join(f"{account} by {format_amount(change.normalize())}" for change, account in changes[:3])
            self.notes.append(
                f"amounts at prices were rounded to {self.options.scale} digits, which changes {len(changes)} accounts"
                f", most {named}; --scale gives a new database more digits"
            )
        if self.rounded:
            total, most = sum(self.rounded), max(map(abs, self.rounded))
            shown = [format_amount(from_minor_units(units, self.options.scale)) for units in (total, most)]
            self.notes.append(
                f"what remained of {len(self.rounded)} entries after rounding is on {ROUNDING}: "
                f"{shown[0]} in all, at most {shown[1]} in one"
            )

    def _entry_lines(self, entry: JournalEntry, entry_id: str) -> list[FileLine]:
        has_prices = any(posting.is_converted for posting in entry.postings)
        amounts: list[int] = []
        for posting in entry.postings:
            try:
                amounts.append(self._units(posting, may_round=has_prices))
            except AmountError as error:
                amounts.append(0)
                self.errors.add_line(
                    posting.location, str(error), entry_id, date=entry.date, description=entry.description
                )
        try:
            instant = self.instants.parse(self._day(entry, entry_id))
        except ValueError as error:
            self.errors.add_line(entry.location, str(error), entry_id, description=entry.description)
            return []
        lines = [
            FileLine(
                location=posting.location,
                entry_id=entry_id,
                instant=instant,
                entry_description=entry.description,
                account=self._path(posting.account),
                units=units,
                description=posting.comment,
                transaction=NewTransaction(
                    entry.description, review_status="reviewed" if posting.is_reviewed else "unreviewed"
                ),
            )
            for posting, units in zip(entry.postings, amounts, strict=True)
        ]
        remainder = sum(amounts)
        if remainder and has_prices and from_minor_units(abs(remainder), self.options.scale) <= self._tolerance(entry):
            self.rounded.append(-remainder)
            lines.append(FileLine(entry.location, entry_id, instant, entry.description, ROUNDING, -remainder))
        return lines

    def _units(self, posting: PricedPosting, *, may_round: bool) -> int:
        """Minor units of a posting, which may be rounded if its entry has prices."""
        if may_round:
            rounded = EXACT.quantize(posting.value, self.quantum)
            change = EXACT.subtract(rounded, posting.value)
            self.changes[posting.account] = EXACT.add(self.changes[posting.account], change)
            return to_units(rounded, self.options.scale)
        parsed = parse_amount(posting.value, MAX_SCALE)
        amount = EXACT.quantize(parsed.amount, self.quantum)
        if amount != parsed.amount or parsed.rounding_noise_removed:
            digits = -int(posting.value.normalize().as_tuple().exponent)
            raise AmountError(
                f"{posting.value:f} {posting.commodity} has {digits} fraction digits, and the books have "
                f"{self.options.scale}: import into a new database with --scale {digits}"
            )
        return to_units(amount, self.options.scale)

    def _tolerance(self, entry: JournalEntry) -> Decimal:
        """How far an entry with prices may be from balance: a unit of its coarsest amount for each posting."""
        exponents = [int(one.value.as_tuple().exponent) for one in entry.postings if one.value and not one.is_converted]
        unit = max(self.quantum, Decimal(1).scaleb(max(exponents, default=-self.options.scale)))
        return unit * len(entry.postings)

    def _path(self, account: str) -> str:
        """Path of an account below a root that has a type."""
        for old, new in self.options.roots:
            if account == old or account.startswith(f"{old}{PATH_SEPARATOR}"):
                return f"{new}{account[len(old) :]}"
        root = account.partition(PATH_SEPARATOR)[0].casefold()
        if root in TYPE_OF_ROOT or account in {ROUNDING, VIRTUAL}:
            return account
        declared = self.types.get(account) or dict(self.options.roots).get("*")
        return f"{declared}{PATH_SEPARATOR}{account}" if declared else account


def content_ids(contents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Id of each entry by its key: a digest of the texts of its lines, with a number if entries are equal."""
    equal_count: Counter[str] = Counter()
    ids = {}
    for key, content in contents.items():
        digest = hashlib.sha256("\x1e".join(content).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        equal_count[digest] += 1
        ids[key] = f"hl_{digest}" + (f"_{equal_count[digest]}" if equal_count[digest] > 1 else "")
    return ids


def posting_content(date: str, description: str, account: str, quantity: Decimal, commodity: str) -> str:
    """Text of a posting in the digest of its entry; 1.50 and 1.5 are the same."""
    return f"{date}\x1f{description}\x1f{account}\x1f{quantity.normalize():f}\x1f{commodity}"


def _with_content(entry: JournalEntry) -> JournalEntry:
    return entry._replace(
        content=tuple(
            posting_content(entry.date, entry.description, one.account, one.quantity, one.commodity)
            for one in entry.postings
        )
    )


def _counterparts(entry: JournalEntry) -> list[PricedPosting]:
    """Balance the unbalanced virtual postings of an entry with a posting for each commodity and day."""
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for posting in entry.postings:
        if not posting.is_balanced:
            key = posting.value_commodity, posting.date
            sums[key] = EXACT.add(sums[key], posting.value)
    return [
        PricedPosting(entry.location, VIRTUAL, EXACT.minus(total), commodity, EXACT.minus(total), commodity, date=day)
        for (commodity, day), total in sums.items()
    ]


def _first(texts: list[str]) -> str:
    more = len(texts) - _MAX_NAMED
    return ", ".join(texts[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
