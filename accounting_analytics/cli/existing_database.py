"""Open a database of the embedded service that exists."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.service.storage.store import Store


@contextmanager
def open_existing(database: str) -> Iterator[Store]:
    """Open a database that exists; a list or a check never creates one."""
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        yield store
