"""Local books: what a copy of the books on disk offers to functions that take a client, line entries or ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period, choose_zone

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


@runtime_checkable
class AnyBooks(Protocol):
    """Books that are read from disk, and state in every result how old they are."""

    @property
    def time_zone(self) -> str:
        """Zone that the days of the books are counted in."""

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""

    def ledgers(self) -> pd.DataFrame:
        """Chart of accounts."""

    def line_entries(
        self,
        period: Period | None = None,
        *,
        ledger_ids: Iterable[str] | None = None,
        is_cashflow: bool | None = None,
        tag_ids: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Line entries of some days, or all; of all ledgers, or some."""

    def report(self, period: Period, *, tag_ids: Iterable[str] = ()) -> CashFlowReport:
        """Cash flow report of some days, recomputed from the line entries."""


def lines_of(source: Any) -> Any:  # noqa: ANN401 (any frame narwhals knows)
    """Line entries of local books, or what was given instead."""
    return source.line_entries() if isinstance(source, AnyBooks) else source


def ledgers_of(source: Any, ledgers: Any) -> Any:  # noqa: ANN401 (any frame narwhals knows)
    """Chart of accounts that was given, else that of local books."""
    if isinstance(ledgers, str) and isinstance(source, AnyBooks):
        raise InputError(
            f"ledgers is {quote(ledgers)}: local books have their own ledgers, so name what follows: start_date=..."
        )
    if ledgers is not None:
        return ledgers
    if isinstance(source, AnyBooks):
        return source.ledgers()
    raise InputError(
        "ledgers are missing; discover_ledgers(client, ...) returns them, and only local books have their own"
    )


def days_of_books(
    books: AnyBooks, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike | None = None
) -> Period:
    """Days in the zone of the books; those of another zone would begin and end within their days."""
    asked = choose_zone(time_zone, books.time_zone).name
    if asked != books.time_zone:
        raise InputError(
            f"time_zone is {asked}, but these local books count days in {books.time_zone}: leave it out, or sync "
            "other books with that zone"
        )
    return Period(start_date, end_date, asked)


def refuse_books(client: object, reason: str) -> None:
    """Refuse local books where only the service will do; the reason says what to do instead."""
    if isinstance(client, AnyBooks):
        raise InputError(f"{reason}; nothing was sent")


def refuse_options(**options: object) -> None:
    """Refuse options of a load that cannot have an effect on local books."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} has no effect on local books, which are not loaded but read: leave it out")
