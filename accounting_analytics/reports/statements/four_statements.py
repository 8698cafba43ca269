"""The four statements, made from books or from a cash flow report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.amount_units import check_amounts_in
from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.errors import EmptyPeriodError, IncompleteLoadError, InputError
from accounting_analytics.core.exact_sums import collect, require_columns, wrap
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import known_ledgers_claim, stated_attrs
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import Period, choose_zone, day_label
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.books.ledger_tree import LedgerTree
from accounting_analytics.reports.books.opening import Opening
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport
from accounting_analytics.reports.figures.figure import OWN
from accounting_analytics.reports.figures.selections import Span
from accounting_analytics.reports.statements.budget import Budget, read_budget, source_note
from accounting_analytics.reports.statements.by_tags import TAG, Tags
from accounting_analytics.reports.statements.columns import (
    BUDGET,
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
from accounting_analytics.reports.statements.sources import ReportSource
from accounting_analytics.reports.statements.statement import Statement
from accounting_analytics.reports.statements.statement_figures import TRANSFERS, StatementFigures
from accounting_analytics.reports.statements.summed_days import FLOWS, SpanRules

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pandas as pd

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.reports.books.value import Books, PeriodLike
    from accounting_analytics.reports.statements.budget import BudgetLike
    from accounting_analytics.reports.statements.columns import Comparison, TaggedUnit, Unit
    from accounting_analytics.reports.statements.rows import Measure
    from accounting_analytics.reports.statements.sources import Source

_IN_SUSPENSE = ("not_categorized", "uncategorized")
_COLUMNS = ("id", "type", "sub_type", "debit_credit", "financial_account_type", "is_required")


class _Subject(NamedTuple):
    """The input of a statement: sums, days, and facts of the books.

    Attributes
    ----------
    source : Source
        The sums, and the lines behind them.
    chart : Chart
        The ledgers.
    ledgers : DataFrame
        The chart of accounts as it was given.
    days : Period
        Days that were asked for.
    opening : Opening
        Day from which balances are known; no day where the statement has no balances.
    first_month : int
        Month that a fiscal year starts in.
    company, currency : str or None
        Names in the heading.
    label : str
        Name that a person gave to a choice of lines.
    notes : tuple of str
        Remarks on the zone.
    """

    source: Source
    chart: Chart
    ledgers: pd.DataFrame
    days: Period
    opening: Opening = Opening()
    first_month: int = 1
    company: str | None = None
    currency: str | None = None
    label: str = ""
    notes: tuple[str, ...] = ()


class _Presentation(NamedTuple):
    """The requested form of a statement, and its budget."""

    columns: TaggedUnit | Iterable[object] | None = None
    compare: str | Iterable[str] = ()
    depth: int | None = None
    tags: Tags | None = None
    amounts_in: AmountsIn | None = None
    budget: BudgetLike | None = None

    @classmethod
    def with_budget(
        cls,
        columns: TaggedUnit | Iterable[object] | None,
        compare: str | Iterable[str],
        budget: BudgetLike | None,
        tags: Tags | None,
        **options: Any,  # noqa: ANN401 (depth and unit)
    ) -> _Presentation:
        """Return the form with the comparison with a budget. Refuse options that contradict it."""
        compared = to_texts(compare)
        if budget is None and BUDGET in compared:
            raise InputError("compare='budget' needs a budget: pass budget=, a table or the path of a file")
        if budget is not None and tags:
            raise InputError(
                "a budget is of all lines of a ledger, and tags are of some: leave the budget or the tags out"
            )
        if budget is not None and BUDGET not in compared:
            compared = (*compared, BUDGET)
        return cls(columns, compared, tags=tags, budget=budget, **options)


class _Kind(NamedTuple):
    """The measures, needed ledgers and rows of one of the statements."""

    measures: tuple[Measure, ...]
    of_balances: bool
    needed: Callable[[Chart], Iterable[str]]
    rows: Callable[[LayoutBuilder, CashRows | None], Layout]
    moved_title: str = ""
    budgeted: Callable[[Chart], Iterable[str]] = lambda _: ()
    budget_text: str = ""


def cash_flow_statement(
    books: Books | CashFlowReport,
    period: PeriodLike = None,
    *,
    columns: TaggedUnit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    sections: Mapping[str, str] | None = None,
    tag_ids: Iterable[str] = (),
    tag_group: str | None = None,
    ledgers: pd.DataFrame | None = None,
    amounts_in: AmountsIn | None = None,
    budget: BudgetLike | None = None,
) -> Statement:
    """Make a cash flow statement: flows by category in sections, and cash before and after.

    Entries against the ledgers of opening balances (``books.opening.equity``) are no inflow: they are in no section and
    not in the net change, but in a row of their own, ``opening_balances``, where there are some. Cash at the end is
    cash at the start, opening balances and net change. A report of the service counts such entries as cash flow; a
    statement made of one has the same row. Such an entry is left out as a whole, so that loans and equipment that were
    there before are neither received nor bought.

    Parameters
    ----------
    books : Books or CashFlowReport
        The books; a load with ``is_cashflow=True`` suffices. Or a report, whose period is then the only column.
    period : period-like, optional
        The days: a :class:`~accounting_analytics.Period`, a text such as ``"2026-05"`` or ``"2025-01/2026-06"``, or a
        first and a last day; by default the period of the books.
    columns : {"month", "quarter", "year", "tag"} or list of periods, optional
        The days of a column: month by default, cut at the first and last day. ``tag`` has a column for each tag of a
        group, one for lines with several of them, and one for lines without, which sum to the statement.
    compare : str or list of str
        Columns to add. After the others: ``total`` and ``average`` (of the whole columns, without one whose first
        entries bring in capital). Beside each: ``prior`` (the same dates one column earlier), ``prior_year``,
        ``change`` and ``change_pct`` (from the prior year if that is asked for, else from the prior period), ``share``
        (percent of total inflows), ``budget`` (what `budget` states, the difference from it, and that in percent of it;
        beside the total too).
    depth : int, optional
        Levels of ledgers that are shown; all by default.
    sections : mapping of str to str, optional
        Section by ledger (id, unique name or path), ``financial_account_type`` or ``sub_type``, instead of
        ``accounting_analytics.reports.statements.rows.CASH_FLOW_SECTIONS``; other ledgers are operating.
    tag_ids : iterable of str, optional
        Count only lines that have all these tags, by id or unique name; balances of cash, and opening balances, are not
        shown then.
    tag_group : str, optional
        Id of the group whose tags are columns, where lines have tags of several.
    ledgers : DataFrame, optional
        The chart of accounts of a report; books have their own.
    amounts_in : {"k", "M"}, optional
        Show amounts in thousands, of one fraction digit, or in millions, of two: in text, HTML and the format of Excel,
        each rounded half to even by itself. Amounts of figures, frames, CSV, JSON and line entries are exact.
    budget : DataFrame or path, optional
        A table, a CSV file or an Excel workbook with ``ledger`` (id, unique name or path), ``month`` (``2027-01``) and
        ``amount``, which is compared. An amount is positive on the normal side of its ledger's type, whatever the
        statement: rent of 2,000 is 2,000 out of cash here. That of a parent is of all ledgers below it, that of
        ``own:Premises`` of the parent alone. What has no amount has no budget, which is not zero. Columns are whole
        months then.

    Returns
    -------
    Statement
        Amounts are positive where cash comes in. A column that was not loaded is not known. Where the opening of the
        books is not known, cash is the movement since the first day of the load, and the statement says so.

    Raises
    ------
    IncompleteLoadError
        No column was loaded, the load lacks ledgers, or entries do not balance.
    InputError
        An option is wrong, or rows of the budget cannot be used; FrameError, HierarchyError, AmountError as of
        :func:`~accounting_analytics.recompute_cash_flow`.
    PeriodError
        A column with a budget is a part of a month.
    """
    table = CASH_FLOW_SECTIONS if sections is None else sections
    kind = _Kind(
        ("flow", "opened", "opening", "balance"),
        of_balances=False,
        needed=lambda chart: chart.tree.cash,
        rows=lambda build, cash: cash_flow_rows(build, table, cash),
        budgeted=_budgetable_ledgers,
        budget_text="in a cash flow statement, what moves cash has a budget: no cash, opening balances or suspense",
    )
    tags, unit = _tags(tag_ids, tag_group, columns, compare), check_amounts_in(amounts_in)
    if isinstance(books, CashFlowReport):
        if period is not None or columns is not None:
            raise InputError("a cash flow report has its own period: pass no period and no columns with it")
        if compare or budget is not None:
            raise InputError("a cash flow report has one period to show: pass books to compare periods or a budget")
        if tags:
            raise InputError("a cash flow report is filtered when it is made: pass tag_ids to load_cash_flow_report")
        return _make(_subject_of_report(books, ledgers), kind, _Presentation([books.period], (), depth, tags, unit))
    if ledgers is not None:
        raise InputError("ledgers are for a report; books have their own: leave ledgers out")
    asked = _Presentation.with_budget(columns, compare, budget, tags, depth=depth, amounts_in=unit)
    return _make(_subject(books, period, kind, tags), kind, asked)


def income_statement(
    books: Books,
    period: PeriodLike = None,
    *,
    columns: TaggedUnit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    tag_ids: Iterable[str] = (),
    tag_group: str | None = None,
    amounts_in: AmountsIn | None = None,
    budget: BudgetLike | None = None,
) -> Statement:
    """Make an income statement: revenues less expenses, with gross profit, operating income and net income.

    Parameters
    ----------
    books : Books
        The books, with all ledgers of revenues and expenses.
    period, columns, compare, depth, tag_ids, tag_group, amounts_in, budget
        As of :func:`cash_flow_statement`; ``share`` is percent of operating revenues.

    Returns
    -------
    Statement
        Revenues and expenses are positive on their normal side. The two uncategorized ledgers are below net income, and
        with a budget what is booked in ledgers and months without one.

    Raises
    ------
    IncompleteLoadError, InputError, PeriodError
        As of :func:`cash_flow_statement`.

    Examples
    --------
    ::

        income = aa.income_statement(books, "2027-Q1", budget="budget.csv")
        income["Rent", "2027-01 difference"]  # and "2027-01 budget", "2027-01 difference_pct"
    """
    kind = _Kind(
        ("movement",),
        of_balances=False,
        needed=_earning,
        rows=lambda build, _: income_rows(build),
        budgeted=lambda chart: chart.of_types(LedgerType.REVENUE, LedgerType.EXPENSE),
        budget_text="in an income statement, ledgers of revenue and expenses have a budget",
    )
    tags, unit = _tags(tag_ids, tag_group, columns, compare), check_amounts_in(amounts_in)
    asked = _Presentation.with_budget(columns, compare, budget, tags, depth=depth, amounts_in=unit)
    return _make(_subject(books, period, kind, tags), kind, asked)


def balance_sheet(
    books: Books,
    period: PeriodLike = None,
    *,
    columns: Unit | Iterable[object] | None = None,
    compare: Comparison | Iterable[Comparison] = (),
    depth: int | None = None,
    amounts_in: AmountsIn | None = None,
) -> Statement:
    """Make a balance sheet at the end of each column's days: assets, liabilities, equity and earnings.

    Parameters
    ----------
    books : Books
        The books, with all ledgers.
    period, columns, compare, depth, amounts_in
        As of :func:`cash_flow_statement`; ``share`` is percent of total assets.

    Returns
    -------
    Statement
        Amounts are positive on the normal side; earnings of the period are those since the first month of the fiscal
        year of the books. Where the opening of the books is not known, it is the movement since the first day of the
        load, and its title, columns and notes say so.

    Raises
    ------
    IncompleteLoadError, InputError
        As of :func:`cash_flow_statement`.
    """
    kind = _Kind(
        ("balance", "earlier_years", "this_year"),
        of_balances=True,
        needed=lambda chart: chart.tree.names,
        rows=lambda build, _: balance_rows(build),
        moved_title="Movement of assets, liabilities and equity",
    )
    unit = check_amounts_in(amounts_in)
    subject = _subject(books, period, kind, _tags(columns=columns))
    return _make(subject, kind, _Presentation(columns, compare, depth, amounts_in=unit))


def trial_balance(
    books: Books,
    period: PeriodLike = None,
    *,
    columns: Unit | Iterable[object] | None = None,
    amounts_in: AmountsIn | None = None,
) -> Statement:
    """Make a trial balance at the end of each column's days: every ledger as a debit or a credit.

    Parameters
    ----------
    books, period, columns, amounts_in
        As of :func:`balance_sheet`.

    Returns
    -------
    Statement
        Two columns a period, ``2026-03 debit`` and ``2026-03 credit``, which sum to the same.

    Raises
    ------
    IncompleteLoadError, InputError
        As of :func:`balance_sheet`.
    """
    kind = _Kind(
        ("balance",),
        of_balances=True,
        needed=lambda chart: chart.tree.names,
        rows=lambda build, _: trial_rows(build),
        moved_title="Movement of ledgers",
    )
    unit = check_amounts_in(amounts_in)
    return _make(_subject(books, period, kind, _tags(columns=columns)), kind, _Presentation(columns, amounts_in=unit))


def _tags(
    tag_ids: Iterable[str] = (), tag_group: str | None = None, columns: object = None, compare: object = ()
) -> Tags | None:
    """Read the tags that filter or split a statement, if any."""
    ids, are_columns = to_texts(tag_ids), isinstance(columns, str) and columns == TAG
    if tag_group is not None and not are_columns:
        raise InputError("tag_group is for columns='tag': leave it out")
    if are_columns and compare:
        raise InputError("columns='tag' has no comparisons: leave compare out, or make a statement of each tag")
    return Tags(ids, tag_group, are_columns) if ids or are_columns else None


def _earning(chart: Chart) -> list[str]:
    """Return the ledgers of an income statement."""
    return [*chart.of_types(LedgerType.REVENUE, LedgerType.EXPENSE), *chart.of_unknown_type(), *chart.uncategorized()]


def _budgetable_ledgers(chart: Chart) -> list[str]:
    """Return the ledgers of a cash flow statement that can be budgeted."""
    elsewhere = {*chart.tree.cash, *chart.openings(), *chart.uncategorized(), *chart.of_unknown_type()}
    return [ledger_id for ledger_id in chart.tree.ordered if ledger_id not in elsewhere]


def _subject_of_report(report: CashFlowReport, ledgers: pd.DataFrame | None) -> _Subject:
    """Read the input of a statement from a report."""
    if ledgers is None:
        raise InputError("a report has no ledgers: pass ledgers=discover_ledgers(client, ...)")
    chart = _read_chart(ledgers)
    source = ReportSource(report, chart.openings())
    chart.tree.require([*source.flows, *source.opened])
    source.require_same_cash(chart.tree.cash)
    notes = choose_zone(report.period.time_zone).notes
    return _Subject(
        source,
        chart,
        ledgers,
        report.period,
        Opening(equity=tuple(chart.openings())),
        company=report.company,
        currency=report.currency,
        notes=notes,
    )


def _subject(books: Books, period: PeriodLike, kind: _Kind, tags: Tags | None) -> _Subject:
    """Read the input of a statement from books."""
    books = to_books(books)
    source, ledgers = books.source, books.ledgers
    chart, days = _read_chart(ledgers), books.days_of(period)
    if kind.of_balances:
        books.require_loaded("a statement of balances")
        if tags:
            raise InputError(
                "balances are not split by tags: make an income statement or a cash flow statement by tags"
            )
    source.require_whole_entries()
    if "flow" not in kind.measures:
        source.require_all_entries()
    return _Subject(
        source,
        chart,
        ledgers,
        days,
        _opening(books, kind, chart, has_balances=not (tags or books.extent.label)),
        books.fiscal_year_start_month,
        books.company,
        books.currency,
        books.extent.label,
        books.own_notes,
    )


def _make(subject: _Subject, kind: _Kind, asked: _Presentation) -> Statement:
    """Make a statement."""
    chart, opening = subject.chart, subject.opening
    shown, lines = _columns_and_lines(subject, kind, asked)
    budget = _budget_of(asked, kind, chart, shown, lines.scale)
    loaded_from = opening.since or lines.loaded.start_date
    rules = SpanRules(opening, subject.first_month, kind.of_balances, loaded_from)
    summed = _Summed.of_columns(shown, kind, lines, chart, rules)
    since = opening.day if opening.is_movement else None
    is_explained = not (isinstance(lines, ReportSource) and lines.gap)
    cash_rows = None if lines.is_tagged else CashRows(since, lines.is_report, is_explained, not subject.label)
    trees = chart.tree.trees(*(sums for measure in summed.spans for sums in summed.known(measure)))
    moved = partial(summed.moved, opening.units or {})
    budgeted = None if budget is None else budget.ledgers_of(_budget_months(shown, budget))
    layout = kind.rows(LayoutBuilder(chart, moved, trees.unknown, asked.depth, budgeted), cash_rows)
    if budget is not None:
        _refuse_split_parents(budget, layout, chart)
    notes = (
        *_notes_on_empty_columns(shown, summed, kind, lines),
        *filter(None, [opening.sentence()]),
        *opening.notes,
        *opening.notes_on(period for column in shown.shown for _, period in column.periods),
        *([f"{count_of(layout.left_out, 'ledger')} without amounts left out."] if layout.left_out else []),
        *layout.notes,
        *(() if budget is None else _budget_notes(budget, shown, layout)),
        *chart.tree.notes(trees),
        known_ledgers_claim(subject.ledgers, len(chart.tree.names)),
        *lines.notes,
        *subject.notes,
    )
    labels = {key: row.label for key, row in layout.by_key.items() if row.kind not in {"ledger", "own"}}
    figures = StatementFigures(
        shown,
        layout,
        lines,
        summed.sums,
        summed.unknown,
        summed.rules,
        chart.names,
        opening.units,
        asked.amounts_in,
        budget,
    )
    title = f"{kind.moved_title} since {day_label(since)}" if since and kind.moved_title else layout.title
    return Statement(
        f"{title}, {subject.label}" if subject.label else title,
        shown.shown,
        tuple(layout.shown),
        lines.scale,
        subject.company,
        subject.currency,
        subject.days.time_zone,
        since,
        notes,
        figures,
        LedgerNames(chart.tree.names | labels, chart.tree.hierarchy),
    )


def _columns_and_lines(subject: _Subject, kind: _Kind, asked: _Presentation) -> tuple[Columns, Source]:
    """Choose the columns, and the lines that they count.

    With tags, only lines that have them count.
    """
    chart, lines = subject.chart, subject.source
    of_tags: list[StatementColumn] = []
    if asked.tags and isinstance(lines, LineSource):
        of_flows = "flow" in kind.measures
        counted = set(chart.tree.names) - set(chart.tree.cash) if of_flows else set(kind.needed(chart))
        costs = chart.of_types(LedgerType.EXPENSE)
        lines, of_tags = asked.tags.choose(lines, subject.days, counted, costs, of_flows=of_flows)
    if of_tags:
        return Columns(tuple(of_tags), {column.key: column for column in of_tags}), lines
    return _columns(subject, kind, asked.columns, asked.compare), lines


def _budget_of(asked: _Presentation, kind: _Kind, chart: Chart, columns: Columns, scale: int) -> Budget | None:
    """Read the budget. Refuse a budget that covers no column."""
    if asked.budget is None:
        return None
    budget = read_budget(asked.budget, chart, scale, tuple(kind.budgeted(chart)), kind.budget_text)
    if not _budget_months(columns, budget):
        first, last = min(budget.months), max(budget.months)
        raise InputError(
            f"budget: {budget.source} has amounts from {first:%Y-%m} to {last:%Y-%m}, and not for each month of any "
            "column; choose other days or columns"
        )
    return budget


def _budget_months(columns: Columns, budget: Budget) -> frozenset[dt.date]:
    """Return the months of columns whose budget is known."""
    months = [set(column.months) for column in columns.shown if column.kind == BUDGET and budget.covers(column.months)]
    return frozenset().union(*months)


def _refuse_split_parents(budget: Budget, layout: Layout, chart: Chart) -> None:
    """Refuse budgets of parents with ledgers in several sections.

    It is unclear to which section such an amount belongs.
    """
    ancestors = chart.tree.hierarchy.ancestors
    for line in {line.ledger_id: line for line in reversed(budget.lines) if not line.is_own}.values():
        inside = layout.by_key[line.ledger_id].ledger_ids
        elsewhere = [
            chart.names.path(ledger_id)
            for ledger_id, row in layout.by_key.items()
            if row.kind == "ledger" and ledger_id not in inside and row.section not in _IN_SUSPENSE
            if line.ledger_id in ancestors(ledger_id)
        ]
        if elsewhere:
            path = chart.names.path(line.ledger_id)
            raise InputError(
                f"budget: {budget.source}, row {line.row}: {quote(path)} has ledgers below it in other sections "
                f"({join_ids(elsewhere)}), and its amount may be of its own section or of all; give those of the "
                f"ledgers below it, or write {quote(OWN + path)} for what is its own alone"
            )


def _budget_notes(budget: Budget, columns: Columns, layout: Layout) -> Iterator[str]:
    """Describe the budget, and the columns and sections without a budget."""
    yield from (source_note(budget), *budget.notes)
    known = _budget_months(columns, budget)
    unknown = {
        f"{month:%Y-%m}"
        for column in columns.shown
        if column.kind == BUDGET
        for month in column.months
        if month not in budget.months
    }
    if unknown:
        yield f"The budget has no amounts for {join_ids(unknown)}: columns with such a month have no budget, not zero."
    unbudgeted = {layout.outside, TRANSFERS, *_IN_SUSPENSE}
    sections = [row for row in layout.shown if row.kind == "subtotal" and row.key not in unbudgeted]
    missing = [row.label for row in sections if not budget.of(row.ledger_ids, known)]
    if missing:
        yield f"Without any budget: {', '.join(missing)}. Other totals are sums of what has one."


def _notes_on_empty_columns(columns: Columns, summed: _Summed, kind: _Kind, lines: Source) -> Iterator[str]:
    """Say that all columns, or the latest ones, have no entries."""
    what = "entries that touch cash" if kind.measures[0] == "flow" else "line entries"
    if lines.is_tagged:
        what += " with these tags"
    if not any(summed.sums.values()):
        yield f"There are no {what} in these days."
    elif not kind.of_balances:
        shown = [column for column in columns.shown if column.kind == "period" and not column.tags]
        in_time = sorted((period, column.label) for column in shown for _, period in column.periods)
        empty = ""
        for period, label in reversed(in_time):
            if summed.sums.get(summed.rules.span(kind.measures[0], period)) != {}:  # None: the span is not known
                break
            empty = label
        if empty:
            yield f"There are no {what} in the columns from {empty} on."


class _Summed(NamedTuple):
    """The spans of each measure, and their known sums by ledger.

    `unknown` says why other spans are not known.
    """

    rules: SpanRules
    spans: Mapping[Measure, set[Span]]
    sums: Mapping[Span, Mapping[str, int]]
    unknown: Mapping[Span, str]

    @classmethod
    def of_columns(cls, columns: Columns, kind: _Kind, lines: Source, chart: Chart, rules: SpanRules) -> _Summed:
        """Sum the lines of the columns. Refuse balances of all ledgers that do not sum to zero."""
        needed = set(kind.needed(chart))
        measures = [measure for measure in kind.measures if measure in {"flow", "movement"} or not lines.is_tagged]
        spans = {
            measure: {
                rules.span(measure, days)._replace(tag=tag)
                for column in columns.by_key.values()
                for _, days in column.periods
                for tag in column.tags or ("",)
            }
            for measure in measures
        }
        unknown = {
            span: why
            for measure_spans in spans.values()
            for span in measure_spans
            if (why := rules.why_unknown(span) or lines.missing(span, needed))
        }
        _require_a_known_column(columns, unknown, rules, measures)
        sums = lines.sums({span for measure_spans in spans.values() for span in measure_spans if span not in unknown})
        for span, of_ledgers in sums.items():
            chart.tree.require(of_ledgers)
            if kind.of_balances and (gap := sum(of_ledgers.values(), 0)):
                raise IncompleteLoadError(
                    f"the lines up to {day_label(span.last)} do not balance: debits less credits are "
                    f"{from_minor_units(gap, lines.scale)}, so lines are missing; load all ledgers"
                )
        return cls(rules, spans, sums, unknown)

    def known(self, measure: Measure) -> list[Mapping[str, int]]:
        """Return the sums of the known spans of a measure."""
        return [self.sums[span] for span in self.spans.get(measure, ()) if span in self.sums]

    def moved(self, starting: Mapping[str, int], measure: Measure, ledger_id: str) -> bool:
        """Test if a ledger has amounts. In a period, lines that sum to zero count as amounts."""
        if measure in {*FLOWS, "movement"}:
            return any(ledger_id in sums for sums in self.known(measure))
        supplied = measure == "balance" and bool(starting.get(ledger_id))
        return supplied or any(sums.get(ledger_id) for sums in self.known(measure))


def _read_chart(ledgers: Any) -> Chart:  # noqa: ANN401 (any frame)
    """Read the chart of accounts, with the fields that sections need."""
    frame = wrap(ledgers, "ledgers", _COLUMNS)
    require_columns(frame.collect_schema(), _COLUMNS, "ledgers")
    roles = stated_attrs(ledgers).get("required", {})
    return Chart(collect(frame.select(*_COLUMNS)).to_pylist(), LedgerTree.from_frame(ledgers), roles)


def _opening(books: Books, kind: _Kind, chart: Chart, *, has_balances: bool) -> Opening:
    """Find the opening. It has no day if the statement shows no balances."""
    opening, source = books.opening, books.source
    if kind.of_balances and opening.of == "cash" and opening.units is not None:
        note = "The given balances are of cash alone, so they are not counted here: give those of all ledgers."
        unknown = Opening(source.loaded.start_date, equity=opening.equity, first_entry=opening.first_entry)
        opening = unknown._replace(notes=(note,))
    if "flow" in kind.measures:
        opening = opening._replace(capital=_capital_of_first_entries(opening, kind, source, chart))
    return opening if has_balances and kind.measures != ("movement",) else opening._replace(day=None)


def _capital_of_first_entries(opening: Opening, kind: _Kind, lines: LineSource, chart: Chart) -> tuple[str, ...]:
    """Name equity ledgers from which the first entries' cash comes."""
    if opening.first_entry is None:
        return ()
    day = Span(opening.first_entry, opening.first_entry, is_flow=True)
    moved = {} if lines.missing(day, set(kind.needed(chart))) else lines.sums([day])[day]
    equity = (ledger_id for ledger_id in chart.of_types(LedgerType.EQUITY) if ledger_id not in opening.equity)
    return tuple(chart.names.name(ledger_id) for ledger_id in equity if moved.get(ledger_id, 0) < 0)


