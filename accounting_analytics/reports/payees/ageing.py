"""Receivables and payables by age: what each party owes or is owed, and since when.

An entry that increases the balance is an item, one that decreases it is set against items of its party: those of the
invoice numbers that it names, else one of exactly its amount, else the oldest.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from rich.cells import cell_len, set_cell_size

from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.ledger_names import PATH_SEPARATOR
from accounting_analytics.core.messages import TERMINAL_WIDTH, count_of, join_ids, printable, quote, shorten_middle
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.core.periods import day_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import AgeingRows, Ledgers, OpenItems
from accounting_analytics.reports.books.party_texts import NOT_NAMED, read_party_texts
from accounting_analytics.reports.books.payees import OPEN_ITEMS, texts_of_lines
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_terms
from accounting_analytics.reports.figures.figure_table import figure_table_html, table_of_figures
from accounting_analytics.reports.figures.figure_text import TextColumn, figure_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books

BUCKETS = ("0-30", "31-60", "61-90", "over 90")
_LAST_DAYS = (30, 60, 90)
NOT_MATCHED = "not matched"
"""The party of payments that no open item is of."""
MOST_NOT_MATCHED = 0.1
"""Share of what is open above which payments without an item make the ageing unknown."""
_ITEMS, _INVOICE_WIDTH, _LEAST_PARTY = 30, 20, 12
"""How many open items of a ledger are listed as text, and widths of their numbers and parties."""
_AVERAGED = dt.timedelta(days=365)
_BETWEEN_NUMBERS = ", "
_OPENING = re.compile(r"\bopening\b|\bbrought forward\b", re.IGNORECASE)
READ_FROM_TEXTS = (
    "Parties and invoice numbers are read from the texts of entries, and the parties of ledgers below from their names."
)
_SIGNS: Mapping[str, int] = {LedgerType.ASSET: 1, LedgerType.LIABILITY: -1}
"""Sign of a debit on ledgers that have ages, whatever their own side, as in statements."""


class LedgerItem(NamedTuple):
    """A line of a receivable or payable: positive units increase what is open.

    `party` and `invoice`, its numbers, are what its text names, `is_paid` is whether its entry touches cash, and
    `is_named` whether the text, or the ledger, certainly names the party.
    """

    id: str
    day: dt.date
    units: int
    text: str
    party: str
    invoice: str
    is_paid: bool
    is_named: bool = False

    @property
    def numbers(self) -> list[str]:
        """Invoice numbers."""
        return self.invoice.split(_BETWEEN_NUMBERS) if self.invoice else []


@dataclass
class OpenItem:
    """An item and what is open of it; of a payment without an item, what is left of it, below zero."""

    item: LedgerItem
    open_units: int


class Settlement(NamedTuple):
    """Units of an item that a payment settled, and the days between them."""

    day: dt.date
    units: int
    days: int


@dataclass(frozen=True)
class AgedAccount:
    """What is open on a ledger.

    Attributes
    ----------
    ledger_id, name : str
        The ledger.
    items : tuple of OpenItem
        What is open, oldest first, and payments that no item is of.
    average_days : float or None
        Days between an item and its payment in the year before, weighted by amount.
    reason : str
        Why the ages are not known; empty if they are.
    """

    ledger_id: str
    name: str
    items: tuple[OpenItem, ...]
    average_days: float | None
    reason: str

    @property
    def parties(self) -> dict[str, list[OpenItem]]:
        """Open items by party, the most money first; payments without an item are last."""
        found: dict[str, list[OpenItem]] = {}
        for one in self.items:
            found.setdefault(one.item.party if one.open_units > 0 else NOT_MATCHED, []).append(one)
        sums = {party: sum(one.open_units for one in items) for party, items in found.items()}
        return {party: found[party] for party in sorted(found, key=lambda one: (one == NOT_MATCHED, -sums[one], one))}


@dataclass(frozen=True, repr=False, eq=False)
class Ageing(Result):
    """What :func:`ageing` returns; ``result["Receivables", "31-60"]`` is a figure, made of those of the parties.

    Parameters
    ----------
    end_date : date
        The day at which items are counted old.
    accounts : tuple of AgedAccount
        The ledgers.
    scale : int
        Fraction digits of the amounts.
    notes : tuple of str
        Remarks for the reader.
    """

    end_date: dt.date
    accounts: tuple[AgedAccount, ...]
    scale: int
    notes: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.AgeingRows`: a row for each party of a ledger; all are its balance."""
        columns: dict[str, list[Any]] = {name: [] for name in AgeingRows.dtypes()}
        for account in self.accounts:
            for party, figures in self._by_party(account).items():
                values = (account.name, party, *(one.exact() for one in figures))
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
        return AgeingRows.from_columns(columns, self.scale)

    @property
    def open_items(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.OpenItems`: each open item, oldest first, and payments without one."""
        columns: dict[str, list[Any]] = {name: [] for name in OpenItems.dtypes()}
        for account in self.accounts:
            for one in account.items:
                item = one.item
                amounts = (from_minor_units(units, self.scale) for units in (item.units, one.open_units))
                values = (
                    *(account.name, item.id, item.party, item.invoice or None, item.text),
                    *(pd.Timestamp(item.day), (self.end_date - item.day).days, *amounts),
                )
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
        return OpenItems.from_columns(columns, self.scale)

    def __getitem__(self, key: tuple[str, str]) -> Figure:
        """Figure of a ledger and a bucket (``0-30``, ``31-60``, ``61-90``, ``over 90``), or its ``total``."""
        name, bucket = key if isinstance(key, tuple) and len(key) == 2 else (key, "total")  # noqa: PLR2004 (a pair)
        found = [one for one in self.accounts if name in {one.name, one.ledger_id}]
        if len(found) != 1 or bucket not in {*BUCKETS, "total"}:
            known = ", ".join(quote(one.name) for one in self.accounts)
            raise InputError(
                f"{quote(key)} is not a figure: give a ledger ({known}) and one of {', '.join(BUCKETS)}, total"
            )
        return self._totals(found[0], self._by_party(found[0]))[(*BUCKETS, "total").index(bucket)]

    def rows(self, account: AgedAccount) -> list[tuple[str, list[Figure]]]:
        """Label and figures of each party of a ledger, then of the total."""
        by_party = self._by_party(account)
        return [*by_party.items(), ("Total", self._totals(account, by_party))]

    def _by_party(self, account: AgedAccount) -> dict[str, list[Figure]]:
        """Figures of the buckets and of all of them, by party; each is made of its items."""
        found: dict[str, list[Figure]] = {}
        for party, items in account.parties.items():
            parts: dict[str, list[Figure]] = {bucket: [] for bucket in BUCKETS}
            for one in items:
                parts[_bucket((self.end_date - one.item.day).days)].append(self._item(one, unknown=account.reason))
            key = f"{account.ledger_id}:{party}"
            row = [self._sum(f"{key}{KEY_SEPARATOR}{bucket}", f"{party}, {bucket}", of) for bucket, of in parts.items()]
            every = [one for of in parts.values() for one in of]
            found[party] = [*row, self._sum(f"{key}{KEY_SEPARATOR}total", party, every)]
        return found

    def _totals(self, account: AgedAccount, by_party: Mapping[str, list[Figure]]) -> list[Figure]:
        columns = zip(*by_party.values(), strict=True) if by_party else [[]] * (len(BUCKETS) + 1)
        return [
            self._sum(f"{account.ledger_id}{KEY_SEPARATOR}{bucket}", f"{account.name}, {bucket}", list(parts))
            for bucket, parts in zip((*BUCKETS, "total"), columns, strict=True)
        ]

    def _item(self, one: OpenItem, *, unknown: str) -> Figure:
        label = f"{one.item.text}, {day_label(one.item.day)}"
        units = None if unknown else one.open_units
        what = unknown or f"what is open of the entry of {day_label(one.item.day)}"
        return Figure(one.item.id, label, units, what, scale=self.scale)

    def _sum(self, key: str, label: str, parts: Sequence[Figure]) -> Figure:
        kept = [("+", one) for one in parts if one.units != 0]
        if not kept:
            return Figure(key, label, 0, "nothing is open", scale=self.scale)
        return figure_of_terms(key, label, kept)

    def summary(self) -> str:
        """One line: what is open, and how much of it for more than 90 days."""
        return " ".join(map(self._sentence, self.accounts))

    def _sentence(self, account: AgedAccount) -> str:
        if not account.items:
            return f"{account.name}: nothing is open on {day_label(self.end_date)}."
        units = sum(one.open_units for one in account.items)
        text = (
            f"{account.name}: {format_amount(from_minor_units(units, self.scale))} open on {day_label(self.end_date)}"
        )
        if account.reason:
            return f"{text}; its ages are not known: {account.reason}."
        old = from_minor_units(int(self[account.ledger_id, BUCKETS[-1]].units or 0), self.scale)
        paid = "" if account.average_days is None else f"; paid after {account.average_days:.0f} days on average"
        return f"{text}, {format_amount(old)} of it for more than 90 days{paid}."

    def _parts(self) -> Iterator[ResultPart]:
        for account in self.accounts:
            table = table_of_figures(
                f"{account.name} by age on {day_label(self.end_date)}",
                ["days since the entry, because no due date is known"],
                [*BUCKETS, "Total"],
                self.rows(account),
                None,
                scale=self.scale,
                call="ageing.open_items",
                ends_in_total=True,
            )
            columns = [
                TextColumn(head.text, [row.cells[place].text for row in table.rows])
                for place, head in enumerate(table.heads)
            ]
            lines = [f"{account.name}, by days since the entry", *figure_lines(table.rows, columns, TERMINAL_WIDTH)]
            yield ResultPart([*lines, *self._item_lines(account)], html=partial(figure_table_html, table))

    def _item_lines(self, account: AgedAccount) -> list[str]:
        """Text of the open items, the oldest first; invoice numbers and parties that are too long are shortened."""
        shown = account.items[:_ITEMS]
        days = [day_label(one.item.day) for one in shown]
        amounts = [self._item(one, unknown="").text for one in shown]
        invoices = _padded([one.item.invoice for one in shown], _INVOICE_WIDTH)
        others = (
            f"  {day:>{_widest(days)}}  {text:>{_widest(amounts)}}" for day, text in zip(days, amounts, strict=True)
        )
        ends = list(others)
        room = TERMINAL_WIDTH - _widest(invoices) - _widest(ends) - 4
        parties = _padded([one.item.party for one in shown], max(room, _LEAST_PARTY))
        lines = [f"  {invoice}  {party}{end}" for invoice, party, end in zip(invoices, parties, ends, strict=True)]
        rest = len(account.items) - len(shown)
        more = [f"  and {rest:,} newer: .open_items, or --json in a shell, lists all"] if rest else []
        return ["", "Open, the oldest first:", *lines, *more] if shown else []

    def _content(self) -> Mapping[str, Any]:
        return {
            "end_date": self.end_date,
            "parties": self.frame,
            "open_items": self.open_items,
            "average_days": {one.name: one.average_days for one in self.accounts},
            "not_known": {one.name: one.reason for one in self.accounts if one.reason},
            "notes": self.notes,
        }


def _padded(texts: Sequence[str], most: int) -> list[str]:
    """Texts of one width, of at most so many columns; longer ones are shortened in the middle."""
    shown = [shorten_middle(printable(text), most) for text in texts]
    width = max(map(cell_len, shown), default=0)
    return [set_cell_size(text, width) for text in shown]


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _bucket(days: int) -> str:
    return next((name for name, last in zip(BUCKETS, _LAST_DAYS, strict=False) if days <= last), BUCKETS[-1])


def ageing(books: Books, *, as_of: DateLike | None = None, accounts: Iterable[str] | None = None) -> Ageing:
    """List what is open on receivables and payables, by party and by the days since its entry.

    An entry that increases the balance of a ledger, or of one below it, is an item. One that decreases it is set
    against items of its party: those of the invoice numbers that it names, which its party, or only one party, has;
    else one of exactly its amount, also the only one of opening balances; else the oldest. Numbers are what follows
    "invoice" or "bill", also several. The party is the ledger below; else what follows words such as "payment of" or
    "invoice 7 to", or else the counterparty. The interface has no due dates, so that items are as old as their entries.

    Parameters
    ----------
    books : Books
        The books; where they begin after the first entry, items may be missing, and a note says so.
    as_of : date-like, optional
        The day at which ages are counted; by default that of the latest line of the period.
    accounts : iterable of str, optional
        Ledgers by id, unique name or path; by default those whose type of account is accounts receivable or payable.
        Those below them are included.

    Returns
    -------
    Ageing
        ``.frame`` has a row for each party, whose sum is the balance of the ledger; ``.open_items`` has each item.
        Payments that no item is of are a row of their own. Where they are more than a tenth of what is open, the ages
        are not known.

    Raises
    ------
    InputError
        An argument is of another type, or no ledger is a receivable or payable; one that is named, or one below it,
        reports cash flow or is neither an asset nor a liability.
    IncompleteLoadError
        Days until `as_of`, or a ledger, were not loaded.

    Examples
    --------
    ::

        aged = aa.ageing(books, as_of="2026-06-30")
        aged["Wholesale Receivables", "over 90"].terms
    """
    books = to_books(books)
    books.require_loaded("an ageing")
    source, last, chart, names = books.source, books.last_day(as_of), Ledgers.checked(books.ledgers), books.names
    chosen = _chosen(chart, names, accounts)
    _require_loaded(source, last, names, {below for one in chosen.values() for below in one})
    rows = source.until(last)
    paid = set(rows.loc[rows["ledger_id"].isin(source.cash), "_entry"])
    types = dict(zip(chart["id"], chart["type"], strict=True))
    aged = [
        _aged(ledger_id, names.name(ledger_id), _items(rows, source.scale, below, paid, types[ledger_id]), last)
        for ledger_id, below in chosen.items()
    ]
    parents = _parents_note(chart, set(rows["ledger_id"]) - {part for parts in chosen.values() for part in parts})
    notes = (*source.notes_until(last), *books.own_notes, *_start_note(books), *parents, READ_FROM_TEXTS)
    return Ageing(last, tuple(aged), source.scale, notes)


def _chosen(chart: pd.DataFrame, names: LedgerNames, accounts: Iterable[str] | None) -> dict[str, dict[str, str]]:
    """Ledgers that are named, or else receivables and payables; each with those below it, and their paths from it."""
    of_type = chart.loc[chart["financial_account_type"].isin(OPEN_ITEMS), "id"]
    found = list(of_type if accounts is None else dict.fromkeys(names.find(one) for one in accounts))
    if not found:
        raise InputError(
            "no ledger is an account of type accounts_receivable or accounts_payable; name those that are: "
            "accounts=[...], or --aged-ledger in a shell"
        )
    above = {one: [upper for upper in names.hierarchy.ancestors(one) if upper in set(found)] for one in found}
    if accounts is not None and any(above.values()):
        lower = next(one for one in found if above[one])
        raise InputError(
            f"{quote(names.path(lower))} is below {quote(names.path(above[lower][0]))}, whose ages include it; name one"
        )
    chosen = {
        one: {below: _path_from(names, one, below) for below in sorted(names.hierarchy.with_descendants(one))}
        for one in found
        if not above[one]
    }
    _require_aged(chart, names, chosen)
    return chosen


def _path_from(names: LedgerNames, ledger_id: str, below: str) -> str:
    """Path of a ledger from one above it; empty for that one itself."""
    return names.path(below).removeprefix(names.path(ledger_id)).removeprefix(PATH_SEPARATOR)


def _require_aged(chart: pd.DataFrame, names: LedgerNames, chosen: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse ledgers that are neither assets nor liabilities, and those that report cash flow, also below another."""
    for row in chart[chart["id"].isin([one for below in chosen.values() for one in below])].to_dict("records"):
        why = "reports cash flow" if row["report_cash_flow"] else f"is of type {row['type']}"
        if row["report_cash_flow"] or row["type"] not in _SIGNS:
            raise InputError(
                f"{quote(names.path(row['id']))} {why}; ages are those of receivables (assets) and payables "
                "(liabilities), with all ledgers below them"
            )


def _require_loaded(source: LineSource, last: dt.date, names: LedgerNames, aged: Collection[str]) -> None:
    """Refuse lines that were not loaded until the last day, or not of all ledgers."""
    absent = set(source.extent.absent(aged))
    named = [names.name(one) for one in names.ids if one in absent]
    why = [*filter(None, [source.missing_until(last)]), *(f"{quote(one)} was not loaded" for one in named)]
    if why:
        raise IncompleteLoadError(f"what is open on {day_label(last)} is not known: {'; '.join(why)}")


def _start_note(books: Books) -> Iterator[str]:
    """State since when items are counted, where the lines may not reach back to the first entry."""
    if books.extent.is_stated and (books.opening.is_movement or books.opening.units is not None):
        first = books.source.loaded.start_date
        yield f"Items are counted since {day_label(first)}; what was open before is not in the lines."


def _parents_note(chart: pd.DataFrame, others: Collection[str]) -> Iterator[str]:
    """Name other ledgers with lines that may be below a listed one, because their parents are not known."""
    if "parent_known" in chart:
        may_be_below = (
            chart["type"].isin(_SIGNS) & ~chart["report_cash_flow"] & ~chart["parent_known"].fillna(value=True)
        )
        names = list(chart.loc[may_be_below & chart["parent_id"].isna() & chart["id"].isin(others), "name"])
        if names:
            yield (
                f"The parents of {count_of(len(names), 'ledger')} are not known ({join_ids(names)}): what is below a "
                "listed ledger may be missing; give them as parents= of discover_ledgers."
            )


def _items(
    lines: pd.DataFrame, scale: int, below: Mapping[str, str], paid: set[str], ledger_type: str
) -> list[LedgerItem]:
    """Lines of a ledger and those below it, with what their texts name; increases of a day are first.

    The party of a line below is the path to its ledger.
    """
    sign = _SIGNS[ledger_type]
    rows = lines[lines["ledger_id"].isin(list(below))]
    texts = texts_of_lines(rows)
    columns = (rows["id"], rows["local_date"].dt.date, rows["signed_amount"], rows["_entry"], rows["ledger_id"])
    found = [
        LedgerItem(
            line_id,
            day,
            sign * to_minor_units(amount, scale),
            read.text,
            below[ledger_id].upper() or read.party,
            _BETWEEN_NUMBERS.join(read.numbers),
            is_paid=entry in paid,
            is_named=read.is_named or bool(below[ledger_id]),
        )
        for line_id, day, amount, entry, ledger_id, read in zip(*columns, read_party_texts(texts), strict=True)
    ]
    ordered = sorted(found, key=lambda one: (one.day, -one.units, one.id))
    spelling: dict[str, str] = {}
    return [one._replace(party=spelling.setdefault(name_key(one.party), one.party)) for one in ordered]


def _aged(ledger_id: str, name: str, items: Sequence[LedgerItem], last: dt.date) -> AgedAccount:
    """Set the payments of a ledger against its items."""
    matched = _Matching(items)
    recent = [one for one in matched.settled if last - one.day < _AVERAGED]
    weight = sum(one.units for one in recent)
    average = sum(one.units * one.days for one in recent) / weight if weight else None
    still_open = sorted((one for one in matched.entries if one.open_units), key=lambda one: (one.item.day, one.item.id))
    early = [one for one in still_open if one.open_units < 0]
    left, open_units = (
        -sum(one.open_units for one in early),
        sum(one.open_units for one in still_open if one.open_units > 0),
    )
    reason = ""
    if left > MOST_NOT_MATCHED * open_units:
        payments = count_of(len(early), "payment")
        reason = f"{payments} of {len(items):,} entries match no item, which is more than a tenth of what is open"
    return AgedAccount(ledger_id, name, tuple(still_open), average, reason)


class _Matching:
    """Payments of a ledger set against its items: first those of the numbers that they name, then those of their party.

    Parameters
    ----------
    items : sequence of LedgerItem
        Lines of the ledger by day, increases of a day first.
    """

    def __init__(self, items: Sequence[LedgerItem]) -> None:
        self.entries = [OpenItem(one, one.units) for one in items]
        self.settled: list[Settlement] = []
        self._payers = {one.party for one in items if one.units < 0}
        self._named = {one.party for one in items if one.is_named}
        self._by_number: dict[str, list[OpenItem]] = defaultdict(list)
        for entry in self.entries:
            for number in entry.item.numbers if entry.item.units > 0 else ():
                self._by_number[number].append(entry)
        payments = [one for one in self.entries if one.item.units < 0]
        of_numbers = {one.item.id: self._of_numbers(one.item) for one in payments}
        for payment in payments:
            self._settle(payment, of_numbers[payment.item.id])
        self._settle_by_party({line_id for line_id, found in of_numbers.items() if found})

    def _of_numbers(self, payment: LedgerItem) -> list[OpenItem]:
        """Items of the numbers and the party that a payment names; of a number alone, those of the only party with it.

        A party that another text names is not that of a payment that names its own.
        """
        found = [self._by_number[one] for one in payment.numbers if one in self._by_number]
        own = [one for items in found for one in items if one.item.party == payment.party != NOT_NAMED]
        if own or not found:
            return own
        found = [[one for one in items if one.item.day <= payment.day] or items for items in found]
        parties = [{one.item.party for one in items} for items in found]
        of_all = set.intersection(*parties)
        is_other = payment.is_named or payment.party in self._named
        return [
            one
            for items, of_number in zip(found, parties, strict=True)
            if len(of_all or of_number) == 1
            for one in items
            if one.item.party in (of_all or of_number) and not (is_other and one.item.is_named)
        ]

    def _settle_by_party(self, found: Collection[str]) -> None:
        """Set what is left of payments against items of their party; `found` are those whose numbers items have."""
        claims: dict[str, list[OpenItem]] = defaultdict(list)
        early: dict[str, list[OpenItem]] = defaultdict(list)
        opening: list[OpenItem] = []
        for entry in self.entries:
            item, of_party = entry.item, claims[entry.item.party]
            if item.units > 0:
                for payment in early[item.party]:
                    if not (payment.item.numbers and item.numbers):
                        self._settle(payment, [entry])
                of_party.append(entry)
                if _OPENING.search(item.text) and not item.is_named:
                    opening.append(entry)
            else:
                is_found = item.id in found
                known = [one for one in of_party if is_found or not (item.numbers and one.item.numbers)]
                if item.numbers and item.party == NOT_NAMED:
                    known = []
                exact = [one for one in known if one.open_units == -entry.open_units]
                unpaid = [one for one in opening if one.open_units == -entry.open_units]
                unpaid = [one for one in unpaid if one.item.party not in self._payers]
                sole = unpaid if len(unpaid) == 1 and not is_found else []
                self._settle(entry, exact[:1] or sole or known)
                early[item.party].append(entry)
            for of_side in (claims, early):
                of_side[item.party] = [one for one in of_side[item.party] if one.open_units]

    def _settle(self, payment: OpenItem, items: Iterable[OpenItem]) -> None:
        """Set a payment against items, in order, as far as it goes."""
        for one in items:
            units = min(-payment.open_units, one.open_units)
            payment.open_units += units
            one.open_units -= units
            if units and payment.item.is_paid and one.item.day <= payment.item.day:
                days = (payment.item.day - one.item.day).days
                self.settled.append(Settlement(payment.item.day, units, days))
