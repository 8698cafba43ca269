"""Checks of further columns of a bank's file: rows that are not booked, sides, currencies.

If they contradict the decisions of a person, or may belong to another account, currency or row, the file is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.journals.csv_cells import StatedForms, currency_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from accounting_analytics.core.periods import Period
    from accounting_analytics.journals.csv_cells import AmountCells, ExportRow
    from accounting_analytics.journals.file_entries import FileErrors

    Direction = Sequence[str] | Mapping[str, Mapping[str, str]]

DIRECTIONS = ("minus is out", "minus is in", "out", "in")
"""Directions of money: by the sign of an amount, or one direction for all amounts of a column."""
_TURNED = {"minus is out": "minus is in", "minus is in": "minus is out"}

_MAX_TEXTS, _MAX_NAMED, _MAX_WORDS, _ABBREVIATION = 6, 3, 5, 2
_UNBOOKED = (
    r"(un)?pending|processing|pre-?authori[sz](ed|ation)|authori[sz](ed|ation)|declined|denied|failed|rejected|void(ed)?"
    r"|cancel+ed|reversed|reverted|refused|scheduled|on hold|temporary hold|uncleared|incomplete"
    r"|vorgemerkt|ausstehend|nicht gebucht|storniert|abgelehnt|en attente|en cours|annul\u00e9e?|refus\u00e9e?"
    r"|pendiente|in behandeling|gereserveerd"
)
_ALL_UNBOOKED = re.compile(rf"{_UNBOOKED}|memo", re.IGNORECASE)
_SOME_UNBOOKED = re.compile(rf"\b({_UNBOOKED})\b", re.IGNORECASE)
_UNBOOKED_FLAG = re.compile(rf"(is[ _]?)?({_UNBOOKED})\??", re.IGNORECASE)
"""Patterns of texts in rows that are often not booked, and of headings of columns that mark such rows."""
_YES = {"true", "yes", "y", "1", "x", "t", "ja", "oui", "si"}
_DAY_OF_BOOKING = re.compile(
    r"(date )?(post(ed|ing)?|booked|booking|completed|cleared|settled|settlement)( ?(date|on|day))?|buchungs(tag|datum)"
    r"|wertstellung|date (de )?(comptabilisation|valeur)",
    re.IGNORECASE,
)
"""Pattern of headings of columns that have no day in rows that are not booked."""
_CURRENCY = re.compile(r"(currency|ccy|devise|moneda|divisa|valuta|w(\u00e4|ae)hrung|waluta|munt)\b.*", re.IGNORECASE)
_CURRENCY_ALONE = re.compile(
    rf"({_CURRENCY.pattern.removesuffix('.*')})( code)?|asset|commodity|coin|token", re.IGNORECASE
)
_ACCOUNT = re.compile(
    r"product|(account|iban|card|konto|compte|cuenta|rekening)( ?(number|no\.?|name|id|#))?", re.IGNORECASE
)
"""Pattern of headings of columns that have only one text in the file of one account."""
_ID = re.compile(r"((bank|payment|transaction|transferwise|txn|entry)[ _]?)?id|fitid", re.IGNORECASE)
_FEE = re.compile(r".*\b(fees?|commissions?|geb(\u00fc|ue)hr(en)?|frais|comisi[o\u00f3]n)\b.*", re.IGNORECASE)
_OUT = {
    *("d", "dr", "db", "dbit", "debit", "s", "soll", "af", "-", "out", "outgoing", "withdrawal", "withdrawals", "sent"),
    *("money out", "paid out", "ausgang", "belastung", "cargo", "dare"),
}
_IN = {
    *("c", "cr", "crdt", "credit", "h", "haben", "bij", "+", "in", "incoming", "deposit", "deposits", "received"),
    *("money in", "paid in", "eingang", "gutschrift", "abono", "avere"),
}
_NEITHER = {"check", "dslip", "memo", "balance"}
"""Sides as banks write them. A debit is money that leaves the account."""
_OF_SIDES = re.compile(
    r"debit|credit|soll|haben|side|sign|direction|\b[ds] ?/ ?[ch]\b|\bd[cr]\b|\bdr\W?cr\b|\bcr\W?dr\b", re.IGNORECASE
)
_BALANCE = re.compile(r"balance|saldo|solde|\bbal\b", re.IGNORECASE)
_GROUP, _REST = re.compile(r"[-+($ ]*\d{1,3}"), re.compile(r"\d{3}[.,]\d+[)-]?")


class BankFileChoices(NamedTuple):
    """Decisions of a person about a file; None is not stated.

    Attributes
    ----------
    account : str
        Path of the account of the file.
    date, balance, entry_id : str or None
        Headings of columns.
    text, amount : tuple of str
        Headings of columns; the first text of a row is the payee.
    date_order, decimal_mark : str or None
        One of DATE_ORDERS and DECIMAL_MARKS.
    direction : sequence of str, or mapping
        One of DIRECTIONS for each column of amounts, or a column and the meaning of each text in it.
    not_booked : mapping of str to texts, or None
        Columns, and their texts in rows that are not booked.
    only : mapping of str to texts
        Columns, and their texts in the rows that are read.
    opening, closing : Decimal or None
        Balances on the normal side of the account, as a statement prints them.
    period : Period or None
        Days that contain all rows.
    """

    account: str
    currency: str
    date: str | None = None
    text: tuple[str, ...] = ()
    amount: tuple[str, ...] = ()
    date_order: str | None = None
    decimal_mark: str | None = None
    direction: Direction | None = None
    not_booked: Mapping[str, tuple[str, ...]] | None = None
    only: Mapping[str, tuple[str, ...]] = {}
    balance: str | None = None
    entry_id: str | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    period: Period | None = None
    encoding: str = "utf-8"

    def forms(self, scale: int) -> StatedForms:
        """Return in which forms the cells of the file have dates, amounts and currency."""
        return StatedForms(self.date_order, self.decimal_mark, self.currency, scale)

    def headings(self) -> list[str]:
        """Return the headings of all columns that the decisions name."""
        return [*self._named(), *(self.not_booked or ()), *self.only]

    def others(self, row: ExportRow) -> list[str]:
        """Return the columns from which nothing is read, by which rows may be selected."""
        named = {*self._named()}
        return [column for column in row.cells if column and column not in named]

    def _named(self) -> list[str]:
        of_direction = self.direction if isinstance(self.direction, Mapping) else {}
        named = [self.date, *self.text, *self.amount, self.balance, self.entry_id, *of_direction]
        return [heading for heading in named if heading]


def require_one_account(rows: Sequence[ExportRow], given: BankFileChoices, errors: FileErrors) -> None:
    """Refuse several currencies or accounts, and a currency that is not stated."""
    for column in (*given.amount, *filter(None, [given.balance])):
        codes = currency_in(column)
        if codes and given.currency.upper() not in codes:
            errors.fail(f"the heading {quote(column)} says {' or '.join(codes)}, and currency= {quote(given.currency)}")
    for column in (heading for heading in rows[0].cells if heading not in {*given.text, *given.amount}):
        found = {row.cells[column]: row.place for row in reversed(rows) if row.cells[column]}
        are_codes = all(re.fullmatch("[A-Za-z]{3}", text) for text in found)
        is_currency = _CURRENCY.fullmatch(column) and are_codes
        is_one = is_currency or _ACCOUNT.fullmatch(column) or _is_currency_alone(column, found)
        if is_one and len(found) > 1 and column not in given.only:
            shown = ", ".join(f"{quote(text)} ({place})" for text, place in sorted(found.items())[:_MAX_NAMED])
            errors.fail(
                f"the column {quote(column)} has several texts, {shown}, and these books are of one account in one "
                f"currency: only={{{column!r}: {min(found)!r}}} reads the rows of one, a list of texts those of "
                "several, such as the cards of an account; if it is the account of the other side, name it in text="
            )
        for code, place in found.items():
            if is_currency and code.upper() != given.currency.upper():
                errors.fail(f"{quote(column)} says {quote(code)}, and currency= {quote(given.currency)}", place)


def _is_currency_alone(column: str, found: Mapping[str, str]) -> bool:
    return bool(_CURRENCY_ALONE.fullmatch(column)) and not any(re.search(r"\d", text) for text in found)


def refuse_doubled(rows: Sequence[ExportRow], given: BankFileChoices, errors: FileErrors) -> None:
    """Refuse equal rows that have an id, because only one row can have an id."""
    column = next((heading for heading in given.others(rows[0]) if _ID.fullmatch(heading)), None)
    if column is None:
        return
    first: dict[tuple[str, ...], str] = {}
    for row in rows:
        place = first.setdefault((*row.cells.values(),), row.place)
        if place != row.place and row.cells[column]:
            errors.add(
                row.place, f"it is equal to {place}, and {column} {quote(row.cells[column])} is of one row: remove one"
            )
    errors.raise_if_any()


def refuse_unquoted(row: ExportRow, given: BankFileChoices) -> None:
    """Refuse an amount that may continue in the next column.

    Without quotes, 1,234.50 becomes two cells. A row that ends before its balance is also refused, because its cells
    may belong to other columns.
    """
    columns = [*row.cells]
    if given.balance in columns[row.width :]:
        raise ValueError(
            f"it has {row.width} cells, and ends before {quote(given.balance)}: a separator is missing, or the cell of "
            f"the balance ({row.texts()})"
        )
    for column in given.amount:
        for after in columns[columns.index(column) + 1 :][:1]:
            is_other = after not in {given.balance, *given.amount}
            if is_other and _GROUP.fullmatch(row.cells[column]) and _REST.fullmatch(row.cells[after]):
                raise ValueError(
                    f"{quote(row.cells[column])} in {quote(column)} and {quote(row.cells[after])} in {quote(after)} "
                    "are two cells, or one amount that needs quotes"
                )


def check_fees(
    rows: Sequence[ExportRow], given: BankFileChoices, amounts: AmountCells, errors: FileErrors
) -> Iterator[str]:
    """Refuse amounts before fees if a column has net amounts. Yield notes on fees that are not read."""
    others = [heading for heading in given.others(rows[0]) if "balance" not in heading.casefold()]
    for column in filter(_FEE.fullmatch, others):
        with_fee = [row for row in rows if re.search("[1-9]", row.cells[column])]
        fees = [_units(row.cells[column], amounts) for row in with_fee]
        if not with_fee or None in fees:
            continue
        for gross in given.amount:
            for net in others:
                if _is_net(with_fee, gross, column, net, amounts):
                    errors.fail(
                        f"{quote(net)} is {quote(gross)} after {quote(column)}, which amount= does not have: name "
                        f"{quote(net)}, or {[gross, column]}",
                        with_fee[0].place,
                    )
        yield (
            f"{quote(column)} has amounts in {count_of(len(with_fee), 'row')}, such as {with_fee[0].place}, which were "
            f"not read beside those of {' and '.join(given.amount)}"
        )


def notes_of_balances(rows: Sequence[ExportRow], given: BankFileChoices) -> Iterator[str]:
    """Yield notes on columns that may be balances, which could be compared."""
    for column in given.others(rows[0]) if given.balance is None else ():
        if _BALANCE.search(column) and any(re.search(r"\d", row.cells[column]) for row in rows):
            yield f"{quote(column)} was not compared with the rows: balance={column!r} does so"


def _is_net(rows: Sequence[ExportRow], gross: str, fee: str, net: str, amounts: AmountCells) -> bool:
    """Return whether each row's `net` is `gross` less or plus its fee."""
    lost = 0
    for row in rows:
        before, taken, after = (_units(row.cells[column], amounts) for column in (gross, fee, net))
        if before is None or taken is None or after is None or after not in {before - abs(taken), before + taken}:
            return False
        lost += before - after
    return lost > 0


