"""Reading of journals by hledger, or by bean-check with bean-query.

Their entries are converted at their prices to one commodity, rounded, and balanced.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.installed_programs import find_program, run_program
from accounting_analytics.core.ledger_names import PATH_SEPARATOR
from accounting_analytics.core.messages import count_of, join_ids, printable, shorten
from accounting_analytics.core.money import EXACT, MAX_SCALE, format_amount, from_minor_units, parse_amount
from accounting_analytics.journals.accounts import TYPE_OF_ROOT
from accounting_analytics.journals.entries import NewLine, NewTransaction, to_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.journals.file_entries import FileEntries, FileErrors

HLEDGER_SUFFIXES = frozenset({".journal", ".j", ".hledger", ".ledger", ".dat"})
BEANCOUNT_SUFFIXES = frozenset({".beancount", ".bean"})
_INSTALL_HLEDGER = (
    "install it, such as with: apt-get install hledger, or: brew install hledger (https://hledger.org/install)"
)
_INSTALL_BEANCOUNT = "install both with: pip install beancount beanquery"
_PLACE = re.compile(r":(\d+)(?::\d+)?|\(lines? (\d+)")
_ROOTS = {
    "A": "assets",
    "C": "assets",
    "L": "liabilities",
    "E": "equity",
    "V": "equity",
    "R": "income",
    "X": "expenses",
}
"""First segment of the accounts of each type that a journal declares."""
_QUERY = (
    "SELECT id, filename, lineno, date, flag, payee, narration, account, str(number) AS number, currency, "
    "str(number(weight)) AS value, currency(weight) AS value_currency, posting_flag"
)
"""Query that returns numbers as text, with all digits. As numbers they would be rounded for display."""
_PAD = "P"
"""Flag of the entries that beancount creates from a directive ``pad``."""
_BEANCOUNT_PROBLEM = re.compile(r"(.+?):(\d+):\s+(.*)")
ROUNDING = "equity:rounding"
"""Account for the remainders of rounded conversions."""
VIRTUAL = "equity:virtual"
"""Account that balances unbalanced virtual postings."""
_MAX_NAMED = 5


class PricedPosting(NamedTuple):
    """A posting: its quantity of a commodity, and the value at its price or cost."""

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
    """Day of the posting, if the journal states one in addition to the day of the entry."""

    @property
    def is_converted(self) -> bool:
        """True if the posting has a price or cost."""
        return self.commodity != self.value_commodity


class JournalEntry(NamedTuple):
    """An entry of a journal: its place, day and text, and its postings."""

    location: str
    date: str
    description: str
    postings: list[PricedPosting]

    def days(self) -> list[str]:
        """Return the days of the postings. A posting without a day has the day of the entry."""
        return sorted({posting.date or self.date for posting in self.postings if posting.value} or {self.date})

    def __str__(self) -> str:
        """Format day and text for a note."""
        return f"{self.date} {self.description!r}"


def read_hledger_journal(path: Path, books: FileEntries) -> None:
    """Read a journal with ``hledger print``, which resolves includes, amounts and prices."""
    errors, program = books.errors, find_program("hledger")
    if program is None:
        errors.fail(f"a journal is read with hledger, and it is not installed; {_INSTALL_HLEDGER}")
    file = str(path.absolute())
    printed = _run_hledger([program, "print", "-f", file, "--explicit", "--output-format", "json"], path, errors)
    transactions = json.loads(printed) if printed.strip() else []
    entries = [_hledger_entry(transaction, path) for transaction in transactions]
    if not entries:
        errors.fail("it has no transactions")
    types = _types(_run_hledger([program, "accounts", "-f", file, "--types"], path, errors))
    books.notes += _secondary_date_notes(transactions)
    _add_journal(books, entries, types)


def _run_hledger(command: list[str], path: Path, errors: FileErrors) -> str:
    """Run hledger with an empty home folder.

    Settings of the user then have no effect.
    """
    with TemporaryDirectory() as home:
        environment = {"HOME": home, "XDG_CONFIG_HOME": home, "LEDGER_FILE": ""}
        finished = run_program(
            command, folder=str(path.absolute().parent), environment=environment, advice=_INSTALL_HLEDGER
        )
    if finished.returncode:
        message = finished.stderr.strip().removeprefix("hledger: ").replace(str(path.absolute()), path.name)
        found = _PLACE.search(message)
        line = f"line {found[1] or found[2]}" if found else ""
        errors.fail(f"hledger cannot read it: {shorten(printable(message, ' '), limit=400)}", line)
    return finished.stdout


def _secondary_date_notes(transactions: list[dict[str, Any]]) -> list[str]:
    """Write a note that secondary dates were left out.

    Reports of hledger leave out secondary dates, too.
    """
    count = sum(
        bool(transaction["tdate2"] or any(posting["pdate2"] for posting in transaction["tpostings"]))
        for transaction in transactions
    )
    dates = "the secondary date of 1 entry was" if count == 1 else f"the secondary dates of {count} entries were"
    return [f"{dates} left out"] if count else []


def _types(printed: str) -> dict[str, str]:
    """Map accounts to the root of the type that hledger states."""
    pairs = (line.rpartition("; type:") for line in printed.splitlines())
    return {account.strip(): _ROOTS[kind.strip()] for account, _, kind in pairs if kind.strip() in _ROOTS}


def _hledger_entry(printed: dict[str, Any], path: Path) -> JournalEntry:
    start = printed["tsourcepos"][0]
    location = f"line {start['sourceLine']}"
    if Path(start["sourceName"]).name != path.name:
        location = f"{Path(start['sourceName']).name} {location}"
    is_cleared = printed["tstatus"] == "Cleared"
    comment = printed["tcomment"].strip()
    postings = [
        _hledger_posting(posting, amount, location, comment, is_cleared=is_cleared)
        for posting in printed["tpostings"]
        for amount in posting["pamount"]
    ]
    return JournalEntry(location, printed["tdate"], printed["tdescription"], postings)


def _hledger_posting(
    printed: dict[str, Any], amount: dict[str, Any], location: str, comment: str, *, is_cleared: bool
) -> PricedPosting:
    quantity, commodity = _quantity(amount), amount["acommodity"]
    value, value_commodity = quantity, commodity
    cost = amount.get("acost") or amount.get("aprice")  # hledger names this field cost since version 1.41
    if cost:
        price, value_commodity = _quantity(cost["contents"]), cost["contents"]["acommodity"]
        is_unit = cost["tag"].startswith("Unit")
        value = EXACT.multiply(quantity, price) if is_unit else price.copy_abs().copy_sign(quantity)
    return PricedPosting(
        location=location,
        account=printed["paccount"],
        quantity=quantity,
        commodity=commodity,
        value=value,
        value_commodity=value_commodity,
        is_virtual=printed["ptype"] != "RegularPosting",
        is_balanced=printed["ptype"] != "VirtualPosting",
        comment=" ".join(printed["pcomment"].split()) or " ".join(comment.split()),
        is_reviewed=is_cleared or printed["pstatus"] == "Cleared",
        date=printed["pdate"] or "",
    )


def _quantity(amount: dict[str, Any]) -> Decimal:
    """Return the exact quantity from its decimal digits, not from the float."""
    quantity = amount["aquantity"]
    return EXACT.scaleb(Decimal(quantity["decimalMantissa"]), -quantity["decimalPlaces"])


def read_beancount(path: Path, books: FileEntries) -> None:
    """Read the postings of a checked file, with values at cost or price."""
    errors = books.errors
    _run_beancount("bean-check", [], path, errors)
    printed = _run_beancount("bean-query", ["--format", "csv"], path, errors, _QUERY)
    entries: dict[str, JournalEntry] = {}
    for row in csv.DictReader(io.StringIO(printed)):
        location = f"line {row['lineno']}"
        if Path(row["filename"]).name != path.name:
            location = f"{Path(row['filename']).name} {location}"
        description = " | ".join(" ".join(row[name].split()) for name in ("payee", "narration") if row[name])
        new = JournalEntry(location, row["date"], description, [])
        entries.setdefault(row["id"], new).postings.append(_beancount_posting(row, location))
        if row["flag"] == _PAD:
            books.padded.add(_path(row["account"], books.options.roots, {}))
    if not entries:
        errors.fail("it has no transactions")
    _add_journal(books, list(entries.values()), {})
    books.padded &= books.accounts.keys()


def _beancount_posting(row: dict[str, str], location: str) -> PricedPosting:
    return PricedPosting(
        location=location,
        account=row["account"],
        quantity=Decimal(row["number"]),
        commodity=row["currency"],
        value=Decimal(row["value"]),
        value_commodity=row["value_currency"],
        is_reviewed="!" not in {row["flag"], row["posting_flag"]},
    )


def _run_beancount(name: str, options: list[str], path: Path, errors: FileErrors, *arguments: str) -> str:
    """Run a program on a file, and collect reported problems as errors."""
    program = find_program(name)
    if program is None:
        errors.fail(f"a beancount file is read with {name}, and it is not installed; {_INSTALL_BEANCOUNT}")
    file = str(path.absolute())
    command = [program, *options, file, *arguments]
    finished = run_program(command, folder=str(path.absolute().parent), environment={}, advice=_INSTALL_BEANCOUNT)
    if finished.returncode:
        problems = [found for line in finished.stderr.splitlines() if (found := _BEANCOUNT_PROBLEM.fullmatch(line))]
        for found in problems:
            place = f"line {found[2]}" if found[1] == file else f"{Path(found[1]).name} line {found[2]}"
            errors.add(place, f"{name}: {found[3]}")
        errors.raise_if_any()
        errors.fail(f"{name} failed: {shorten(finished.stderr.strip(), limit=400)}")
    return finished.stdout


def _add_journal(books: FileEntries, entries: Sequence[JournalEntry], types: Mapping[str, str]) -> None:
    """Add a journal's lines in one commodity. `types` has the account types that the journal declares."""
    identified = _in_commodity(_without_virtual(_identified(entries), books), books)
    zeros = [entry for entry in identified.values() if len(entry.postings) == 1 and not entry.postings[0].value]
    if zeros:
        books.notes.append(f"{len(zeros)} entries of a single posting of zero were left out: {_first_few(zeros)}")
    kept = {entry_id: entry for entry_id, entry in identified.items() if entry.postings and entry not in zeros}
    _check_days(kept, books)
    _add_lines(kept, books, types)


