"""Versions of the tables, and the steps that migrate the books of an older version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.audit_migration import prove_audit

if TYPE_CHECKING:
    from collections.abc import Sequence

OLDEST_VERSION = 2
"""Oldest version that can be migrated."""

Step = Callable[[Connection], None]


class Migration(NamedTuple):
    """A migration that was made.

    Attributes
    ----------
    before, after : int
        Version of the database before and after it; equal if there was nothing to do.
    backup : str, optional
        File with the books as they were before.
    """

    before: int
    after: int
    backup: str | None = None


def _index_audit_by_transaction(connection: Connection) -> None:
    tables.audit_of_transaction.create(connection)


def _add_idempotency_keys(connection: Connection) -> None:
    tables.idempotency_keys.create(connection)


STEPS: tuple[Step, ...] = (_index_audit_by_transaction, _add_idempotency_keys, prove_audit)
"""The step from the oldest version to the next one, and so on; a later change appends one and changes none.

A step changes the tables and, where needed, their rows, so that they are as :mod:`.tables` describes them: a test
compares a migrated database with a new one.
"""

VERSION = OLDEST_VERSION + len(STEPS)
"""Version of the tables that this program needs."""


def is_current(name: str, version: int, steps: Sequence[Step] = STEPS) -> bool:
    """Whether a database has the version that is needed; False if it can be migrated.

    Raises
    ------
    InputError
        It is newer than this program, or too old to migrate; the message has both versions.
    """
    needed = OLDEST_VERSION + len(steps)
    if version > needed:
        msg = (
            f"{name} has version {version} of the database, and this program needs version {needed}: a newer program "
            "has written it; nothing was changed, update this program"
        )
        raise InputError(msg)
    if version < OLDEST_VERSION:
        msg = (
            f"{name} has version {version} of the database, and this program needs version {needed} and migrates from "
            f"version {OLDEST_VERSION} on; nothing was changed, import the books again"
        )
        raise InputError(msg)
    return version == needed


def apply_steps(connection: Connection, version: int, steps: Sequence[Step] = STEPS) -> int:
    """Apply the steps that a database of a version does not have, and return the version it has then.

    The caller begins the transaction, stores the version in it and commits all of it: a database is never between two
    versions.
    """
    for step in steps[version - OLDEST_VERSION :]:
        step(connection)
    return OLDEST_VERSION + len(steps)
