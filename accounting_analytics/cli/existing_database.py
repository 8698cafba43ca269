"""Open a database of the embedded service that exists."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.service.storage.store import Store


@contextmanager
def open_existing(database: str) -> Iterator[Store]:
    """Open a database that exists; a list or a check never creates one."""
    from accounting_analytics.service.storage.store import Store

    if "://" not in database and not Path(database).exists():
        msg = f"database {database} does not exist; create it with: accounting-analytics instances create"
        raise InputError(msg)
    with Store.open(database, create=False) as store:
        yield store
