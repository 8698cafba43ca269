"""A second opinion: cash flow by category and cash balances, as hledger calculates them from the same line entries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import IncompleteLoadError, InputError, PeriodError
from accounting_analytics.hledger.journal import HledgerJournal
from accounting_analytics.hledger.program import find_hledger, sum_with_hledger
from accounting_analytics.load_metadata import missing_reasons, stated_books_start
from accounting_analytics.local_books import ledgers_of, lines_of
from accounting_analytics.messages import first_lines, shorten
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import Period, parse_date
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import SecondOpinions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.hledger.program import HledgerSums
    from accounting_analytics.periods import DateLike

_ZERO = Decimal(0)
_FLOW, _STARTING, _ENDING = "net_cash_flow", "starting_balance", "ending_balance"
_TITLES = {_FLOW: "net cash flow", _STARTING: "starting balance", _ENDING: "ending balance"}
_ACROSS = "an entry of this ledger has lines in the period and outside it, so its flow depends on the reading"
_NO_HISTORY = "whether the line entries reach back to the first day of the books is not known: pass books_start"
_ROLLED = "the reported start and hledger's change"


class _Figure(NamedTuple):
    """A figure of the report and of hledger; without the latter, the reason."""

    what: str
    ledger_id: str
    report: Decimal
    hledger: Decimal | None
    reason: str = ""

    @property
    def difference(self) -> Decimal | None:
        """Report minus hledger."""
        return None if self.hledger is None else EXACT.subtract(self.report, self.hledger)


@dataclass(frozen=True, repr=False)
class SecondOpinion(Result):
    """Result of :func:`second_opinion`.

    Parameters
    ----------
    period : Period
        Period of the report.
    version : str
        The program, such as ``hledger 1.25``.
    figures : DataFrame
        :class:`~accounting_analytics.schemas.SecondOpinions`: each figure as reported and as hledger has it.
    notes : tuple of str
        What hledger took from us, and what limits the comparison.
    """

    period: Period
    version: str
    figures: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every figure compared agrees exactly."""
        return self.differing.empty

    @property
    def compared_everything(self) -> bool:
        """Whether every figure was compared."""
        return bool(self.figures["agrees"].notna().all())

    @property
    def differing(self) -> pd.DataFrame:
        """The figures that differ."""
        return self.figures[~self.figures["agrees"].fillna(value=True).astype(bool)]

    @property
    def frame(self) -> pd.DataFrame:
        """All figures: ledger, report, hledger, agrees."""
        return self.figures

    def summary(self) -> str:
        """One line: whether hledger agrees, and what was not compared."""
        left = int(self.figures["agrees"].isna().sum())
        limits = f"; {left} of {len(self.figures)} not compared" if left else ""
        return f"{self.version} and the cash flow report, {self.period}: {self._verdict()}{limits}."

    def _verdict(self) -> str:
        if not self.agrees:
            names = ", ".join(dict.fromkeys(self.differing["ledger_name"]))
            return f"{len(self.differing)} figure(s) differ: {shorten(names, limit=200)}"
        compared = self.figures[self.figures["agrees"].notna()]["what"]
        flows = int((compared == _FLOW).sum())
        return (
            f"the net cash flow of {flows} categor{'y' if flows == 1 else 'ies'} and {len(compared) - flows} cash "
            "balance(s) agree to the last digit"
        )

    def _parts(self) -> Iterator[ResultPart]:
        """Show the figures that differ and those that were not compared, and in HTML all of them, these first."""
        exact = SecondOpinions.exact(self.figures).frame
        rows = exact.to_dict("records")
        left: dict[str, list[str]] = {}
        for row in rows:
            if pd.isna(row["agrees"]):
                left.setdefault(row["reason"], []).append(f"{_TITLES[row['what']]} of {row['ledger_name']}")
        differing = [_describe(row) for row in rows if row["agrees"] is False]
        not_compared = [f"- not compared: {', '.join(first_lines(names))}: {why}." for why, names in left.items()]
        agreeing = exact["agrees"].fillna(value=False)
        yield ResultPart([*differing, *not_compared], pd.concat([exact[~agreeing], exact[agreeing]]))

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "version": self.version,
            "agrees": self.agrees,
            "compared_everything": self.compared_everything,
            "figures": self.figures,
            "notes": self.notes,
        }


