"""What changed in the books since the last pack: lines that were added, removed or changed between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.figure_tables import TableHead
from accounting_analytics.money import from_minor_units
from accounting_analytics.pack.pack_tables import TableBuilder, text_cell

if TYPE_CHECKING:
    from accounting_analytics.books.drift import Drift
    from accounting_analytics.pack.pack_tables import PackLines, PackTable

NAME = "changes"
_LARGEST = 40


def changes_table(drift: Drift, entries: PackLines) -> PackTable:
    """Make the table of the largest changes of ledgers; the lines as they were are not in the page."""
    heads = {
        "month": TableHead("Month", is_comparison=False, is_text=True),
        "kind": TableHead("What", is_comparison=False, is_text=True),
        "entries": TableHead("Journal entries", is_comparison=False, is_text=True),
        "amount": TableHead("Change", is_comparison=False),
    }
    table = TableBuilder(NAME, entries, heads)
    rows = drift.frame.to_dict("records")
    figures = [drift["|".join((row["month"], row["ledger_id"], row["kind"]))] for row in rows]
    exact = [figure.exact() or from_minor_units(0, entries.scale) for figure in figures]
    largest = sorted(range(len(rows)), key=lambda place: (-abs(exact[place]), place))[:_LARGEST]
    for place in sorted(largest):
        row = rows[place]
        key = f"{row['month']} {row['ledger_id']} {row['kind']}"
        texts = [text_cell(row["month"]), text_cell(row["kind"]), text_cell(f"{row['entries']:,}")]
        table.row(key, row["ledger_name"], [*texts, table.stated(key, "amount", exact[place], figures[place])])
    rest = len(rows) - len(largest)
    signs = "More of a ledger on the normal side of its type is positive: more sales, rent, cash, or debt."
    notes = [drift.summary(), signs, *([f"{rest:,} smaller changes are not listed."] if rest else [])]
    return table.build("What changed since the last pack", notes)
