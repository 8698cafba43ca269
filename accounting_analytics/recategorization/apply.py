"""Carrying a plan out: look, journal, change, look again.

An answer that is lost does not say whether the change was made, so the outcome is always taken from the books. A
category that somebody else has changed meanwhile is never overwritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.errors import (
    AuthenticationError,
    DeadlineExceededError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
    StatusError,
    TransportError,
)
from accounting_analytics.progress import progress_bar
from accounting_analytics.recategorization.journal import Journal, open_journal
from accounting_analytics.recategorization.look import categories_now
from accounting_analytics.schemas import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan import Plan

_LOST = (TransportError, DeadlineExceededError, ServerFaultError, ProtocolError)


class _Item(NamedTuple):
    """One item of a plan."""

    transaction_id: str
    ledger_id: str
    category_ledger_id: str
    updated_category_ledger_id: str


class _Outcome(NamedTuple):
    """What became of an item, and why."""

    outcome: str
    reason: str = ""


def apply_plan(
    client: LedgerClient,
    plan: Plan,
    *,
    journal: str | Path,
    confirm: bool = False,
    modified_by: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Carry out a plan; a dry run, which sends nothing, unless `confirm` is True.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to change.
    journal : path
        File that notes each change before it is sent. The same journal resumes an interrupted run: what is done is not
        sent again. A dry run does not write it.
    confirm : bool
        Change the books.
    modified_by : str, optional
        Who, for the service's audit log.
    progress : bool, optional
        A progress bar; None shows one where somebody is watching.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`, one row an item: ``would_change`` (dry run), ``done``,
        ``already_done``, ``changed_elsewhere`` (somebody else changed it; left alone), ``refused`` (by the service),
        ``not_done`` (the answer was lost and the books do not show it), ``unknown`` (and the books could not be read).

    Raises
    ------
    PlanError
        The journal cannot be used.
    AuthenticationError
        The token is not accepted (any more); what was done stands in the journal.
    ServiceError
        The books cannot be read before the run; nothing was sent.
    """
    items = [_Item(*row) for row in plan.frame[list(_Item._fields)].itertuples(index=False, name=None)]
    now = categories_now(client, plan.frame)
    outcomes = {item: _found(item, now) for item in items}
    waiting = [item for item in items if outcomes[item].outcome == "would_change"]
    if confirm and waiting:
        with (
            open_journal(journal, plan.plan_id) as opened,
            progress_bar(progress, total=len(waiting), desc="recategorize", unit=" items") as bar,
        ):
            sent: dict[_Item, _Outcome] = {}
            for item in waiting:
                sent[item] = _send(client, item, now[item.transaction_id], opened, modified_by)
                bar.update()
            outcomes |= _after(client, plan, sent, opened)
    return _frame(items, outcomes)


def verify_plan(client: LedgerClient, plan: Plan) -> pd.DataFrame:
    """Read every item of a plan back and say whether the books hold it.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`: ``done``, ``not_done``, ``changed_elsewhere`` or ``refused``
        (the transaction is not there).

    Raises
    ------
    ServiceError
        The books cannot be read.
    """
    items = [_Item(*row) for row in plan.frame[list(_Item._fields)].itertuples(index=False, name=None)]
    now = categories_now(client, plan.frame)
    verdicts = {
        "already_done": _Outcome("done"),
        "would_change": _Outcome("not_done", "the category is still the old one"),
    }
    found = {item: _found(item, now) for item in items}
    return _frame(items, {item: verdicts.get(one.outcome, one) for item, one in found.items()})


def _found(item: _Item, now: dict[str, set[str]]) -> _Outcome:
    """Tell what the books say of an item."""
    categories = now.get(item.transaction_id)
    if categories is None:
        return _Outcome("refused", f"ledger {item.ledger_id} has no such transaction on that day")
    if item.category_ledger_id in categories:
        return _Outcome("would_change")
    if item.updated_category_ledger_id in categories:
        return _Outcome("already_done")
    return _Outcome("changed_elsewhere", f"its categories are now {', '.join(sorted(categories)) or 'none'}")


def _send(
    client: LedgerClient, item: _Item, before: Iterable[str], journal: Journal, modified_by: str | None
) -> _Outcome:
    """Note one change, send it once, note the answer."""
    journal.note("intent", **item._asdict(), before=sorted(before), modified_by=modified_by)
    try:
        answer = client.recategorize_transaction(
            item.ledger_id,
            item.transaction_id,
            updated_category_ledger_id=item.updated_category_ledger_id,
            category_ledger_id=item.category_ledger_id,
            modified_by=modified_by,
        )
    except AuthenticationError as error:
        journal.note("refused", **item._asdict(), reason=str(error))
        raise
    except _LOST as error:
        outcome = _Outcome("unknown", str(error))
    except StatusError as error:
        outcome = _Outcome("refused", str(error))
    else:
        outcome = _Outcome("done")
        journal.note("answer", **item._asdict(), after=[category.ledger_id for category in answer.categories])
        return outcome
    journal.note(outcome.outcome, **item._asdict(), reason=outcome.reason)
    return outcome


def _after(client: LedgerClient, plan: Plan, sent: dict[_Item, _Outcome], journal: Journal) -> dict[_Item, _Outcome]:
    """Outcomes by what the books say now; by the answers alone where they cannot be read."""
    transactions = {item.transaction_id for item in sent}
    try:
        now = categories_now(client, plan.frame[plan.frame["transaction_id"].isin(transactions)])
    except ServiceError as error:
        journal.note("not read back", reason=str(error))
        return {
            item: _Outcome(answered.outcome, answered.reason or f"not read back: {error}")
            for item, answered in sent.items()
        }
    outcomes = {item: _settled(answered, _found(item, now)) for item, answered in sent.items()}
    for item, outcome in outcomes.items():
        journal.note("outcome", **item._asdict(), **outcome._asdict())
    return outcomes


def _settled(answered: _Outcome, found: _Outcome) -> _Outcome:
    """Outcome of an item that was sent: what the books say, with what the service answered."""
    if found.outcome == "already_done":
        return _Outcome("done")
    if found.outcome == "would_change":
        if answered.outcome == "refused":
            return answered
        reason = answered.reason or "the service answered that it is done, but the books do not show it"
        return _Outcome("not_done", f"the category is still the old one: {reason}")
    return found


def _frame(items: list[_Item], outcomes: dict[_Item, _Outcome]) -> pd.DataFrame:
    rows = [(*item, *outcomes[item]) for item in items]
    return Outcomes.checked(pd.DataFrame(rows, columns=[*_Item._fields, *_Outcome._fields], dtype="str"))
