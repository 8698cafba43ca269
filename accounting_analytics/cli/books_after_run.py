"""Local books that are synced after a run has changed the books of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.output import command_line, print_message
from accounting_analytics.cli.service_or_demo import require_one_source
from accounting_analytics.errors import AccountingAnalyticsError, with_context

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.cli.plan_run import PlanRun
    from accounting_analytics.client import LedgerClient


class BooksAfterRun:
    """The local books of --books, if it is given: opened before a run, so that what cannot be synced is refused."""

    def __init__(self, folder: Path | None, *, use_demo: bool) -> None:
        require_one_source(folder, use_demo=use_demo)
        self._folder = folder
        self._books = None if folder is None else aa.connect(books=folder)
        self._error: AccountingAnalyticsError | None = None

    def sync(self, client: LedgerClient, run: PlanRun | None) -> None:
        """Sync the books after a confirmed run, and print what changed; the outcomes of the run are printed anyway."""
        if self._books is None or run is None or not run.options.confirm:
            return
        try:
            synced = self._books.sync(client, end_date=self._books.period.end_date, months_a_night=0)
        except AccountingAnalyticsError as error:
            self._error = error
            return
        print_message(f"local books in {self._folder} are synced: {synced.summary()}")
        for alarm in synced.alarms:
            print_message(f"ALARM: {alarm}")

    def raise_for_error(self) -> None:
        """Fail, after the outcomes were printed, where the books could not be synced."""
        if self._error is not None:
            again = command_line("sync", books=self._folder)
            raise with_context(self._error, f"the run has ended, but the local books were not synced: {again}")
