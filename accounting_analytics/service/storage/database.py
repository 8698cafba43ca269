"""Where books are kept: an SQLite file, or a PostgreSQL database that many machines share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

WRITES = "writes"
"""Execution option of a connection that is going to write."""


class Database(NamedTuple):
    """A database that was opened.

    Attributes
    ----------
    name : str
        What it is called in messages; never with a password.
    path : Path or None
        The file, where it is one.
    reader, writer : Engine
        Connections that see one snapshot each, and connections that hold the one write lock.
    """

    name: str
    path: Path | None
    reader: Engine
    writer: Engine
