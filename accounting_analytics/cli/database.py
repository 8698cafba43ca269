"""Databases of the embedded service, as commands open and list them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accounting_analytics.cli.output import print_message
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def print_rows(rows: Sequence[Any], *, as_json: bool) -> None:
    """Print dataclasses as a table, without internal keys."""
    import pandas as pd

    from accounting_analytics.cli.terminal import print_json, print_table

    public = [{field.name: getattr(row, field.name) for field in fields(row) if field.name != "pk"} for row in rows]
    frame = pd.DataFrame(public, dtype=object)
    if as_json:
        print_json(frame)
    elif public:
        print_table(frame)
    else:
        print_message("no entries")
