"""What has no category yet: the journal entries of the period with lines on the uncategorized ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.figure_tables import TableHead
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.pack.pack_tables import TableBuilder, text_cell
from accounting_analytics.periods import day_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from accounting_analytics.pack.pack_tables import PackLines, PackRow, PackTable
    from accounting_analytics.periods import Period

NAME = "uncategorized"
_LARGEST = 20
_TOTAL, _REST, _AMOUNT = "total", "others", "amount"


class UncategorizedEntry(NamedTuple):
    """A journal entry without a category: the numbers of its uncategorized lines, and what people know it by."""

    numbers: list[int]
    day: str
    account: str
    text: str


def uncategorized_entries(entries: PackLines, row: PackRow | None, period: Period) -> list[UncategorizedEntry]:
    """List the journal entries of a period with uncategorized lines, the largest first."""
    if row is None:
        return []
    spans = [(1, period.start_date.isoformat(), period.end_date.isoformat())]
    numbers = entries.matching(row, spans)
    lines = entries.frame(numbers)
    of_entry: dict[str, list[int]] = {}
    for number, entry in zip(numbers, lines["journal_entry_id"], strict=True):
        of_entry.setdefault(entry, []).append(number)
    frame = entries.source.frame
    cash = frame[frame["ledger_id"].isin(list(entries.cash)) & frame["journal_entry_id"].isin(list(of_entry))]
    found = [_describe(of_entry[one], one, cash, entries) for one in of_entry]
    return sorted(found, key=lambda one: (-abs(entries.units(one.numbers)), one.numbers))


def uncategorized_table(found: Sequence[UncategorizedEntry], entries: PackLines) -> PackTable:
    """Make the table of the largest, and one row for the others."""
    heads = {
        "day": TableHead("Date", is_comparison=False, is_text=True),
        "account": TableHead("Account", is_comparison=False, is_text=True),
        _AMOUNT: TableHead("Amount", is_comparison=False),
    }
    table = TableBuilder(NAME, entries, heads)
    keys = []
    for number, one in enumerate(found[:_LARGEST], start=1):
        amount = table.sum_of_lines(f"entry {number}", _AMOUNT, one.numbers)
        table.row(f"entry {number}", one.text, [text_cell(one.day), text_cell(one.account), amount])
        keys.append(f"entry {number}")
    if rest := found[_LARGEST:]:
        amount = table.sum_of_lines(_REST, _AMOUNT, [number for one in rest for number in one.numbers])
        table.row(_REST, f"{len(rest):,} smaller", [text_cell(""), text_cell(""), amount])
        keys.append(_REST)
    if keys:
        amount = table.sum_of_terms(_TOTAL, _AMOUNT, [("+", f"{key}{KEY_SEPARATOR}{_AMOUNT}") for key in keys])
        noun = "transaction" if len(found) == 1 else "transactions"
        table.row(_TOTAL, f"{len(found):,} {noun}", [text_cell(""), text_cell(""), amount], kind="total")
    note = "Received is positive, paid in parentheses; of a split the part without a category."
    return table.build("What is not categorized", [note] if keys else ["Every transaction has a category."])


def _describe(numbers: list[int], entry_id: str, cash: pd.DataFrame, entries: PackLines) -> UncategorizedEntry:
    """Find day, accounts and text of a journal entry."""
    of_entry = cash[cash["journal_entry_id"] == entry_id]
    accounts = ", ".join(dict.fromkeys(of_entry["ledger_name"]))
    lines = entries.frame(numbers)
    texts = [
        str(text)
        for frame in (of_entry, lines)
        for name in ("transaction_description", "journal_entry_description", "description")
        if name in frame
        for text in frame[name]
        if isinstance(text, str) and text.strip()
    ]
    return UncategorizedEntry(numbers, day_label(entries.day(numbers[0])), accounts, next(iter(texts), "without text"))
