"""`Books`: line entries and ledgers of a company, which all calculations take."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import narwhals as nw
import numpy as np
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.column_conversion import INSTANT, convert, exact_amounts
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.exact_sums import collect, wrap
from accounting_analytics.core.fiscal_years import require_month, to_period
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import (
    Discovery,
    notes,
    read_load_metadata,
    refuse_file,
    stated_attrs,
)
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.periods import (
    DAY,
    Period,
    day_before,
    day_label,
    days_label,
    local_date,
    parse_date,
    period_label,
    zone,
)
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.reports.books.book_lines import LineSource, to_pandas
from accounting_analytics.reports.books.category_ledgers import required_ledgers
from accounting_analytics.reports.books.changed_lines import changed_rows, describe_changes
from accounting_analytics.reports.books.extent_of_load import Extent, MonthProof, reasons_of_frame
from accounting_analytics.reports.books.ledger_tree import LedgerTree
from accounting_analytics.reports.books.opening import (
    GivenOpening,
    Opening,
    discovered_first_entry,
    find_opening,
    given_opening,
)
from accounting_analytics.reports.books.outdated_books import changed_after
from accounting_analytics.reports.books.payees import open_item_ledgers
from accounting_analytics.reports.books.zone_of_lines import zone_of_lines
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport, require_report
from accounting_analytics.reports.figures.selections import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accounting_analytics.core.periods import DateLike, ZoneLike

    PeriodLike = Period | str | tuple[DateLike, DateLike] | None

_NAMED = 4
"""At most this many cash ledgers are named."""
_COMPARED = ("ledger_id", "journal_entry_id", "journal_entry_description", "datetime", "signed_amount")
"""Columns in which chosen lines are compared with the loaded lines."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Books(Result):
    """Line entries and ledgers of a company, with everything known about them.

    Parameters
    ----------
    lines : frame
        :class:`~accounting_analytics.schemas.LineEntries` of all ledgers, of any engine (pandas, pyarrow, polars,
        DuckDB, PySpark): ``id, ledger_id, journal_entry_id, journal_entry_description, datetime, signed_amount``, and
        what a function uses besides. A frame that states its load must have just its lines.
    ledgers : frame
        The chart of accounts, as :func:`~accounting_analytics.discover_ledgers` returns it.
    period : period-like, optional
        The days that functions are of by default: a :class:`~accounting_analytics.Period`, a text such as
        ``"2026-05"``, or a first and a last day. By default all days of the lines.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load, else that of the ledgers if every ``local_date`` is
        a day of it.
    scale : int, optional
        Fraction digits of the amounts; by default those of a decimal type, else those that the load states, else 2.
    opening : date-like, balances, a pair of both, or CashFlowReport, optional
        From when balances are known, where the lines do not state it: the day of the first entry of the books; or
        balances at the start of the first day of the load (debits positive, of the cash ledgers or of all: a frame
        with ``ledger_id, cash_balance``, or a mapping of ledgers to amounts); or a day, and the balances at its start;
        or a report of the service, whose starting balances they are.
    reports : iterable of CashFlowReport
        The service's own reports, which :func:`~accounting_analytics.reconcile` compares.
    company, currency : str, optional
        Shown in every heading.
    fiscal_year_start_month : int
        Month that years and quarters are counted from.

    Raises
    ------
    InputError
        An argument is of another type, no zone is stated, lines with some tags only were loaded, or there are entries
        before the `opening`.
    FrameError
        A column is missing or has the wrong type, or a line occurs more than once.
    IncompleteLoadError
        Lines were added, removed or changed after the load: :meth:`with_lines` takes a choice of lines.
    AmountError
        An amount is not a whole number of minor units.

    Examples
    --------
    ::

        books = aa.Books(lines, ledgers, "2026-05")
        aa.income_statement(books, compare="prior_year")
    """

    time_zone: str
    reports: tuple[CashFlowReport, ...]
    company: str | None
    currency: str | None
    fiscal_year_start_month: int
    proofs: Mapping[str, MonthProof]
    version: int | None

    def __init__(
        self,
        lines: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
        period: PeriodLike = None,
        *,
        time_zone: ZoneLike | None = None,
        scale: int | None = None,
        opening: object = None,
        reports: Iterable[CashFlowReport] = (),
        company: str | None = None,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> None:
        require_month(fiscal_year_start_month)
        is_in_memory = _is_in_memory(lines)
        chart, metadata = _read_ledgers(ledgers), read_load_metadata(lines) or self._of_engine
        day_zone = zone_of_lines(lines, chart, time_zone, metadata)
        extent = None if metadata is None else Extent.of_load(metadata)
        if metadata and (discovery := Discovery.stated(chart)):
            discovery.refuse_other_lines(metadata.get("instance_id", ""))
        if changes := reasons_of_frame(lines):
            raise IncompleteLoadError(
                f"the lines are not those that were loaded: {changes[0]}; lines that you chose or changed are "
                "books.with_lines(frame, label='...') of the loaded books"
            )
        chosen = None
        if period is not None:
            chosen = to_period(period, "period", fiscal_year_start_month, time_zone=day_zone.name)
        tree = LedgerTree.from_frame(chart)
        scale = metadata.get("scale") if scale is None and metadata else scale
        openings = tree.in_order(required_ledgers(chart, {RequiredLedger.OPENING_BALANCE}))
        source = LineSource(
            lines,
            tree.cash,
            day_zone.name,
            openings=openings,
            open_items=open_item_ledgers(chart),
            extent=extent,
            scale=scale,
            asked=chosen,
        )
        vars(self).update(
            time_zone=day_zone.name,
            reports=_read_reports(reports),
            company=company,
            currency=currency,
            fiscal_year_start_month=fiscal_year_start_month,
            proofs={},
            version=None,
            copy_of="",
            source=source,
            tree=tree,
            _remarks=day_zone.notes,
            _ledgers=chart,
            _period=chosen,
            _given=GivenOpening.of(opening),
        )
        if is_in_memory:  # lines that state no load are checked when they are first summed
            _ = source.exact
            source.require_each_once()
            _ = self.has_given_opening and self.opening

    source: LineSource
    """Sums and rows of the lines, for calculations."""
    tree: LedgerTree
    """The ledgers as calculations read them."""
    copy_of: str
    """Service and instance that local books are a copy of."""
    _remarks: tuple[str, ...]
    """Remarks on the zone, and on lines in another engine."""
    _ledgers: pd.DataFrame
    _period: Period | None
    _given: GivenOpening
    _load_again: Callable[[object, Books], Books] | None = None
    _changed: pd.DataFrame | None = None
    _of_engine: Mapping[str, Any] | None = None
    """Metadata of the load of lines whose engine cannot store metadata in a frame."""

    @classmethod
    def of_engine(
        cls,
        frame: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: pd.DataFrame,
        period: Period | None,
        metadata: Mapping[str, Any],
        notes: tuple[str, ...],
        **options: Any,  # noqa: ANN401 (those of Books)
    ) -> Self:
        """Make books of lines whose engine cannot store the metadata of their load."""
        books = object.__new__(cls)
        vars(books)["_of_engine"] = metadata
        books.__init__(frame, ledgers, period, **options)  # type: ignore[misc]  # as a new one
        return books._replaced(_remarks=(*books._remarks, *notes))

    @property
    def lines(self) -> Any:  # noqa: ANN401 (a frame of the engine that was given)
        """A copy of the line entries, which you may change."""
        frame = self.source.frame
        return frame.copy(deep=False) if isinstance(frame, pd.DataFrame) else frame

    @property
    def ledgers(self) -> pd.DataFrame:
        """A copy of the chart of accounts, which you may change."""
        return self._ledgers.copy(deep=False)

    @cached_property
    def chart(self) -> pd.DataFrame:
        """The chart of accounts as a valid table, for calculations."""
        return Ledgers.checked(self._ledgers)

    @cached_property
    def names(self) -> LedgerNames:
        """Ids, names and paths of the ledgers."""
        return LedgerNames(self.tree.names, self.tree.hierarchy)

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self.source.scale

    @property
    def extent(self) -> Extent:
        """The loaded days and ledgers, and what is missing."""
        return self.source.extent

    @property
    def period(self) -> Period:
        """The days that functions report by default."""
        return self._period or self.source.loaded

    @property
    def has_given_period(self) -> bool:
        """True if a caller gave the period."""
        return self._period is not None

    @property
    def has_given_opening(self) -> bool:
        """True if a caller gave the opening."""
        return self._given.day is not None or self._given.balances is not None

    @cached_property
    def opening(self) -> Opening:
        """The day from which balances are known, and their basis."""
        return self._find_opening()._replace(equity=tuple(self.source.openings))

    def _find_opening(self) -> Opening:
        given, discovery = self._given, Discovery.stated(self._ledgers)
        day, balances = given.day, given.balances
        if balances is None:
            if day is not None:
                self._refuse_earlier_entries(day, discovery)
            return find_opening(self.extent, discovery, self.time_zone, day)
        at = self.source.loaded.start_date if day is None else day
        first_entry = discovered_first_entry(discovery, self.time_zone)
        if self.source.states_days and self.extent.is_stated:
            first_entry, loaded_from = self.extent.first_entry or first_entry, self.extent.days.start_date
            if at < loaded_from:
                raise InputError(
                    f"opening: the balances are of {at}, and the lines begin on {loaded_from}: give those at the start "
                    "of that day"
                )
        found = given_opening(balances, at, self.tree, self.scale)._replace(first_entry=first_entry)
        return found._replace(basis="reported") if given.is_reported else found

    def _refuse_earlier_entries(self, first: dt.date, discovery: Discovery | None) -> None:
        """Refuse a stated first day that is after the first entry.

        Balances need all entries.
        """
        known = None if discovery is None else discovery.first_day
        if known and discovery and discovery.accepted.time_zone != self.time_zone:
            known += DAY  # an instant may be a day later in another zone
        is_earlier = known is not None and known < first
        before = Span(None, day_before(first))
        if is_earlier or (self.source.loaded.start_date < first and any(self.source.sums([before]).values())):
            since = f", the first on {day_label(known)}" if known and is_earlier else ""
            raise InputError(
                f"opening is {first}, but there are entries before that day{since}, and a balance needs them: load the "
                "lines from the first day of the books and pass that, or pass balances"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what was assumed, normalized or left out."""
        of_opening = self.opening.notes if self.has_given_opening else ()
        found = [*notes(self._ledgers), *notes(self.source.frame), *self.source.notes, *self.own_notes, *of_opening]
        return tuple(dict.fromkeys(found))

    @property
    def own_notes(self) -> tuple[str, ...]:
        """Remarks that every result has, in addition to remarks on lines and ledgers."""
        at = changed_after(self.extent.source, self.extent.read_at) if self.source.states_days else None
        if at is None:
            return self._remarks
        old = f"Read before changes were applied at {at:%H:%M} UTC: these lines have the old categories"
        return (f"{old}; books.refresh(client) loads them again.", *self._remarks)

    @property
    def changed_lines(self) -> pd.DataFrame:
        """Lines that :meth:`refresh` found changed, in both versions.

        Before the columns of lines are ``change`` ("before", "after") and ``kind`` ("added", "removed",
        "recategorized", "amended").
        """
        return self.lines.iloc[:0] if self._changed is None else self._changed.copy(deep=False)

    def refresh(self, client: object) -> Self:
        """Load the same days again, and list the lines that changed.

        Parameters
        ----------
        client : LedgerClient or LocalBooks
            Where the books were loaded from; another service or instance is refused.

        Returns
        -------
        Books
            With the same period, and a report of the service of each period that these books have one of;
            :attr:`changed_lines` are the lines that differ.

        Raises
        ------
        InputError
            The books were not loaded by ``load_books``, or from elsewhere, or their lines were chosen.
        ServiceError
            The service failed; these books are as they were.
        """
        self.require_service("refresh", "reads a service again")
        self.require_loaded("refresh")
        if self._load_again is None:
            raise InputError("refresh: these books were made of frames; load_books(client) loads books again")
        before = self.source.in_pandas("refresh")
        again = self._load_again(client, self)
        changed = changed_rows(before, again.lines, self.scale, self.time_zone)
        kept: dict[str, Any] = {"_period": self._period, "company": self.company, "currency": self.currency}
        if self.has_given_opening and not self._given.is_reported:
            kept["_given"] = self._given
        return cast("Self", again._replaced(**kept, _changed=changed))  # noqa: SLF001 (of this class)

    def days_of(self, period: object) -> Period:
        """Read a period. None means the period of the books.

        Relative names, such as ``last-month``, count from the last loaded day.
        """
        if period is None:
            return self.period
        last = self.source.loaded.end_date if isinstance(period, str) else None
        return to_period(period, "period", self.fiscal_year_start_month, as_of=last, time_zone=self.time_zone)

    def last_day(self, as_of: DateLike | None) -> dt.date:
        """Read `as_of`, or return the latest day with lines if it is None."""
        if as_of is not None:
            return parse_date(as_of, "as_of")
        rows = self.source.until(self._period.end_date) if self._period else self.source.dated
        if rows.empty:
            raise InputError("there are no line entries, so their last day is not known; pass as_of")
        latest: dt.date = rows["local_date"].max().date()
        return latest

    def of(self, period: PeriodLike) -> Self:
        """Return the same books with another period."""
        return self._replaced(_period=self.days_of(period))

    def _replaced(self, **values: object) -> Self:
        """Copy the books with other values. The copy shares cached sums."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **values)
        if not values.keys().isdisjoint(("_given", "source")):
            vars(other).pop("opening", None)
        return other

    def with_opening(self, opening: object) -> Self:
        """Return the same books with another opening."""
        return self._replaced(_given=GivenOpening.of(opening))

    def with_reports(self, reports: Iterable[CashFlowReport]) -> Self:
        """Return the same books with other reports of the service."""
        return self._replaced(reports=_read_reports(reports))

    def loaded_by(self, load_again: Callable[[object, Books], Books]) -> Self:
        """Return the books with the function that :meth:`refresh` calls."""
        return self._replaced(_load_again=load_again)

    def with_proofs(self, proofs: Mapping[str, MonthProof], version: int | None, copy_of: str) -> Self:
        """Return the books with the proofs and version of local books."""
        return self._replaced(proofs=proofs, version=version, copy_of=copy_of)

    def with_lines(self, frame: pd.DataFrame, *, label: str) -> Self:
        """Return books of lines that you chose or changed; every title has the label.

        Balances, :func:`~accounting_analytics.reconcile`, :func:`~accounting_analytics.check_completeness`, exports and
        packs refuse them.

        Parameters
        ----------
        frame : DataFrame
            Line entries, such as ``books.lines`` without some of them.
        label : str
            What they are, such as ``"without one-offs"``.

        Raises
        ------
        InputError
            There is no label.
        FrameError
            A column is missing, a line occurs more than once, or an amount is not on its side.
        """
        LineEntries.require_frame(frame)
        require_type(label, str, "label", "say what the lines are: label='without one-offs'")
        if not label.strip():
            raise InputError("label is empty; say what the lines are: label='without one-offs'")
        own = frame.reset_index(drop=True)
        own.attrs = {}
        LineSource(own, self.source.cash, self.time_zone, scale=self.scale).require_each_once()
        days = self.source.loaded
        changes = _changes(self.source.in_pandas("with_lines"), own, self.scale)
        extent = self.extent._replace(days=days, label=label.strip(), changes=changes)
        source = LineSource(
            own,
            self.source.cash,
            self.time_zone,
            openings=self.source.openings,
            open_items=self.source.open_items,
            extent=extent,
            scale=self.scale,
        )
        return self._replaced(source=source)

    def require_loaded(self, what: str) -> None:
        """Refuse lines that a person chose or changed."""
        if self.source.states_days and self.extent.label:  # else reading the days would read the lines
            raise InputError(
                f"{what} takes the lines as they were loaded, and these are {quote(self.extent.label)} "
                f"({', '.join(self.extent.changes)}); pass the books that with_lines was called on"
            )

    def require_service(self, what: str, needs: str) -> None:
        """Refuse books that were read from a file."""
        if self.source.states_days and self.extent.is_file:
            refuse_file(self.extent.source, what, needs)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave cached values out of a pickle."""
        self.source.in_pandas("a pickle")
        found = {name for name, attribute in vars(type(self)).items() if isinstance(attribute, cached_property)}
        return {name: value for name, value in vars(self).items() if name not in found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @property
    def frame(self) -> pd.DataFrame:
        """The known facts of the books, one in each row."""
        return pd.DataFrame(list(self._facts()), columns=["fact", "value"], dtype="str")

    def summary(self) -> str:
        """Return one line of text: how many line entries and ledgers there are, and their days."""
        return f"{'INCOMPLETE: ' if self.extent.missing else ''}{self.company or 'Books'}: {self._counts()}."

    def _counts(self) -> str:
        frame, days = self.source.frame, self.source.loaded
        rows = len(frame) if isinstance(frame, pd.DataFrame) else self.extent.rows
        lines = "line entries" if rows is None else count_of(rows, "line entry", "line entries")
        return f"{lines} of {count_of(len(self._ledgers), 'ledger')}, {period_label(days)}"

    def _latest_day(self) -> dt.date:
        """Return the last day of the period that has lines in memory."""
        frame, end = self.source.frame, self.period.end_date
        if not isinstance(frame, pd.DataFrame) or frame.empty:
            return end
        return min(end, local_date(frame["datetime"].max(), zone(self.time_zone)))

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Yield each known fact with its name."""
        extent, period = self.extent, self.period
        if extent.label:
            yield "Lines", f"{extent.label}: {', '.join(extent.changes)}"
        for ledger_id, why in extent.missing.items():
            yield "Missing", f"{self.tree.names.get(ledger_id, ledger_id)}: {why}"
        if period != self.source.loaded:
            yield "Period", days_label(period)
        cash = [self.tree.names[ledger_id] for ledger_id in self.tree.cash]
        yield "Cash", join_ids(cash, limit=_NAMED) or "no ledger reports cash flow"
        yield "Opening", self.opening.sentence()
        if self.currency:
            yield "Currency", self.currency
        if self.fiscal_year_start_month != 1:
            yield "Fiscal year", f"from {dt.date(2000, self.fiscal_year_start_month, 1):%B}"
        if self.reports:
            yield "Reports", f"{count_of(len(self.reports), 'report')} of the service: aa.reconcile(books)"
        if extent.read_at:
            old = changed_after(extent.source, extent.read_at)
            since = f"; BEFORE CHANGES were applied at {old:%H:%M} UTC: books.refresh(client)" if old else ""
            yield "Read", f"{extent.read_at:%Y-%m-%d %H:%M} UTC from {extent.source}{since}"
        if self._changed is not None:
            yield "Changed", describe_changes(self._changed, self.scale, self.time_zone)
        yield "Next", f'aa.income_statement(books, "{self._latest_day():%Y-%m}", compare="prior_year")'

    def _parts(self) -> Iterator[ResultPart]:
        facts = list(self._facts())
        yield ResultPart([f"{name:12}{text}" for name, text in facts], pd.DataFrame(facts, columns=["fact", "value"]))

    def _content(self) -> Mapping[str, Any]:
        return {"summary": self.summary(), **dict(self._facts())}


def to_books(books: object) -> Books:
    """Return books. Refuse any other argument."""
    require_type(
        books, Books, "books", "load_books(client) returns them, and Books(lines, ledgers) makes them of frames"
    )
    assert isinstance(books, Books)  # noqa: S101 (what was required)
    return books


def _is_in_memory(lines: Any) -> bool:  # noqa: ANN401 (any frame narwhals knows)
    """Test if a frame has its rows in memory. Refuse anything but a frame."""
    wrap(lines, "line_entries", ())
    return isinstance(nw.from_native(lines), nw.DataFrame)


def _read_ledgers(ledgers: Any) -> pd.DataFrame:  # noqa: ANN401 (any frame narwhals knows)
    """Read a chart of any engine into pandas, with its metadata."""
    if ledgers is None:
        raise InputError("ledgers are missing; discover_ledgers(client, ...) returns them")
    if isinstance(ledgers, pd.DataFrame):
        return ledgers.copy(deep=False)
    known = wrap(ledgers, "ledgers", tuple(Ledgers.dtypes()))
    columns = [name for name in Ledgers.dtypes() if name in known.collect_schema()]
    frame = to_pandas(collect(known.select(*columns)))
    frame.attrs = dict(stated_attrs(ledgers))
    return frame


def _read_reports(reports: Iterable[CashFlowReport]) -> tuple[CashFlowReport, ...]:
    """Read reports. Refuse recomputed reports: the lines would be compared with themselves."""
    if isinstance(reports, pd.DataFrame) or not isinstance(reports, Iterable):
        raise InputError(
            f"reports is of type {type(reports).__name__}; pass a list of what load_cash_flow_report(client, ...) "
            "returns"
        )
    found = tuple(reports)
    for report in found:
        require_report(report, "reports")
        if report.origin == "recomputed":
            raise InputError(
                "reports: a report was recomputed from line entries, and would be compared with itself; pass those "
                "that load_cash_flow_report(client, ...) returns"
            )
    return found


def _changes(loaded: pd.DataFrame, chosen: pd.DataFrame, scale: int) -> tuple[str, ...]:
    """Count the lines that a choice left out, added or amended."""
    before, after = (frame.set_index("id")[list(_COMPARED)] for frame in (loaded, chosen))
    kept = after.index[after.index.isin(before.index)]
    amended = np.zeros(len(kept), np.bool_)
    for name in _COMPARED:
        old, new = (_values(frame.loc[kept, name], scale) for frame in (before, after))
        amended |= ~((old == new) | (pd.isna(old) & pd.isna(new)))
    counts = {"left out": len(before) - len(kept), "added": len(after) - len(kept), "amended": int(amended.sum())}
    found = tuple(f"{count_of(count, 'line')} {what}" for what, count in counts.items() if count)
    return found or ("no line differs",)


def _values(column: pd.Series[Any], scale: int) -> Any:  # noqa: ANN401 (an array of objects)
    """Convert a column to comparable values: exact amounts, instants or texts."""
    if column.name == "signed_amount":
        column = exact_amounts(column, scale, column.index.to_series(name="id")).column
    elif column.name == "datetime":
        column = convert(column, INSTANT)
    return column.astype(object).to_numpy()