def _identified(entries: Iterable[JournalEntry]) -> dict[str, JournalEntry]:
    """Map a digest of its postings to each entry. Equal entries also get a number."""
    counts: Counter[str] = Counter()
    ids = {}
    for entry in entries:
        texts = [_posting_text(entry, posting) for posting in entry.postings]
        digest = hashlib.sha256("\x1e".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        counts[digest] += 1
        ids[f"hl_{digest}" + (f"_{counts[digest]}" if counts[digest] > 1 else "")] = entry
    return ids


def _posting_text(entry: JournalEntry, posting: PricedPosting) -> str:
    """Write a posting for the digest of its entry.

    The digest treats 1.50 and 1.5 as equal.
    """
    quantity = f"{posting.quantity.normalize():f}"
    return f"{entry.date}\x1f{entry.description}\x1f{posting.account}\x1f{quantity}\x1f{posting.commodity}"


def _without_virtual(entries: dict[str, JournalEntry], books: FileEntries) -> dict[str, JournalEntry]:
    """Leave out or balance virtual postings, as the options say."""
    postings = [posting for entry in entries.values() for posting in entry.postings]
    count = sum(posting.is_virtual for posting in postings)
    if count and not books.options.virtual:
        if count == len(postings):
            books.errors.fail(
                f"all {count} postings are virtual, to accounts in (parentheses) or [brackets], which are outside "
                "double entry; --virtual (virtual=True) takes them in"
            )
        books.notes.append(
            f"{count} virtual postings, to accounts in (parentheses) or [brackets], were left out; --virtual "
            "(virtual=True) takes them in"
        )
        return {
            entry_id: entry._replace(postings=[posting for posting in entry.postings if not posting.is_virtual])
            for entry_id, entry in entries.items()
        }
    if single := sum(not posting.is_balanced for posting in postings):
        books.notes.append(f"{single} virtual postings in (parentheses) were balanced with {VIRTUAL}")
    return {
        entry_id: entry._replace(postings=[*entry.postings, *_counterparts(entry)])
        for entry_id, entry in entries.items()
    }


def _counterparts(entry: JournalEntry) -> list[PricedPosting]:
    """Balance unbalanced virtual postings with one posting per commodity and day."""
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for posting in entry.postings:
        if not posting.is_balanced:
            key = posting.value_commodity, posting.date
            sums[key] = EXACT.add(sums[key], posting.value)
    return [
        PricedPosting(entry.location, VIRTUAL, EXACT.minus(total), commodity, EXACT.minus(total), commodity, date=day)
        for (commodity, day), total in sums.items()
    ]


def _in_commodity(entries: dict[str, JournalEntry], books: FileEntries) -> dict[str, JournalEntry]:
    """Keep entries in the selected or only commodity. A zero belongs to any commodity."""
    commodity = books.options.commodity
    postings = [posting for entry in entries.values() for posting in entry.postings]
    counts = Counter(posting.value_commodity for posting in postings if posting.value_commodity or posting.value)
    named = _counted(counts)
    if commodity is None and len(counts) > 1:
        first = shlex.quote(counts.most_common()[0][0])
        books.errors.fail(
            f"it has postings in several commodities, at their prices: {named}; select one "
            f"(--commodity {first}, or commodity=)"
        )
    if commodity is not None and commodity not in counts:
        books.errors.fail(f"it has no amounts in commodity {commodity!r}; it has, at their prices, {named}")
    books.commodity = commodity or next(iter(counts), None)
    if len(counts) < 2:  # noqa: PLR2004 (nothing is left out)
        return entries
    kept, whole = {}, []
    for entry_id, entry in entries.items():
        postings_kept = [
            posting for posting in entry.postings if posting.value_commodity == commodity or not posting.value
        ]
        if postings_kept == entry.postings or any(posting.value for posting in postings_kept):
            kept[entry_id] = entry._replace(postings=postings_kept)
        else:
            whole.append(entry)
    others = Counter(
        posting.value_commodity for posting in postings if posting.value_commodity != commodity and posting.value
    )
    accounts = {posting.account for posting in postings if posting.value}
    accounts -= {posting.account for entry in kept.values() for posting in entry.postings}
    books.notes.append(
        f"{count_of(others.total(), 'posting')} in other commodities, left out: {_counted(others)}"
        + (f"; among them {count_of(len(whole), 'whole entry', 'whole entries')}: {_first_few(whole)}" if whole else "")
        + (f"; of these accounts nothing is left: {join_ids(accounts)}" if accounts else "")
    )
    return kept


def _counted(commodities: Counter[str]) -> str:
    return ", ".join(f"{name or '(no commodity)'} ({count})" for name, count in commodities.most_common())


def _check_days(entries: Mapping[str, JournalEntry], books: FileEntries) -> None:
    """Refuse entries whose postings have several days.

    The option to use the entry's day allows several days.
    """
    several = {entry_id: entry for entry_id, entry in entries.items() if len(entry.days()) > 1}
    moved = [entry for entry in entries.values() if len(entry.days()) == 1 and entry.days() != [entry.date]]
    if moved:
        books.notes.append(
            f"{len(moved)} entries are on the day that all their postings have, which is not the day of the "
            f"entry: {_first_few(moved)}"
        )
    if several and books.options.use_entry_dates:
        books.notes.append(
            f"{len(several)} entries, whose postings have several days, are on the day of the entry "
            f"(--use-entry-dates): {_first_few(list(several.values()))}"
        )
        return
    for entry_id, entry in several.items():
        books.add_unread(
            entry.location,
            f"the postings of this entry have several days ({join_ids(entry.days())}), and an entry has one day here: "
            "write an entry for each day, through an account such as assets:in transit, or take such entries on the "
            "day of the entry (--use-entry-dates, or use_entry_dates=True)",
            entry_id,
            date=entry.date,
            description=entry.description,
        )


def _add_lines(entries: Mapping[str, JournalEntry], books: FileEntries, types: Mapping[str, str]) -> None:
    """Add lines rounded to the scale, and remainders of entries with prices."""
    changes: defaultdict[str, Decimal] = defaultdict(Decimal)
    remainders = []
    for entry_id, entry in entries.items():
        days = entry.days()
        day = days[0] if len(days) == 1 else entry.date
        has_prices = any(posting.is_converted for posting in entry.postings)
        balance = 0
        for posting in entry.postings:
            try:
                units = _rounded(posting, changes, books) if has_prices else _exact(posting, books)
                line = _line(posting, units, entry, books, types)
                books.add(posting.location, entry_id, day, entry.description, line)
            except (AmountError, ValueError) as error:
                books.add_unread(posting.location, str(error), entry_id, date=entry.date, description=entry.description)
            else:
                balance += units
        if balance and has_prices and abs(balance) <= _tolerance(entry, books.options.scale):
            remainders.append(-balance)
            books.add(entry.location, entry_id, day, entry.description, NewLine(ROUNDING, -balance))
    _note_rounding(changes, remainders, books)


def _line(
    posting: PricedPosting, units: int, entry: JournalEntry, books: FileEntries, types: Mapping[str, str]
) -> NewLine:
    status = "reviewed" if posting.is_reviewed else "unreviewed"
    transaction = NewTransaction(entry.description, review_status=status)
    account = _path(posting.account, books.options.roots, types)
    return NewLine(account, units, posting.comment, transaction)


def _rounded(posting: PricedPosting, changes: defaultdict[str, Decimal], books: FileEntries) -> int:
    """Round a posting to minor units, and add up the difference.

    `changes` sums the differences by account.
    """
    rounded = EXACT.quantize(posting.value, _quantum(books.options.scale))
    changes[posting.account] = EXACT.add(changes[posting.account], EXACT.subtract(rounded, posting.value))
    return to_units(rounded, books.options.scale)


def _exact(posting: PricedPosting, books: FileEntries) -> int:
    """Convert a posting to minor units. Refuse an amount that would lose a digit."""
    scale = books.options.scale
    parsed = parse_amount(posting.value, MAX_SCALE)
    amount = EXACT.quantize(parsed.amount, _quantum(scale))
    if amount != parsed.amount or parsed.rounding_noise_removed:
        digits = -int(posting.value.normalize().as_tuple().exponent)
        raise AmountError(
            f"{posting.value:f} {posting.commodity} has {digits} fraction digits, and the books have "
            f"{scale}: import into a new database with --scale {digits}, or open it with scale={digits}"
        )
    return to_units(amount, scale)


def _quantum(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def _tolerance(entry: JournalEntry, scale: int) -> int:
    """Return the tolerance of an entry.

    For each posting, allow one unit of the least exact amount.
    """
    exponents = [
        int(posting.value.as_tuple().exponent)
        for posting in entry.postings
        if posting.value and not posting.is_converted
    ]
    return int(10 ** max(scale + max(exponents, default=-scale), 0)) * len(entry.postings)


def _note_rounding(changes: Mapping[str, Decimal], remainders: Sequence[int], books: FileEntries) -> None:
    """Write notes on rounding: changed accounts, and remainders of entries."""
    scale = books.options.scale
    changed = sorted(((abs(change), account) for account, change in changes.items() if change), reverse=True)
    if changed:
        named = ", ".join(f"{account} by {format_amount(change.normalize())}" for change, account in changed[:3])
        books.notes.append(
            f"amounts at prices were rounded to {scale} digits, which changes {len(changed)} accounts, most {named}; "
            "a new database imported with --scale, or a file opened with scale=, has more digits"
        )
    if remainders:
        shown = [
            format_amount(from_minor_units(units, scale)) for units in (sum(remainders), max(map(abs, remainders)))
        ]
        books.notes.append(
            f"what remained of {len(remainders)} entries after rounding is on {ROUNDING}: "
            f"{shown[0]} in all, at most {shown[1]} in one"
        )


def _path(account: str, roots: Iterable[tuple[str, str]], types: Mapping[str, str]) -> str:
    """Put an account below a root with a type, if necessary."""
    for old, new in roots:
        if account == old or account.startswith(f"{old}{PATH_SEPARATOR}"):
            return f"{new}{account[len(old) :]}"
    root = account.partition(PATH_SEPARATOR)[0].casefold()
    if root in TYPE_OF_ROOT or account == VIRTUAL:
        return account
    declared = types.get(account) or dict(roots).get("*")
    return f"{declared}{PATH_SEPARATOR}{account}" if declared else account


def _first_few(entries: Sequence[JournalEntry]) -> str:
    more = len(entries) - _MAX_NAMED
    return ", ".join(map(str, entries[:_MAX_NAMED])) + (f" and {more} more" if more > 0 else "")
