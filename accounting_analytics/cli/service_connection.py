"""The service that a command connects to: the configured one, or the demo company's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.output import print_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.client import LedgerClient


@contextmanager
def connect_service(
    profile: str | None, time_zone: str | None = None, *, use_demo: bool
) -> Iterator[tuple[LedgerClient, str]]:
    """Client of the configured service, or of the demo company, and the zone that days are counted in."""
    from accounting_analytics.periods import choose_zone

    if use_demo:
        with aa.demo() as company:
            yield company.client, choose_zone(time_zone, company.time_zone).name
        return
    with aa.connect(profile) as client:
        yield client, choose_zone(time_zone, client.time_zone).name
        if time_zone is None and client.time_zone is None:
            print_message("no time zone is configured, so the days are those of UTC")


def configured_zone(time_zone: str | None) -> str:
    """Zone of --time-zone, else the configured one, else UTC, for commands that open a database."""
    from accounting_analytics.client.settings import load_settings

    return load_settings(time_zone=time_zone)["time_zone"] or "UTC"


@contextmanager
def notebook_environment(profile: str | None, *, use_demo: bool) -> Iterator[dict[str, str]]:
    """Environment variables that connect a notebook to the configured service, or to the demo company."""
    if use_demo:
        with aa.demo() as company:
            yield company.environment()
        return
    yield {} if profile is None else {"ACCOUNTING_ANALYTICS_PROFILE": profile}
