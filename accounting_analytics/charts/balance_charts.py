"""Step lines of cash by day: of a report, and of the accounts of a statement."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from decimal import localcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.category_charts import check_largest
from accounting_analytics.charts.figure import (
    DAY,
    add_message,
    day_remarks,
    first_known_day,
    known_remarks,
    local_dates,
    mark_data,
    mark_sizes,
    new_figure,
    require_lines,
    require_untagged,
    table_subtitle,
    titled_figure,
    unit_text,
)
from accounting_analytics.charts.labels import (
    ACCOUNT_COLOURS,
    BALANCE_COLOUR,
    DASHES,
    GROUND,
    INK,
    OTHERS_COLOUR,
    amount_label,
    escaped,
    short_labels,
)
from accounting_analytics.charts.mark_table import MAX_LINES, MarkTableBuilder, TableLine, report_lines
from accounting_analytics.charts.time_axis import draw_day_axis, time_steps
from accounting_analytics.column_conversion import exact_amounts
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, Figure, text_of
from accounting_analytics.messages import quote
from accounting_analytics.money import EXACT, format_amount, from_minor_units, sum_by_key, to_minor_units
from accounting_analytics.periods import Period, zone
from accounting_analytics.report_figures import BALANCE, NET
from accounting_analytics.selections import Selection, Span
from accounting_analytics.statements import Statement
from accounting_analytics.statements.line_sums import LineSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    import pandas as pd
    import plotly.graph_objects as go

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.figure_tables import FigureCell, FigureTable
    from accounting_analytics.statements.statement_figures import StatementFigures


LABEL_MARGIN = 0.14
"""Part of an axis that is left free for the label of its outermost mark."""
_NEAR_END = 0.25
_NOON = dt.time(12)


class DayLine(NamedTuple):
    """A balance by day: keys and exact amounts, which are None before the books; its colour, dash and width."""

    name: str
    keys: Sequence[str]
    amounts: Sequence[Decimal | None]
    colour: str
    dash: str = "solid"
    width: float = 2


def draw_day_lines(
    figure: go.Figure, period: Period, days: Sequence[dt.date], lines: Sequence[DayLine], *, unit: str
) -> None:
    """Draw lines whose level over the width of a day is the balance at its end, so that it is found anywhere there."""
    labels = [f"{day}" for day in days]
    for line in lines:
        is_point = sum(amount is not None for amount in line.amounts) == 1
        figure.add_scatter(
            x=days,
            xperiod=DAY,
            xperiodalignment="middle",
            y=mark_sizes(line.amounts),
            name=line.name,
            mode="markers" if is_point else "lines",
            line={"color": line.colour, "width": line.width, "shape": "hvh", "dash": line.dash},
            marker={"color": line.colour, "size": 9},
            connectgaps=False,
            **{**mark_data(line.keys, labels, line.amounts), "hovertemplate": "%{customdata[2]}"},
        )
    draw_day_axis(figure, period)
    known = [float(amount) for line in lines for amount in line.amounts if amount is not None]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = (high - low) * LABEL_MARGIN or 1.0
    figure.update_layout(hovermode="x unified")
    figure.update_yaxes(range=[low - room, high + room], title={"text": unit})


def mark_lowest_and_end(figure: go.Figure, days: Sequence[dt.date], line: DayLine) -> None:
    """Mark two days of a line, with labels on a ground, because the line may cross them."""
    known = [(at, amount) for at, amount in enumerate(line.amounts) if amount is not None]
    if not known:
        return
    end, at_end = known[-1]
    lowest, least = min(known, key=lambda one: one[1])
    marks = {lowest: f"lowest {amount_label(least)}"} if least < at_end else {}
    marks[end] = f"{'end' if marks or len(known) == 1 else 'end, lowest'} {amount_label(at_end)}"
    amounts = [line.amounts[at] for at in marks]
    figure.add_scatter(
        x=[days[at] for at in marks],
        xperiod=DAY,
        xperiodalignment="middle",
        y=mark_sizes(amounts),
        mode="markers",
        marker={"color": line.colour, "size": 9, "symbol": ["triangle-down", "circle"][-len(marks) :]},
        text=list(marks.values()),
        cliponaxis=False,
        showlegend=False,
        **{**mark_data([line.keys[at] for at in marks], [f"{days[at]}" for at in marks], amounts), "hovertemplate": ""},
        hoverinfo="skip",
    )
    for at, text in marks.items():
        figure.add_annotation(
            text=text,
            x=dt.datetime.combine(days[at], _NOON),
            y=float(line.amounts[at] or 0),
            xanchor=_anchor(at / len(days)) if len(days) > 1 else "center",
            yshift=16 if at == end else -16,
            showarrow=False,
            bgcolor=GROUND,
            borderpad=1,
            font={"size": 12, "color": INK},
        )


def _anchor(position: float) -> str:
    """Side of a label that is at its mark, between 0 and 1 on the axis, so that it does not leave the chart."""
    if position < _NEAR_END:
        return "left"
    return "right" if position > 1 - _NEAR_END else "center"


_TITLE = "Cash balance at the end of each day"


def running_balance(report: CashFlowReport, *, currency: str | None = None) -> Picture:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags. Days are local to its time zone. The line of a report that does not tie need not end at
        its ending balance, which the subtitle then names. If it starts at zero, it is drawn from its first line on.
    currency : str, optional
        Written at the axis.

    Raises
    ------
    InputError
        `report` is not a report, is filtered by tags, or has no lines although cash moved.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_untagged(report, "running balance")
    require_lines(report, "running balance")
    given, report = report, report.exact()
    first = first_known_day(report)
    days = [first + dt.timedelta(days=offset) for offset in range((report.period.end_date - first).days + 1)]
    by_day = sum_by_key(zip(local_dates(report), report.lines["amount"], strict=True))
    sums = report.exact_sums()
    with localcontext(EXACT):
        balances = list(itertools.accumulate((by_day[day] for day in days), initial=sums.starting_cash_balance))[1:]
    ending = format_amount(sums.ending_cash_balance)
    gap = [] if balances[-1] == sums.ending_cash_balance else [f"the report ends at {ending}"]
    figure = new_figure(report, _TITLE, *known_remarks(report), *gap)
    keys = [f"{BALANCE}{KEY_SEPARATOR}{day}" for day in days]
    line = DayLine("Cash balance", keys, balances, BALANCE_COLOUR)
    draw_day_lines(figure, report.period, days, [line], unit=unit_text(currency))
    mark_lowest_and_end(figure, days, line)
    figure.update_layout(showlegend=False)
    table = _balance_table(report, dict(zip(days, balances, strict=True)), table_subtitle(figure, unit_text(currency)))
    return figure.with_marks(table, given.__getitem__)


def _balance_table(report: CashFlowReport, balances: dict[dt.date, Decimal], subtitle: str) -> FigureTable:
    """Make the table of what each week, month or quarter moved, and of the balance at its end."""
    table = MarkTableBuilder(["Net cash flow", "Balance at the end"], report_lines(report), report.scale)
    before = report.exact_sums().starting_cash_balance
    for step in time_steps(report.period, None).steps:
        first, last = step.period.start_date, step.period.end_date
        if last not in balances:
            continue
        with localcontext(EXACT):
            net = balances[last] - before
        flow = table.sum(f"{NET}{KEY_SEPARATOR}{step.key}", net, table.series, (f"{first}", f"{last}"))
        terms = [("+", f"Balance before {first}", text_of(before)), ("+", f"Net cash flow, {step.label}", text_of(net))]
        end = table.derived(f"{BALANCE}{KEY_SEPARATOR}{last}", text_of(balances[last]), terms)
        table.row(step.label, [flow, end])
        before = balances[last]
    return table.build(_TITLE, subtitle)


_DAY = dt.timedelta(days=1)
_TOTAL, _OTHERS = "total", "others"
_WIDE, _NARROW = 2, 1.25


class Account(NamedTuple):
    """A line of the chart: its key and name, its ledgers, and its balance in units at the end of each day."""

    key: str
    name: str
    ledger_ids: tuple[str, ...]
    units: Sequence[int | None]


class _DailyUnits(NamedTuple):
    """The days of a statement, and the units of each cash ledger at the end of each; None where it is not known."""

    figures: StatementFigures
    source: LineSource
    days: Sequence[dt.date]
    by_ledger: dict[str, list[int | None]]

    @classmethod
    def of_statement(cls, statement: Statement) -> _DailyUnits:
        figures = statement.figures
        source = figures.source
        if not isinstance(source, LineSource):
            raise InputError(
                "balances by account need a statement from line entries, and this one is from a report, which has no "
                "lines of its accounts; running_balance(report) draws their total"
            )
        periods = [period for column in statement.columns if column.kind == "period" for _, period in column.periods]
        first, last = min(one.start_date for one in periods), max(one.end_date for one in periods)
        days = [first + offset * _DAY for offset in range((last - first).days + 1)]
        lines = source.lines(Span(figures.rules.since, last))
        local = lines["datetime"].dt.tz_convert(zone(source.time_zone)).dt.date
        moved = _moved_units(source, lines, local)
        since = figures.rules.since or source.books_start or min(local, default=source.loaded.start_date)
        until = source.loaded.end_date if source.states_days else last
        by_ledger = {}
        for ledger_id in source.cash:
            units = (figures.starting or {}).get(ledger_id, 0)
            units += sum(one for day, one in moved[ledger_id].items() if day < first)
            balances: list[int | None] = []
            for day in days:
                units += moved[ledger_id].get(day, 0)
                balances.append(units if since <= day <= until else None)
            by_ledger[ledger_id] = balances
        return cls(figures, source, days, by_ledger)


def balances(statement: Statement, *, largest: int = 5) -> Picture:
    """Step lines of the balance of each cash account at the end of each day, and of all of them together.

    Parameters
    ----------
    statement : Statement
        A statement made from line entries, such as :func:`~accounting_analytics.cash_flow_statement` with
        ``books_start=``; its periods are drawn. If its lines do not reach back to the beginning of the books, what is
        drawn is the movement since their first day, and the title says so.
    largest : int
        How many accounts have a line of their own, by their largest balance, at most 6; the others share one.

    Returns
    -------
    Picture
        Days before the first of the lines, and after the last, have no balance. Balances of cards are negative.

    Raises
    ------
    InputError
        `statement` is not a statement made from line entries, or `largest` is not from 1 to 6.
    """
    require_type(statement, Statement, "statement", "pass what cash_flow_statement(lines, ledgers, ...) returns")
    check_largest(largest)
    if largest > len(ACCOUNT_COLOURS):
        raise InputError(f"largest must be at most {len(ACCOUNT_COLOURS)}, as many as there are colours, not {largest}")
    daily = _DailyUnits.of_statement(statement)
    accounts = _accounts(daily, largest)
    is_movement = daily.figures.rules.is_movement and daily.figures.starting is None
    since = daily.figures.rules.since
    title = f"Movement of cash since {since}" if is_movement else "Cash balances by account"
    period = Period(daily.days[0], daily.days[-1], statement.time_zone)
    unknown = [day for day, units in zip(daily.days, accounts[-1].units, strict=True) if units is None]
    figure = titled_figure(
        title,
        *day_remarks(period.start_date, period.end_date, statement.time_zone),
        *([f"{len(unknown):,} day(s) without loaded lines are not drawn"] if unknown else []),
    )
    scale = daily.source.scale
    labels = [escaped(label) for label in short_labels([one.name for one in accounts])]
    lines = []
    for place, (account, label) in enumerate(zip(accounts, labels, strict=True)):
        keys = [f"{account.key}{KEY_SEPARATOR}{day}" for day in daily.days]
        amounts = [None if units is None else from_minor_units(units, scale) for units in account.units]
        is_total, is_rest = account.key == _TOTAL, account.key == _OTHERS
        colour = INK if is_total else OTHERS_COLOUR if is_rest else ACCOUNT_COLOURS[place]
        dash = "solid" if is_total else DASHES[place % len(DASHES)]
        lines.append(DayLine(label, keys, amounts, colour, dash, _WIDE if is_total else _NARROW))
    draw_day_lines(figure, period, daily.days, lines, unit=unit_text(statement.currency))
    mark_lowest_and_end(figure, daily.days, lines[-1])
    figure.update_layout(legend={"orientation": "v", "y": -0.16, "yanchor": "top"}, height=440 + 20 * len(accounts))
    figure.update_layout(margin={"t": figure.layout.margin.t - 20})
    if len(unknown) == len(daily.days):
        add_message(figure, "No lines of these days were loaded")
    table = _table(daily, accounts, period, title, table_subtitle(figure, unit_text(statement.currency)))
    return figure.with_marks(table, partial(_figure, daily, accounts))


def _moved_units(source: LineSource, lines: pd.DataFrame, days: pd.Series[Any]) -> Mapping[str, Mapping[dt.date, int]]:
    """Units that each cash ledger moved on each day, debits positive."""
    of_cash = lines["ledger_id"].isin(list(source.cash))
    lines, days = lines[of_cash], days[of_cash]
    amounts = exact_amounts(lines["signed_amount"], source.scale, lines["id"]).column
    moved: dict[str, dict[dt.date, int]] = defaultdict(lambda: defaultdict(int))
    for ledger_id, day, amount in zip(lines["ledger_id"].astype(object), days, amounts, strict=True):
        moved[ledger_id][day] += to_minor_units(amount, source.scale)
    return moved


def _accounts(daily: _DailyUnits, largest: int) -> list[Account]:
    """Accounts that had a balance, the largest first, all others together, and the total, last."""
    sizes = {one: max((abs(units or 0) for units in row), default=0) for one, row in daily.by_ledger.items()}
    moved = [one for one in sorted(sizes, key=lambda one: (-sizes[one], one)) if sizes[one]]
    own, rest = moved[:largest], moved[largest:]
    own += rest if len(rest) == 1 else []
    made = [Account(one, daily.figures.ledgers.name(one), (one,), daily.by_ledger[one]) for one in own]
    if len(rest) > 1:
        made.append(_sum(daily, _OTHERS, f"{len(rest)} other accounts", rest))
    return [*made, _sum(daily, _TOTAL, "All cash accounts", list(daily.by_ledger))]


def _sum(daily: _DailyUnits, key: str, name: str, ledger_ids: Sequence[str]) -> Account:
    rows = [daily.by_ledger[one] for one in ledger_ids]
    sums = [None if None in units else sum(one or 0 for one in units) for units in zip(*rows, strict=True)]
    return Account(key, name, tuple(ledger_ids), sums or [None] * len(daily.days))


def _figure(daily: _DailyUnits, accounts: Sequence[Account], key: str) -> Figure:
    """Balance of an account at the end of a day: all its lines up to it, and what it started with."""
    name, _, text = key.rpartition(KEY_SEPARATOR)
    found = [one for one in accounts if one.key == name]
    days = [day for day in daily.days if str(day) == text]
    if not found or not days:
        raise InputError(f"no mark of the chart has the key {quote(key)}")
    (account,), (day,) = found, days
    units, label = account.units[daily.days.index(day)], f"{account.name}, end of {day}"
    if units is None:
        return Figure(key, label, None, f"it is not known: lines of {day} were not loaded")
    make = partial(Figure, key, label, units, scale=daily.source.scale, as_decimals=daily.source.as_decimals)
    if daily.figures.starting is not None:
        return make("the supplied starting balance and the movement since")
    part = Selection(1, Span(daily.figures.rules.since, day), account.ledger_ids)
    calculation = "the sum of its line entries up to the day, debits less credits"
    load = partial(daily.source.entries, [part], units)
    return make(calculation, _load_entries=load)


def _table(daily: _DailyUnits, accounts: Sequence[Account], period: Period, title: str, subtitle: str) -> FigureTable:
    """Make the table of the balances at the end of each week, month or quarter."""
    source, figures = daily.source, daily.figures
    span = Span(figures.rules.since, period.end_date)
    found = source.shown_lines([span], set(source.cash), figures.ledgers, MAX_LINES)
    lines = None
    if found is not None:
        lines = [
            TableLine(
                (one.ledger_id, ""),
                figures.ledgers.name(one.ledger_id),
                one.day,
                one.description,
                one.opposing,
                one.units,
            )
            for one in found
        ]
    table = MarkTableBuilder([one.name for one in accounts], lines, source.scale)
    places = {day: place for place, day in enumerate(daily.days)}
    for step in time_steps(period, None).steps:
        day = step.period.end_date

        def cell(account: Account, day: dt.date = day) -> FigureCell:
            units = account.units[places[day]]
            amount = None if units is None else from_minor_units(units, source.scale)
            key = f"{account.key}{KEY_SEPARATOR}{day}"
            if figures.starting is None or units is None:
                return table.sum(key, amount, [(one, "") for one in account.ledger_ids], ("", str(day)))
            start = sum(figures.starting.get(one, 0) for one in account.ledger_ids)
            terms = [("Starting balance", start), (f"Movement since {figures.rules.since}", units - start)]
            texts = [("+", label, text_of(from_minor_units(one, source.scale))) for label, one in terms]
            return table.derived(key, text_of(amount), texts)

        table.row(f"{day}", [cell(account) for account in accounts])
    return table.build(title, subtitle)
