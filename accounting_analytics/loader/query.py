"""What a load asks for: which ledgers, which days, which lines, and what is sent along with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from accounting_analytics.errors import InputError
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.client import LedgerClient

PAGE_SIZE = 1000


@dataclass(frozen=True)
class LineEntryQuery:
    """The lines of some ledgers in a period, as one load reads them."""

    ledger_ids: tuple[str, ...]
    period: Period
    is_cashflow: bool | None
    tag_ids: tuple[str, ...]
    expand: frozenset[str]
    scale: int

    @classmethod
    def of(
        cls,
        client: LedgerClient,
        ledger_ids: Iterable[str],
        start_date: dt.date | str,
        end_date: dt.date | str,
        *,
        time_zone: str,
        is_cashflow: bool | None,
        tag_ids: Iterable[str] | None,
        expand: Iterable[str],
    ) -> Self:
        """Query of a caller's arguments; each ledger once, in the order given."""
        if not isinstance(ledger_ids, Iterable) or hasattr(ledger_ids, "columns"):  # a table iterates over its columns
            msg = f"ledger_ids is a {type(ledger_ids).__name__}; give the ids, such as ledgers['id']"
            raise InputError(msg)
        listed = [ledger_ids] if isinstance(ledger_ids, str) else list(dict.fromkeys(ledger_ids))
        wrong = next((ledger_id for ledger_id in listed if not isinstance(ledger_id, str) or not ledger_id), None)
        if wrong is not None:
            msg = f"ledger_ids holds {wrong!r}, which is not an id; nothing was asked for"
            raise InputError(msg)
        return cls(
            ledger_ids=tuple(listed),
            period=Period.of(start_date, end_date, time_zone),
            is_cashflow=is_cashflow,
            tag_ids=(tag_ids,) if isinstance(tag_ids, str) else tuple(tag_ids or ()),
            expand=frozenset([expand] if isinstance(expand, str) else expand),
            scale=client.scale,
        )

    def page(self, window: Window, page_token: str | None) -> dict[str, Any]:
        """Arguments of ``list_line_entries`` for one page of a window."""
        return {
            "ledger_id": window.ledger_id,
            "start_date": window.period.start_date,
            "end_date": window.period.end_date,
            "time_zone": self.period.time_zone,
            "is_cashflow": self.is_cashflow,
            "expand": sorted(self.expand),
            "tag_ids": self.tag_ids,
            "limit": PAGE_SIZE,
            "page_token": page_token,
        }

    def as_json(self) -> dict[str, Any]:
        """Everything that decides which lines come and what they hold."""
        return {
            "ledger_ids": list(self.ledger_ids),
            "start_date": self.period.start_date.isoformat(),
            "end_date": self.period.end_date.isoformat(),
            "time_zone": self.period.time_zone,
            "is_cashflow": self.is_cashflow,
            "tag_ids": list(self.tag_ids),
            "expand": sorted(self.expand),
            "scale": self.scale,
        }


@dataclass(frozen=True)
class Window:
    """Some days of one ledger, read by one chain of pages.

    Parameters
    ----------
    ledger_id : str
        The ledger.
    period : Period
        The days.
    pages : float, optional
        How many pages to expect; None where nothing is known yet.
    """

    ledger_id: str
    period: Period
    pages: float | None = None

    @property
    def size(self) -> float:
        """Pages to expect, infinitely many where nothing is known: what may be large is read first."""
        return float("inf") if self.pages is None else self.pages

    @property
    def lines(self) -> float:
        """Lines to expect, none where nothing is known."""
        return (self.pages or 0) * PAGE_SIZE

    def __str__(self) -> str:
        return f"ledger {self.ledger_id}, {self.period}"
