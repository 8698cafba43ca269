"""Charts of cash: in and out, from one balance to another, and balances by day."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accounting_analytics.charts.labels import short_labels
from accounting_analytics.charts.marks import (
    MARK_CALL,
    ChartMarks,
    Place,
    Series,
    check_largest,
    day_remarks,
    no_such_mark,
    period_places,
    unit_text,
)
from accounting_analytics.charts.picture import Picture
from accounting_analytics.charts.style import (
    ACCOUNT_COLOURS,
    BALANCE_COLOUR,
    INFLOW_COLOUR,
    INK,
    OTHERS_COLOUR,
    OUTFLOW_COLOUR,
    THICK_LINE,
    THIN_LINE,
)
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import DAY, Period, day_label
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.books.category_ledgers import required_ledgers
from accounting_analytics.reports.figures.cash_flow_report import require_report
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, OWN, Figure
from accounting_analytics.reports.figures.figure_table import MAX_LINES, entries_behind, sums_of, table_of_figures
from accounting_analytics.reports.figures.report_figures import (
    BALANCE,
    ENDING,
    INFLOW,
    NET,
    OUTFLOW,
    STARTING,
    UNEXPLAINED,
    WITHOUT,
    WITHOUT_ENTRIES,
)
from accounting_analytics.reports.payees.bridge import AFTER, BEFORE, Bridge
from accounting_analytics.reports.statements.columns import split_period
from accounting_analytics.reports.statements.daily_balances import DailyBalances
from accounting_analytics.reports.statements.statement import Statement
from accounting_analytics.reports.statements.table import lines_behind

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport
    from accounting_analytics.reports.figures.figure_table import FigureTable, Rows
    from accounting_analytics.reports.figures.report_figures import CashFlowReportFigures
    from accounting_analytics.reports.statements.columns import StatementColumn

PeriodUnit = Literal["week", "month", "quarter"]
_UNITS = ("week", "month", "quarter")
_MAX_DAYS_OF_WEEKS, _MAX_DAYS_OF_MONTHS = 62, 1_100
_TOTAL, _OTHERS = "total", "others"


def inflow_outflow(
    report: CashFlowReport,
    *,
    by: PeriodUnit | None = None,
    ledgers: pd.DataFrame | None = None,
    tag_names: Mapping[str, str] | None = None,
) -> Picture:
    """Bars of cash in and cash out by week, month or quarter, with a line of the net cash flow.

    Parameters
    ----------
    report : CashFlowReport
        Periods are local to the report's time zone; the first and last may be cut. Those before the first line of a
        report that starts at zero are not drawn.
    by : {"week", "month", "quarter"}, optional
        By default weeks up to two months, months up to three years, and quarters of longer periods.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`, in which the ledgers of transfers between own accounts and of
        opening balances are found, so that these count neither as inflow nor as outflow. Transfers within one journal
        entry never do.
    tag_names : mapping of str to str, optional
        Names of tags by id, for a report that was filtered by tags.

    Returns
    -------
    Picture
        Inflows point up, outflows point down and are hatched, the net is a line with markers.

    Raises
    ------
    InputError
        `report` is not a report, or has no lines although cash moved, or `by` is none of the three.
    """
    require_report(report, "report")
    _require_lines(report, "chart of inflow and outflow")
    unit, steps = time_steps(report.period, by)
    figures = report.figures
    shown = [step for step in steps if step.periods[0][1].end_date >= _first_known_day(figures)]
    transfers = _required(ledgers, RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS)
    openings = _required(ledgers, RequiredLedger.OPENING_BALANCE)
    without = "".join(f"{KEY_SEPARATOR}{WITHOUT}{ledger_id}" for ledger_id in transfers)
    without += "".join(f"{KEY_SEPARATOR}{WITHOUT_ENTRIES}{ledger_id}" for ledger_id in openings)
    made = {
        name: [figures.figure(f"{name}{KEY_SEPARATOR}{step.key}{without}") for step in shown]
        for name in (INFLOW, OUTFLOW, NET)
    }
    colours = {INFLOW: INFLOW_COLOUR, OUTFLOW: OUTFLOW_COLOUR, NET: INK}
    heads = {INFLOW: "Inflow", OUTFLOW: "Outflow", NET: "Net"}
    series = [
        Series(
            name=heads[name],
            keys=[figure.key for figure in of_name],
            amounts=[figure.exact() for figure in of_name],
            colour=colours[name],
            is_line=name == NET,
            number=int(name == OUTFLOW),
        )
        for name, of_name in made.items()
    ]
    remarks = [
        *_report_remarks(report, figures),
        _left_out_remark(ledgers, set(openings) & set(report.exact().lines["ledger_id"]), transfers),
        *_tag_remarks(report, tag_names or {}),
    ]
    title = f"Cash in and out by {unit}"
    rows = [(step.label, of_step) for step, *of_step in zip(shown, *made.values(), strict=True)]
    subtitle = [*remarks, unit_text(report.currency)]
    is_moved = any(figure.units for of_name in made.values() for figure in of_name) or len(report.exact().lines)
    return Picture.of(
        ChartMarks(
            title=title,
            remarks=remarks,
            unit=unit_text(report.currency),
            kind="columns",
            places=period_places(shown),
            series=series,
            message="" if is_moved else "No cash moved in this period",
            find=report.__getitem__,
            table=partial(_report_table, figures, title, subtitle, list(heads.values()), rows),
        )
    )


def waterfall(report: CashFlowReport, *, largest: int = 10) -> Picture:
    """Waterfall from the starting to the ending cash balance, with a step for each of the largest ledgers.

    Entries of opening balances are steps of their ledgers, as the report counts them.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags: the flows of a tagged report do not lead from one balance to the other. In a report that
        does not tie, the amount that its flows do not explain is a step of its own.
    largest : int
        How many ledgers get a step of their own, by absolute net cash flow; the others share one step.

    Raises
    ------
    InputError
        `report` is not a report or is filtered by tags, or `largest` is not a positive whole number.
    """
    require_report(report, "report")
    _require_untagged(report, "waterfall")
    check_largest(largest)
    figures = report.figures
    steps = [
        (STARTING, f"Start {day_label(report.period.start_date)}"),
        *_waterfall_steps(figures, largest),
        *([(UNEXPLAINED, "Not explained by the flows")] if figures.figure(UNEXPLAINED).units else []),
        (ENDING, f"End {day_label(report.period.end_date)}"),
    ]
    rows = [(label, [figures.figure(key)]) for key, label in steps]
    title, remarks = "From starting to ending cash", _report_remarks(report, figures, with_first_day=False)
    subtitle = [*remarks, unit_text(report.currency)]
    table = partial(_report_table, figures, title, subtitle, ["Amount"], rows, ends_in_total=True)
    unit = unit_text(report.currency)
    return Picture.of(
        ChartMarks(
            title=title, remarks=remarks, unit=unit, find=report.__getitem__, table=table, **_waterfall_marks(rows)
        )
    )


def bridge(bridge: Bridge) -> Picture:
    """Waterfall of a bridge: its total before, its steps in their order, its total after.

    Parameters
    ----------
    bridge : Bridge
        As :func:`~accounting_analytics.bridge` returns it; its `largest` decides how many steps there are.

    Raises
    ------
    InputError
        `bridge` is not a bridge.
    """
    if not isinstance(bridge, Bridge):
        raise InputError(f"bridge must be a Bridge, as bridge() returns it, not {type(bridge).__name__}")
    rows = [
        (bridge.before, [bridge[BEFORE]]),
        *((step.label, [bridge[step.key]]) for step in bridge.steps),
        (bridge.after, [bridge[AFTER]]),
    ]
    remarks = [f"{bridge.before} to {bridge.after}", f"days in {bridge.time_zone}"]
    table = partial(bridge.table, MARK_CALL, [*remarks, unit_text(bridge.currency)])
    unit = unit_text(bridge.currency)
    return Picture.of(
        ChartMarks(
            title=bridge.title,
            remarks=remarks,
            unit=unit,
            find=bridge.__getitem__,
            table=table,
            **_waterfall_marks(rows),
        )
    )


def running_balance(report: CashFlowReport) -> Picture:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags. Days are local to its time zone. The line of a report that does not tie need not end at
        its ending balance, which the subtitle then names. If it starts at zero, it is drawn from its first line on.

    Raises
    ------
    InputError
        `report` is not a report, is filtered by tags, or has no lines although cash moved.
    """
    require_report(report, "report")
    _require_untagged(report, "running balance")
    _require_lines(report, "running balance")
    figures, sums, scale = report.figures, report.exact(), report.scale
    days = _days(_first_known_day(figures), report.period.end_date)
    moved: dict[dt.date, int] = defaultdict(int)
    for day, units in zip(figures.days.tolist(), figures.units, strict=True):
        moved[day] += units
    start = to_minor_units(sums.starting_cash_balance, scale)
    balances = list(itertools.accumulate((moved[day] for day in days), initial=start))[1:]
    series = Series(
        name="Cash balance",
        keys=[f"{BALANCE}{KEY_SEPARATOR}{day}" for day in days],
        amounts=[from_minor_units(units, scale) for units in balances],
        colour=BALANCE_COLOUR,
        is_line=True,
        width=THICK_LINE,
    )
    ending = sums.ending_cash_balance
    gap = [] if series.amounts[-1] == ending else [f"the report ends at {format_amount(ending)}"]
    title, remarks = "Cash balance at the end of each day", [*_report_remarks(report, figures), *gap]
    return Picture.of(
        ChartMarks(
            title=title,
            remarks=remarks,
            unit=unit_text(report.currency),
            kind="days",
            places=[Place(f"{day}") for day in days],
            series=[series],
            period=report.period,
            find=report.__getitem__,
            table=partial(_balance_table, figures, title, [*remarks, unit_text(report.currency)], days[0]),
        )
    )


def balances(statement: Statement, *, largest: int = 5) -> Picture:
    """Step lines of the balance of each cash account at the end of each day, and of all of them together.

    Parameters
    ----------
    statement : Statement
        A statement of books, such as :func:`~accounting_analytics.cash_flow_statement` returns it; its periods are
        drawn. If the opening of the books is not known, what is drawn is the movement since the first day of the
        lines, and the title says so.
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
    require_type(statement, Statement, "statement", "pass what cash_flow_statement(books) returns")
    check_largest(largest, len(ACCOUNT_COLOURS))
    balances = _AccountBalances.of_statement(statement)
    accounts, daily = balances.accounts(largest), balances.daily
    rules, period = daily.figures.rules, daily.period
    since = rules.opening.day if rules.opening.is_movement else None
    title = f"Movement of cash since {day_label(since)}" if since else "Cash balances by account"
    unknown = sum(units is None for units in accounts[-1].units)
    missing = [f"{count_of(unknown, 'day')} without loaded lines are not drawn"] if unknown else []
    remarks = [*day_remarks(period), *missing]
    names = short_labels([account.name for account in accounts])
    unit = unit_text(statement.currency)
    return Picture.of(
        ChartMarks(
            title=title,
            remarks=remarks,
            unit=unit,
            kind="days",
            places=[Place(f"{day}") for day in daily.days],
            series=[
                balances.series(account, name, at)
                for at, (account, name) in enumerate(zip(accounts, names, strict=True))
            ],
            period=period,
            amounts_in=statement.amounts_in,
            message="No lines of these days were loaded" if unknown == len(daily.days) else "",
            find=partial(balances.figure, accounts),
            table=partial(balances.table, accounts, title, [*remarks, unit]),
        )
    )


def time_steps(period: Period, unit: PeriodUnit | None) -> tuple[PeriodUnit, list[StatementColumn]]:
    """Split a period into requested units, else into units that suit its length. The ends may cut units."""
    if unit is not None and unit not in _UNITS:
        raise InputError(f"by must be week, month or quarter, or None to choose by the length, not {quote(unit)}")
    if unit is None:
        unit = "week" if period.days <= _MAX_DAYS_OF_WEEKS else "month"
        unit = "quarter" if period.days > _MAX_DAYS_OF_MONTHS else unit
    return unit, split_period(period, _weeks(period) if unit == "week" else unit, 1)


def _weeks(period: Period) -> list[Period]:
    """Split a period into weeks from Monday, cut at its ends."""
    weeks, first = [], period.start_date
    while first <= period.end_date:
        days_left = min(6 - first.weekday(), (period.end_date - first).days)
        weeks.append(Period(first, first + days_left * DAY, period.time_zone))
        if weeks[-1].end_date == period.end_date:
            break
        first = weeks[-1].end_date + DAY
    return weeks


def _days(first: dt.date, last: dt.date) -> list[dt.date]:
    return [first + offset * DAY for offset in range((last - first).days + 1)]


def _report_remarks(
    report: CashFlowReport, figures: CashFlowReportFigures, *, with_first_day: bool = True
) -> list[str]:
    """Write the days, the time zone and the limits of a report."""
    period = report.period
    first = _first_known_day(figures) if with_first_day else period.start_date
    return [
        *day_remarks(period),
        *(["PARTIAL: lines are missing"] if report.partial else []),
        *(["starting balance supplied, not summed"] if report.anchored else []),
        *([f"nothing before {day_label(first)}"] if first > period.start_date else []),
    ]


def _tag_remarks(report: CashFlowReport, tag_names: Mapping[str, str]) -> list[str]:
    """Write a remark that names the tags of a filtered report."""
    names = [tag_names.get(tag_id, tag_id) for tag_id in report.tag_ids]
    return [f"only lines tagged {join_ids(names, limit=1)}"] if names else []


def _first_known_day(figures: CashFlowReportFigures) -> dt.date:
    """Find the first day with a balance or a line entry."""
    if figures.starting or not len(figures.days):
        return figures.period.start_date
    first: dt.date = max(figures.days.min().item(), figures.period.start_date)
    return first


def _require_untagged(report: CashFlowReport, chart: str) -> None:
    """Refuse a report filtered by tags, for a chart that needs balances."""
    if report.tag_ids:
        raise InputError(f"a {chart} needs balances, and tags do not filter those; load the report without tag_ids")


def _require_lines(report: CashFlowReport, chart: str) -> None:
    """Refuse a report without line entries, for a chart that draws them."""
    exact = report.exact()
    if report.totals_only or (exact.lines.empty and (exact.ledgers["net_cash_flow"] != 0).any()):
        raise InputError(
            f"a {chart} needs the lines of the report, and this one has none; "
            + ("recompute it with lines=True" if report.origin == "recomputed" else "recompute it from line entries")
        )


def _required(ledgers: pd.DataFrame | None, role: RequiredLedger) -> list[str]:
    """Find the required ledgers of a role."""
    if ledgers is None:
        return []
    Ledgers.require_frame(ledgers)
    return sorted(required_ledgers(ledgers, {role}))


def _left_out_remark(ledgers: pd.DataFrame | None, openings: set[str], transfers: list[str]) -> str:
    """Write a remark that says what the chart leaves out."""
    if ledgers is None:
        return "opening balances and transfers of two entries are counted: pass ledgers to leave them out"
    left_out = [*(["opening balances"] if openings else []), *(["transfers between own accounts"] if transfers else [])]
    without = [f"without {' and '.join(left_out)}"] if left_out else []
    return "; ".join(without if transfers else [*without, "there is no ledger of transfers"])


def _waterfall_marks(rows: Rows) -> dict[str, Any]:
    """Make the marks of a waterfall, from one figure of each row."""
    labels = short_labels([label for label, _ in rows])
    figures = [figure for _, (figure,) in rows]
    series = Series(
        name="Amount",
        keys=[figure.key for figure in figures],
        amounts=[figure.exact() or Decimal(0) for figure in figures],
        colour=BALANCE_COLOUR,
    )
    return {"kind": "steps", "places": [Place(label) for label in labels], "series": [series]}


def _waterfall_steps(figures: CashFlowReportFigures, largest: int) -> list[tuple[str, str]]:
    """List the largest flows and the rest, each as key and label."""
    ledgers = figures.ledgers[figures.ledgers["net_cash_flow"] != 0]
    flows = dict(zip(ledgers["ledger_id"], ledgers["net_cash_flow"], strict=True))
    ranked = sorted(flows, key=lambda ledger_id: -abs(flows[ledger_id]))
    own = sorted(ranked[:largest], key=lambda ledger_id: -flows[ledger_id])
    steps = [(f"{OWN}{ledger_id}", figures.names[ledger_id]) for ledger_id in own]
    if rest := ranked[largest:]:
        key = KEY_SEPARATOR.join(f"{OWN}{ledger_id}" for ledger_id in rest)
        steps.append((key, count_of(len(rest), "other ledger")))
    return steps


def _balance_table(figures: CashFlowReportFigures, title: str, subtitle: Sequence[str], first: dt.date) -> FigureTable:
    """Tabulate the flow and ending balance of weeks, months or quarters."""
    _, steps = time_steps(figures.period, None)
    rows = [
        (
            step.label,
            [
                figures.figure(f"{NET}{KEY_SEPARATOR}{step.key}"),
                figures.figure(f"{BALANCE}{KEY_SEPARATOR}{step.periods[0][1].end_date}"),
            ],
        )
        for step in steps
        if step.periods[0][1].end_date >= first
    ]
    heads = ["Net cash flow", "Balance at the end"]
    return _report_table(figures, title, subtitle, heads, rows)


def _report_table(
    figures: CashFlowReportFigures,
    title: str,
    subtitle: Sequence[str],
    heads: Sequence[str],
    rows: Rows,
    **options: bool,
) -> FigureTable:
    """Make a table of figures of a report."""
    lines = entries_behind(rows)
    return table_of_figures(
        title,
        subtitle,
        heads,
        rows,
        lines,
        scale=figures.scale,
        call=MARK_CALL,
        name=figures.names.__getitem__,
        **options,
    )


class _Account(NamedTuple):
    """A chart line: key, name, ledgers, and units at each day's end."""

    key: str
    name: str
    ledger_ids: tuple[str, ...]
    units: Sequence[int | None]


@dataclass(frozen=True, eq=False)
class _AccountBalances:
    """The accounts of a chart of balances."""

    daily: DailyBalances

    @classmethod
    def of_statement(cls, statement: Statement) -> _AccountBalances:
        """Read the days from a statement's first to its last period."""
        figures, source = statement.figures, statement.figures.source
        if not isinstance(source, LineSource):
            raise InputError(
                "balances by account need a statement from line entries, and this one is from a report, which has no "
                "lines of its accounts; running_balance(report) draws their total"
            )
        columns = [column for column in figures.columns.shown if column.kind == "period"]
        periods = [period for column in columns for _, period in column.periods]
        first, last = min(period.start_date for period in periods), max(period.end_date for period in periods)
        return cls(DailyBalances(figures, source, Period(first, last, statement.time_zone)))

    def accounts(self, largest: int) -> list[_Account]:
        """List the largest accounts with a balance, then the rest as one, and the total."""
        units, names = self.daily.units, self.daily.figures.ledgers
        sizes = {ledger_id: max(abs(units) for units in row[1:]) for ledger_id, row in units.items()}
        ordered = sorted(sizes, key=lambda ledger_id: (-sizes[ledger_id], ledger_id))
        moved = [ledger_id for ledger_id in ordered if sizes[ledger_id]]
        own, rest = moved[:largest], moved[largest:]
        if len(rest) == 1:
            own, rest = moved, []
        made = [self._account(ledger_id, names.name(ledger_id), [ledger_id]) for ledger_id in own]
        if rest:
            made.append(self._account(_OTHERS, f"{len(rest)} other accounts", rest))
        return [*made, self._account(_TOTAL, "All cash accounts", list(units))]

    def _account(self, key: str, name: str, ledger_ids: Sequence[str]) -> _Account:
        days = zip(self.daily.days, self.daily.total(ledger_ids)[1:], strict=True)
        units = [balance if self.daily.is_known(day) else None for day, balance in days]
        return _Account(key, name, tuple(ledger_ids), units)

    def series(self, account: _Account, name: str, number: int) -> Series:
        """Make the chart line of an account."""
        is_total = account.key == _TOTAL
        scale = self.daily.source.scale
        return Series(
            name=name,
            keys=[f"{account.key}{KEY_SEPARATOR}{day}" for day in self.daily.days],
            amounts=[None if units is None else from_minor_units(units, scale) for units in account.units],
            colour=INK if is_total else OTHERS_COLOUR if account.key == _OTHERS else ACCOUNT_COLOURS[number],
            is_line=True,
            number=0 if is_total else number,
            width=THICK_LINE if is_total else THIN_LINE,
        )

    def figure(self, accounts: Iterable[_Account], key: str) -> Figure:
        """Make the figure of an account at the end of a day."""
        name, _, text = key.rpartition(KEY_SEPARATOR)
        account = next((account for account in accounts if account.key == name), None)
        day = next((day for day in self.daily.days if str(day) == text), None)
        if account is None or day is None:
            raise no_such_mark(key)
        label = f"{account.name}, end of {day_label(day)}"
        if not self.daily.is_known(day):
            return Figure(key, label, None, f"it is not known: lines of {day_label(day)} were not loaded")
        return self.daily.figure(key, label, account.ledger_ids, day)

    def table(self, accounts: Sequence[_Account], title: str, subtitle: Sequence[str]) -> FigureTable:
        """Tabulate the balances at the end of weeks, months or quarters."""
        ends = [step.periods[0][1].end_date for step in time_steps(self.daily.period, None)[1]]
        rows = [
            (day_label(day), [self.figure(accounts, f"{account.key}{KEY_SEPARATOR}{day}") for account in accounts])
            for day in ends
        ]
        figures, heads = self.daily.figures, [account.name for account in accounts]
        lines = lines_behind(figures, sums_of(rows), MAX_LINES)
        scale = self.daily.source.scale
        return table_of_figures(
            title, subtitle, heads, rows, lines, scale=scale, call=MARK_CALL, name=figures.ledgers.name
        )
