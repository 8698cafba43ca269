"""What is posted: ledgers, and journal entries with their lines, transactions and tags.

These are plain descriptions of what the caller wants; :class:`~..storage.store.Store` checks them
when it posts, and makes every id that is left out.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import msgspec


class NewLedger(msgspec.Struct, frozen=True, gc=False):
    """A ledger to create.

    Parameters
    ----------
    name : str
        Free-form name.
    editable : bool
        Whether line entries may be added or removed by hand.
    debit_credit, type, sub_type, report_cash_flow, sort_code
        As in the interface; each may be left out when `financial_account_type` is given, and then takes its default.
    financial_account_type : str, optional
        Marks a ledger that represents a real-world financial account.
    parent_id : str, optional
        Parent ledger, of the same type.
    id : str, optional
        Identifier to use.
    """

    name: str
    editable: bool = True
    debit_credit: str | None = None
    type: str | None = None
    sub_type: str | None = None
    financial_account_type: str | None = None
    report_cash_flow: bool | None = None
    parent_id: str | None = None
    sort_code: str | None = None
    id: str | None = None


class NewTransaction(msgspec.Struct, frozen=True, gc=False):
    """The transaction side of a line on a financial-account ledger."""

    description: str = ""
    personal: bool = False
    posted_status: str = "posted"
    review_status: str = "unreviewed"
    source_account_id: str | None = None
    id: str | None = None


class NewTag(msgspec.Struct, frozen=True, order=True, gc=False):
    """A tag by the names of its group and itself; posted twice, it is the same tag."""

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
        Only on a ledger with a financial account type, where one is made when none is given.
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
    """A journal entry: at least two lines whose debits equal their credits, at an aware instant."""

    datetime: dt.datetime
    description: str
    lines: tuple[NewLine, ...]
    id: str | None = None
