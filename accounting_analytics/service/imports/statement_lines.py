"""The statement of one account: each transaction is an entry against an uncategorized ledger."""

from __future__ import annotations

import datetime as dt
import glob
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.chart_of_accounts import DebitCredit, SubType
from accounting_analytics.errors import AmountError
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.service.bookkeeping.ledgers import names_of_ledgers
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.imports.cell_values import read_amount, read_date
from accounting_analytics.service.imports.entry_ids import content_ids
from accounting_analytics.service.imports.parsed_books import FileLine, ImportOptions, ParsedBooks, build_books
from accounting_analytics.service.imports.table_files import InstantParser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.imports.mapped_table import Line, MappedTable
    from accounting_analytics.service.imports.mapping import Mapping
    from accounting_analytics.service.wire.stored_values import StoredLedger

_OPENING = "Opening balance"


class StatementLine(NamedTuple):
    """A transaction of a statement; money in is positive, `id` is that of the bank, and `balance` the one after it."""

    location: str
    day: dt.date
    amount: Decimal
    text: str
    memo: str = ""
    id: str = ""
    balance: Decimal | None = None


def read_mapped_statement(
    table: MappedTable, mapping: Mapping, options: ImportOptions, errors: ImportErrors
) -> ParsedBooks:
    """Read the rows of a statement into entries of its account."""
    lines = []
    for row in table.lines:
        try:
            lines.append(_read_row(row, table, mapping, options.scale))
        except (ValueError, AmountError) as error:
            date, text = row.text("date"), row.text("description")
            errors.add_line(row.location, str(error), None, date=date, description=text)
    notes = [f"{len(table.left_out)} rows of titles and other text were left out"] if table.left_out else []
    ordered, opening = _in_order(lines, errors) if not errors.lost_lines else (lines, None)
    account = options.account or mapping.account
    return statement_books(ordered, opening, account, options=options, errors=errors, notes=notes)


def statement_books(
    lines: list[StatementLine],
    opening: Decimal | None,
    account: str,
    *,
    options: ImportOptions,
    errors: ImportErrors,
    notes: list[str],
) -> ParsedBooks:
    """Build entries of an account against uncategorized, and one of its opening balance if it is new."""
    if not lines:
        errors.raise_if_any()
        errors.fail("it has no transactions")
    required = _Required.find(options.existing, errors)
    instants = InstantParser(options.time_zone)
    file_lines: list[FileLine] = []
    contents = {
        str(key): [
            f"{account}\x1f{line.id}"
            if line.id
            else f"{account}\x1f{line.day}\x1f{line.amount.normalize():f}\x1f{line.text}"
        ]
        for key, line in enumerate(lines)
    }
    for line, entry_id in zip(lines, content_ids("st", contents).values(), strict=True):
        other = required.inflow if line.amount >= 0 else required.outflow
        file_lines += _entry(line, entry_id, account, other, instants)
    exists = account in {names_of_ledgers(options.existing).path(ledger.id) for ledger in options.existing}
    if opening and not exists:
        first = min(line.day for line in lines) - dt.timedelta(days=1)
        before = StatementLine(lines[0].location, first, opening, _OPENING)
        file_lines += _entry(
            before, content_ids("st", {"": [account, _OPENING]})[""], account, required.opening, instants
        )
        notes.append(f"the statement begins with {format_amount(opening)}, which is the opening balance of {first}")
    days = Counter(line.id for line in lines if line.id)
    for line_id, count in days.items():
        if count > 1:
            places = [line.location for line in lines if line.id == line_id]
            errors.add(places[1], f"the transaction id {line_id!r} appears {count} times, first on {places[0]}")
    for name, amounts in (
        ("in", [line.amount for line in lines if line.amount >= 0]),
        ("out", [line.amount for line in lines if line.amount < 0]),
    ):
        notes.append(
            f"money {name}: {len(amounts)} transactions, {format_amount(reduce(EXACT.add, amounts, Decimal(0)))}"
        )
    cash = [*options.cash, glob.escape(account)]
    books = build_books(file_lines, options._replace(cash=cash), errors, notes)
    return replace(books, local_count=instants.local_count)


