"""Tables of a pack about the weeks ahead: what is due next, balances with their range, and how good that was."""

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
from accounting_analytics.reports.payees.cash_forecast import AVERAGE, NOTHING, SHOWN
from accounting_analytics.reports.payees.outlook import SIDES

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.payees.outlook import Outlook

OUTLOOK, DUE, SCORE = "outlook", "due", "outlook_score"
_DUE = 10
_METHODS = {SHOWN: "These outlooks", AVERAGE: "Plain average", NOTHING: "No change"}


def outlook_tables(found: Outlook, first_day: dt.date) -> list[PackTable]:
    """Make the tables of an outlook; lines of payments before the first day are not in the page."""
    return [_due(found, first_day), _weeks(found), *_score(found)]


def _due(found: Outlook, first_day: dt.date) -> PackTable:
    """Make the table of the payments that are due next, with the lines of past payments of their amounts."""
    rows = []
    for one in found.expected[:_DUE]:
        figure = found.figure_of_payment(one)
        figure = figure if one.payment.expected.date >= first_day else _estimate(figure)
        rows.append(PackRow(one.payment.counterparty, [day_label(one.day), one.payment.category, figure]))
    heads = [text_head("Due"), text_head("Category"), amount_head("Amount")]
    rest = len(found.expected) - len(rows)
    notes = [f"{rest:,} more are due in the {found.weeks} weeks."] if rest else []
    return make_table(DUE, "Due next", heads, rows, notes if rows else ["No payment with a rhythm is due."])


def _weeks(found: Outlook) -> PackTable:
    """Make the table of the weeks: estimates are stated, balances follow from those before."""
    start = figure_of_lines(found.cash, f"start{KEY_SEPARATOR}cash", found.cash.label)
    rows = [PackRow(day_label(found.end_date), ["", start, "", ""])]
    balance = start
    for week in range(1, found.weeks + 1):
        recurring, other, margin = (_estimate(one) for one in found.estimates(week))
        key, end = f"week {week}", day_label(found.week_end(week))
        made = partial(_named, key, f"week to {end}")
        net = figure_of_terms(*made("net"), [("+", recurring), ("+", other)])
        balance = figure_of_terms(*made("cash"), [("+", balance), ("+", net)])
        sides = [figure_of_terms(*made(name), [("+", balance), (sign, margin)]) for name, sign in SIDES]
        rows.append(PackRow(end, [net, balance, *sides]))
    heads = [amount_head(one) for one in ("Net change", "Cash at end", "Low", "High")]
    note = (
        "Expected, not booked: what recurs, and other cash. The range from low to high is made for 80 of 100 balances."
    )
    return make_table(OUTLOOK, f"Next {found.weeks} weeks", heads, rows, [note, *found.notes_of_weeks()])


def _named(key: str, days: str, name: str) -> tuple[str, str]:
    """Key and label of a figure of a week."""
    return f"{key}{KEY_SEPARATOR}{name}", f"{name.title()}, {days}"


def _score(found: Outlook) -> list[PackTable]:
    """Make the table of the errors of past outlooks; none where none has come to its end."""
    if found.score is None:
        return []
    rows = [
        PackRow(label, [found.error(method, "weekly"), found.error(method, "balance")])
        for method, label in _METHODS.items()
    ]
    heads = [amount_head("A week, on average"), amount_head(f"Balance of week {found.weeks}")]
    title = "How far such outlooks were off in past weeks"
    return [make_table(SCORE, title, heads, rows, found.notes_of_score())]


def _estimate(figure: Figure) -> Figure:
    """Figure that is stated, because the lines of the page do not contain it."""
    return replace(figure, terms=(), signs=(), kind="sum", _load_entries=None)
