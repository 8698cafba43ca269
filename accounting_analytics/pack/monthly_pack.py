"""`monthly_pack`: what changed in a period and why, statements and proof, as a page that its reader can check."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.client import LedgerClient
from accounting_analytics.client.settings import Presentation, load_settings
from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.errors import EmptyPeriodError, InputError
from accounting_analytics.core.messages import printable
from accounting_analytics.core.periods import Period, choose_zone, parse_date
from accounting_analytics.pack.loaded_books import PackBooks, load_books
from accounting_analytics.pack.pack_content import make_content
from accounting_analytics.pack.pack_page import check_sections, page_environment, render_page
from accounting_analytics.pack.pack_periods import PackPeriods, read_period
from accounting_analytics.pack.pack_result import MonthlyPack
from accounting_analytics.reports.books.dated_lines import has_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from jinja2 import Environment

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.local_books.versions import When
    from accounting_analytics.pack.loaded_books import LoadedBooks

_MAX_NAME, _MAX_NOTE = 200, 10_000


def monthly_pack(
    source: LedgerClient | PackBooks,
    period: Period | str,
    *,
    company: str | None = None,
    currency: str | None = None,
    fiscal_year_start_month: int | None = None,
    time_zone: ZoneLike | None = None,
    books_start: DateLike | None = None,
    since: When | None = None,
    parents: Mapping[str, str | None] | None = None,
    aged_ledgers: Iterable[str] | None = None,
    sections: Iterable[str] | None = None,
    templates: str | Path | None = None,
    note: str | None = None,
    show_code: bool = False,
    allow_empty: bool = False,
    profile: str | None = None,
    progress: bool | None = None,
) -> MonthlyPack:
    """Make the pack of a month or another period: what changed and why, statements, cash bridge, and proof.

    The books are loaded from the service and reconciled with its cash flow reports of the period, of the one before, of
    a year before, and of the year to date; or read from local books, which were compared with them at every sync.

    Parameters
    ----------
    source : LedgerClient or LocalBooks
        The service, or local books.
    period : Period or str
        The days: ``2026-05``, ``2026-Q2``, ``last-month``, or a :class:`~accounting_analytics.Period` of the zone.
    company, currency : str, optional
        What the page names; by default the configured ones (``ACCOUNTING_ANALYTICS_COMPANY``, ``_CURRENCY``).
    fiscal_year_start_month : int, optional
        First month of the fiscal year, for the year to date; by default the configured one, else January.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of a :class:`~accounting_analytics.Period`, of the books, or of
        the client.
    books_start : date-like, optional
        First day of the books, of a service: balances are sums from there. Local books state their own.
    since : int, str, date or datetime, optional
        Version or time of the last pack, of local books: what changed since is shown. By default the last close of a
        period (:meth:`~accounting_analytics.LocalBooks.close`); without one there is no such section.
    parents : mapping of str to str or None, optional
        Parents of ledgers that the service does not show, by id, as of
        :func:`~accounting_analytics.discover_ledgers`: without them a deep chart has no subtotals of its branches.
    aged_ledgers : iterable of str, optional
        Receivables and payables by id, unique name or path, whose ages are shown; by default the ledgers of these types
        of account.
    sections : iterable of str, optional
        Sections of the page in their order, to leave some out; all by default. The entries behind the figures that are
        shown are in the page, whatever is left out.
    templates : path, optional
        Folder with templates of Jinja; ``sections/NAME.html.j2`` there replaces a section, or adds one.
    note : str, optional
        What you say about the period, in Markdown without links and pictures: it stands on page one.
    show_code : bool
        Show the calls that make the statements.
    allow_empty : bool
        Make a pack of a period without line entries too.
    profile : str, optional
        Profile of the configuration.
    progress : bool, optional
        Show progress bars; None shows them in a terminal or an interactive notebook.

    Returns
    -------
    MonthlyPack
        ``.save(path)`` writes the page, whose reader can check it without the service.

    Raises
    ------
    EmptyPeriodError
        The period has no line entries.
    InputError
        An argument is wrong; PeriodError, IncompleteLoadError, ServiceError as of the functions that load.
    """
    options = PageOptions(sections, templates, note, show_code=show_code, aged_ledgers=aged_ledgers)
    options.check()
    configured = load_settings(profile).presentation()
    presentation = Presentation(
        company or configured.company,
        currency or configured.currency,
        fiscal_year_start_month or configured.fiscal_year_start_month,
    )
    this = read_period(period, _zone(source, period, time_zone), presentation.fiscal_year_start_month)
    periods = PackPeriods.around(this, presentation.fiscal_year_start_month)
    start = None if books_start is None else parse_date(books_start, "books_start")
    books = load_books(source, periods, start, since=since, parents=parents, progress=progress)
    if not allow_empty and not has_lines(books.lines, this):
        raise EmptyPeriodError(
            f"there are no line entries from {this}: check the period, or accept an empty one with --allow-empty "
            "(allow_empty=True)"
        )
    return pack_of_books(books, periods, presentation, options)


class PageOptions(NamedTuple):
    """Sections of the page, templates that replace its own, a note, whether calls are shown, and which ledgers age."""

    sections: Iterable[str] | None = None
    templates: str | Path | None = None
    note: str | None = None
    show_code: bool = False
    aged_ledgers: Iterable[str] | None = None

    def check(self) -> tuple[Environment, tuple[str, ...]]:
        """Return the templates, and the names of the sections; refuse what does not exist."""
        folder = None if self.templates is None else to_path(self.templates, "templates")
        if folder is not None and not folder.is_dir():
            raise InputError(f"templates: {folder} is not a folder")
        if self.note is not None:
            require_type(self.note, str, "note", "it is a text in Markdown")
            if len(self.note) > _MAX_NOTE:
                raise InputError(f"note has {len(self.note):,} characters; page one has room for {_MAX_NOTE:,}")
        environment = page_environment(folder)
        return environment, check_sections(self.sections, environment)


def pack_of_books(
    books: LoadedBooks, periods: PackPeriods, presentation: Presentation, options: PageOptions
) -> MonthlyPack:
    """Make a pack of loaded books."""
    environment, names = options.check()
    company, currency = (text and printable(text)[:_MAX_NAME] for text in presentation[:2])
    return MonthlyPack(
        periods.this,
        company,
        currency,
        dt.datetime.now(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        names,
        options.show_code,
        options.note and options.note.strip(),
        periods,
        books,
        make_content(books, periods, currency, company, options.aged_ledgers),
        partial(render_page, environment),
    )


def _zone(source: LedgerClient | PackBooks, period: Period | str, time_zone: ZoneLike | None) -> str:
    """Zone that days are counted in: that of the books, else the given one, that of the period, that of the client."""
    if isinstance(source, PackBooks):
        return source.time_zone
    require_type(source, LedgerClient, "source", "connect() returns one, and LocalBooks.open(folder) local books")
    of_period = period.time_zone if isinstance(period, Period) else None
    return choose_zone(time_zone or of_period, source.time_zone).name
