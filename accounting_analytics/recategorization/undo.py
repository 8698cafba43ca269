"""Plan the inverse of a run: each change that the run made and that no other user has changed since, back again.

What to restore is in the journal of the run; whether it can be restored is in the books. The inverse is an ordinary
plan, the same changes with both categories exchanged: it is previewed, saved, applied with a journal of its own, and
verified like any other, on any later day.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.client import LedgerClient
from accounting_analytics.core.arguments import require_type, to_texts
from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import PlanError
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.core.money import fits_float
from accounting_analytics.recategorization.categories_in_books import read_categories
from accounting_analytics.recategorization.changes import (
    FoundOutcome,
    Outcome,
    Shown,
    changes_by_entry,
    compare_with_books,
    describe_categories,
    name_changes,
    no_transaction,
    outcomes_frame,
    to_frame,
)
from accounting_analytics.recategorization.plan import Plan
from accounting_analytics.recategorization.run_journal import read_ended_journal
from accounting_analytics.reports.local_books import refuse_books

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.recategorization.run_journal import Journal

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
    of_run = read_ended_journal(journal, instance_id=client.instance_id)
    notes = list(filter(None, [of_run.require_end(incomplete=incomplete)]))
    sent = of_run.sent_changes()
    changes = sent if groups is None else _changes_of(sent, to_texts(groups))
    of_entry, read_at = changes_by_entry(sent), dt.datetime.now(dt.UTC)
    categories = read_categories(client, changes)
    left_out: dict[Change, FoundOutcome] = {}
    undone: list[Change] = []
    for change in changes:
        now = categories.get(change.transaction)
        reason = _why_left_out(change, now, of_entry[change.journal_entry_id], of_run, read_at)
        if reason is None:
            undone.append(_inverse(change, now or frozenset()))
        else:
            left_out[change] = reason
    has_large = any(not fits_float(one.transaction_amount, client.scale) for one in undone)
    items = to_frame(undone, client.scale, as_decimals=client.amounts == "decimal" or has_large)
    notes += _left_out_notes(left_out, len(changes))
    return Plan(items, instance_id=client.instance_id, left_out=outcomes_frame(left_out), notes=notes)


def _changes_of(changes: Sequence[Change], wanted: Sequence[str]) -> list[Change]:
    """Select the changes of these groups and transactions; one without changes is refused."""
    groups = {change.group_id for change in changes} - {""}
    known = [*sorted(groups), *(change.transaction_id for change in changes)]
    for text in wanted:
        if text not in known:
            counted = f"{count_of(len(changes), 'change')} of {count_of(len(groups), 'group')}"
            hint = did_you_mean(text, known) or f"it has {counted}; without groups the plan lists them"
            raise PlanError(f"the journal has no change of group or transaction {quote(text)}; {hint}")
    return [change for change in changes if change.group_id in wanted or change.transaction_id in wanted]


def _why_left_out(
    change: Change, now: frozenset[str] | None, sent: Sequence[Change], journal: Journal, read_at: dt.datetime
) -> FoundOutcome | None:
    """Why a change cannot or need not be undone, given the categories of its transaction; None where it is undone."""
    if now is None:
        return FoundOutcome(Outcome.REFUSED, no_transaction(change))
    is_previous = change.category_ledger_id in now
    if is_previous and not journal.has_done(change) and journal.may_change(change, read_at):
        return _MAY_STILL_CHANGE
    if _joined(change, sent, now):
        return _NOT_CHANGED if is_previous else _NOT_RESTORABLE
    before = {one.updated_category_ledger_id: one.category_ledger_id for one in sent}
    all_before = {before.get(one, one) for one in change.previous_categories}
    shown = compare_with_books(
        change._replace(opposing_ledger_ids=LIST_SEPARATOR.join(sorted(all_before))), now, sent, journal.has_done
    )
    is_as_expected = shown in {Shown.NEW, Shown.PREVIOUS}
    return None if is_as_expected else FoundOutcome(Outcome.CHANGED_ELSEWHERE, describe_categories(now))


def _joined(change: Change, sent: Sequence[Change], now: frozenset[str]) -> bool:
    """Whether the new category of a change was or became that of another part of the split too."""
    return change.updated_category_ledger_id in change.previous_categories or any(
        one.updated_category_ledger_id == change.updated_category_ledger_id
        and one.category_ledger_id not in {change.category_ledger_id, *now}
        for one in sent
    )


def _inverse(change: Change, now: frozenset[str]) -> Change:
    """Return the change with both categories exchanged, of a transaction with these categories or that is undone."""
    old, new = change.category_ledger_id, change.updated_category_ledger_id
    return change._replace(
        category_ledger_id=new,
        category_ledger_name=change.updated_category_ledger_name,
        updated_category_ledger_id=old,
        updated_category_ledger_name=change.category_ledger_name or old,
        rule=f"{_RULE}: {change.rule}" if change.rule else _RULE,
        opposing_ledger_ids=LIST_SEPARATOR.join(sorted(now - {old} | {new})),
    )


def _left_out_notes(left_out: Mapping[Change, FoundOutcome], count: int) -> Iterator[str]:
    """Yield how many changes are left out for each reason, and the first of them."""
    changes: dict[Outcome, list[Change]] = defaultdict(list)
    for change, (outcome, _) in left_out.items():
        changes[outcome].append(change)
    of_all = count_of(count, "change")
    for outcome, found in changes.items():
        yield f"{len(found):,} of {of_all} left out: {_WHY[outcome]}: {name_changes(found)}."