def _entry(
    line: StatementLine, entry_id: str, account: str, other: str, instants: InstantParser
) -> tuple[FileLine, FileLine]:
    bank = FileLine(
        location=line.location,
        entry_id=entry_id,
        instant=instants.parse(line.day),
        entry_description=line.text,
        account=account,
        signed=line.amount,
        description=line.memo if line.memo != line.text else "",
        transaction=NewTransaction(line.text),
    )
    opposing = FileLine(line.location, entry_id, bank.instant, line.text, other, line.amount.copy_negate())
    return bank, opposing


class _Required(NamedTuple):
    """Ids of the ledgers that every instance has."""

    inflow: str
    outflow: str
    opening: str

    @classmethod
    def find(cls, existing: Sequence[StoredLedger], errors: ImportErrors) -> _Required:
        required = [ledger for ledger in existing if ledger.is_required]
        found = {
            (ledger.sub_type, ledger.debit_credit): ledger.id
            for ledger in required
            if ledger.sub_type in {SubType.UNCATEGORIZED_ASSETS, SubType.EQUITY}
        }
        keys = (
            (SubType.UNCATEGORIZED_ASSETS, DebitCredit.CREDIT),
            (SubType.UNCATEGORIZED_ASSETS, DebitCredit.DEBIT),
            (SubType.EQUITY, DebitCredit.CREDIT),
        )
        try:
            return cls(*(found[key] for key in keys))
        except KeyError:
            errors.fail("the instance lacks a required ledger: uncategorized inflow or outflow, or opening balance")


def _read_row(row: Line, table: MappedTable, mapping: Mapping, scale: int) -> StatementLine:
    given = {name: row.cells[name] for name in ("amount", "paid_in", "paid_out")}
    if row.cells["date"] == "":
        raise ValueError("it has no date")
    day = read_date(row.cells["date"], table.date_format)
    if all(cell == "" for cell in given.values()):
        raise ValueError("it has no amount")
    amount, paid_in, paid_out = (read_amount(cell, table.decimal, scale) for cell in given.values())
    if paid_in and paid_out:
        raise ValueError(f"it has both {paid_in} in and {paid_out} out: one of them is wrong")
    signed = amount if mapping.positive == "debit" else amount.copy_negate()
    if given["amount"] == "":
        signed = EXACT.subtract(paid_in.copy_abs(), paid_out.copy_abs())  # some banks write money out with a minus
    balance = row.cells["balance"]
    return StatementLine(
        row.location,
        day,
        signed,
        row.text("description") or "(no text)",
        row.text("line_description"),
        row.text("number"),
        None if balance == "" else read_amount(balance, table.decimal, scale),
    )


def _in_order(lines: list[StatementLine], errors: ImportErrors) -> tuple[list[StatementLine], Decimal | None]:
    """Lines from the first to the last, and the balance before them; a balance that does not follow is an error."""
    if any(line.balance is None for line in lines) or not lines:
        return sorted(lines, key=lambda line: line.day), None
    wrong = {False: _gaps(lines), True: _gaps(lines[::-1])}
    newest_first = len(wrong[True]) < len(wrong[False]) or (
        len(wrong[True]) == len(wrong[False]) and lines[0].day > lines[-1].day
    )
    ordered = lines[::-1] if newest_first else lines
    for before, line in wrong[newest_first]:
        errors.add(
            line.location,
            f"its balance {format_amount(_known(line))} is not {format_amount(_known(before))} of {before.location} "
            f"plus {format_amount(line.amount)}: a row is missing or was changed",
            date=line.day.isoformat(),
            description=line.text,
        )
    return ordered, EXACT.subtract(_known(ordered[0]), ordered[0].amount)


def _gaps(lines: list[StatementLine]) -> list[tuple[StatementLine, StatementLine]]:
    """Neighbours of which the second balance does not follow from the first."""
    return [(one, two) for one, two in pairwise(lines) if reduce(EXACT.add, [_known(one), two.amount]) != _known(two)]


def _known(line: StatementLine) -> Decimal:
    return line.balance or Decimal(0)
