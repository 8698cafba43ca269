"""Receivables and payables by age: open items of each party, and its days to pay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.cells import cell_len, set_cell_size

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.messages import TERMINAL_WIDTH, count_of, join_ids, printable, quote, shorten_middle
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import day_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import AgeingRows, DaysToPayRows, OpenItems, PaidItems
from accounting_analytics.reports.books.payees import OPEN_ITEMS
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_terms
from accounting_analytics.reports.figures.figure_table import FigureRow, figure_table_html, table_of_figures
from accounting_analytics.reports.figures.table_text import TextColumn, figure_lines
from accounting_analytics.reports.payees.open_items import (
    SIGNS,
    Matching,
    items_of_accounts,
    signs_of_ledgers,
    why_not_known,
    with_ledgers_below,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.payees.open_items import DaysToPay, LedgerItem, OpenItem

BUCKETS = ("0-30", "31-60", "61-90", "over 90")
_HEADS = {**{bucket: bucket for bucket in BUCKETS}, "total": "Total", "late": "Late"}
_COLUMNS = tuple(_HEADS)
_NO_USUAL = "how long its items usually take is not known: it takes five paid items of a year"
_MUCH_SLOWER = 1.25
_LAST_DAYS = (30, 60, 90)
NOT_MATCHED = "not matched"
"""The party that stands for payments without an open item."""
_ITEMS, _INVOICE_WIDTH, _LEAST_PARTY = 30, 20, 12
"""Most open items of a ledger that are listed as text, and the widths of their numbers and parties."""
READ_FROM_TEXTS = (
    "Parties and invoice numbers are read from the texts of entries, and the parties of ledgers below from their names."
)


@dataclass(frozen=True)
class AgedAccount:
    """The open items of a ledger, and its parties' days to pay.

    Attributes
    ----------
    ledger_id, name : str
        The ledger.
    items : tuple of OpenItem
        What is open, oldest first, and payments that no item is of.
    days_to_pay : mapping of str to DaysToPay
        How long each party took for the items that payments of cash settled in whole.
    usual : DaysToPay
        The same of all parties.
    reason : str
        Why the ages are not known; empty if they are.
    """

    ledger_id: str
    name: str
    items: tuple[OpenItem, ...]
    days_to_pay: Mapping[str, DaysToPay]
    usual: DaysToPay
    reason: str

    @property
    def parties(self) -> dict[str, list[OpenItem]]:
        """Group open items by party: the largest amount first, unmatched payments last."""
        found: dict[str, list[OpenItem]] = {}
        for entry in self.items:
            found.setdefault(entry.item.party if entry.open_units > 0 else NOT_MATCHED, []).append(entry)
        sums = {party: sum(entry.open_units for entry in items) for party, items in found.items()}
        return {party: found[party] for party in sorted(found, key=lambda who: (who == NOT_MATCHED, -sums[who], who))}

    def late_after(self, party: str) -> float | None:
        """Return the days within which a party pays 9 of 10 items.

        A party with few paid items has the days of all parties.
        """
        own = self.days_to_pay.get(party)
        return self.usual.late_after if own is None or own.late_after is None else own.late_after


@dataclass(frozen=True, repr=False, eq=False)
class Ageing(Result):
    """Open items by party and age, as :func:`ageing` returns them; ``result["Receivables", "31-60"]`` is a figure.

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
        """A row for each party of a ledger: :class:`~accounting_analytics.schemas.AgeingRows`."""
        rows: list[Sequence[Any]] = []
        for account in self.accounts:
            for party, figures in self._by_party(account).items():
                own = account.days_to_pay.get(party)
                days = (None, None) if own is None or account.reason else (own.median, own.last)
                rows.append((account.name, party, *(figure.exact() for figure in figures), *days))
        return AgeingRows.from_rows(rows, self.scale)

    @property
    def open_items(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.OpenItems`: each open item, oldest first, and payments without one."""
        rows: list[Sequence[Any]] = []
        for account in self.accounts:
            for entry in account.items:
                item = entry.item
                amounts = (from_minor_units(units, self.scale) for units in (item.units, entry.open_units))
                rows.append(
                    (
                        *(account.name, item.id, item.party, item.invoice or None, item.text),
                        *(pd.Timestamp(item.day), (self.end_date - item.day).days, *amounts),
                        None if account.reason else account.late_after(item.party),
                    )
                )
        return OpenItems.from_rows(rows, self.scale)

    @property
    def days_to_pay(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.DaysToPayRows`: a row for each party that paid within a year."""
        rows: list[Sequence[Any]] = []
        for account in self._matched():
            for party, days in _slowest_first(account):
                last = days.paid[-1]
                measures = (len(days.paid), days.median, round(days.average or 0, 1), last.days, pd.Timestamp(last.day))
                rows.append((account.name, party, *measures, days.change, days.late_after))
        return DaysToPayRows.from_rows(rows, self.scale)

    @property
    def paid_items(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.PaidItems`: each item that was paid within a year, by its payment."""
        rows: list[Sequence[Any]] = []
        for account in self._matched():
            for paid in account.usual.paid:
                item, days = paid.item, map(pd.Timestamp, (paid.item.day, paid.day))
                texts = (account.name, item.id, LIST_SEPARATOR.join(paid.payment_ids), item.party, item.invoice or None)
                rows.append((*texts, *days, paid.days, from_minor_units(item.units, self.scale)))
        return PaidItems.from_rows(rows, self.scale)

    def _matched(self) -> Iterator[AgedAccount]:
        """Yield the ledgers whose ages are known."""
        return (account for account in self.accounts if not account.reason)

    def __getitem__(self, key: tuple[str, str]) -> Figure:
        """Return the figure of a ledger and ``0-30``, ``31-60``, ``61-90``, ``over 90``, ``total``, or ``late``."""
        name, column = key if isinstance(key, tuple) and len(key) == 2 else (key, "total")  # noqa: PLR2004 (a pair)
        found = [account for account in self.accounts if name in {account.name, account.ledger_id}]
        if len(found) != 1 or column not in _COLUMNS:
            known = ", ".join(quote(account.name) for account in self.accounts)
            raise InputError(f"{quote(key)} is not a figure: give a ledger ({known}) and one of {', '.join(_COLUMNS)}")
        return self._totals(found[0], self._by_party(found[0]))[_COLUMNS.index(column)]

    def rows(self, account: AgedAccount) -> list[tuple[str, list[Figure]]]:
        """Return the label and the figures of each party of a ledger, then of the total."""
        by_party = self._by_party(account)
        return [*by_party.items(), ("Total", self._totals(account, by_party))]

    def usual_days(self, account: AgedAccount) -> list[str]:
        """Write the median and the last days to pay of each row's party."""
        paid = [account.days_to_pay.get(party) for party in account.parties]
        return ["" if days is None else _days_text(days) for days in (*paid, account.usual)]

    def _by_party(self, account: AgedAccount) -> dict[str, list[Figure]]:
        """Make the figures of each party's columns from its items' figures."""
        found: dict[str, list[Figure]] = {}
        for party, items in account.parties.items():
            parts: dict[str, list[Figure]] = {column: [] for column in _COLUMNS}
            late_after = account.late_after(party)
            for entry in items:
                age = (self.end_date - entry.item.day).days
                figure = self._item(entry, unknown=account.reason)
                for column in (_bucket(age), "total", *(["late"] if _is_late(entry, age, late_after) else [])):
                    parts[column].append(figure)
            key = f"{account.ledger_id}:{party}"
            found[party] = [
                self._sum(f"{key}{KEY_SEPARATOR}{column}", party if column == "total" else f"{party}, {column}", of)
                for column, of in parts.items()
            ]
            if late_after is None and party != NOT_MATCHED:
                found[party][-1] = replace(found[party][-1], units=None, calculation=_NO_USUAL)
        return found

    def _totals(self, account: AgedAccount, by_party: Mapping[str, list[Figure]]) -> list[Figure]:
        columns = zip(*by_party.values(), strict=True) if by_party else [[]] * len(_COLUMNS)
        return [
            self._sum(f"{account.ledger_id}{KEY_SEPARATOR}{column}", f"{account.name}, {column}", list(parts))
            for column, parts in zip(_COLUMNS, columns, strict=True)
        ]

    def _item(self, entry: OpenItem, *, unknown: str) -> Figure:
        label = f"{entry.item.text}, {day_label(entry.item.day)}"
        units = None if unknown else entry.open_units
        what = unknown or f"what is open of the entry of {day_label(entry.item.day)}"
        return Figure(entry.item.id, label, units, what, scale=self.scale)

    def _sum(self, key: str, label: str, parts: Sequence[Figure]) -> Figure:
        kept = [("+", part) for part in parts if part.units != 0]
        if not kept:
            return Figure(key, label, 0, "nothing is open", scale=self.scale)
        return figure_of_terms(key, label, kept)

    def summary(self) -> str:
        """Say in one line how much is open, and over 90 days, and the usual days to pay."""
        return " ".join(map(self._sentence, self.accounts))

    def _sentence(self, account: AgedAccount) -> str:
        if not account.items:
            return f"{account.name}: nothing is open on {day_label(self.end_date)}."
        units = sum(entry.open_units for entry in account.items)
        text = (
            f"{account.name}: {format_amount(from_minor_units(units, self.scale))} open on {day_label(self.end_date)}"
        )
        if account.reason:
            return f"{text}; its ages are not known: {account.reason}."
        old = from_minor_units(int(self[account.ledger_id, BUCKETS[-1]].units or 0), self.scale)
        paid = "" if account.usual.median is None else f"; usually paid after {account.usual.median:g} days"
        return f"{text}, {format_amount(old)} of it for more than 90 days{paid}."

    def sentences(self) -> list[str]:
        """Write for each ledger its days to pay, unusually slow parties, and late items."""
        return [sentence for account in self._matched() for sentence in self._sentences_of(account)]

    def _sentences_of(self, account: AgedAccount) -> Iterator[str]:
        usual, parties = account.usual, _slowest_first(account)
        if usual.median is None:
            return
        paid = count_of(len(usual.paid), "item")
        yield (
            f"{account.name}: of {paid} paid in the year to {day_label(self.end_date)}, half took {usual.median:g} "
            f"days or less{_trend(usual)}; no due dates are known."
        )
        (slowest, days), *others = parties
        if others and days.average and days.average > _MUCH_SLOWER * max(of.average or 0 for _, of in others):
            averages = [f"{of.average:.0f}" for _, of in (others[-1], others[0])]
            rest = averages[0] if len(set(averages)) == 1 else " to ".join(averages)
            yield f"{slowest} takes {days.average:.0f} days on average, all others {rest}."
        late = self[account.ledger_id, "late"]
        if late.units:
            who = ", ".join(
                f"{party} {figures[-1].text}" for party, figures in self._by_party(account).items() if figures[-1].units
            )
            yield f"Open for longer than nine of ten items of the same party took: {who}."

    def _parts(self) -> Iterator[ResultPart]:
        for account in self.accounts:
            table = table_of_figures(
                f"{account.name} by age on {day_label(self.end_date)}",
                ["days since the entry, because no due date is known"],
                [_HEADS[column] for column in _COLUMNS],
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
        yield ResultPart([f"- {sentence}" for sentence in self.sentences()])
        yield ResultPart(self._days_lines(), self.days_to_pay.drop(columns="late_after_days"), max_rows=None)

    def _days_lines(self) -> list[str]:
        """Write the days to pay of each party as text lines."""
        lines: list[str] = []
        for account in self._matched():
            parties = _slowest_first(account)
            if not parties:
                continue
            columns = {
                "Items": [f"{len(days.paid):,}" for _, days in parties],
                "Median": [f"{days.median:g}" for _, days in parties],
                "Average": [f"{days.average:.1f}" for _, days in parties],
                "Last": [f"{days.last}" for _, days in parties],
                "Change": ["" if days.change is None else f"{days.change:+g}" for _, days in parties],
            }
            rows = [FigureRow(party, 0, "ledger", ()) for party, _ in parties]
            texts = [TextColumn(head, values) for head, values in columns.items()]
            lines += ["", f"{account.name}, days to pay", *figure_lines(rows, texts, TERMINAL_WIDTH)]
        return lines[1:]

    def _item_lines(self, account: AgedAccount) -> list[str]:
        """Write the open items, the oldest first, with long names shortened."""
        shown = account.items[:_ITEMS]
        days = [day_label(entry.item.day) for entry in shown]
        amounts = [self._item(entry, unknown="").text for entry in shown]
        invoices = _padded([entry.item.invoice for entry in shown], _INVOICE_WIDTH)
        others = (
            f"  {day:>{_widest(days)}}  {text:>{_widest(amounts)}}" for day, text in zip(days, amounts, strict=True)
        )
        ends = list(others)
        room = TERMINAL_WIDTH - _widest(invoices) - _widest(ends) - 4
        parties = _padded([entry.item.party for entry in shown], max(room, _LEAST_PARTY))
        lines = [f"  {invoice}  {party}{end}" for invoice, party, end in zip(invoices, parties, ends, strict=True)]
        rest = len(account.items) - len(shown)
        more = [f"  and {rest:,} newer: .open_items, or --json in a shell, lists all"] if rest else []
        return ["", "Open, the oldest first:", *lines, *more] if shown else []

    def _content(self) -> Mapping[str, Any]:
        return {
            "end_date": self.end_date,
            "counterparties": self.frame,
            "open_items": self.open_items,
            "days_to_pay": self.days_to_pay,
            "paid_items": self.paid_items,
            "sentences": self.sentences(),
            "not_known": {account.name: account.reason for account in self.accounts if account.reason},
        }


def _slowest_first(account: AgedAccount) -> list[tuple[str, DaysToPay]]:
    """List parties with their days to pay, the slowest first.

    Only parties that paid within a year are listed.
    """
    paid = [(party, days) for party, days in account.days_to_pay.items() if days.paid]
    return sorted(paid, key=lambda party: (-(party[1].average or 0), party[0]))


def _days_text(days: DaysToPay) -> str:
    return "" if days.median is None else f"{days.median:g}, last {days.last}"


def _trend(days: DaysToPay) -> str:
    """Say how the median days differ from the year before."""
    if days.change is None or not days.change:
        return "" if days.change is None else ", as the year before"
    return f", {abs(days.change):g} {'more' if days.change > 0 else 'less'} than the year before"


def _is_late(entry: OpenItem, age: int, late_after: float | None) -> bool:
    return entry.open_units > 0 and late_after is not None and age > late_after


def _padded(texts: Sequence[str], most: int) -> list[str]:
    """Pad texts to one width, and cut the middle of longer texts."""
    shown = [shorten_middle(printable(text), most) for text in texts]
    width = max(map(cell_len, shown), default=0)
    return [set_cell_size(text, width) for text in shown]


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _bucket(days: int) -> str:
    return next((name for name, last in zip(BUCKETS, _LAST_DAYS, strict=False) if days <= last), BUCKETS[-1])


def ageing(books: Books, *, as_of: DateLike | None = None, accounts: Iterable[str] | None = None) -> Ageing:
    """List open receivables and payables, by party and by the days since each entry.

    An entry that increases the balance of a ledger, or of one below it, is an item. One that decreases it is set
    against items of its party: those of the invoice numbers that it names, which its party, or only one party, has;
    else one of exactly its amount, also the only one of opening balances; else the oldest. Numbers are what follows
    "invoice" or "bill", also several. The party is the ledger below; else what follows words such as "payment of" or
    "invoice 7 to", or else the counterparty. The interface has no due dates, so that items are as old as their entries,
    and late where they are open for longer than nine tenths of those that their party paid within a year.

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
        ``.frame`` has a row for each party, whose sum is the balance of the ledger; ``.open_items`` has each item,
        ``.days_to_pay`` how long each party took within a year, and ``.paid_items`` the items behind that. Payments
        that no item is of are a row of their own. Where they are more than a tenth of what is open, the ages are not
        known.

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
    source, last, chart, names = books.source, books.last_day(as_of), books.chart, books.names
    chosen = _chosen(chart, names, accounts)
    _require_loaded(source, last, names, {ledger_id for below in chosen.values() for ledger_id in below})
    rows = source.until(last)
    items = items_of_accounts(rows, source, signs_of_ledgers(chart), chosen)
    aged = [_aged(ledger_id, names.name(ledger_id), of_account, last) for ledger_id, of_account in items.items()]
    parents = _parents_note(chart, set(rows["ledger_id"]) - {part for parts in chosen.values() for part in parts})
    notes = (*source.notes_until(last), *books.own_notes, *_start_note(books), *parents, READ_FROM_TEXTS)
    return Ageing(last, tuple(aged), source.scale, notes)


def _chosen(chart: pd.DataFrame, names: LedgerNames, accounts: Iterable[str] | None) -> dict[str, dict[str, str]]:
    """Choose the named ledgers, else all receivables and payables.

    Each chosen ledger is mapped to the ledgers below it and their paths.
    """
    of_type = chart.loc[chart["financial_account_type"].isin(OPEN_ITEMS), "id"]
    found = list(of_type if accounts is None else dict.fromkeys(names.find(text) for text in accounts))
    if not found:
        raise InputError(
            "no ledger is an account of type accounts_receivable or accounts_payable; name those that are: "
            "accounts=[...], or --aged-ledger in a shell"
        )
    above = {
        ledger_id: [upper for upper in names.hierarchy.ancestors(ledger_id) if upper in set(found)]
        for ledger_id in found
    }
    if accounts is not None and any(above.values()):
        lower = next(ledger_id for ledger_id in found if above[ledger_id])
        raise InputError(
            f"{quote(names.path(lower))} is below {quote(names.path(above[lower][0]))}, whose ages include it; name one"
        )
    chosen = with_ledgers_below(names, found)
    _require_aged(chart, names, chosen)
    return chosen


def _require_aged(chart: pd.DataFrame, names: LedgerNames, chosen: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse ledgers of other types than assets and liabilities, and cash ledgers."""
    for row in chart[chart["id"].isin([ledger_id for below in chosen.values() for ledger_id in below])].to_dict(
        "records"
    ):
        why = "reports cash flow" if row["report_cash_flow"] else f"is of type {row['type']}"
        if row["report_cash_flow"] or row["type"] not in SIGNS:
            raise InputError(
                f"{quote(names.path(row['id']))} {why}; ages are those of receivables (assets) and payables "
                "(liabilities), with all ledgers below them"
            )


def _require_loaded(source: LineSource, last: dt.date, names: LedgerNames, aged: Collection[str]) -> None:
    """Refuse lines that lack days or ledgers."""
    absent = set(source.extent.absent(aged))
    named = [names.name(ledger_id) for ledger_id in names.ids if ledger_id in absent]
    why = [*filter(None, [source.missing_until(last)]), *(f"{quote(name)} was not loaded" for name in named)]
    if why:
        raise IncompleteLoadError(f"what is open on {day_label(last)} is not known: {'; '.join(why)}")


def _start_note(books: Books) -> Iterator[str]:
    """Say from which day items are counted, if earlier lines may exist."""
    if books.extent.is_stated and (books.opening.is_movement or books.opening.units is not None):
        first = books.source.loaded.start_date
        yield f"Items are counted since {day_label(first)}; what was open before is not in the lines."


def _parents_note(chart: pd.DataFrame, others: Collection[str]) -> Iterator[str]:
    """Name ledgers whose parents are not known and may be listed ledgers."""
    if "parent_known" in chart:
        may_be_below = (
            chart["type"].isin(SIGNS) & ~chart["report_cash_flow"] & ~chart["parent_known"].fillna(value=True)
        )
        names = list(chart.loc[may_be_below & chart["parent_id"].isna() & chart["id"].isin(others), "name"])
        if names:
            yield (
                f"The parents of {count_of(len(names), 'ledger')} are not known ({join_ids(names)}): what is below a "
                "listed ledger may be missing; give them as parents= of discover_ledgers."
            )


def _aged(ledger_id: str, name: str, items: Sequence[LedgerItem], last: dt.date) -> AgedAccount:
    """Set the payments of a ledger against its items."""
    matched = Matching(items)
    still_open = sorted(
        (entry for entry in matched.entries if entry.open_units), key=lambda entry: (entry.item.day, entry.item.id)
    )
    return AgedAccount(ledger_id, name, tuple(still_open), *matched.days_to_pay(last), why_not_known(matched.entries))
