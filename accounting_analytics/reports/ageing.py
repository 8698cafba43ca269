"""Receivables and payables by age: what each party owes or is owed, and since when.

An entry that increases the balance is an item, one that decreases it is set against items: those of the same invoice
number, else one of exactly its amount, else the oldest of its party.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.chart_of_accounts import DebitCredit, FinancialAccountType
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import (
    loaded_period,
    read_load_metadata,
    stated_books_start,
)
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import day_label, parse_date
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import AgeingRows, OpenItems
from accounting_analytics.reports.dated_lines import DatedLines
from accounting_analytics.reports.figure_table import figure_table_html, table_of_figures
from accounting_analytics.reports.figures import KEY_SEPARATOR, Figure, figure_of_terms
from accounting_analytics.reports.merchants import merchants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reports.lines_or_books import LocalBooks

BUCKETS = ("0-30", "31-60", "61-90", "over 90")
_LAST_DAYS = (30, 60, 90)
NOT_MATCHED = "not matched"
"""The party of payments that no open item is of."""
MOST_NOT_MATCHED = 0.1
"""Share of what is open above which payments without an item make the ageing unknown."""
_ITEMS = 30
"""How many open items of a ledger are listed as text."""
_AVERAGED = dt.timedelta(days=365)
_TEXTS = ("description", "journal_entry_description", "transaction_description")
_INVOICE = re.compile(
    r"(?:\b(?:invoice|inv|bill)\b\.?\s*(?:no\b\.?|number|#)?|#)\s*([a-z]*[-/]?\d[\w/-]*)", re.IGNORECASE
)
_PARTY = re.compile(r"\b(?:to|by|of|from)\s+(.+?)(?:\s+written off)?\s*$", re.IGNORECASE)
AGED = (FinancialAccountType.ACCOUNTS_RECEIVABLE, FinancialAccountType.ACCOUNTS_PAYABLE)
"""Types of account whose ages are listed."""


class LedgerItem(NamedTuple):
    """A line of a receivable or payable: positive units increase what is open.

    `party` and `invoice` are what its text names, `is_paid` is whether its entry touches cash.
    """

    id: str
    day: dt.date
    units: int
    text: str
    party: str
    invoice: str
    is_paid: bool


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
    _as_decimals: bool

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.AgeingRows`: a row for each party of a ledger; all are its balance."""
        columns: dict[str, list[Any]] = {name: [] for name in AgeingRows.dtypes()}
        for account in self.accounts:
            for party, figures in self._by_party(account).items():
                values = (account.name, party, *(one.exact() for one in figures))
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
        return AgeingRows.from_columns(columns, self.scale, as_decimals=self._as_decimals)

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
        return OpenItems.from_columns(columns, self.scale, as_decimals=self._as_decimals)

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
        return Figure(one.item.id, label, units, what, scale=self.scale, as_decimals=self._as_decimals)

    def _sum(self, key: str, label: str, parts: Sequence[Figure]) -> Figure:
        kept = [("+", one) for one in parts if one.units != 0]
        if not kept:
            return Figure(key, label, 0, "nothing is open", scale=self.scale, as_decimals=self._as_decimals)
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
            rows = self.rows(account)
            widths = [max(len(label) for label, _ in rows), *[14] * (len(BUCKETS) + 1)]
            heads = ["", *BUCKETS, "total"]
            lines = [_line([label, *(one.text for one in figures)], widths) for label, figures in rows]
            table = table_of_figures(
                f"{account.name} by age on {day_label(self.end_date)}",
                ["days since the entry, because no due date is known"],
                [*BUCKETS, "Total"],
                rows,
                None,
                scale=self.scale,
                call="ageing.open_items",
                ends_in_total=True,
            )
            lines = [account.name, _line(heads, widths), *lines, *self._item_lines(account)]
            yield ResultPart(lines, html=partial(figure_table_html, table))

    def _item_lines(self, account: AgedAccount) -> list[str]:
        """Text of the open items, the oldest first."""
        shown = [
            [one.item.invoice, one.item.party, day_label(one.item.day), self._item(one, unknown="").text]
            for one in account.items[:_ITEMS]
        ]
        widths = [max((len(row[place]) for row in shown), default=0) for place in range(4)]
        rest = len(account.items) - len(shown)
        lines = [
            f"  {invoice:<{widths[0]}}  {party:<{widths[1]}}  {day:>{widths[2]}}  {amount:>{widths[3]}}"
            for invoice, party, day, amount in shown
        ]
        more = [f"  and {rest:,} newer: .open_items, or --json in a shell, lists all"] if rest else []
        return ["Open, the oldest first:", *lines, *more] if shown else []

    def _content(self) -> Mapping[str, Any]:
        return {
            "end_date": self.end_date,
            "parties": self.frame,
            "open_items": self.open_items,
            "average_days": {one.name: one.average_days for one in self.accounts},
            "not_known": {one.name: one.reason for one in self.accounts if one.reason},
            "notes": self.notes,
        }


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    label, *others = texts
    return "  ".join(
        [label.ljust(widths[0]), *(text.rjust(width) for text, width in zip(others, widths[1:], strict=True))]
    )


