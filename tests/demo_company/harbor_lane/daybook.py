"""The daybook: entries are added in any order and become journal entries in order of time."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.money import from_minor_units
from accounting_analytics.periods import as_utc, zone
from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, NewTag, NewTransaction
from harbor_lane.accounts import ACCOUNTS, ledger_id

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME_ZONE = "America/New_York"
_FINANCIAL = frozenset(account.key for account in ACCOUNTS if account.financial_account_type is not None)


class Posting(NamedTuple):
    """One side of an entry: the account's key, cents (debit positive), and the description of the line.

    `statement` is the text on the bank's statement, where the account is a financial one.
    """

    account: str
    cents: int
    text: str = ""
    statement: str = ""
    tags: tuple[NewTag, ...] = ()
    reviewed: bool = False
    personal: bool = False


class _Entry(NamedTuple):
    """A balanced entry of the daybook."""

    moment: dt.datetime
    description: str
    postings: tuple[Posting, ...]


def local_time(day: dt.date, clock: str, *, fold: int = 0) -> dt.datetime:
    """Return a time such as ``17:05`` or ``23:59:59`` of a day in the company's zone."""
    return dt.datetime.combine(day, dt.time.fromisoformat(clock), zone(TIME_ZONE)).replace(fold=fold)


class Daybook:
    """Entries, and the running balance of every account in cents."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self.balances: defaultdict[str, int] = defaultdict(int)

    def add(self, moment: dt.datetime, description: str, *postings: Posting) -> None:
        """Add an entry; postings of zero are left out, and the others must balance."""
        nonzero = tuple(posting for posting in postings if posting.cents)
        if sum(posting.cents for posting in nonzero):
            msg = f"the demo company's {description!r} of {moment} does not balance"
            raise ValueError(msg)
        for posting in nonzero:
            self.balances[posting.account] += posting.cents
        self._entries.append(_Entry(moment, description, nonzero))

    def journal_entries(self, required: Mapping[str, str]) -> list[NewJournalEntry]:
        """Journal entries by time, with numbered ids; `required` gives the ids of the required ledgers by key."""
        entries = sorted(self._entries, key=lambda entry: as_utc(entry.moment))
        return [_journal_entry(entry, f"{number:05d}", required) for number, entry in enumerate(entries, start=1)]


def _journal_entry(entry: _Entry, number: str, required: Mapping[str, str]) -> NewJournalEntry:
    return NewJournalEntry(
        datetime=as_utc(entry.moment),
        description=entry.description,
        lines=tuple(
            NewLine(
                ledger_id=required.get(posting.account) or ledger_id(posting.account),
                debit_credit=DebitCredit.DEBIT if posting.cents > 0 else DebitCredit.CREDIT,
                amount=from_minor_units(abs(posting.cents)),
                description=posting.text or entry.description,
                transaction=_transaction(posting, entry, f"txn_{number}_{position}"),
                tags=posting.tags,
                id=f"lin_{number}_{position}",
            )
            for position, posting in enumerate(entry.postings, start=1)
        ),
        id=f"ent_{number}",
    )


def _transaction(posting: Posting, entry: _Entry, transaction_id: str) -> NewTransaction | None:
    if posting.account not in _FINANCIAL:
        return None
    return NewTransaction(
        description=posting.statement or posting.text or entry.description,
        personal=posting.personal,
        review_status="reviewed" if posting.reviewed else "unreviewed",
        source_account_id=f"ext_{posting.account}",
        id=transaction_id,
    )