def _units(cell: str, amounts: AmountCells) -> int | None:
    try:
        return amounts.units(cell)
    except ValueError:
        return None


def sides_of(rows: Sequence[ExportRow], columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the columns that state the side of each row, with the meaning of each text."""
    for column in columns:
        texts = {row.cells[column] for row in rows if row.cells[column]}
        plain = {text.casefold() for text in texts}
        sides, are_words = plain & (_OUT | _IN), any(len(text) > _ABBREVIATION for text in plain)
        has_both = bool(plain & _OUT and plain & _IN)
        if (
            sides
            and (has_both or _OF_SIDES.search(column) or are_words)
            and (plain <= sides | _NEITHER or (has_both and are_words))
        ):
            known = sorted(text for text in texts if text.casefold() in sides)
            yield column, {text: "out" if text.casefold() in _OUT else "in" for text in known}


def check_sides(rows: Sequence[tuple[ExportRow, int]], given: BankFileChoices, errors: FileErrors) -> None:
    """Refuse amounts whose direction contradicts a column of sides, such as DEBIT."""
    for column, meanings in sides_of([row for row, _ in rows], given.others(rows[0][0])):
        sided = [
            (row, units, meanings[row.cells[column]]) for row, units in rows if units and row.cells[column] in meanings
        ]
        for row, units, word in sided:
            if (units < 0) != (word == "out"):
                cell, other = row.cells[column], "in" if word == "out" else "out"
                turned = _TURNED.get(next(iter(given.direction or ())))
                is_turned = turned and all((units > 0) == (word == "out") for _, units, word in sided)
                better = (
                    f"{turned!r} agrees with all rows"
                    if is_turned
                    else f"{{{column!r}: {meanings}}} takes it from there"
                )
                errors.fail(
                    f"{quote(cell)} in {quote(column)} is money {word} as banks write it, and by direction= it "
                    f"is money {other} ({row.texts()}): direction={better}; where the texts mean otherwise, state it, "
                    f"such as direction={{{column!r}: {{{cell!r}: {other!r}, ...}}}}",
                    row.place,
                )


def notes_of_sides(given: BankFileChoices) -> Iterator[str]:
    """Yield notes on columns of amounts whose direction differs from their headings."""
    if isinstance(given.direction, Mapping):
        return
    for column, word in zip(given.amount, given.direction or (), strict=True):
        name = re.sub(r" ?(amounts?|amt)\b\.?", "", column.casefold()).strip()
        said = "out" if name in _OUT else "in" if name in _IN else word
        if word in {"out", "in"} and word != said:
            yield f"{quote(column)} was read as money {word}, by direction=, and is money {said} as banks write it"


def not_booked_readings(rows: Sequence[ExportRow], given: BankFileChoices) -> str:
    """Name columns with few different texts, one of which may mean "not booked"."""
    shown = []
    for column in given.others(rows[0]):
        counts = Counter(row.cells[column] for row in rows if row.cells[column])
        if 1 < len(counts) <= _MAX_TEXTS:
            shown.append(
                f"{column} has {', '.join(f'{quote(text)} ({count})' for text, count in sorted(counts.items()))}"
            )
    example = f"; {'; '.join(sorted(shown))}" if shown else ""
    return (
        "not_booked= names the rows that are not booked, such as {'Status': 'Pending'}, and {} says that there are "
        f"none{example}"
    )


def booked_rows(
    rows: Sequence[ExportRow], given: BankFileChoices, errors: FileErrors
) -> tuple[list[ExportRow], list[str]]:
    """Return the booked rows and notes on other rows. Refuse rows without a decision."""
    decided = given.not_booked or {}
    booked: list[ExportRow] = []
    left_out: list[ExportRow] = []
    for row in rows:
        is_out = any(row.cells[column] in texts for column, texts in decided.items())
        (left_out if is_out else booked).append(row)
    _refuse_undecided(booked, given, errors)
    notes = []
    for column, texts in decided.items():
        counts = Counter(row.cells[column] for row in rows)
        shown = [f"{quote(text)} in {count_of(counts[text], 'row')}" for text in texts]
        kept = [f"{quote(text)} in {counts[text]}" for text in sorted(counts.keys() - {*texts})]
        more = f" and {len(kept) - _MAX_NAMED} other texts" if len(kept) > _MAX_NAMED else ""
        if shown:
            booked_texts = ", ".join(kept[:_MAX_NAMED]) or "none"
            notes.append(f"not booked by {column}: {', '.join(shown)}; booked: {booked_texts}{more}")
    if left_out:
        more = f" and {len(left_out) - _MAX_NAMED} more" if len(left_out) > _MAX_NAMED else ""
        named_rows = ", ".join(f"{row.place} {row.texts()}" for row in left_out[:_MAX_NAMED])
        notes.append(f"rows that are not booked: {named_rows}{more}")
    return booked, notes


def _refuse_undecided(rows: Sequence[ExportRow], given: BankFileChoices, errors: FileErrors) -> None:
    """Refuse rows whose text, flag or missing booking day suggests "not booked"."""
    decided = given.not_booked or {}
    columns = [
        heading
        for heading in (rows[0].cells if rows else ())
        if heading not in {given.date, given.balance, *given.amount}
    ]
    refused = set()
    for column in sorted(columns, key=lambda heading: bool(_DAY_OF_BOOKING.fullmatch(heading))):
        unbooked = set() if decided.get(column) == () else _unbooked_texts(column, rows, given)
        for row in rows if unbooked else ():
            cell = row.cells[column]
            if cell in unbooked and row.line not in refused:
                refused.add(row.line)
                errors.add(
                    row.place,
                    f"{quote(cell)} in {quote(column)}: is it booked? {booking_advice(column, cell, decided)}",
                )


def _unbooked_texts(column: str, rows: Sequence[ExportRow], given: BankFileChoices) -> set[str]:
    """Return the texts of a column that suggest "not booked"."""
    texts = {row.cells[column] for row in rows}
    if _UNBOOKED_FLAG.fullmatch(column):
        return {text for text in texts if text.casefold() in _YES}
    without_day = {text for text in texts if not re.search(r"\d", text)}
    if _DAY_OF_BOOKING.fullmatch(column) and without_day != texts:
        return without_day
    return {text for text in texts if _sounds_unbooked(text, is_text=column in given.text)}


def _sounds_unbooked(text: str, *, is_text: bool) -> bool:
    """Return whether a payee or a short text suggests "not booked"."""
    if is_text or _ALL_UNBOOKED.fullmatch(text):
        return bool(_ALL_UNBOOKED.fullmatch(text))
    return len(text.split()) <= _MAX_WORDS and bool(_SOME_UNBOOKED.search(text))


def booking_advice(column: str, cell: str, decided: Mapping[str, Sequence[str]], *, may_book: bool = True) -> str:
    """Write how to leave out rows with a text, and how to book them."""
    texts = [*decided.get(column, ()), cell]
    out = f"not_booked={_argument_text({**decided, column: texts})} leaves such rows out"
    if not may_book:
        return out
    booked = _argument_text({**decided, column: []})
    if len(texts) == 1:
        return f"{out}, and not_booked={booked} books them"
    return (
        f"{out}; to book them, name all texts that are booked in only={{{column!r}: [...]}}, with not_booked={booked}"
    )


def _argument_text(decided: Mapping[str, Sequence[str]]) -> str:
    """Write decisions as arguments in Python. A single text is not in a list."""
    return repr({column: texts[0] if len(texts) == 1 else [*texts] for column, texts in decided.items()})