def _bucket(days: int) -> str:
    return next((name for name, last in zip(BUCKETS, _LAST_DAYS, strict=False) if days <= last), BUCKETS[-1])


def ageing(
    line_entries: pd.DataFrame | LocalBooks,
    ledgers: pd.DataFrame | None = None,
    end_date: DateLike | None = None,
    *,
    accounts: Iterable[str] | None = None,
    books_start: DateLike | None = None,
    time_zone: ZoneLike | None = None,
) -> Ageing:
    """List what is open on receivables and payables, by party and by the days since its entry.

    An entry that increases the balance is an item. One that decreases it is set against items of the same invoice
    number; else against one of exactly its amount, of its party or the only one of a party that never pays (such as
    opening balances); else against the oldest of its party. The invoice number is what follows "invoice", "bill" or
    "#" in a text, and the party what follows "to", "by", "of" or "from", or else the merchant. The interface has no due
    dates, so that items are as old as their entries.

    Parameters
    ----------
    line_entries : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries` that reach back to the first entry, or local books.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`; local books have their own.
    end_date : date-like, optional
        The day at which ages are counted; by default that of the latest line.
    accounts : iterable of str, optional
        Ledgers by id, unique name or path; by default those whose type of account is accounts receivable or payable.
    books_start : date-like, optional
        First day of the books, as for :func:`balance_sheet`; lines that begin later may lack items, and a note says so.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load, else that of the ledgers if every ``local_date`` is
        a day of it.

    Returns
    -------
    Ageing
        ``.frame`` has a row for each party, whose sum is the balance of the ledger; ``.open_items`` has each item.
        Payments that no item is of are a row of their own. Where they are more than a tenth of what is open, the ages
        are not known.

    Raises
    ------
    InputError
        An argument is of another type, or no ledger is a receivable or payable.
    IncompleteLoadError
        Days until `end_date`, or a ledger, were not loaded.

    Examples
    --------
    ::

        aged = aa.ageing(lines, ledgers, "2026-06-30")
        aged["Wholesale Receivables", "over 90"].terms
    """
    lines = DatedLines.read(line_entries, ledgers, end_date, time_zone)
    chosen = _chosen(lines.ledgers, accounts)
    _require_loaded(lines, chosen)
    rows = lines.rows
    paid = set(rows.loc[rows["ledger_id"].isin(lines.cash), "_entry"])
    aged = [
        _aged(
            row["id"],
            row["name"],
            _items(rows[rows["ledger_id"] == row["id"]], row["debit_credit"], paid, lines.scale),
            lines.last,
        )
        for row in chosen.to_dict("records")
    ]
    notes = (*lines.notes, *_start_note(lines.given, books_start))
    return Ageing(lines.last, tuple(aged), lines.scale, notes, lines.as_decimals)


def _chosen(chart: pd.DataFrame, accounts: Iterable[str] | None) -> pd.DataFrame:
    """Ledgers that are named, or else receivables and payables."""
    if accounts is not None:
        names = LedgerNames.from_frame(chart)
        return chart[chart["id"].isin([names.find(one) for one in accounts])]
    found = chart[chart["financial_account_type"].isin(AGED)]
    if found.empty:
        raise InputError(
            "no ledger is an account of type accounts_receivable or accounts_payable; name those that are: "
            "accounts=[...], or --aged-ledger in a shell"
        )
    return found


def _require_loaded(lines: DatedLines, chosen: pd.DataFrame) -> None:
    """Refuse lines that were not loaded until the last day, or not of all ledgers."""
    load = read_load_metadata(lines.given) or {}
    absent = [row["name"] for row in chosen.to_dict("records") if row["id"] not in load.get("ledgers", [row["id"]])]
    why = [*lines.missing, *(f"{quote(one)} was not loaded" for one in absent)]
    if why:
        raise IncompleteLoadError(f"what is open on {lines.last} is not known: {'; '.join(why)}")


