"""What a load will cost before it is made: requests, minutes, and what a checkpoint already has."""

from __future__ import annotations

import html
import math
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pyarrow as pa

from accounting_analytics.errors import InputError
from accounting_analytics.loader.checkpoint import MANIFEST, Checkpoint
from accounting_analytics.loader.line_entries import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, checked_in_flight
from accounting_analytics.loader.page_decoder import instants_in_utc
from accounting_analytics.loader.query import PAGE_SIZE, LineEntryQuery, Window
from accounting_analytics.loader.windows import WORTH_SPLITTING, Outlook, gaps
from accounting_analytics.loader.worker_pool import Crew

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import Period

DOCUMENTED_RATE = 320.0
"""Requests a minute that the service allows an instance, as far as is documented."""
_SPARE = 1.1
_SHOWN = 20


@dataclass(frozen=True)
class LoadPlan:
    """What a load is expected to cost; made by :func:`plan_load`.

    Parameters
    ----------
    ledgers : DataFrame
        One row a ledger: ``ledger_id``, ``lines`` still to come, ``calls`` for them, ``exact`` (counted, not
        estimated), ``kept_lines`` that the checkpoint has.
    requests_per_minute : float
        The rate that `minutes` is reckoned with.
    rate_is_known : bool
        Whether that rate was given or told by the service; else it is the documented one.
    probes : int
        Requests that the plan itself cost.
    kept_windows : int
        Windows that the checkpoint has.
    """

    ledgers: pd.DataFrame
    requests_per_minute: float
    rate_is_known: bool
    probes: int
    kept_windows: int = 0

    @property
    def calls(self) -> int:
        """Requests still to be made."""
        return int(self.ledgers["calls"].sum())

    @property
    def lines(self) -> int:
        """Lines still to come, as far as can be told."""
        return int(self.ledgers["lines"].sum())

    @property
    def kept_lines(self) -> int:
        """Lines that the checkpoint has."""
        return int(self.ledgers["kept_lines"].sum())

    @property
    def minutes(self) -> float:
        """How long the requests take at the rate, at least."""
        return self.calls / self.requests_per_minute

    def explain(self) -> str:
        """Plain text: calls, lines, minutes, and what is there already."""
        estimated = int((~self.ledgers["exact"]).sum())
        about = "" if not estimated else f", estimated for {estimated:,} of {len(self.ledgers):,} ledger(s)"
        rate = f"{self.requests_per_minute:g} requests a minute"
        told = rate if self.rate_is_known else f"the documented {rate} (this service has not told its own)"
        kept = (
            f"\nThe checkpoint has {self.kept_lines:,} lines in {self.kept_windows:,} windows; they are not read again."
            if self.kept_windows
            else ""
        )
        return (
            f"{self.calls:,} requests for about {self.lines:,} lines of {len(self.ledgers):,} ledger(s){about}: "
            f"at least {self.minutes:.1f} minute(s) at {told}. Planning took {self.probes:,} request(s).{kept}"
        )

    __str__ = explain

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{html.escape(line)}</p>" for line in self.explain().splitlines())
        largest = self.ledgers.sort_values("calls", ascending=False, kind="stable").head(_SHOWN)
        return f"{text}{largest.to_html(index=False, escape=True)}"