def _columns(
    subject: _Subject, kind: _Kind, asked: TaggedUnit | Iterable[object] | None, compare: str | Iterable[str]
) -> Columns:
    """Make the columns of a statement, with their comparisons."""
    opening, first_month = subject.opening, subject.first_month
    compared = check_comparisons(compare, of_flows=not kind.of_balances)

    def heading(days: Period) -> str:
        since = f", since {opening.day_text}" if opening.is_movement else ""
        return f"{day_label(days.end_date)}{since}" if kind.of_balances else label(days, first_month)

    def named(column: StatementColumn) -> StatementColumn:
        """Add the first day to the key of a column of movements."""
        return column.since(opening.day) if kind.of_balances and opening.is_movement and opening.day else column

    columns = asked if asked is None or isinstance(asked, str) else list(asked)
    if columns and all(isinstance(column, StatementColumn) for column in columns):
        given = tuple(named(column) for column in columns if isinstance(column, StatementColumn))
        return _with_months(Columns(given, {column.key: column for column in given}), first_month)
    base = [named(column) for column in split_period(subject.days, columns, first_month)]
    if kind.of_balances:
        base = [column._replace(label=heading(column.periods[0][1])) for column in base]
    made = with_comparisons(base, compared, columns, heading, opening.averaged_from)
    if kind.measures != ("balance",):
        return _with_months(made, first_month)
    sides = [
        column._replace(key=f"{column.key} {side}", label=f"{side.capitalize()} {column.label}", side=side)
        for column in made.shown
        for side in ("debit", "credit")
    ]
    return Columns(tuple(sides), {column.key: column for column in sides})


def _with_months(columns: Columns, first_month: int) -> Columns:
    """Add a hidden column for each month with a budget.

    The hidden columns sum, by month, the lines that have no budget.
    """
    hidden = {
        month.key: month
        for column in columns.shown
        if column.kind == BUDGET
        for _, period in column.periods
        for month in split_period(period, "month", first_month)
    }
    return columns._replace(by_key=hidden | columns.by_key)


def _require_a_known_column(
    columns: Columns, unknown: Mapping[Span, str], rules: SpanRules, measures: Iterable[Measure]
) -> None:
    """Refuse lines with which no column of a period is known."""

    def reason(days: Period, tag: str) -> str:
        spans = (rules.span(measure, days)._replace(tag=tag) for measure in measures)
        return next((unknown[span] for span in spans if span in unknown), "")

    reasons = [
        reason(days, tag)
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
