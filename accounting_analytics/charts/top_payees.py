"""Bars of the payees that most was paid to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.arguments import require_type
from accounting_analytics.bridges.payments import payees_of_entries
from accounting_analytics.charts.category_charts import check_largest, column_days, flow_rows
from accounting_analytics.charts.figure import (
    add_message,
    day_remarks,
    mark_data,
    mark_sizes,
    table_subtitle,
    titled_figure,
    unit_text,
)
from accounting_analytics.charts.labels import GROUND, INK, OUTFLOW_COLOUR, amount_label, escaped, short_labels
from accounting_analytics.charts.mark_table import MAX_LINES, MarkTableBuilder, TableLine
from accounting_analytics.column_conversion import exact_amounts
from accounting_analytics.errors import InputError
from accounting_analytics.figures import Figure, checked_entries
from accounting_analytics.messages import quote
from accounting_analytics.money import exact_sum, to_minor_units
from accounting_analytics.statements.line_sums import LineSource
from accounting_analytics.statements.statement import ChosenColumn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.figure_tables import FigureTable

_PAYEE, _OTHERS, _WITHOUT = "payee:", "others", "Without text"
_TITLE = "Top payees"
_ROW_HEIGHT = 42


@dataclass(frozen=True, eq=False)
class Payees:
    """The cash flow lines of a column, and the payee of each; amounts are positive into cash."""

    column: ChosenColumn
    lines: pd.DataFrame
    amounts: Sequence[Decimal]
    payees: Sequence[str]

    def groups(self, largest: int) -> list[Payee]:
        """Payees with a net outflow, the largest first, and one for all others of them."""
        places: dict[str, list[int]] = {}
        for place, payee in enumerate(self.payees):
            places.setdefault(payee, []).append(place)
        made = [
            Payee(f"{_PAYEE}{name}", name or _WITHOUT, at, exact_sum(self.amounts[one] for one in at))
            for name, at in places.items()
        ]
        paid = sorted((one for one in made if one.amount < 0), key=lambda one: (one.amount, one.name))
        own, rest = paid[:largest], paid[largest:]
        if len(rest) > 1:
            at = sorted(place for one in rest for place in one.places)
            own.append(Payee(_OTHERS, f"{len(rest):,} others", at, exact_sum(one.amount for one in rest)))
        else:
            own += rest
        return own

    def figure(self, groups: Sequence[Payee], key: str) -> Figure:
        """Figure of a payee."""
        found = [one for one in groups if one.key == key]
        if not found:
            raise InputError(f"no mark of the chart has the key {quote(key)}")
        (payee,) = found
        source = self.column.statement.figures.source
        return Figure(
            key,
            f"{payee.name}, {self.column.column.label}",
            to_minor_units(payee.amount, source.scale),
            "the sum of line entries of entries that touch cash, credits less debits",
            scale=source.scale,
            as_decimals=source.as_decimals,
            _load_entries=partial(self._entries, payee),
        )

    def _entries(self, payee: Payee) -> pd.DataFrame:
        scale = self.column.statement.scale
        entries = self.lines.iloc[list(payee.places)].reset_index(drop=True)
        return checked_entries(entries, to_minor_units(payee.amount, scale), scale)


@dataclass(frozen=True)
class Payee:
    """A payee: its key and name, the places of its lines, and what they sum to."""

    key: str
    name: str
    places: Sequence[int]
    amount: Decimal


def top_payees(column: ChosenColumn, *, largest: int = 10, currency: str | None = None) -> Picture:
    """Bars of the payees that most was paid to in a column of a cash flow statement.

    Parameters
    ----------
    column : ChosenColumn
        As ``cash_flow_statement(lines, ledgers, ...).column("2026-05")`` returns it.
    largest : int
        How many payees have a bar of their own; the others share one.
    currency : str, optional
        Written at the axis.

    Returns
    -------
    Picture
        Payees are named as in :func:`~accounting_analytics.bridge`. What came back from a payee is subtracted;
        transfers between own accounts are left out. A bar is as long as its figure, which is negative.

    Raises
    ------
    InputError
        `column` is not a period of a cash flow statement made from line entries, or `largest` is not a positive whole
        number.
    """
    check_largest(largest)
    payees = _payees(column)
    groups = payees.groups(largest)
    statement = column.statement
    first, last = column_days(column.column)
    remarks = [*day_remarks(first, last, statement.time_zone), "less what came back"]
    figure = titled_figure(_TITLE, *remarks, "without transfers between own accounts")
    labels = [escaped(label) for label in short_labels([one.name for one in groups], 34)]
    amounts = [one.amount for one in groups]
    paid = [one.copy_negate() for one in amounts]
    texts = [amount_label(one) for one in paid]
    figure.add_bar(
        orientation="h",
        x=mark_sizes(paid),
        y=list(range(len(groups))),
        text=texts,
        textposition="none",
        name="Paid",
        marker={"color": OUTFLOW_COLOUR},
        **mark_data([one.key for one in groups], labels, amounts),
    )
    for place, (label, text) in enumerate(zip(labels, texts, strict=True)):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": place - 0.5, "yanchor": "middle"}
        font = {"size": 12, "color": INK}
        figure.add_annotation(
            text=f"{label}  <b>{text}</b>", showarrow=False, bgcolor=GROUND, borderpad=0, font=font, **at
        )
    figure.update_yaxes(visible=False, range=[len(groups) - 0.5, -0.85], fixedrange=True)
    figure.update_xaxes(showgrid=True, zeroline=True, nticks=5, rangemode="tozero", title={"text": unit_text(currency)})
    top = figure.layout.margin.t - 20
    figure.update_layout(
        showlegend=False,
        bargap=0.55,
        height=top + 70 + _ROW_HEIGHT * max(len(groups), 2),
        margin={"t": top, "b": 60},
    )
    if not groups:
        add_message(figure, "Nothing was paid in this period")
    table = _table(payees, groups, table_subtitle(figure, unit_text(currency)))
    return figure.with_marks(table, partial(payees.figure, groups))


def _payees(column: ChosenColumn) -> Payees:
    """Cash flow lines of a column, but of transfers, and their payees."""
    hint = "pass statement.column(...) of a cash_flow_statement made from line entries"
    require_type(column, ChosenColumn, "column", hint)
    figures = column.statement.figures
    rows, source = flow_rows(figures), figures.source
    if column.column.kind != "period" or not rows or not isinstance(source, LineSource):
        raise InputError(f"column is not a period of a cash flow statement made from line entries; {hint}")
    parts = [part for row in rows for part in figures.selections(row, column.column)]
    spans = {part.span for part in parts}
    lines = figures.entries([parts[0]._replace(ledger_ids=[one for part in parts for one in part.ledger_ids])])
    amounts = list(exact_amounts(lines["figure_amount"], source.scale, lines["id"]).column)
    (span,) = spans
    of_entry = payees_of_entries(source.lines(span._replace(is_flow=False)), source.cash)
    entries = lines["journal_entry_id"].astype(object)
    return Payees(column, lines, amounts, [of_entry.get(one, "") for one in entries])


def _table(payees: Payees, groups: Sequence[Payee], subtitle: str) -> FigureTable:
    """Make the table of the payees, as they are drawn."""
    statement = payees.column.statement
    ledgers = payees.lines["ledger_id"].astype(object).tolist()
    days = payees.lines["local_date"].dt.strftime("%Y-%m-%d").tolist()
    texts = payees.lines["journal_entry_description"].astype(object).tolist()
    lines = [
        TableLine(
            (ledgers[place], group.key),
            statement.figures.ledgers.name(ledgers[place]),
            days[place],
            texts[place] if isinstance(texts[place], str) else "",
            "",
            to_minor_units(payees.amounts[place], statement.scale),
        )
        for group in groups
        for place in group.places
    ]
    table = MarkTableBuilder(["Paid"], lines if len(lines) <= MAX_LINES else None, statement.scale)
    for group in groups:
        series = [one for one in table.series if one[1] == group.key]
        table.row(group.name, [table.sum(group.key, group.amount, series)])
    return table.build(_TITLE, subtitle)
