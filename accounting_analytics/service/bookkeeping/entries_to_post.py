"""Journal entries to post, with their lines, transactions and tags.

These are plain values without checks: :func:`~.post_entries.post_entries` checks them, and creates the ids that are
not given.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import msgspec


class NewTransaction(msgspec.Struct, frozen=True, gc=False):
    """The transaction of a line on a ledger with a financial account type."""

    description: str = ""
    personal: bool = False
    posted_status: str = "posted"
    review_status: str = "unreviewed"
    source_account_id: str | None = None
    id: str | None = None


class NewTag(msgspec.Struct, frozen=True, order=True, gc=False):
    """A tag, identified by the names of its group and itself."""

    group: str
    name: str


class NewLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a journal entry.

    Parameters
    ----------
    ledger_id : str
        Ledger of the line.
    debit_credit : str
        ``debit`` or ``credit``.
    amount : Decimal
        Magnitude at the instance's scale; a negative one is posted as its magnitude on the other side.
    description : str
        Text of the line.
    transaction : NewTransaction, optional
        Only on a ledger with a financial account type, where one is created if none is given.
    tags : tuple of NewTag
        Tags of the line.
    id : str, optional
        Identifier to use.
    """

    ledger_id: str
    debit_credit: str
    amount: Decimal
    description: str = ""
    transaction: NewTransaction | None = None
    tags: tuple[NewTag, ...] = ()
    id: str | None = None


class NewJournalEntry(msgspec.Struct, frozen=True, gc=False):
    """A journal entry at an aware instant: at least two lines, whose debits equal their credits."""

    datetime: dt.datetime
    description: str
    lines: tuple[NewLine, ...]
    id: str | None = None
