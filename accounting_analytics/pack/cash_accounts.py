"""Balances: each cash account at the start and the end of the period, and all of them at the end of each day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.figure_tables import TableHead
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.pack.key_figures import WITHHELD
from accounting_analytics.pack.pack_tables import PackRow, TableBuilder
from accounting_analytics.periods import day_label
from accounting_analytics.statements.columns import days_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.pack.pack_tables import PackLines, PackTable
    from accounting_analytics.periods import Period

NAME, BY_DAY, FLOWS = "cash_accounts", "cash_by_day", "flows"
_DAY = dt.timedelta(days=1)
_MAX_DAYS = 93
"""Longer periods have a balance at the end of each month, not of each day."""


def cash_accounts_table(entries: PackLines, since: str, period: Period) -> PackTable:
    """Make the table of cash accounts; balances are sums since a day, or since the beginning of the books."""
    before = (period.start_date - _DAY).isoformat()
    end = period.end_date.isoformat()
    spans = {
        "start": [(1, since, before)],
        "change": [(1, since, end), (-1, since, before)],
        "end": [(1, since, end)],
    }
    texts = {
        "start": f"Start of {day_label(period.start_date)}",
        "change": "Change",
        "end": f"End of {day_label(period.end_date)}",
    }
    table = TableBuilder(NAME, entries, {key: TableHead(texts[key], is_comparison=key == "change") for key in spans})
    shown = []
    for ledger_id in sorted(entries.cash, key=entries.names.path):
        row = PackRow(1, "balance", (ledger_id,))
        cells = [table.sum_of_days(ledger_id, key, row, days) for key, days in spans.items()]
        if any(cell.mark != "zero" for cell in cells) or cells[1].key:
            table.row(ledger_id, entries.names.name(ledger_id), cells, title=entries.names.path(ledger_id))
            shown.append(ledger_id)
    every = PackRow(1, "balance", tuple(sorted(entries.cash)))
    total = [table.sum_of_days("cash", key, every, days) for key, days in spans.items()]
    table.row("cash", "Cash", total, kind="total")
    notes = [f"{len(entries.cash) - len(shown)} account(s) without balances are left out."]
    return table.build("Cash accounts", notes if len(shown) < len(entries.cash) else [])


def cash_by_day_table(entries: PackLines, since: str, period: Period) -> PackTable:
    """Make the table of the cash balance at the end of each day, or of each month of a long period."""
    days = [period.start_date + offset * _DAY for offset in range(period.days)]
    if len(days) > _MAX_DAYS:
        days = [month.end_date for month in period.months()]
    table = TableBuilder(BY_DAY, entries, {"balance": TableHead("Cash", is_comparison=False)})
    row = PackRow(1, "balance", tuple(sorted(entries.cash)))
    for day in days:
        table.head(day.isoformat(), f"end of {day_label(day)}")
        cell = table.sum_of_days("cash", day.isoformat(), row, [(1, since, day.isoformat())])
        table.row("cash", day_label(day), [cell])
    table.label("cash", "Cash")
    return table.build("Cash balance by day")


def flows_table(entries: PackLines, flows: Sequence[str], months: Sequence[Period]) -> PackTable:
    """Make the table of cash in and out by month; `flows` are the ledgers that count."""
    heads = {key: TableHead(text, is_comparison=False) for key, text in (("in", "Cash in"), ("out", "Cash out"))}
    table = TableBuilder(FLOWS, entries, {**heads, "net": TableHead("Net", is_comparison=False)})
    for month in months:
        key, spans = f"{month.start_date:%Y-%m}", [(1, month.start_date.isoformat(), month.end_date.isoformat())]
        rows = {side: PackRow(-1, f"{side}flow", tuple(flows)) for side in heads}
        cells = [table.sum_of_lines(key, side, entries.matching(row, spans)) for side, row in rows.items()]
        net = table.sum_of_terms(key, "net", [("+", f"{key}{KEY_SEPARATOR}{side}") for side in heads])
        table.row(key, days_label(month), [*cells, net])
    return table.build("Cash in and out by month", ["Without transfers between own accounts.", WITHHELD])
