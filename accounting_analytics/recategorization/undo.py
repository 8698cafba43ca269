"""Plan the inverse of a run: each change that the run made and that no other user has changed since, back again.

What to restore is in the journal of the run; whether it can be restored is in the books. The inverse is an ordinary
plan: it is previewed, saved, applied with a journal of its own, and verified like any other, on any later day.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.arguments import require_type, to_texts
from accounting_analytics.client import LedgerClient
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.errors import PlanError
from accounting_analytics.local_books import refuse_books
from accounting_analytics.messages import count_of, did_you_mean, join_ids, quote
from accounting_analytics.money import fits_float, signed_amount
from accounting_analytics.recategorization.categories_in_books import days_of, find_ledgers, read_transactions
from accounting_analytics.recategorization.changes_and_outcomes import (
    FoundOutcome,
    Outcome,
    describe_categories,
    findings_frame,
    no_transaction,
    replaced_categories,
)
from accounting_analytics.recategorization.journal import read_sent_changes
from accounting_analytics.recategorization.plan import Plan
from accounting_analytics.schemas import PlanItems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.recategorization.changes_and_outcomes import Change
    from accounting_analytics.recategorization.journal import Attempts

_RULE = "undo"
_NOT_CHANGED = FoundOutcome(Outcome.ALREADY_DONE, "the books have the previous category")
_NOT_RESTORABLE = FoundOutcome(
    Outcome.REFUSED,
    "the change joined this part of a split with another part; these cannot be distinguished, so this cannot be undone",
)
_MAY_STILL_CHANGE = FoundOutcome(
    Outcome.UNKNOWN,
    "the books have the previous category, but the change was sent less than 60 seconds before and may still be "
    "carried out; plan again a minute later",
)
_WHY = {
    Outcome.CHANGED_ELSEWHERE: "another user has changed them since",
    Outcome.REFUSED: "what they replaced cannot be restored",
    Outcome.UNKNOWN: "they were sent less than 60 seconds ago and may still be carried out",
    Outcome.ALREADY_DONE: "they were not carried out",
}


def undo_plan(
    client: LedgerClient,
    journal: str | Path,
    *,
    groups: str | Iterable[str] | None = None,
    incomplete: bool = False,
) -> Plan:
    """Plan the inverse of a run, or of a part of it, from its journal; nothing is sent.

    :func:`apply_plan` applies the result, with a journal of its own and with the same guards, so a change that another
    user makes in the meantime is not overwritten. To resume an interrupted undo, plan it again, or load the plan that
    was saved, and apply it with the same journal.

    Parameters
    ----------
    client : LedgerClient
        The service.
    journal : path
        The journal of the run, of any day. It is only read.
    groups : str or iterable of str, optional
        Only the changes of these groups of the queue (``group_id``) and of these transactions (``transaction_id``).
    incomplete : bool
        Also undo a run that was interrupted, or whose journal lost its end: what the journal has.

    Returns
    -------
    Plan
        A plan with one item for each change of the run, also for those that are undone already, with the group of the
        change and ``undo: `` before its rule.
        :attr:`~Plan.left_out` lists the changes that are left out: transactions that another user has changed
        since, and parts of a split that were joined, which cannot be restored. ``notes`` counts them, and states what
        the journal may lack.

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        The journal cannot be read, was edited, has no end line and `incomplete` is False, is of another instance, lacks
        what undoing needs, or a run uses it; or it has no change of one of the `groups`.
    ServiceError
        The books cannot be read.
    """
    refuse_books(client, "local books cannot change the service: connect to it")
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_type(incomplete, bool, "incomplete", "pass True to undo what the journal of an interrupted run has")
    sent, attempts, note = read_sent_changes(journal, instance_id=client.instance_id, incomplete=incomplete)
    changes = sent if groups is None else _changes_of(sent, to_texts(groups))
    run = _SentRun(attempts, dt.datetime.now(dt.UTC), replaced_categories(sent))
    lines = read_transactions(client, changes)
    left_out = {
        change: reason
        for change in changes
        if (reason := run.why_left_out(change, lines.get(change.transaction))) is not None
    }
    undone = [change for change in changes if change not in left_out]
    names = find_ledgers(client, [change.category_ledger_id for change in undone], days_of(undone)).names
    rows = [_row(change, lines[change.transaction], run.categories(change), names) for change in undone]
    items = PlanItems.from_columns(
        {name: [row[name] for row in rows] for name in PlanItems.dtypes()},
        client.scale,
        as_decimals=client.amounts == "decimal" or any(not fits_float(row["amount"], client.scale) for row in rows),
    )
    return Plan(
        items,
        instance_id=client.instance_id,
        left_out=findings_frame(left_out),
        notes=[*([note] if note else []), *_left_out_notes(left_out, len(changes)), *_name_notes(undone, names)],
    )


def _changes_of(changes: Sequence[Change], wanted: Sequence[str]) -> list[Change]:
    """Select the changes of these groups and transactions; one without changes is refused."""
    groups = {change.group_id for change in changes} - {""}
    known = [*sorted(groups), *(change.transaction_id for change in changes)]
    for text in wanted:
        if text not in known:
            counted = f"{count_of(len(changes), 'change')} of {count_of(len(groups), 'group')}"
            listed = f"it has {counted}; without groups the plan lists them"
            hint = listed if groups else "it does not state groups: give ids of transactions"
            raise PlanError(
                f"the journal has no change of group or transaction {quote(text)}; {did_you_mean(text, known) or hint}"
            )
    return [change for change in changes if change.group_id in wanted or change.transaction_id in wanted]


class _SentRun(NamedTuple):
    """What a run changed, according to its journal, and when the books are read.

    `replaced` are the categories of each journal entry that were sent, and their new ones.
    """

    attempts: Attempts
    read_at: dt.datetime
    replaced: Mapping[str, Mapping[str, str]]

    def categories(self, change: Change) -> dict[str, str]:
        """Each category of a transaction before the run, and the category that it has after the run."""
        new_of = self.replaced[change.journal_entry_id]
        old_of = {new: old for old, new in new_of.items()}
        return {
            old: new_of.get(old, old)
            for old in (old_of.get(ledger_id, ledger_id) for ledger_id in change.opposing_ledger_ids)
        }

    def why_left_out(self, change: Change, line: LineEntry | None) -> FoundOutcome | None:
        """Why a change cannot or need not be undone, given the line of its transaction; None where it is undone."""
        if line is None:
            return FoundOutcome(Outcome.REFUSED, no_transaction(change))
        now = frozenset(line.opposing_ledger_ids or ())
        may_change = not self.attempts.has_done(change) and self.attempts.may_change(change, self.read_at)
        if change.category_ledger_id in now and may_change:
            return _MAY_STILL_CHANGE
        if self._joins(change, now):
            return _NOT_CHANGED if change.category_ledger_id in now else _NOT_RESTORABLE
        return (
            None
            if self._is_as_expected(change, now)
            else FoundOutcome(Outcome.CHANGED_ELSEWHERE, describe_categories(now))
        )

    def _joins(self, change: Change, now: frozenset[str]) -> bool:
        """Whether the new category of a change was or became that of another part of the split too."""
        parts = {
            old
            for old, new in self.replaced[change.journal_entry_id].items()
            if new == change.updated_category_ledger_id and old != change.category_ledger_id
        }
        return change.updated_category_ledger_id in change.opposing_ledger_ids or bool(parts - now)

    def _is_as_expected(self, change: Change, now: frozenset[str]) -> bool:
        """Whether a transaction has the categories from before or after the run, part by part, and no others."""
        categories = self.categories(change)
        changed = change.updated_category_ledger_id in now
        return (
            now <= categories.keys() | set(categories.values())
            and all(old in now or new in now for old, new in categories.items())
            and changed != (change.category_ledger_id in now)
        )


def _row(change: Change, line: LineEntry, categories: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """Item that undoes a change, given the categories before and after the run."""
    amount = signed_amount(line.amount, line.debit_credit)
    previous = change.category_ledger_id
    return {
        "transaction_id": change.transaction_id,
        "ledger_id": change.ledger_id,
        "journal_entry_id": change.journal_entry_id,
        "datetime": change.datetime,
        "description": _description(line),
        "amount": amount,
        "category_amount": amount if len(categories) == 1 else None,
        "category_ledger_id": change.updated_category_ledger_id,
        "updated_category_ledger_id": previous,
        "updated_category_ledger_name": names.get(previous) or change.category_ledger_name or previous,
        "rule": f"{_RULE}: {change.rule}" if change.rule else _RULE,
        "group_id": change.group_id,
        "opposing_ledger_ids": LIST_SEPARATOR.join(sorted(categories.values())),
    }


def _description(line: LineEntry) -> str:
    """First description that is not blank: of the transaction, of the line, or of the journal entry."""
    of_transaction = line.transaction.description if line.transaction else None
    texts = (of_transaction, line.description, line.journal_entry_description)
    return next((text for text in texts if text and text.strip()), "")


def _left_out_notes(left_out: Mapping[Change, FoundOutcome], count: int) -> Iterator[str]:
    """Yield how many changes are left out for each reason, and the first of them."""
    ids: dict[Outcome, list[str]] = defaultdict(list)
    for change, reason in left_out.items():
        ids[reason.outcome].append(change.transaction_id)
    of_all = count_of(count, "change")
    for outcome, transactions in ids.items():
        yield f"{len(transactions):,} of {of_all} left out: {_WHY[outcome]}: {join_ids(transactions)}."


def _name_notes(undone: Sequence[Change], names: Mapping[str, str]) -> Iterator[str]:
    """Yield which previous categories are shown by their ids."""
    unnamed = {change.category_ledger_id for change in undone if not change.category_ledger_name} - names.keys()
    if unnamed:
        yield (
            f"The names of {count_of(len(unnamed), 'previous category')} are not known, because the journal, of an "
            "earlier version, does not state them and the books have no line of them; the plan has their ids: "
            f"{join_ids(unnamed)}."
        )
