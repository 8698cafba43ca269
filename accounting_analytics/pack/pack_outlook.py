"""Tables of a pack about the weeks ahead: payments due next, and balances with their ranges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.core.periods import day_label
from accounting_analytics.pack.pack_table import (
    PackRow,
    PackTable,
    amount_head,
    figure_of_lines,
    make_table,
    text_head,
)
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, figure_of_terms
from accounting_analytics.reports.payees.outlook import SIDES

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.payees.outlook import Outlook

OUTLOOK, DUE = "outlook", "due"
_DUE = 15


def outlook_tables(found: Outlook, first_day: dt.date) -> list[PackTable]:
    """Make the tables of an outlook. The page has no lines before the first day."""
    return [_due(found, first_day), *([_weeks(found)] if found.is_better else [])]


def _due(found: Outlook, first_day: dt.date) -> PackTable:
    """Make the table of payments due next, with their lines."""
    shown = found.due[:_DUE]
    rows = [
        PackRow(due.counterparty, [day_label(due.day), due.category, _in_page(due.figure, first_day)]) for due in shown
    ]
    heads = [text_head("Due"), text_head("Category"), amount_head("Amount")]
    rest = len(found.due) - len(shown)
    notes = [f"{rest:,} more are due in the {found.weeks} weeks."] if rest else []
    notes += [] if found.is_better else found.notes_of_weeks()
    return make_table(DUE, "Due next", heads, rows, notes if rows else ["Nothing is due.", *notes])


def _in_page(figure: Figure, first_day: dt.date) -> Figure:
    """Return the figure if the page has all its entries.

    Otherwise, return the amount of the figure without entries.
    """
    entries = figure.exact_entries() if figure.is_additive else None
    is_in_page = entries is not None and len(entries) > 0 and entries["local_date"].min().date() >= first_day
    return figure if is_in_page else _estimate(figure)


def _weeks(found: Outlook) -> PackTable:
    """Make the table of weeks. Estimates have no lines, and each balance is made of the balance before it."""
    start = figure_of_lines(found.cash, f"start{KEY_SEPARATOR}cash", found.cash.label)
    rows = [PackRow(day_label(found.end_date), ["", start, "", ""])]
    balance = start
    for week in range(1, found.weeks + 1):
        due, other, margin = found.estimates(week)
        key, end = f"week {week}", day_label(found.week_end(week))
        made = partial(_named, key, f"week to {end}")
        net = figure_of_terms(*made("net"), [("+", _estimate(due)), ("+", _estimate(other))])
        balance = figure_of_terms(*made("cash"), [("+", balance), ("+", net)])
        sides = [
            "" if margin is None else figure_of_terms(*made(name), [("+", balance), (sign, _estimate(margin))])
            for name, sign in SIDES
        ]
        rows.append(PackRow(end, [net, balance, *sides]))
    heads = [amount_head(head) for head in ("Net change", "Cash at end", "Low", "High")]
    note = (
        "Expected, not booked: what is due, and other cash. The range from low to high is made for 80 of 100 balances "
        "of the first six weeks."
    )
    return make_table(OUTLOOK, f"Next {found.weeks} weeks", heads, rows, [note, *found.notes_of_weeks()])


def _named(key: str, days: str, name: str) -> tuple[str, str]:
    """Return the key and the label of a figure of a week."""
    return f"{key}{KEY_SEPARATOR}{name}", f"{name.title()}, {days}"


def _estimate(figure: Figure) -> Figure:
    """Return a figure's amount without entries.

    The page does not have the lines of the figure.
    """
    return replace(figure, terms=(), signs=(), kind="sum", _load_entries=None)
