"""The service that a command connects to: the configured one, or the demo company's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.client import LedgerClient


@contextmanager
def connect_service(
    profile: str | None, time_zone: str | None = None, *, use_demo: bool
) -> Iterator[tuple[LedgerClient, str]]:
    """Client of the configured service, or of the demo company, and the zone that days are counted in."""
    if use_demo:
        with aa.demo() as company:
            yield company.client, company.time_zone if time_zone is None else time_zone
        return
    from accounting_analytics.client.settings import load_settings

    settings = load_settings(profile)
    with aa.connect(profile) as client:
        yield client, settings.time_zone if time_zone is None else time_zone


@contextmanager
def notebook_environment(profile: str | None, *, use_demo: bool) -> Iterator[dict[str, str]]:
    """Environment variables that connect a notebook to the configured service, or to the demo company."""
    if use_demo:
        with aa.demo() as company:
            yield company.environment()
        return
    yield {} if profile is None else {"ACCOUNTING_ANALYTICS_PROFILE": profile}
