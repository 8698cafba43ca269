"""Estimate of what a load will cost: requests, minutes, and what a checkpoint already has."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd
import pyarrow as pa

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.loading.arrow_lines import INSTANT
from accounting_analytics.loading.checkpoint import MANIFEST, Checkpoint, WindowStore
from accounting_analytics.loading.pages import instants_in_utc
from accounting_analytics.loading.request import PAGE_SIZE, LoadRequest
from accounting_analytics.loading.windows import MIN_PAGES_TO_SPLIT, DensityEstimate, run_in_parallel, unread_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.loading.request import LoadOptions

DOCUMENTED_RATE = 320.0
"""Requests a minute that the service allows an instance, according to its documentation."""
_SPARE_REQUESTS = 1.1
_MAX_LEDGERS_SHOWN = 20
_COLUMNS = ["ledger_id", "lines", "calls", "exact", "kept_lines"]


@dataclass(frozen=True, repr=False)
class LoadPlan(Result):
    """What a load is expected to cost; made by :func:`plan_load`.

    Parameters
    ----------
    ledgers : DataFrame
        One row per ledger: ``ledger_id``, ``lines`` still to be loaded, ``calls`` for them, ``exact`` (counted, not
        estimated), ``kept_lines`` in the checkpoint.
    requests_per_minute : float
        The rate that `minutes` is calculated with.
    rate_is_known : bool
        Whether that rate was given or reported by the service; otherwise it is the documented one.
    probes : int
        Requests that planning took.
    kept_windows : int
        Windows in the checkpoint.
    notes : tuple of str
        What a reader must know about the time zone, and days that are read twice.
    """

    ledgers: pd.DataFrame
    requests_per_minute: float
    rate_is_known: bool
    probes: int
    kept_windows: int = 0
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Requests still to be sent."""
        return int(self.ledgers["calls"].sum())

    @property
    def lines(self) -> int:
        """Lines still to be loaded, as estimated."""
        return int(self.ledgers["lines"].sum())

    @property
    def kept_lines(self) -> int:
        """Lines in the checkpoint."""
        return int(self.ledgers["kept_lines"].sum())

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
        """Show what is already loaded, and in HTML the ledgers with the most requests."""
        kept = f"{self.kept_lines:,} lines in {self.kept_windows:,} windows"
        if self.kept_windows:
            yield ResultPart([f"The checkpoint has {kept}; they are not read again."])
        largest = self.ledgers.sort_values("calls", ascending=False, kind="stable")
        yield ResultPart(table=largest, max_rows=_MAX_LEDGERS_SHOWN, rest="ledgers; .frame has all")

    def _content(self) -> dict[str, Any]:
        names = ("calls", "lines", "minutes", "requests_per_minute", "rate_is_known", "kept_lines", "kept_windows")
        return {name: getattr(self, name) for name in (*names, "probes", "notes", "ledgers")}

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

    One small page of each ledger that is not in the checkpoint yet shows how many lines it has on a day; the rest is
    calculated from that.

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
    CheckpointError
        The checkpoint belongs to another load, is in use, or is damaged.
    """
    request = LoadRequest.from_options(client, ledger_ids, start_date, end_date, **options)
    if requests_per_minute is not None and not 0 < requests_per_minute < math.inf:
        raise InputError(f"requests_per_minute must be a positive number, not {requests_per_minute!r}")
    store = WindowStore()
    if request.checkpoint is not None and (request.checkpoint / MANIFEST).exists():
        with Checkpoint(request.checkpoint, request) as store:
            pass  # its windows are found when it is opened
    unread_days, kept_lines = Counter[str](), Counter[str]()
    for window in unread_windows(request.ledger_ids, request.period, store.windows):
        unread_days[window.ledger_id] += window.period.days
    for one in store.windows:
        kept_lines[one.window.ledger_id] += one.counts.lines

    def estimate(ledger_id: str) -> dict[str, Any]:
        kept = {"ledger_id": ledger_id, "kept_lines": kept_lines[ledger_id]}
        return kept | _estimate_ledger(request, ledger_id, unread_days[ledger_id], kept_lines[ledger_id])

    rows = run_in_parallel(estimate, request.ledger_ids, threads=request.in_flight)
    ledgers = pd.DataFrame(rows, columns=_COLUMNS).set_index("ledger_id", drop=False)
    ledgers = ledgers.loc[list(request.ledger_ids)].reset_index(drop=True)
    notes = request.notes
    if request.verified is not None and (unread_days or not store.is_verified(request.verified)):
        pages = ledgers["calls"] + (ledgers["kept_lines"] / PAGE_SIZE).map(math.ceil)
        ledgers["calls"] += (pages * (request.verified.days / request.period.days)).map(math.ceil)
        notes = (*notes, f"The lines of {request.verified} are read twice, and again if the books change meanwhile.")
    reported = client.quota.limit
    return LoadPlan(
        ledgers=ledgers,
        requests_per_minute=float(requests_per_minute or reported or DOCUMENTED_RATE),
        rate_is_known=bool(requests_per_minute or reported),
        probes=len(unread_days),
        kept_windows=len(store.windows),
        notes=notes,
    )


def _estimate_ledger(request: LoadRequest, ledger_id: str, unread_days: int, kept_lines: int) -> dict[str, Any]:
    """Estimate a ledger from the first page of its period, requested without expansions to keep it small."""
    if not unread_days:
        return {"lines": 0, "calls": 0, "exact": True}
    days = {"start_date": request.period.start_date, "end_date": request.period.end_date}
    options = days | request.page_options() | {"time_zone": request.period.time_zone, "expand": ()}
    page = request.client.list_line_entries(ledger_id, **options)
    count = len(page.records)
    share = unread_days / request.period.days
    if page.next_page_token is None:
        return {"lines": max(count - kept_lines, 0), "calls": 1, "exact": share == 1}
    instants = instants_in_utc([line.datetime for line in page.records], f"list line entries (ledger {ledger_id})")
    density = DensityEstimate.from_page(pa.chunked_array([pa.array(instants, INSTANT)]), request.period)
    # there is a second page, and where the lines are in no order, nothing more is known
    pages = share * (2 if density is None else max(density.pages, 2))
    # a ledger that is split: its first page is read twice, windows end within a page, the newest days are checked
    is_split = pages >= MIN_PAGES_TO_SPLIT
    calls = math.ceil(pages * _SPARE_REQUESTS) + 2 if is_split else math.ceil(pages) + 1
    return {"lines": round(pages * count), "calls": calls, "exact": False}
