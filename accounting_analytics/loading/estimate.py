"""Estimate of what a load will cost: requests and minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd
import pyarrow as pa

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.loading.arrow_lines import INSTANT
from accounting_analytics.loading.pages import instants_in_utc
from accounting_analytics.loading.request import LoadRequest
from accounting_analytics.loading.windows import MIN_PAGES_TO_SPLIT, DensityEstimate, run_in_parallel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.loading.request import LoadOptions

DOCUMENTED_RATE = 320.0
"""Requests a minute that the service allows an instance, according to its documentation."""
_SPARE_REQUESTS = 1.1
_MAX_LEDGERS_SHOWN = 20
_COLUMNS = ["ledger_id", "lines", "calls", "exact"]


@dataclass(frozen=True, repr=False)
class LoadPlan(Result):
    """What a load is expected to cost; made by :func:`plan_load`.

    Parameters
    ----------
    ledgers : DataFrame
        One row per ledger: ``ledger_id``, ``lines`` to be loaded, ``calls`` for them, ``exact`` (counted, not
        estimated).
    requests_per_minute : float
        The rate that `minutes` is calculated with.
    rate_is_known : bool
        Whether that rate was given or reported by the service; otherwise it is the documented one.
    probes : int
        Requests that planning took.
    notes : tuple of str
        What a reader must know about the time zone, and days that are read twice.
    """

    ledgers: pd.DataFrame
    requests_per_minute: float
    rate_is_known: bool
    probes: int
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Requests to be sent."""
        return int(self.ledgers["calls"].sum())

    @property
    def lines(self) -> int:
        """Lines to be loaded, as estimated."""
        return int(self.ledgers["lines"].sum())

    @property
    def minutes(self) -> float:
        """How long the requests take at the rate, at least."""
        return self.calls / self.requests_per_minute

    @property
    def frame(self) -> pd.DataFrame:
        """The ledgers."""
        return self.ledgers

    def summary(self) -> str:
        """One line: calls, lines and minutes."""
        estimated = int((~self.ledgers["exact"]).sum())
        about = "" if not estimated else f", estimated for {estimated:,} of {count_of(len(self.ledgers), 'ledger')}"
        rate = f"{self.requests_per_minute:g} requests per minute"
        if not self.rate_is_known:
            rate = f"the documented {rate} (this service reports no limit)"
        return (
            f"{count_of(self.calls, 'request')} for about {count_of(self.lines, 'line')} of "
            f"{count_of(len(self.ledgers), 'ledger')}{about}: at least {self.minutes:.1f} minutes at {rate}. Planning "
            f"took {count_of(self.probes, 'request')}."
        )

    def _parts(self) -> Iterator[ResultPart]:
        """Show in HTML the ledgers with the most requests."""
        largest = self.ledgers.sort_values("calls", ascending=False, kind="stable")
        yield ResultPart(table=largest, max_rows=_MAX_LEDGERS_SHOWN, rest="ledgers; .frame has all")

    def _content(self) -> dict[str, Any]:
        names = ("calls", "lines", "minutes", "requests_per_minute", "rate_is_known", "probes", "notes", "ledgers")
        return {name: getattr(self, name) for name in names}

    __str__ = Result.explain


def plan_load(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: DateLike,
    end_date: DateLike,
    *,
    requests_per_minute: float | None = None,
    **options: Unpack[LoadOptions],
) -> LoadPlan:
    """Estimate what a load will cost, without loading.

    One small page of each ledger shows how many lines it has on a day; the rest is calculated from that.

    Parameters
    ----------
    client, ledger_ids, start_date, end_date, **options
        Those of :func:`load_line_entries`.
    requests_per_minute : float, optional
        The rate to calculate with; by default the rate limit that the service reports, else the documented one.

    Raises
    ------
    ServiceError
        The service failed.
    """
    request = LoadRequest.from_options(client, ledger_ids, start_date, end_date, **options)
    if requests_per_minute is not None and not 0 < requests_per_minute < math.inf:
        raise InputError(f"requests_per_minute must be a positive number, not {requests_per_minute!r}")
    rows = run_in_parallel(
        lambda one: {"ledger_id": one} | _estimate_ledger(request, one), request.ledger_ids, threads=request.in_flight
    )
    ledgers = pd.DataFrame(rows, columns=_COLUMNS).set_index("ledger_id", drop=False)
    ledgers = ledgers.loc[list(request.ledger_ids)].reset_index(drop=True)
    notes = request.notes
    if request.verified is not None:
        ledgers["calls"] += (ledgers["calls"] * (request.verified.days / request.period.days)).map(math.ceil)
        notes = (*notes, f"The lines of {request.verified} are read twice, and again if the books change meanwhile.")
    reported = client.quota.limit
    return LoadPlan(
        ledgers=ledgers,
        requests_per_minute=float(requests_per_minute or reported or DOCUMENTED_RATE),
        rate_is_known=bool(requests_per_minute or reported),
        probes=len(request.ledger_ids),
        notes=notes,
    )


def _estimate_ledger(request: LoadRequest, ledger_id: str) -> dict[str, Any]:
    """Estimate a ledger from the first page of its period, requested without expansions to keep it small."""
    days = {"start_date": request.period.start_date, "end_date": request.period.end_date}
    options = days | request.page_options() | {"time_zone": request.period.time_zone, "expand": ()}
    page = request.client.list_line_entries(ledger_id, **options)
    count = len(page.records)
    if page.next_page_token is None:
        return {"lines": count, "calls": 1, "exact": True}
    instants = instants_in_utc([line.datetime for line in page.records], f"list line entries (ledger {ledger_id})")
    density = DensityEstimate.from_page(pa.chunked_array([pa.array(instants, INSTANT)]), request.period)
    # there is a second page, and where the lines are in no order, nothing more is known
    pages = 2 if density is None else max(density.pages, 2)
    # a ledger that is split: its first page is read twice, windows end within a page, the newest days are checked
    is_split = pages >= MIN_PAGES_TO_SPLIT
    calls = math.ceil(pages * _SPARE_REQUESTS) + 2 if is_split else math.ceil(pages) + 1
    return {"lines": round(pages * count), "calls": calls, "exact": False}
