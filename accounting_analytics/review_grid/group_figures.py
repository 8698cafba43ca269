"""Groups of a review as a table of figures: a press on the amount of a group unfolds its transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.categorization.queue import local_days
from accounting_analytics.column_conversion import split_list
from accounting_analytics.figure_tables import EntriesData, FigureCell, FigureRow, FigureTable, TableHead
from accounting_analytics.figures import KEY_SEPARATOR, text_of
from accounting_analytics.messages import count_of
from accounting_analytics.money import from_minor_units
from accounting_analytics.review_grid.static_table import described_category

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.review_grid.record import Group, ReviewRecord

_AMOUNT = "amount"
_HEADS = ("Transactions", "Amount", "Category")


def group_figures(record: ReviewRecord, title: str, notes: Sequence[str], max_groups: int) -> FigureTable:
    """Describe the first groups, most money first, with the transactions behind them."""
    groups = record.rows.groups[:max_groups]
    rows = [_row(record, group, account) for group, account in zip(groups, _accounts(record, groups), strict=True)]
    rest = len(record.rows.groups) - len(groups)
    more = [f"{count_of(rest, 'more group')}; .frame has all."] if rest else []
    heads = [TableHead(text, is_comparison=False) for text in _HEADS]
    return FigureTable(title, "", heads, rows, [*more, *notes], _entries(record, groups))


def _row(record: ReviewRecord, group: Group, account: str) -> FigureRow:
    """Describe a group; why its category is proposed is shown where the pointer rests on its name."""
    amount = text_of(from_minor_units(record.rows.total(group), record.rows.exact.scale))
    cells = (
        FigureCell(f"{group.end - group.start:,}"),
        FigureCell(amount, f"{group.group_id}{KEY_SEPARATOR}{_AMOUNT}"),
        FigureCell(described_category(record, group)),
    )
    return FigureRow(f"{group.merchant}, {account}", 0, "ledger", cells, record.proposals.reasons.get(group.start, ""))


def _accounts(record: ReviewRecord, groups: Sequence[Group]) -> list[str]:
    """Name of the account of each group; its id where the name is not known."""
    first = record.rows.frame.iloc[[group.start for group in groups]]
    return first["ledger_name"].fillna(first["ledger_id"]).tolist()


def _entries(record: ReviewRecord, groups: Sequence[Group]) -> EntriesData:
    """Collect the transactions of the groups; a group stands where other tables have a ledger, named by its account."""
    names = record.chart.names
    frame = record.rows.frame.head(groups[-1].end if groups else 0)
    opposing = (", ".join(map(names.name, sorted(split_list(one) or ()))) for one in frame["opposing_ledger_ids"])
    columns = (
        local_days(frame).dt.strftime("%Y-%m-%d").tolist(),
        frame["description"].tolist(),
        opposing,
        record.rows.units[: len(frame)],
    )
    rows = list(zip(*columns, strict=True))
    return EntriesData(
        record.rows.exact.scale,
        _accounts(record, groups),
        [
            (number, day, description, others, units)
            for number, group in enumerate(groups)
            for day, description, others, units in rows[group.start : group.end]
        ],
        {group.group_id: {_AMOUNT: [(1, group.start, group.end - 1)]} for group in groups},
        {},
        'queue[queue["group_id"] == {row!r}]',
    )
