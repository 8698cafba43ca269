"""The books that a dry run of an import reads and rolls back."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from accounting_analytics.money import DEFAULT_SCALE
from accounting_analytics.service.bookkeeping.instances import (
    NewInstance,
    check_instance_scale,
    choose_instance,
    create_instance,
)
from accounting_analytics.service.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def instance_to_preview(
    database: str, instance_id: str | None = None, *, scale: int | None = None
) -> Iterator[tuple[Store, str]]:
    """Give a store and the instance that an import would fill; a temporary one where it would create it."""
    if "://" in database or Path(database).exists():
        with Store.open(database) as store:
            if store.instances():
                yield store, check_instance_scale(store, choose_instance(store, instance_id), scale)
                return
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "books.db") as store:
        yield (
            store,
            create_instance(store, NewInstance(id=instance_id, scale=DEFAULT_SCALE if scale is None else scale)),
        )
