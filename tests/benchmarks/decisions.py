"""What groups of uncategorized transactions are worth: decisions by group against row by row, and what is wrong.

Each group is decided by `decide`, largest first, with the category that most of its money should have. The books are
those of ``uncategorized_books.py``, posted to the embedded service and loaded from it.
"""

from collections import Counter, defaultdict
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import accounting_analytics as aa
from accounting_analytics.core.schemas import Queue
from accounting_analytics.service.server import running

SHARES = (Decimal("0.8"), Decimal("0.95"))
DAYS = ("2025-01-01", "2025-12-31")


class GroupedRow(NamedTuple):
    """A row of the queue with its group, and the truth about it."""

    transaction_id: str
    group_id: str
    kind: str
    account: str
    direction: str
    size: Decimal
    merchant: str
    category: str


class Measurement(NamedTuple):
    """What the groups of a queue are worth."""

    rows: list[GroupedRow]
    by_group: dict[Decimal, int]
    """Decisions for each share of the money, groups and then single rows, largest first."""
    by_row: dict[Decimal, int]
    wrong_merges: dict[str, Counter]
    """Merchants, with counts, of each group of several merchants whose categories differ."""
    same_category: int
    """Groups of several merchants with one category."""
    missed_merges: dict[tuple[str, str, str], int]
    """Groups beyond the first of one merchant, direction and account."""
    misjudged: Decimal
    """Share of the money that deciding by group gives another category than the right one."""
    false_transfers: int
    missed_transfers: int


def measure(queue, books):
    """Compare the groups of the queue with the truth."""
    rows = list(_grouped_rows(queue, books))
    groups = defaultdict(list)
    for row in rows:
        groups[row.group_id].append(row)
    merchants = {group_id: Counter(row.merchant for row in one) for group_id, one in groups.items()}
    categories = {group_id: {row.category for row in one} for group_id, one in groups.items()}
    several = [one for one in groups if len(merchants[one]) > 1 and groups[one][0].kind == "merchant"]
    ids = defaultdict(set)
    for row in rows:
        if row.kind == "merchant":
            ids[row.merchant, row.direction, row.account].add(row.group_id)
    transfers = [row.category == "transfer" for row in rows if row.kind == "transfer"]
    whole = sum(row.size for row in rows)
    wrong = sum(sum(row.size for row in one) - max(_by_category(one).values()) for one in groups.values())
    return Measurement(
        rows,
        {share: count_decisions(_decidable_sizes(groups), share * whole) for share in SHARES},
        {share: count_decisions([row.size for row in rows], share * whole) for share in SHARES},
        {one: merchants[one] for one in several if len(categories[one]) > 1},
        sum(len(categories[one]) == 1 for one in several),
        {key: len(found) - 1 for key, found in ids.items() if len(found) > 1},
        wrong / whole,
        transfers.count(False),
        sum(row.category == "transfer" for row in rows) - transfers.count(True),
    )


def _grouped_rows(queue, books):
    grouped = Queue.exact(queue).frame
    for row in grouped.itertuples():
        truth = books.uncategorized[row.transaction_id]
        size = row.uncategorized_amount
        yield GroupedRow(
            row.transaction_id,
            row.group_id,
            row.kind,
            row.ledger_id,
            row.direction,
            size.copy_abs(),
            truth.merchant,
            truth.category,
        )


def _by_category(rows):
    sizes = Counter()
    for row in rows:
        sizes[row.category] += row.size
    return sizes


def _decidable_sizes(groups):
    """Sizes of what can be decided: groups, and the rows of splits one by one."""
    for rows in groups.values():
        sizes = [row.size for row in rows]
        yield from sizes if rows[0].kind == "split" else [sum(sizes)]


def count_decisions(sizes, wanted):
    """Count how many of the largest sizes reach a sum."""
    reached = Decimal(0)
    for count, size in enumerate(sorted(sizes, reverse=True), start=1):
        reached += size
        if reached >= wanted:
            return count
    return len(list(sizes))


def right_decisions(measurement, share):
    """Return the category of each group that is decided for a share of the money, largest first."""
    groups = defaultdict(list)
    for row in measurement.rows:
        if row.kind != "split":
            groups[row.group_id].append(row)
    largest = sorted(groups, key=lambda one: sum(row.size for row in groups[one]), reverse=True)
    return {one: _by_category(groups[one]).most_common(1)[0][0] for one in largest[: measurement.by_group[share]]}


@contextmanager
def served(books, generator, folder):
    """Serve the books, and yield a client."""
    token = generator.post_books(Path(folder) / "books.db", books)
    with (
        running(Path(folder) / "books.db") as service,
        aa.LedgerClient(service.base_url, token=token, instance_id=generator.INSTANCE) as client,
    ):
        yield client


class Loaded(NamedTuple):
    """Books as an analyst loads them."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    report: aa.CashFlowReport


def load(client, generator):
    """Load the books."""
    ledgers = aa.discover_ledgers(client, str(generator.DISCOVER_FROM), DAYS[1])
    return Loaded(ledgers, aa.load_line_entries(client, ledgers["id"], *DAYS), aa.load_cash_flow_report(client, *DAYS))


RULES = """\
[[rule]]
name = "fuel"
regex = 'SUNOCO|SPEEDWAY|MARATHON|SHEETZ|CIRCLE K'
category = "Fuel"

[[rule]]
name = "payroll"
contains = "GUSTO PAY"
category = "Payroll"

[[rule]]
name = "lodging"
regex = 'HAMPTON INN|COURTYARD|SUPER 8|AIRBNB'
category = "Lodging"
direction = "outflow"
"""