def second_opinion(
    report: CashFlowReport,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    *,
    books_start: DateLike | None = None,
) -> SecondOpinion:
    """Compare a cash flow report with the figures of hledger, another accounting program, from the same line entries.

    The line entries are written as a journal (:func:`~accounting_analytics.export_journal`) to a temporary folder, and
    hledger sums them: the cash flow of each category is what ``hledger balance --related --invert`` shows for all cash
    accounts, the balances are those of ``hledger balance``. It shares no code with this package or with the service.
    The local day of each line, and which ledgers are cash, are taken from here. Nothing is sent or kept.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags, loaded or recomputed.
    line_entries : DataFrame, pyarrow.Table, polars frame, DuckDB relation, PySpark frame or Books
        All lines of the period, and of the history before it if starting balances are to be compared.
    ledgers : DataFrame or any of the others
        The chart of accounts (None: that of the local books).
    books_start : date-like, optional
        First day of the books, by default the one that local books state. Where it is not known, starting balances
        that differ are not compared, because lines before the load may explain them; ending balances are then
        hledger's change from the reported start.

    Returns
    -------
    SecondOpinion
        ``agrees`` is True if every figure compared is equal; ``frame`` has the figures.

    Raises
    ------
    InputError
        hledger is not installed or fails, or the report is filtered by tags.
    PeriodError
        `books_start` is after the period's first day, or the report is in ``localtime``, which is not known here.
    IncompleteLoadError
        Lines of the period or of entries are missing.
    FrameError
        A frame is not valid, or a ledger of the lines is not in `ledgers`.
    """
    require_report(report, "report")
    if report.tag_ids:
        raise InputError("the report is filtered by tags, and hledger sums all lines; load it without tag_ids")
    program = find_hledger()
    lines, chart, period = lines_of(line_entries), ledgers_of(line_entries, ledgers), report.period
    history = _history(lines, period, books_start)
    needed = period if books_start is None or history is None else history
    if missing := missing_reasons(lines, needed, history=False):
        raise IncompleteLoadError(f"the line entries are not exactly those of {needed}: {'; '.join(missing)}")
    journal = HledgerJournal.from_frames(lines, chart, time_zone=period.time_zone, scale=report.scale)
    sums = sum_with_hledger(program, journal, period)
    reaches_back = history is not None and not missing_reasons(lines, history, history=False)
    figures = [*_flows(report.exact(), journal, sums), *_balances(report.exact(), sums, reaches_back=reaches_back)]
    notes = (
        f"hledger did not check the local day of each line, in {period.time_zone}, or which ledgers are cash.",
        *(["The report is marked PARTIAL: lines are missing or were added."] if report.partial else []),
        *journal.notes,
    )
    return SecondOpinion(period, program.version, _frame(figures, journal, report), notes)


def _history(lines: Any, period: Period, books_start: DateLike | None) -> Period | None:  # noqa: ANN401 (any frame)
    """Days from the first day of the books to the end of a period; None where that day is not known."""
    first = stated_books_start(lines) if books_start is None else parse_date(books_start, "books_start")
    if first is None:
        return None
    if books_start is not None and first > period.start_date:
        raise PeriodError(f"books_start {first} is after the report's first day, {period.start_date}")
    return Period(min(first, period.start_date), period.end_date, period.time_zone)


def _flows(report: CashFlowReport, journal: HledgerJournal, sums: HledgerSums) -> Iterator[_Figure]:
    """Net cash flow of each ledger that has one in the report or in hledger."""
    reported = dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))
    across = journal.ledgers_of_entries_across(report.period)
    for ledger_id in journal.in_order({**reported, **sums.flows, **dict.fromkeys(across - {*journal.tree.cash})}):
        amounts = reported.get(ledger_id, _ZERO), sums.flows.get(ledger_id, _ZERO)
        if ledger_id in across:
            yield _Figure(_FLOW, ledger_id, amounts[0], None, _ACROSS)
        elif any(amounts):
            yield _Figure(_FLOW, ledger_id, *amounts)


def _balances(report: CashFlowReport, sums: HledgerSums, *, reaches_back: bool) -> Iterator[_Figure]:
    """Balances of each cash ledger at the start and the end, or hledger's change where the start is not known."""
    starting, ending = (
        dict(zip(frame["ledger_id"], frame["cash_balance"], strict=True))
        for frame in (report.starting_balances, report.ending_balances)
    )
    ledger_ids = list(dict.fromkeys([*starting, *ending, *sums.starting, *sums.ending]))
    reported = {one: (starting.get(one, _ZERO), ending.get(one, _ZERO)) for one in ledger_ids}
    found = {one: (sums.starting.get(one, _ZERO), sums.ending.get(one, _ZERO)) for one in ledger_ids}
    is_history = reaches_back or all(found[one][0] == reported[one][0] for one in ledger_ids)
    with localcontext(EXACT):
        for one in ledger_ids:
            (start, end), (start_found, end_found) = reported[one], found[one]
            if is_history:
                yield _Figure(_STARTING, one, start, start_found)
                yield _Figure(_ENDING, one, end, end_found)
            else:
                yield _Figure(_STARTING, one, start, None, _NO_HISTORY)
                yield _Figure(_ENDING, one, end, start + end_found - start_found, _ROLLED)


def _frame(figures: Sequence[_Figure], journal: HledgerJournal, report: CashFlowReport) -> pd.DataFrame:
    names = {
        **dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True)),
        **dict(zip(report.ending_balances["ledger_id"], report.ending_balances["ledger_name"], strict=True)),
        **journal.tree.names,
    }
    columns = {
        "what": [one.what for one in figures],
        "ledger_id": [one.ledger_id for one in figures],
        "ledger_name": [names.get(one.ledger_id, one.ledger_id) for one in figures],
        "report": [one.report for one in figures],
        "hledger": [one.hledger for one in figures],
        "difference": [one.difference for one in figures],
        "agrees": [None if one.hledger is None else one.report == one.hledger for one in figures],
        "reason": [one.reason for one in figures],
    }
    return SecondOpinions.from_columns(columns, report.scale, as_decimals=report.as_decimals)


def _describe(row: Mapping[Any, Any]) -> str:
    """Figure that differs as a line of text."""
    amounts = ", ".join(f"{name} {format_amount(row[name])}" for name in ("report", "hledger", "difference"))
    made_of = f" ({row['reason']})" if row["reason"] else ""
    return f"- {_TITLES[row['what']]}: {row['ledger_name']} ({row['ledger_id']}): {amounts}{made_of}."
