"""Reading a version of local books: lines, ledgers, reports, and metadata."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.arguments import require_type, to_texts
from accounting_analytics.core.column_conversion import LIST_SEPARATOR, midnight_notes
from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.fiscal_years import to_period
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.periods import Period, choose_zone, day_label, parse_date
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.loading.arrow_lines import lines_within, to_line_frame
from accounting_analytics.local_books.reading_plan import touch_cash
from accounting_analytics.local_books.sql_on_books import BooksQueries, scan_files
from accounting_analytics.local_books.storage import BooksFolder, exact_lines, load_metadata, table_schema
from accounting_analytics.reports.books.extent_of_load import attach_load_metadata
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.local_books.versions import Version
    from accounting_analytics.reports.books.extent_of_load import MonthProof
    from accounting_analytics.reports.books.value import PeriodLike
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


@dataclass(frozen=True, repr=False)
class VersionReader:
    """Reader of one version of books: the newest version at first use, or a chosen version."""

    folder: Path
    _chosen: Version | None = None
    company: str | None = None
    currency: str | None = None
    fiscal_year_start_month: int = 1

    @cached_property
    def _current(self) -> Version | None:
        """The version that is read, or None before the first sync."""
        versions = [] if self._chosen else self._storage.versions()
        return self._chosen or (versions[-1] if versions else None)

    def _read(self, version: Version) -> None:
        """Read another version from now on."""
        self.__dict__["_current"] = version
        self.__dict__.pop("_queries", None)

    @property
    def _storage(self) -> BooksFolder:
        return BooksFolder(self.folder)

    @property
    def _version(self) -> Version:
        if self._current is None:
            raise InputError(
                f"{self.folder} has no local books yet: run LocalBooks.open({str(self.folder)!r}).sync(client), or "
                f"accounting-analytics sync --books {self.folder}"
            )
        return self._current

    @property
    def version(self) -> int | None:
        """Number of the version, from 0, or None before the first sync."""
        return None if self._current is None else self._current.number

    @property
    def synced_at(self) -> dt.datetime:
        """Start of the version's last sync, in UTC. The service may have changed since then."""
        return self._version.synced_at

    @property
    def instance_id(self) -> str:
        """Service instance of the books."""
        return self._version.instance_id

    @property
    def period(self) -> Period:
        """Days of the books."""
        return self._version.period

    @property
    def time_zone(self) -> str:
        """Time zone in which days are counted."""
        return self._version.time_zone

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self._version.scale

    @property
    def books_start(self) -> dt.date | None:
        """First day of the books, if no ledger has an earlier line, so that sums since then are balances, else None."""
        return self.period.start_date if self._version.reaches_back else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the age of the books, and on the proof of the last sync. There are none before the first sync."""
        if self._current is None:
            return ()
        version = self._current
        oldest = day_label(min(record.read_at for record in version.months.values()))
        as_of = f"Local books, version {version.number}, as of {version.synced_at:%Y-%m-%d %H:%M} UTC"
        rest = f"What no report shows, such as texts and entries without cash, was read on {oldest} or later."
        return (f"{as_of}: {version.summary()}.", rest)

    def line_entries(
        self,
        period: Period | None = None,
        *,
        ledger_ids: Iterable[str] | None = None,
        is_cashflow: bool | None = None,
        tag_ids: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Return the line entries of some days, all by default.

        Parameters
        ----------
        period : Period, optional
            Days within those of the books, in their zone.
        ledger_ids : iterable of str, optional
            Only these ledgers.
        is_cashflow : bool, optional
            Only lines of entries that touch a ledger that reports cash flow (True), or only the others (False).
        tag_ids : iterable of str, optional
            Only lines that carry all these tags.

        Returns
        -------
        DataFrame
            :class:`~accounting_analytics.schemas.LineEntries`, as :func:`~accounting_analytics.load_line_entries`
            returns it; ``attrs["load"]`` names the version too, and ``books_start`` if the books reach back.

        Raises
        ------
        InputError
            There are no books yet, the period is not within them, or they have no such ledger.
        BooksError
            A file of the books is damaged.
        """
        days = self.period if period is None else period
        lines = self.line_table(days)
        filters: dict[str, Any] = {}
        if is_cashflow is not None:
            filters["is_cashflow"] = is_cashflow
            cash = self.ledgers().query("report_cash_flow")["id"]
            lines = lines.filter(pc.equal(touch_cash(lines, cash), is_cashflow))
        if tags := to_texts(tag_ids):
            filters["tag_ids"] = list(tags)
            lines = lines.filter(
                pa.array(
                    [{*tags} <= {*(text or "").split(LIST_SEPARATOR)} for text in lines["tag_ids"].to_pylist()],
                    pa.bool_(),
                )
            )
        known = self.ledgers()["id"]
        ids = list(known) if ledger_ids is None else list(to_texts(ledger_ids))
        if unknown := set(ids) - set(known):
            raise InputError(
                f"the local books have no ledger {join_ids(unknown)}; LocalBooks.ledgers() lists those they have"
            )
        if ledger_ids is not None:
            lines = lines.filter(pc.is_in(lines["ledger_id"], value_set=pa.array(ids, pa.string())))
        frame = to_line_frame(lines, self.scale, days.time_zone)
        frame.attrs["notes"] = (*self.notes, *midnight_notes(frame["datetime"], days.time_zone))
        metadata = load_metadata(lines.num_rows, days, ids, self.scale) | self._stated_source(days)
        attach_load_metadata(frame, metadata | {"filters": filters})
        return frame

    def read_books(
        self,
        period: PeriodLike,
        since: DateLike | None,
        engine: str,
        *,
        opening: object = None,
        ledgers: Iterable[str] | None = None,
        time_zone: ZoneLike | None = None,
        **not_needed: Any,  # noqa: ANN401 (options of a load, each refused)
    ) -> Books:
        """Return the books of a period, as :func:`~accounting_analytics.load_books` does."""
        _refuse_options(**not_needed)
        held, chart = self.period, self.ledgers()
        asked = None
        if period is not None:
            zone = choose_zone(time_zone, held.time_zone).name
            asked = to_period(period, "period", self.fiscal_year_start_month, as_of=held.end_date, time_zone=zone)
        elif time_zone is not None:
            self._require_days(Period(held.start_date, held.end_date, time_zone))
        first = held.start_date if since is None else max(parse_date(since, "since"), held.start_date)
        last = self._require_days(asked).end_date if asked else held.end_date
        days = Period(first, last, held.time_zone)
        if opening is None and self.books_start is None and first == held.start_date:
            opening = (first, self._version.anchor)
        options: dict[str, Any] = {
            "opening": opening,
            "company": self.company,
            "currency": self.currency,
            "fiscal_year_start_month": self.fiscal_year_start_month,
        }
        if engine == "pandas":
            names = LedgerNames.from_frame(chart)
            chosen = None if ledgers is None else [names.find(ledger) for ledger in to_texts(ledgers)]
            books = Books(self.line_entries(days, ledger_ids=chosen), chart, asked, **options)
        else:
            _refuse_options(since=since, ledgers=ledgers)
            books = self._scan(engine, chart, asked, **options)
        return books.with_proofs(self.month_proofs(days), self.version, self.source)

    def _scan(self, engine: str, chart: pd.DataFrame, period: Period | None, **options: Any) -> Books:  # noqa: ANN401
        """Make books that an engine reads from the version's files.

        Refuse files with a wrong digest.
        """
        files = [self._storage.path(file) for _, file in sorted(self._version.files.items())]
        metadata = load_metadata(self._version.lines, self.period, chart["id"], self.scale)
        frame = scan_files(engine, files, table_schema(self.scale))
        stated = metadata | self._stated_source(self.period)
        return Books.of_engine(frame, chart, period, stated, self.notes, **options)

    def _stated_source(self, days: Period) -> dict[str, Any]:
        """Return the metadata of lines that identifies the books."""
        version = self._version
        reaches_back = {} if self.books_start is None else {"books_start": str(self.books_start)}
        return {
            "base_url": version.base_url,
            "instance_id": version.instance_id,
            "read_at": min(version.months[month.month].read_at for month in days.months()).isoformat(),
            "books_version": version.number,
            **reaches_back,
        }

    def line_table(self, period: Period) -> pa.Table:
        """Return line entries of some days with exact amounts for calculations."""
        days = self._require_days(period)
        return lines_within(self._storage.read_lines(self._version, [month.month for month in days.months()]), days)

    def _require_days(self, period: Period) -> Period:
        """Return the period. Refuse days in another time zone, or outside the books."""
        require_type(period, Period, "period", "Period('2026-01-01', '2026-03-31', books.time_zone) is one")
        if period.time_zone != self.time_zone:
            raise PeriodError(f"the period is in {period.time_zone}, the local books have days in {self.time_zone}")
        if not self.period.covers(period):
            raise PeriodError(self._version.describe_held(period))
        return period

    def ledgers(self) -> pd.DataFrame:
        """Return the chart of accounts, :class:`~accounting_analytics.schemas.Ledgers`, as of the version."""
        ledgers = self._storage.read_ledgers(self._version)
        ledgers.attrs["notes"] = (*self.notes, *ledgers.attrs["notes"])
        return ledgers

    def report(self, period: Period, *, tag_ids: Iterable[str] = (), allow_partial: bool = False) -> CashFlowReport:
        """Recompute the cash flow report of some days from the line entries.

        Starting balances are summed since the books begin. If the books have earlier lines at the service, they are the
        balances that the service reported at the first day, plus the movement since. With `allow_partial`, a report of
        lines that are known to be incomplete is marked as partial, and not refused.

        Raises
        ------
        InputError
            The period is not within the books, or `tag_ids` is given: a recomputed report has no tags.
        """
        if to_texts(tag_ids):
            raise InputError("local books have no report of tags; load it from the service")
        days = self._require_days(period)
        history = Period(self.period.start_date, days.end_date, self.time_zone)
        lines, ledgers = exact_lines(self.line_table(history), history, scale=self.scale), self.ledgers()
        opening = (self.period.start_date, self._version.anchor) if self.books_start is None else None
        books = Books(lines, ledgers, days, time_zone=self.time_zone, opening=opening)
        report = recompute_cash_flow(books, allow_partial=allow_partial)
        return replace(report, notes=tuple(dict.fromkeys((*self.notes, *report.notes))))

    def month_proofs(self, period: Period) -> dict[str, MonthProof]:
        """Return the proof of each month: agreement with the report, and times."""
        months = [month.month for month in self._require_days(period).months()]
        return {name: self._version.months[name].proof(self.synced_at) for name in months}

    @property
    def source(self) -> str:
        """Service and instance of which the books are a copy."""
        return f"{self._version.base_url} {self._version.instance_id}"

    @cached_property
    def _queries(self) -> BooksQueries:
        days = self.period
        return BooksQueries(ExportedBooks.from_books(self.read_books(days, None, "pyarrow"), days), notes=self.notes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle, without the tables of queries."""
        return {name: value for name, value in self.__dict__.items() if name != "_queries"}

    def sql(self, query: str) -> pd.DataFrame:
        """Answer a question in SQL, by DuckDB in memory.

        Tables and views are those of an export with the format ``duckdb``: facts (``fact_line_entry``, ...), dimensions
        (``dim_ledger``, ...), views with names (``line_entries``, ``cash_flow``), and one for each question that has no
        parameters. ``SHOW TABLES`` lists them, ``DESCRIBE line_entries`` columns, and the README of exports all of it.

        Parameters
        ----------
        query : str
            One SELECT, which may begin with WITH or FROM, or DESCRIBE, SUMMARIZE or SHOW. It can read the books only,
            no files and no network, and change nothing.

        Returns
        -------
        DataFrame
            The answer. Decimals, which amounts and their sums are, become the float64 of their exact digits, as in
            other frames; what the query divides or averages is a float of DuckDB. ``attrs["notes"]`` has the notes of
            the books.

        Raises
        ------
        InputError
            There are no books yet, or the query is refused; the message names tables or says what to write.
        """
        return self._queries.query(query)


def _refuse_options(**options: object) -> None:
    """Refuse options that have no effect on local books."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} has no effect on local books, which are not loaded but read: leave it out")
