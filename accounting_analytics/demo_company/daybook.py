"""The daybook: what happens is noted in any order, and comes out as journal entries in order of time."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.demo_company.chart import ACCOUNTS, ledger_id
from accounting_analytics.money import from_minor_units
from accounting_analytics.periods import zone
from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine, NewTag, NewTransaction

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME_ZONE = "America/New_York"
_FINANCIAL = frozenset(account.key for account in ACCOUNTS if account.financial_account_type is not None)


class Leg(NamedTuple):
    """One side of an entry: the account's key, cents (debit positive), and what the line says.

    `statement` is the text on the bank's statement, where the account is a financial one.
    """

    account: str
    cents: int
    text: str = ""
    statement: str = ""
    tags: tuple[NewTag, ...] = ()
    reviewed: bool = False
    personal: bool = False


@dataclass(frozen=True)
class Note:
    """Something that happened."""

    moment: dt.datetime
    description: str
    legs: tuple[Leg, ...]


def local(day: dt.date, clock: str, *, fold: int = 0) -> dt.datetime:
    """Moment of a day at a time such as ``17:05`` or ``23:59:59`` on the company's clock."""
    return dt.datetime.combine(day, dt.time.fromisoformat(clock), zone(TIME_ZONE)).replace(fold=fold)


class Daybook:
    """Notes, and the running balance of every account."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self.balances: defaultdict[str, int] = defaultdict(int)

    def note(self, moment: dt.datetime, description: str, *legs: Leg) -> None:
        """Note an entry; legs of zero are left out, and the others must balance."""
        kept = tuple(leg for leg in legs if leg.cents)
        if sum(leg.cents for leg in kept):
            msg = f"the demo company's {description!r} of {moment} does not balance"
            raise ValueError(msg)
        for leg in kept:
            self.balances[leg.account] += leg.cents
        self._notes.append(Note(moment, description, kept))

    def entries(self, required: Mapping[str, str]) -> list[NewJournalEntry]:
        """Journal entries by time, with ids that count; `required` gives the ids of the required ledgers by key."""
        notes = sorted(self._notes, key=lambda note: note.moment.astimezone(dt.UTC))
        return [_entry(note, f"{number:05d}", required) for number, note in enumerate(notes, start=1)]


def _entry(note: Note, number: str, required: Mapping[str, str]) -> NewJournalEntry:
    return NewJournalEntry(
        datetime=note.moment.astimezone(dt.UTC),
        description=note.description,
        lines=tuple(
            NewLine(
                ledger_id=required.get(leg.account) or ledger_id(leg.account),
                debit_credit=DebitCredit.DEBIT if leg.cents > 0 else DebitCredit.CREDIT,
                amount=from_minor_units(abs(leg.cents)),
                description=leg.text or note.description,
                transaction=_transaction(leg, note, f"txn_{number}_{place}"),
                tags=leg.tags,
                id=f"lin_{number}_{place}",
            )
            for place, leg in enumerate(note.legs, start=1)
        ),
        id=f"ent_{number}",
    )


def _transaction(leg: Leg, note: Note, transaction_id: str) -> NewTransaction | None:
    if leg.account not in _FINANCIAL:
        return None
    return NewTransaction(
        description=leg.statement or leg.text or note.description,
        personal=leg.personal,
        review_status="reviewed" if leg.reviewed else "unreviewed",
        source_account_id=f"ext_{leg.account}",
        id=transaction_id,
    )
