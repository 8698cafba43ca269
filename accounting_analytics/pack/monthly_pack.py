"""`monthly_pack`: changes of a period and their reasons, statements and proof, as a page that its reader can check."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.amount_units import check_amounts_in
from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.errors import EmptyPeriodError, IncompleteLoadError, InputError
from accounting_analytics.core.messages import printable
from accounting_analytics.pack.books_of_pack import ComparedBooks
from accounting_analytics.pack.pack_content import GivenParts, make_content
from accounting_analytics.pack.pack_page import check_sections, page_environment, render_page
from accounting_analytics.pack.pack_periods import PackPeriods
from accounting_analytics.pack.pack_result import MonthlyPack
from accounting_analytics.reports.books.book_lines import has_lines
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.recategorization.decisions import Decisions
    from accounting_analytics.reports.books.value import Books, PeriodLike
    from accounting_analytics.reports.statements.budget import BudgetLike

_MAX_NAME, _MAX_NOTE = 200, 10_000


def monthly_pack(
    books: Books,
    period: PeriodLike = None,
    *,
    drift: Drift | None = None,
    aged_ledgers: Iterable[str] | None = None,
    decisions: Decisions | Sequence[Decisions] | None = None,
    sections: Iterable[str] | None = None,
    templates: str | Path | None = None,
    note: str | None = None,
    show_code: bool = False,
    allow_empty: bool = False,
    amounts_in: AmountsIn | None = None,
    budget: BudgetLike | None = None,
    depreciation: Iterable[str] = (),
) -> MonthlyPack:
    """Make the pack of a month or another period: what changed and why, statements, cash bridge, and proof.

    Every report of the service that the books have is compared with the line entries; local books were compared with
    them at every sync.

    Parameters
    ----------
    books : Books
        The books, which name the company, the currency and the fiscal year: ``load_books(client, "2026-05")``. With the
        reports of the month before, of a year before and of the year to date these are proven too.
    period : period-like, optional
        The days: ``2026-05``, ``2026-Q2``, or a :class:`~accounting_analytics.Period`; by default that of the books.
    drift : Drift, optional
        What changed in local books since the last pack, as :meth:`~accounting_analytics.LocalBooks.drift` returns it.
    aged_ledgers : iterable of str, optional
        Receivables and payables by id, unique name or path, whose ages are shown; by default the ledgers of these types
        of account.
    decisions : mapping, path, or sequence of these, optional
        As of :func:`~accounting_analytics.check_coding`: what a person said is right is not listed.
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
    amounts_in : {"k", "M"}, optional
        Show amounts in thousands, of one fraction digit, or in millions, of two, each rounded half to even by itself:
        on the page, which still has all entries, and as the format of numbers in the workbook. Pictures, and entries
        that unfold, have all digits.
    budget : DataFrame or path, optional
        A budget of the period's months, as :func:`~accounting_analytics.income_statement` takes it: a section compares
        it with the period and with the year to date, whose budget is known where it has amounts for each month.
    depreciation : iterable of str, optional
        As of :func:`~accounting_analytics.key_ratios`: without these ledgers EBITDA is not known.

    Returns
    -------
    MonthlyPack
        ``.save(path)`` writes the page, whose reader can check it without the service.

    Raises
    ------
    EmptyPeriodError
        The period has no line entries.
    IncompleteLoadError
        Lines of the period were not loaded.
    InputError
        An argument is wrong, rows of the budget cannot be used, or the lines are a person's choice.

    Examples
    --------
    ::

        books = aa.load_books(client, "2026-05", reports=["2026-05", "2026-04"])
        aa.monthly_pack(books).save("may.html")
    """
    options = PageOptions(sections, templates, note, show_code=show_code)
    environment, names = options.check()
    unit = check_amounts_in(amounts_in)
    books = to_books(books)
    books.require_loaded("a pack")
    this = books.days_of(period)
    if reasons := books.extent.reasons(this):
        raise IncompleteLoadError(f"the pack of {this} cannot be made: {'; '.join(reasons)}; load these days")
    if not allow_empty and not has_lines(books.lines, this):
        raise EmptyPeriodError(
            f"there are no line entries from {this}: check the period, or accept an empty one with --allow-empty "
            "(allow_empty=True)"
        )
    periods = PackPeriods.around(this, books.fiscal_year_start_month)
    proven = ComparedBooks.of(books, periods, drift)
    company, currency = (text and printable(text)[:_MAX_NAME] for text in (books.company, books.currency))
    return MonthlyPack(
        periods.this,
        company,
        currency,
        dt.datetime.now(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        names,
        options.show_code,
        options.note and options.note.strip(),
        unit,
        periods,
        proven,
        make_content(proven, periods, GivenParts(aged_ledgers, decisions, budget, depreciation), unit),
        partial(render_page, environment),
    )


class PageOptions(NamedTuple):
    """Choices for the page: sections, own templates, a note, and shown calls."""

    sections: Iterable[str] | None = None
    templates: str | Path | None = None
    note: str | None = None
    show_code: bool = False

    def check(self) -> tuple[Environment, tuple[str, ...]]:
        """Return the templates and the names of sections. Refuse templates and sections that do not exist."""
        folder = None if self.templates is None else to_path(self.templates, "templates")
        if folder is not None and not folder.is_dir():
            raise InputError(f"templates: {folder} is not a folder")
        if self.note is not None:
            require_type(self.note, str, "note", "it is a text in Markdown")
            if len(self.note) > _MAX_NOTE:
                raise InputError(f"note has {len(self.note):,} characters; page one has room for {_MAX_NOTE:,}")
        environment = page_environment(folder)
        return environment, check_sections(self.sections, environment)
