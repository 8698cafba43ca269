"""The statements: which rows, columns and days each has, summed from line entries or taken from a cash flow report."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.errors import EmptyPeriodError, IncompleteLoadError, InputError
from accounting_analytics.core.exact_sums import collect, require_columns, wrap
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import (
    Discovery,
    known_ledgers_claim,
    stated_attrs,
)
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import Period, choose_zone, day_label, parse_date
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.books.ledger_tree import LedgerTree
from accounting_analytics.reports.books.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.books.opening import Opening, find_opening, given_opening
from accounting_analytics.reports.books.zone_of_lines import zone_of_lines
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport
from accounting_analytics.reports.figures.selections import Span
from accounting_analytics.reports.statements.columns import (
    Columns,
    StatementColumn,
    check_comparisons,
    label,
    split_period,
    with_comparisons,
)
from accounting_analytics.reports.statements.rows import (
    CASH_FLOW_SECTIONS,
    CashRows,
    Chart,
    Layout,
    LayoutBuilder,
    balance_rows,
    cash_flow_rows,
    income_rows,
    trial_rows,
)
from accounting_analytics.reports.statements.statement import Statement
from accounting_analytics.reports.statements.statement_figures import StatementFigures
from accounting_analytics.reports.statements.sums import ReportSource, SpanRules
from accounting_analytics.reports.statements.tagged_lines import TAG, Tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reports.statements.columns import Comparison, TaggedUnit, Unit
    from accounting_analytics.reports.statements.rows import Measure
    from accounting_analytics.reports.statements.sums import Source

_COLUMNS = ("id", "type", "sub_type", "debit_credit", "financial_account_type", "is_required")


class StatementOptions(NamedTuple):
    """What a statement was asked for, besides its lines and ledgers."""

    start_date: DateLike | None
    end_date: DateLike | None
    columns: TaggedUnit | Iterable[object] | None
    compare: str | Iterable[str]
    depth: int | None
    time_zone: ZoneLike | None
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None
    books_start: DateLike | None
    fiscal_year_start_month: int
    currency: str | None
    company: str | None
    scale: int | None
    tag_ids: Iterable[str] = ()
    tag_group: str | None = None

    def tags(self) -> Tags | None:
        """Tags that the statement is filtered or split by; None of one of all lines."""
        tag_ids, are_columns = to_texts(self.tag_ids), self.columns == TAG
        if self.tag_group is not None and not are_columns:
            raise InputError("tag_group is for columns='tag': leave it out")
        if are_columns and self.compare:
            raise InputError("columns='tag' has no comparisons: leave compare out, or make a statement of each tag")
        return Tags(tag_ids, self.tag_group, are_columns) if tag_ids or are_columns else None


class _Kind(NamedTuple):
    """What sets one statement apart: its measures, the ledgers it needs, and its rows."""

    measures: tuple[Measure, ...]
    of_balances: bool
    needed: Callable[[Chart], Iterable[str]]
    rows: Callable[[LayoutBuilder, CashRows | None], Layout]
    moved_title: str = ""


def cash_flow_statement(
    source: Any,  # noqa: ANN401 (a report, or any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    columns: TaggedUnit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    time_zone: ZoneLike | None = None,
    sections: Mapping[str, str] | None = None,
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None = None,
    books_start: DateLike | None = None,
    fiscal_year_start_month: int = 1,
    currency: str | None = None,
    company: str | None = None,
    scale: int | None = None,
    tag_ids: Iterable[str] = (),
    tag_group: str | None = None,
) -> Statement:
    """Cash flow statement: what moved cash, by category in sections, between cash at the start and at the end.

    Parameters
    ----------
    source : frame, LocalBooks or CashFlowReport
        Line entries of any engine (as :func:`~accounting_analytics.recompute_cash_flow` takes them), local books, or a
        report, whose period is then the only column. A load with ``is_cashflow=True`` suffices, one with ``tag_ids``
        too has no cash balances.
    ledgers : frame, optional
        The chart of accounts, as :func:`~accounting_analytics.discover_ledgers` returns it; local books have their own.
    start_date, end_date : date-like, optional
        First and last day, both inclusive, local to `time_zone`; by default the days of the load.
    columns : {"month", "quarter", "year", "tag"} or list of periods, optional
        What a column is: month by default, cut at the first and last day. A period of a list is a
        :class:`~accounting_analytics.Period`, a pair of dates, or a text such as ``2026-Q1``. ``tag`` has a column for
        each tag of a group, one for lines with several of them, and one for lines without, which sum to the statement.
    compare : str or list of str
        Columns to add. After the others: ``total`` and ``average`` (of the whole columns, without the one that opening
        balances are in). Beside each: ``prior`` (the same dates one column earlier), ``prior_year``, ``change`` and
        ``change_pct`` (from the prior year if that is asked for, else from the prior period), ``share`` (percent of
        total inflows).
    depth : int, optional
        Levels of ledgers that are shown; all by default.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load, else that of the ledgers if every ``local_date`` is
        a day of it.
    sections : mapping of str to str, optional
        Section by ledger (id, unique name or path), ``financial_account_type`` or ``sub_type``, instead of
        ``accounting_analytics.reports.statement_rows.CASH_FLOW_SECTIONS``; what it does not name is operating.
    starting_balances : DataFrame or mapping, optional
        Balances of the cash ledgers at `start_date`, to roll forward, debits positive.
    books_start : date-like, optional
        First day of the books, where lines of local books do not state it. Balances are sums from there; without it,
        or if the load begins later, the statement shows the movement since the first day of the load, and says so.
        Days before it, or before the first entry of discovered ledgers, are not known.
    fiscal_year_start_month : int
        Month that years and quarters are counted from.
    currency, company : str, optional
        Shown in the heading.
    scale : int, optional
        Fraction digits of the amounts, where nothing states them.
    tag_ids : iterable of str, optional
        Count only lines that have all these tags, by id or unique name; balances of cash are not shown then.
    tag_group : str, optional
        Id of the group whose tags are columns, where lines have tags of several.

    Returns
    -------
    Statement
        Amounts are positive where cash comes in. A column that was not loaded is not known.

    Raises
    ------
    IncompleteLoadError
        No column was loaded, the load lacks ledgers, or entries do not balance.
    InputError
        An option is wrong; FrameError, HierarchyError, AmountError as of
        :func:`~accounting_analytics.recompute_cash_flow`.
    """
    table = CASH_FLOW_SECTIONS if sections is None else sections
    if isinstance(source, CashFlowReport):
        if start_date is not None or end_date is not None or columns is not None:
            raise InputError("a cash flow report has its own period: pass no dates and no columns with it")
        if compare:
            raise InputError("a cash flow report has one period to show: pass line entries to compare periods")
        if tag_ids:
            raise InputError("a cash flow report is filtered when it is made: pass tag_ids to load_cash_flow_report")
        start_date, end_date = source.period.start_date, source.period.end_date
        columns, time_zone = [source.period], source.period.time_zone
    options = StatementOptions(
        start_date, end_date, columns, compare, depth, time_zone, starting_balances, books_start,
        fiscal_year_start_month, currency, company, scale, tag_ids, tag_group,
    )  # fmt: skip
    kind = _Kind(
        ("flow", "opening", "balance"),
        of_balances=False,
        needed=lambda chart: chart.tree.cash,
        rows=lambda build, cash: cash_flow_rows(build, table, cash),
    )
    return _make(source, ledgers, options, kind)


def income_statement(
    source: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    columns: TaggedUnit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    time_zone: ZoneLike | None = None,
    books_start: DateLike | None = None,
    fiscal_year_start_month: int = 1,
    currency: str | None = None,
    company: str | None = None,
    scale: int | None = None,
    tag_ids: Iterable[str] = (),
    tag_group: str | None = None,
) -> Statement:
    """Income statement: revenues less expenses, with gross profit, operating income and net income.

    Parameters
    ----------
    source, ledgers, start_date, end_date, columns, compare, depth, time_zone, fiscal_year_start_month, currency, company, scale, tag_ids, tag_group
        As of :func:`cash_flow_statement`, from line entries only; ``share`` is percent of operating revenues. The load
        must have all ledgers of revenues and expenses.
    books_start : date-like, optional
        First day of the books, where neither local books nor discovered ledgers state it: nothing is known of days
        before.

    Returns
    -------
    Statement
        Revenues and expenses are positive on their normal side. The two uncategorized ledgers are below net income.

    Raises
    ------
    IncompleteLoadError, InputError
        As of :func:`cash_flow_statement`.
    """  # noqa: E501 (one line of parameters)
    options = StatementOptions(
        start_date, end_date, columns, compare, depth, time_zone, None, books_start,
        fiscal_year_start_month, currency, company, scale, tag_ids, tag_group,
    )  # fmt: skip
    return _make(
        source,
        ledgers,
        options,
        _Kind(("movement",), of_balances=False, needed=_earning, rows=lambda build, _: income_rows(build)),
    )


def balance_sheet(
    source: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    columns: Unit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    time_zone: ZoneLike | None = None,
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None = None,
    books_start: DateLike | None = None,
    fiscal_year_start_month: int = 1,
    currency: str | None = None,
    company: str | None = None,
    scale: int | None = None,
) -> Statement:
    """Balance sheet at the end of each column's days: assets, liabilities, equity and earnings.

    Parameters
    ----------
    source, ledgers, start_date, end_date, columns, compare, depth, time_zone, books_start, currency, company, scale
        As of :func:`cash_flow_statement`, from line entries of all ledgers; ``share`` is percent of total assets.
    starting_balances : DataFrame or mapping, optional
        Balances of all ledgers at `start_date`, debits positive, to roll forward.
    fiscal_year_start_month : int
        Month from which earnings are those of the period.

    Returns
    -------
    Statement
        Amounts are positive on the normal side. Where the lines do not reach back to the beginning of the books, it is
        the movement since the first day of the load, and its title, columns and notes say so.

    Raises
    ------
    IncompleteLoadError, InputError
        As of :func:`cash_flow_statement`.
    """
    options = StatementOptions(
        start_date, end_date, columns, compare, depth, time_zone, starting_balances, books_start,
        fiscal_year_start_month, currency, company, scale,
    )  # fmt: skip
    kind = _Kind(
        ("balance", "earlier_years", "this_year"),
        of_balances=True,
        needed=lambda chart: chart.tree.names,
        rows=lambda build, _: balance_rows(build),
        moved_title="Movement of assets, liabilities and equity",
    )
    return _make(source, ledgers, options, kind)


def trial_balance(
    source: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    columns: Unit | Iterable[object] | None = None,
    time_zone: ZoneLike | None = None,
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None = None,
    books_start: DateLike | None = None,
    fiscal_year_start_month: int = 1,
    currency: str | None = None,
    company: str | None = None,
    scale: int | None = None,
) -> Statement:
    """Trial balance at the end of each column's days: every ledger in its debit or its credit column.

    Parameters
    ----------
    source, ledgers, start_date, end_date, columns, time_zone, starting_balances, books_start, fiscal_year_start_month, currency, company, scale
        As of :func:`balance_sheet`.

    Returns
    -------
    Statement
        Two columns a period, ``2026-03 debit`` and ``2026-03 credit``, which sum to the same.

    Raises
    ------
    IncompleteLoadError, InputError
        As of :func:`balance_sheet`.
    """  # noqa: E501 (one line of parameters)
    options = StatementOptions(
        start_date, end_date, columns, (), None, time_zone, starting_balances, books_start,
        fiscal_year_start_month, currency, company, scale,
    )  # fmt: skip
    kind = _Kind(
        ("balance",),
        of_balances=True,
        needed=lambda chart: chart.tree.names,
        rows=lambda build, _: trial_rows(build),
        moved_title="Movement of ledgers",
    )
    return _make(source, ledgers, options, kind)


def _earning(chart: Chart) -> list[str]:
    """Ledgers of an income statement."""
    return [*chart.of_types(LedgerType.REVENUE, LedgerType.EXPENSE), *chart.of_unknown_type(), *chart.uncategorized()]


def _make(source: Any, ledgers: Any, options: StatementOptions, kind: _Kind) -> Statement:  # noqa: ANN401 (any frame)
    """Make a statement from a report or from line entries."""
    source, ledgers = lines_of(source), ledgers_of(source, ledgers)
    day_zone = (
        choose_zone(options.time_zone)
        if isinstance(source, CashFlowReport)
        else zone_of_lines(source, ledgers, options.time_zone)
    )
    chart = _read_chart(ledgers)
    tags = options.tags()
    if tags and kind.of_balances:
        raise InputError("balances are not split by tags: make an income statement or a cash flow statement by tags")
    lines, period = _read_lines(source, options, kind, chart, day_zone.name)
    opening = _opening(options, kind, lines, period, chart, ledgers)
    of_tags: list[StatementColumn] = []
    if tags and isinstance(lines, LineSource):
        of_flows = "flow" in kind.measures
        counted = set(chart.tree.names) - set(chart.tree.cash) if of_flows else set(kind.needed(chart))
        costs = chart.of_types(LedgerType.EXPENSE)
        lines, of_tags = tags.choose(lines, period, counted, costs, of_flows=of_flows)
    columns = (
        Columns(tuple(of_tags), {one.key: one for one in of_tags})
        if of_tags
        else _columns(options, kind, period, opening)
    )
    loaded_from = opening.since or lines.loaded.start_date
    rules = SpanRules(opening, options.fiscal_year_start_month, kind.of_balances, loaded_from)
    summed = _Summed.of_columns(columns, kind, lines, chart, rules)
    since = opening.day if opening.is_movement else None
    is_explained = not (isinstance(lines, ReportSource) and lines.gap)
    cash_rows = None if lines.is_tagged else CashRows(since, lines.is_report, is_explained)
    trees = chart.tree.trees(*(one for measure in summed.spans for one in summed.known(measure)))
    moved = partial(summed.moved, opening.units or {})
    layout = kind.rows(LayoutBuilder(chart, moved, trees.unknown, options.depth), cash_rows)
    notes = (
        *_notes_without_entries(columns, summed, kind),
        *filter(None, [opening.sentence()]),
        *opening.notes,
        *opening.notes_on(one for column in columns.shown for _, one in column.periods),
        *([f"{count_of(layout.left_out, 'ledger')} without amounts left out."] if layout.left_out else []),
        *layout.notes,
        *chart.tree.notes(trees),
        known_ledgers_claim(ledgers, len(chart.tree.names)),
        *lines.notes,
        *day_zone.notes,
    )
    labels = {key: row.label for key, row in layout.by_key.items() if row.kind not in {"ledger", "own"}}
    return Statement(
        f"{kind.moved_title} since {since}" if since and kind.moved_title else layout.title,
        columns.shown,
        tuple(layout.shown),
        lines.scale,
        options.company,
        options.currency,
        day_zone.name,
        since,
        notes,
        StatementFigures(columns, layout, lines, summed.sums, summed.unknown, summed.rules, chart.names, opening.units),
        LedgerNames(chart.tree.names | labels, chart.tree.hierarchy),
    )


def _read_lines(
    source: Any,  # noqa: ANN401 (any frame)
    options: StatementOptions,
    kind: _Kind,
    chart: Chart,
    time_zone: str,
) -> tuple[Source, Period]:
    """Read a report or line entries, and the days that were asked for or loaded."""
    asked = None
    if options.start_date is not None and options.end_date is not None:
        asked = Period(options.start_date, options.end_date, time_zone)
    lines: Source
    if isinstance(source, CashFlowReport):
        lines = ReportSource(source)
        chart.tree.require(lines.flows)
        lines.require_same_cash(chart.tree.cash)
    else:
        needed = set(kind.needed(chart))
        lines = LineSource(source, chart.tree.cash, needed, time_zone, scale=options.scale, asked=asked)
        lines.require_whole_entries()
        if "flow" not in kind.measures:
            lines.require_all_entries()
    loaded = lines.loaded
    period = asked or Period(options.start_date or loaded.start_date, options.end_date or loaded.end_date, time_zone)
    return lines, period


def _notes_without_entries(columns: Columns, summed: _Summed, kind: _Kind) -> Iterator[str]:
    """Say that there are no line entries, in any column or in the latest ones."""
    if not any(summed.sums.values()):
        yield "There are no line entries in these days."
    elif not kind.of_balances:
        shown = [column for column in columns.shown if column.kind == "period" and not column.tags]
        in_time = sorted((period, column.label) for column in shown for _, period in column.periods)
        empty = ""
        for period, label in reversed(in_time):
            if summed.sums.get(summed.rules.span(kind.measures[0], period)) != {}:  # or it is not known
                break
            empty = label
        if empty:
            what = "entries that touch cash" if kind.measures[0] == "flow" else "line entries"
            yield f"There are no {what} in the columns from {empty} on."


class _Summed(NamedTuple):
    """The spans of days of each measure, their sums by ledger, and why others are not known."""

    rules: SpanRules
    spans: Mapping[Measure, set[Span]]
    sums: Mapping[Span, Mapping[str, int]]
    unknown: Mapping[Span, str]

    @classmethod
    def of_columns(cls, columns: Columns, kind: _Kind, lines: Source, chart: Chart, rules: SpanRules) -> _Summed:
        """Sum the lines of the columns; sums of balances that do not balance are refused."""
        measures = [one for one in kind.measures if one in {"flow", "movement"} or not lines.is_tagged]
        spans = {
            one: {
                rules.span(one, days)._replace(tag=tag)
                for column in columns.by_key.values()
                for _, days in column.periods
                for tag in column.tags or ("",)
            }
            for one in measures
        }
        unknown = {
            span: why
            for one in spans.values()
            for span in one
            if (why := rules.why_unknown(span) or lines.missing(span))
        }
        _require_a_known_column(columns, unknown, rules, measures)
        sums = lines.sums({span for one in spans.values() for span in one if span not in unknown})
        for span, of_ledgers in sums.items():
            chart.tree.require(of_ledgers)
            if kind.of_balances and (gap := sum(of_ledgers.values(), 0)):
                raise IncompleteLoadError(
                    f"the lines up to {span.last} do not balance: debits less credits are "
                    f"{from_minor_units(gap, lines.scale)}, so lines are missing; load all ledgers"
                )
        return cls(rules, spans, sums, unknown)

    def known(self, measure: Measure) -> list[Mapping[str, int]]:
        """Return the sums of the known spans of a measure."""
        return [self.sums[span] for span in self.spans[measure] if span in self.sums]

    def moved(self, starting: Mapping[str, int], measure: Measure, ledger_id: str) -> bool:
        """Whether a ledger has an amount in any column; lines that cancel each other are a movement too."""
        if measure in {"flow", "movement"}:
            return any(ledger_id in one for one in self.known(measure))
        supplied = measure == "balance" and bool(starting.get(ledger_id))
        return supplied or any(one.get(ledger_id) for one in self.known(measure))


def _read_chart(ledgers: Any) -> Chart:  # noqa: ANN401 (any frame)
    """Read the chart of accounts, with the fields that sections are made of."""
    frame = wrap(ledgers, "ledgers", _COLUMNS)
    require_columns(frame.collect_schema(), _COLUMNS, "ledgers")
    roles = stated_attrs(ledgers).get("required", {})
    return Chart(collect(frame.select(*_COLUMNS)).to_pylist(), LedgerTree.from_frame(ledgers), roles)


def _opening(  # noqa: PLR0917 (what it is decided by)
    options: StatementOptions,
    kind: _Kind,
    lines: Source,
    period: Period,
    chart: Chart,
    ledgers: Any,  # noqa: ANN401 (any frame)
) -> Opening:
    """From when the balances of a statement are known, by what was asked for and loaded."""
    if not isinstance(lines, LineSource):
        return Opening()
    first = None if options.books_start is None else parse_date(options.books_start, "books_start")
    if first is not None:
        _refuse_earlier_entries(first, lines, Discovery.stated(ledgers))
    opening = find_opening(lines.frame, ledgers, lines.time_zone, lines.loaded.start_date, first)
    opening = opening._replace(equity=_equity_of_first_entries(opening, kind, lines, chart))
    if lines.is_tagged or options.tags() or kind.measures == ("movement",):
        return opening._replace(day=None)  # no balances
    if options.starting_balances is None:
        return opening
    of_cash = not kind.of_balances
    given = given_opening(options.starting_balances, period.start_date, chart.tree, lines.scale, of_cash=of_cash)
    if kind.of_balances and (gap := sum((given.units or {}).values(), 0)):
        raise InputError(
            "starting_balances do not balance: debits less credits are "
            f"{from_minor_units(gap, lines.scale)}; give those of all ledgers"
        )
    return given._replace(equity=opening.equity, first_entry=opening.first_entry)


def _equity_of_first_entries(opening: Opening, kind: _Kind, lines: LineSource, chart: Chart) -> tuple[str, ...]:
    """Names of the ledgers of equity that the cash of the first entries comes from."""
    if opening.first_entry is None or "flow" not in kind.measures or lines.is_tagged:
        return ()
    day = Span(opening.first_entry, opening.first_entry, is_flow=True)
    moved = {} if lines.missing(day) else lines.sums([day])[day]
    return tuple(chart.names.name(one) for one in chart.of_types(LedgerType.EQUITY) if moved.get(one, 0) < 0)


def _refuse_earlier_entries(first: dt.date, lines: LineSource, discovery: Discovery | None) -> None:
    """Refuse a first day of the books before which there are entries: balances would depend on what was loaded."""
    known = None if discovery is None else discovery.first_day
    if known and discovery and discovery.accepted.time_zone != lines.time_zone:
        known += dt.timedelta(days=1)  # an instant may be a day later in another zone
    before = Span(None, first - dt.timedelta(days=1))
    is_earlier = known is not None and known < first
    if is_earlier or (lines.loaded.start_date < first and any(lines.sums([before]).values())):
        since = f", the first on {day_label(known)}" if known and is_earlier else ""
        raise InputError(
            f"books_start is {first}, but there are entries before that day{since}, and a balance needs them: load the "
            "lines from the first day of the books and pass that, or pass starting_balances"
        )


def _columns(options: StatementOptions, kind: _Kind, period: Period, opening: Opening) -> Columns:
    """Columns of a statement with their comparisons."""
    compare = check_comparisons(options.compare, of_flows=not kind.of_balances)

    def heading(days: Period) -> str:
        since = f", since {opening.day}" if opening.is_movement else ""
        return f"{day_label(days.end_date)}{since}" if kind.of_balances else label(days, first_month)

    def named(column: StatementColumn) -> StatementColumn:
        """Column whose key says since when its figures are movements, where they are no balances."""
        return column.since(opening.day) if kind.of_balances and opening.is_movement and opening.day else column

    columns = options.columns if options.columns is None or isinstance(options.columns, str) else list(options.columns)
    if columns and all(isinstance(one, StatementColumn) for one in columns):
        given = tuple(named(one) for one in columns if isinstance(one, StatementColumn))
        return Columns(given, {one.key: one for one in given})
    first_month = options.fiscal_year_start_month
    base = [named(one) for one in split_period(period, columns, options.fiscal_year_start_month)]
    if kind.of_balances:
        base = [one._replace(label=heading(one.periods[0][1])) for one in base]
    made = with_comparisons(base, compare, columns, heading, opening.averaged_from)
    if kind.measures != ("balance",):
        return made
    sides = [
        one._replace(key=f"{one.key} {side}", label=f"{side.capitalize()} {one.label}", side=side)
        for one in made.shown
        for side in ("debit", "credit")
    ]
    return Columns(tuple(sides), {one.key: one for one in sides})


def _require_a_known_column(
    columns: Columns, unknown: Mapping[Span, str], rules: SpanRules, measures: Iterable[Measure]
) -> None:
    """Refuse lines from which no column can be made."""
    reasons = [
        next((unknown[span] for one in measures if (span := rules.span(one, days)._replace(tag=tag)) in unknown), "")
        for column in columns.shown
        if column.kind == "period"
        for _, days in column.periods
        for tag in column.tags or ("",)
    ]
    if not all(reasons):
        return
    shown = [days for column in columns.shown if column.kind == "period" for _, days in column.periods]
    first_entry = rules.opening.first_entry
    if first_entry and all(days.end_date < first_entry for days in shown):
        raise EmptyPeriodError(f"the books begin on {first_entry}: choose days from then on")
    raise IncompleteLoadError(
        f"no column is known: {reasons[0]}; pass all lines of these days, of all ledgers, each once, and select "
        "afterwards"
    )