def plan_load(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: dt.date | str,
    end_date: dt.date | str,
    *,
    time_zone: str = "UTC",
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    checkpoint: str | Path | None = None,
    requests_per_minute: float | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
) -> LoadPlan:
    """Tell what a load will cost, without making it: the parameters are those of :func:`load_line_entries`.

    One small page of each ledger that is not in the checkpoint yet says how dense it is; the rest is reckoned from it.

    Parameters
    ----------
    requests_per_minute : float, optional
        The rate to reckon with; without it the one that the service tells, else the documented one.

    Raises
    ------
    ServiceError
        The service failed.
    CheckpointError
        The checkpoint belongs to another load, is in use, or is damaged.
    """
    if requests_per_minute is not None and not 0 < requests_per_minute < math.inf:
        msg = f"requests_per_minute must be a positive number, not {requests_per_minute!r}"
        raise InputError(msg)
    query = LineEntryQuery.of(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone=time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
    )
    at_once = checked_in_flight(in_flight)
    kept = _kept(client, query, checkpoint)
    open_days = {
        ledger_id: sum(window.period.days for window in gaps(ledger_id, query.period, kept[ledger_id].periods))
        for ledger_id in query.ledger_ids
    }
    to_ask = [Window(ledger_id, query.period) for ledger_id, days in open_days.items() if days]
    crew: Crew[Window, tuple[str, _Expected]] = Crew(
        lambda window: (window.ledger_id, _expected(client, query, window)),
        size=lambda _: 1,
        threads=at_once,
        stop=threading.Event(),
    )
    expected = dict(crew.outcomes(to_ask))
    rows = [
        (ledger_id, *_still(expected.get(ledger_id), open_days[ledger_id], kept[ledger_id].lines, query))
        for ledger_id in query.ledger_ids
    ]
    told = client.quota.limit
    return LoadPlan(
        ledgers=pd.DataFrame(rows, columns=["ledger_id", "lines", "calls", "exact", "kept_lines"]),
        requests_per_minute=float(requests_per_minute or told or DOCUMENTED_RATE),
        rate_is_known=bool(requests_per_minute or told),
        probes=len(to_ask),
        kept_windows=sum(len(one.periods) for one in kept.values()),
    )


class _Kept(NamedTuple):
    """What a checkpoint has of a ledger."""

    periods: tuple[Period, ...]
    lines: int


class _Expected(NamedTuple):
    """What one page says of a ledger's whole period."""

    lines: float
    pages: float
    exact: bool


def _kept(client: LedgerClient, query: LineEntryQuery, checkpoint: str | Path | None) -> defaultdict[str, _Kept]:
    """Finished windows of each ledger; a checkpoint that is not there yet is not made."""
    kept: defaultdict[str, _Kept] = defaultdict(lambda: _Kept((), 0))
    if checkpoint is None or not (Path(checkpoint) / MANIFEST).exists():
        return kept
    with Checkpoint(checkpoint, client, query) as shelf:
        for one in shelf.finished():
            before = kept[one.window.ledger_id]
            kept[one.window.ledger_id] = _Kept((*before.periods, one.window.period), before.lines + one.lines)
    return kept


def _expected(client: LedgerClient, query: LineEntryQuery, window: Window) -> _Expected:
    """Reckon a ledger from the first page of its period, asked for without what makes pages large."""
    page = client.list_line_entries(
        window.ledger_id,
        window.period.start_date,
        window.period.end_date,
        time_zone=query.period.time_zone,
        is_cashflow=query.is_cashflow,
        tag_ids=query.tag_ids,
        limit=PAGE_SIZE,
    )
    count = len(page.records)
    if page.next_page_token is None:
        return _Expected(count, 1, exact=True)
    instants = instants_in_utc([line.datetime for line in page.records], f"list line entries ({window})")
    outlook = Outlook.of(pa.chunked_array([pa.array(instants, pa.timestamp("us", "UTC"))]), window.period)
    if outlook is None:  # there is a second page, and no more can be told
        return _Expected(count * 2, 2, exact=False)
    pages = max(outlook.pages, 2)
    return _Expected(pages * outlook.lines_a_page, pages, exact=False)


def _still(
    expected: _Expected | None, open_days: int, kept_lines: int, query: LineEntryQuery
) -> tuple[int, int, bool, int]:
    """Lines still to come, calls for them, whether that is exact, and lines that are there."""
    if expected is None:
        return 0, 0, True, kept_lines
    if expected.exact:
        return max(round(expected.lines) - kept_lines, 0), 1, open_days == query.period.days, kept_lines
    share = open_days / query.period.days
    pages = expected.pages * share
    cut = pages >= WORTH_SPLITTING
    # a ledger that is cut is asked once in vain, its windows end within a page, and its newest days are looked at again
    calls = math.ceil(pages * _SPARE) + 2 if cut else math.ceil(pages) + 1
    return round(expected.lines * share), calls, False, kept_lines