def _start_note(lines: pd.DataFrame, books_start: DateLike | None) -> Iterator[str]:
    """State since when items are counted, where the lines may not reach back to the first entry."""
    load = read_load_metadata(lines)
    if load is not None:
        first = loaded_period(load).start_date
        start = stated_books_start(lines) if books_start is None else parse_date(books_start, "books_start")
        if start is None or start < first:
            yield f"Items are counted since {day_label(first)}; what was open before is not in the lines."


def _items(rows: pd.DataFrame, side: str, paid: set[str], scale: int) -> list[LedgerItem]:
    """Lines of a ledger, with what their texts name; those of a day that increase the balance are first."""
    sign = 1 if side == DebitCredit.DEBIT else -1
    texts = [
        [str(one) for one in row if isinstance(one, str) and one.strip()]
        for row in zip(*(rows[name] for name in _TEXTS if name in rows), strict=True)
    ]
    payees = merchants([max(row, key=len, default="") for row in texts])
    columns = (rows["id"], rows["local_date"].dt.date, rows["signed_amount"], rows["_entry"], texts, payees)
    found = [
        LedgerItem(line_id, day, sign * to_minor_units(amount, scale), *_named(row, payee), entry in paid)
        for line_id, day, amount, entry, row, payee in zip(*columns, strict=True)
    ]
    return sorted(found, key=lambda one: (one.day, -one.units, one.id))


def _named(texts: Sequence[str], payee: str) -> tuple[str, str, str]:
    """Text of a line, and the party and the invoice number that its texts name."""
    text = max(texts, key=len, default="")
    invoice = next((found for one in texts if (found := _INVOICE.search(one))), None)
    rest = text[invoice.end() :] if invoice is not None and invoice.string == text else text
    party = _PARTY.search(rest)
    name = party[1] if party else payee
    return text, " ".join(name.upper().split()), invoice[1].upper() if invoice else ""


def _aged(ledger_id: str, name: str, items: Sequence[LedgerItem], last: dt.date) -> AgedAccount:
    """Set the payments of a ledger against its items."""
    claims: list[OpenItem] = []
    early: list[OpenItem] = []
    settled: list[Settlement] = []
    payers = {one.party for one in items if one.units < 0}
    for item in items:
        entry = OpenItem(item, item.units)
        others = _items_of(item, claims, payers) if item.units < 0 else _payments_of(item, early)
        for other in others:
            units = min(abs(entry.open_units), abs(other.open_units))
            sign = 1 if entry.open_units > 0 else -1
            entry.open_units -= sign * units
            other.open_units += sign * units
            if item.is_paid and item.units < 0:
                settled.append(Settlement(item.day, units, (item.day - other.item.day).days))
            if not entry.open_units:
                break
        claims = [one for one in claims if one.open_units]
        early = [one for one in early if one.open_units]
        if entry.open_units:
            (claims if item.units > 0 else early).append(entry)
    recent = [one for one in settled if last - one.day < _AVERAGED]
    weight = sum(one.units for one in recent)
    average = sum(one.units * one.days for one in recent) / weight if weight else None
    left, open_units = -sum(one.open_units for one in early), sum(one.open_units for one in claims)
    reason = ""
    if left > MOST_NOT_MATCHED * open_units:
        payments = count_of(len(early), "payment")
        reason = f"{payments} of {len(items):,} entries match no item, which is more than a tenth of what is open"
    ordered = sorted([*claims, *early], key=lambda one: (one.item.day, one.item.id))
    return AgedAccount(ledger_id, name, tuple(ordered), average, reason)


def _items_of(payment: LedgerItem, claims: Sequence[OpenItem], payers: set[str]) -> list[OpenItem]:
    """Items that a payment is set against, in order: the invoice, exactly its amount, or the oldest of its party."""
    of_party = [one for one in claims if one.item.party == payment.party]
    if of_invoice := [one for one in claims if payment.invoice and one.item.invoice == payment.invoice]:
        return [*of_invoice, *(one for one in of_party if one not in of_invoice)]
    if exact := [one for one in of_party if one.open_units == -payment.units]:
        return exact[:1]
    unpaid = [one for one in claims if one.open_units == -payment.units and one.item.party not in payers]
    return unpaid if len(unpaid) == 1 else of_party


def _payments_of(item: LedgerItem, early: Sequence[OpenItem]) -> list[OpenItem]:
    """Payments made before an item that are set against it: of its invoice, or of its party without an invoice."""
    return [
        one
        for one in early
        if (item.invoice and one.item.invoice == item.invoice)
        or (one.item.party == item.party and not (one.item.invoice and item.invoice))
    ]
