"""What a review shows without a kernel: its groups as a table, in saved and exported notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.money import from_minor_units
from accounting_analytics.review_grid.record import OPEN, SKIPPED

if TYPE_CHECKING:
    from accounting_analytics.review_grid.record import Group, ReviewRecord

LIVE_GRID = "accounting-analytics-review"
"""Class of the grid that a kernel answers."""
TABLE_OF_GRID = "accounting-analytics-review-table"
ONE_OF_BOTH = f"""<style>
.jp-OutputArea-child:has(.{TABLE_OF_GRID}):has(+ .jp-OutputArea-child .{LIVE_GRID}),
.jp-OutputArea-child:has(.{TABLE_OF_GRID}) + .jp-OutputArea-child:not(:has(.{LIVE_GRID})) {{ display: none; }}
</style>"""
"""Style of the table with the output after it, where the grid is: JupyterLab shows the one that works."""


def groups_table(record: ReviewRecord) -> pd.DataFrame:
    """Tabulate the groups with what is staged and proposed for each, most money first."""
    accounts = record.rows.frame["ledger_name"].tolist()
    columns = {
        "merchant": [group.merchant for group in record.rows.groups],
        "account": [accounts[group.start] for group in record.rows.groups],
        "transaction_count": [group.end - group.start for group in record.rows.groups],
        "amount": [from_minor_units(record.rows.total(group), record.rows.exact.scale) for group in record.rows.groups],
        "category": [described_category(record, group) for group in record.rows.groups],
        "reason": [record.proposals.reasons.get(group.start, "") for group in record.rows.groups],
    }
    return pd.DataFrame(columns)


def described_category(record: ReviewRecord, group: Group) -> str:
    """Describe what is chosen for a group, or else proposed."""
    chosen = set(record.staged.chosen[group.start : group.end].tolist())
    if chosen == {OPEN}:
        proposed = set(record.proposals.categories[group.start : group.end].tolist())
        names = sorted(record.category_name(one) for one in proposed if one >= 0)
        return f"proposed: {' or '.join(names)}" if names else ""
    names = sorted(record.category_name(one) for one in chosen if one >= 0)
    rest = [text for state, text in ((SKIPPED, "skipped"), (OPEN, "open")) if state in chosen]
    return ", ".join([*names, *rest])
