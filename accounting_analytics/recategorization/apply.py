"""Apply a plan and verify it: read categories, record and send each change, read the categories again.

A lost response does not show whether the change was made, so every outcome follows from the response and from what the
books show, by one table (:data:`~accounting_analytics.recategorization.outcomes.OUTCOMES`). Each change is sent with
the category it replaces, so a change made by another user in the meantime is never overwritten, and sending a change
again that the books do not show changes a transaction at most once.

A change that an earlier run sent, and that the books do not show, was not carried out, or was carried out and changed
back since: the books cannot tell these two cases apart. Such a change is not sent again and is reported as unknown.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from accounting_analytics.client import LedgerClient
from accounting_analytics.client.ledger_client import user_name
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import (
    AuthenticationError,
    DeadlineExceededError,
    InputError,
    PermissionDeniedError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
    StatusError,
    TransportError,
    with_context,
)
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.recategorization.changes import changes_by_entry, joining_changes
from accounting_analytics.recategorization.current_categories import (
    days_of,
    find_ledgers,
    read_categories,
    require_no_cash,
    unusable_categories,
)
from accounting_analytics.recategorization.outcomes import (
    IN_BOOKS,
    OUTCOMES,
    Outcome,
    Response,
    Shown,
    compare_with_books,
    outcomes_frame,
)
from accounting_analytics.recategorization.plan import Plan, require_same_instance
from accounting_analytics.recategorization.run_journal import Journal, open_run_journal, read_journal
from accounting_analytics.reports.books.outdated_books import record_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.changes import Change

_LOST = (TransportError, DeadlineExceededError, ServerFaultError, ProtocolError)
_STOPPING = (AuthenticationError, PermissionDeniedError)
_NOT_CHANGED_STATUSES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INSUFFICIENT_STORAGE})
"""Statuses which show that the service has changed nothing, and may accept the change later."""
_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)
_BATCH_SIZE = 100
_MAX_ROUNDS = 3
"""After this many rounds in which the books confirm no change, a batch sends lost changes no more."""
_MAX_LOST = 10
"""A batch stops after this many lost changes in a row. If no change of the batch is done by then, the run stops."""
_OF_THIS_RUN = frozenset({Response.CONFIRMED, Response.LOST, Response.REFUSED, Response.REFUSED_NOW})
_CAN_BE_SENT = frozenset({Response.NOT_SENT, Response.LOST, Response.REFUSED_NOW})
_NOT_IN_BOOKS = frozenset({Outcome.NOT_DONE, Outcome.REFUSED, Outcome.CHANGED_ELSEWHERE})
_JOINS = (
    "it joins this part of a split with another part, which cannot be undone; choose another new category, or allow it "
    "with allow_irreversible=True (--allow-irreversible)"
)
_UNCHANGED = "the category is unchanged"
_OLD_BOOKS = "Books that were loaded before show the old categories: books.refresh(client) loads them again."
_WITHOUT_JOURNAL = (
    f"{_UNCHANGED}; whether a change was sent is not known without the journal that the plan was applied with"
)
_MAY_STILL_CHANGE = (
    "the previous category is still there, but a change sent less than 60 seconds before may still be carried out"
)
_RESPONSES = {
    Response.CONFIRMED: "the service confirmed the change",
    Response.CONFIRMED_EARLIER: "an earlier run with this journal did it",
    Response.LOST_EARLIER: "an earlier run with this journal sent it",
}
_LEFT_ALONE = {
    Response.CONFIRMED_EARLIER: "it was changed back since; a run with a new journal changes it again",
    Response.LOST_EARLIER: "it was not carried out, or it was changed back since; it is left alone, and a run with a "
    "new journal sends it again",
}
"""Reasons why a change is not sent again, although the books have the previous category."""


@dataclass(eq=False)
class _State:
    """The known state of a change.

    `shown` is what the books showed at the instant `read_at`. `planned` has all changes of the same journal entry.
    `is_sent_again` is true after a lost response. `failure` says why the change was lost, refused or not sent, `unread`
    why the books could not be read, and `forbidden` why the change may not be sent.
    """

    change: Change
    journal: Journal
    planned: Sequence[Change]
    response: Response
    forbidden: str = ""
    is_sent_again: bool = False
    shown: Shown = Shown.UNREAD
    categories: frozenset[str] = frozenset()
    read_at: dt.datetime = _NEVER
    failure: str = ""
    unread: str = ""

    @property
    def is_pending(self) -> bool:
        """True if the change is still to be sent, for the first time or again."""
        return self.shown == Shown.PREVIOUS and self.response in _CAN_BE_SENT and not self.forbidden

    def show(self, categories: Mapping[tuple[str, str], frozenset[str]], read_at: dt.datetime) -> None:
        """Store what the categories show of the change. They were read at `read_at`."""
        now = categories.get((self.change.ledger_id, self.change.transaction_id))
        self.shown = compare_with_books(self.change, now, self.planned, self.journal.has_done)
        self.categories, self.read_at = now or frozenset(), read_at

    def outcome(self) -> tuple[Outcome, str]:
        """Return the outcome, which the table gives, and the reason.

        A refusal does not show that an earlier request was not carried out.
        """
        is_lost = self.is_sent_again and self.response != Response.CONFIRMED
        outcome = OUTCOMES[Response.LOST if is_lost else self.response][self.shown]
        if outcome == Outcome.WOULD_CHANGE:
            if self.forbidden:
                return Outcome.REFUSED, self.forbidden
            return (Outcome.NOT_DONE, self.failure) if self.failure else (outcome, "")
        is_there = self.change.category_ledger_id in self.categories
        was_done = self.response == Response.CONFIRMED_EARLIER
        may_change = self.journal.may_change(self.change, self.read_at, lost_only=was_done)
        if outcome in _NOT_IN_BOOKS and is_there and may_change:
            return Outcome.UNKNOWN, f"{_MAY_STILL_CHANGE}: {self._reason()}"
        return outcome, self._reason()

    def _reason(self) -> str:
        """Describe the response and what the books show."""
        change, was_sent = self.change, self.response in _OF_THIS_RUN
        shown = {
            Shown.NEW: "",
            Shown.PREVIOUS: _LEFT_ALONE.get(self.response, _UNCHANGED),
            Shown.ANOTHER: f"its categories are now {', '.join(sorted(self.categories)) or 'none'}",
            Shown.UNCLEAR: "the plan joins parts of this split, and the books do not show which of them changed",
            Shown.ABSENT: f"ledger {change.ledger_id} has no transaction {change.transaction_id} on "
            f"{change.datetime.date()} (UTC)",
            Shown.UNREAD: f"not read back: {self.unread}"
            if was_sent
            else f"not sent: {self.unread}; its category was not read",
        }[self.shown]
        again = "sent again: a response was lost, and the books did not show the change" if self.is_sent_again else ""
        response = self.failure or _RESPONSES.get(self.response, "") if shown else ""
        return "; ".join(filter(None, [again, response, shown]))


def apply_plan(
    client: LedgerClient,
    plan: Plan,
    *,
    journal: str | Path,
    confirm: bool = False,
    modified_by: str | None = None,
    allow_irreversible: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Apply a plan; without ``confirm=True`` this is a dry run that sends nothing.

    Changes are sent in batches ordered by account and day. The categories of each batch are read before and after it
    is sent; a change whose response was lost, and that the books do not show then, is sent again, a few times.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to change.
    journal : path
        File that records each change before it is sent. The same journal resumes an interrupted run: no change that an
        earlier run sent, and the service did not refuse, is sent again. One that is done, and was changed back since,
        is left alone; so is one whose response was lost and that the books do not show, because it may have been
        changed back too. A dry run reads the journal, and does not write it. A journal that was edited, or that lacks
        lines, is refused.
    confirm : bool
        Change the books.
    modified_by : str, optional
        Name for the audit log of the service.
    allow_irreversible : bool
        Also send changes that join a part of a split with another part, which :func:`undo_plan` cannot take back.
        By default they are refused, in a dry run too.
    progress : bool, optional
        Whether to show a progress bar; by default only in a terminal or notebook.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`, one row per item: ``would_change`` (dry run), ``done``,
        ``already_done``, ``changed_elsewhere`` (the transaction has other categories than the plan expects; left
        alone), ``refused`` (by the service, or not sent because the new category does not exist or has another name
        than in the plan, or because the change joins parts of a split), ``not_done`` (not sent because the run stopped,
        or refused by the rate limit or by a service whose disk is full), ``unknown`` (the response was lost and the
        books do not show the change, which may still be carried out, or cannot be read; or the service confirmed it and
        the books do not show it).
        ``attrs["notes"]`` says that books loaded before a change show the old categories.
        :func:`verify_plan` with the same journal, a minute later, knows whether an unknown item is done; a run with a
        new journal sends it again.

    Raises
    ------
    InputError
        An argument is of another type, or `modified_by` is invalid; nothing was sent.
    PlanError
        The plan is for another instance or would change balances, or the journal cannot be used.
    AuthenticationError, PermissionDeniedError
        The token is not accepted or has expired; the journal records which changes are done.
    ServiceError
        The books cannot be read before the run; nothing was sent.
    """
    _require_client_and_plan(client, plan)
    for name, value in (("confirm", confirm), ("allow_irreversible", allow_irreversible)):
        require_type(value, bool, name, 'pass True or False: the text "False" is true')
    if modified_by is not None:
        user_name(modified_by)
    items = plan.items
    earlier = read_journal(journal, plan_id=plan.plan_id, instance_id=client.instance_id)
    require_no_cash(client, items)
    forbidden = {} if allow_irreversible else dict.fromkeys(joining_changes(items), _JOINS)
    forbidden |= unusable_categories(client, items)
    if not confirm or not items:
        states = _states_before(items, earlier, forbidden)
        _read(client, states)
        return outcomes_frame({state.change: state.outcome() for state in states})
    names = find_ledgers(client, [item.category_ledger_id for item in items], days_of(items)).names
    stopped = ""
    with (
        open_run_journal(journal, plan.plan_id, instance_id=client.instance_id, base_url=client.base_url) as opened,
        progress_bar(progress, total=len(items), desc="recategorize", unit=" items") as bar,
    ):
        send = partial(_send, client, names, modified_by)
        states = _states_before(items, opened, forbidden)
        for batch in _batches(states):
            try:
                stopped = _apply_batch(client, batch, send, stopped)
            except _STOPPING as error:
                reason = f"the run stopped. The journal {opened.path} records what is done"
                raise with_context(error, f"{reason}: run again with the same journal") from None
            _record_outcomes(opened, batch)
            bar.update(len(batch))
        found = {state.change: state.outcome() for state in states}
        not_sent = [change for change in found if change not in opened]
        opened.append(
            "end",
            sent=len(found) - len(not_sent),
            not_sent=sum(found[change][0] in IN_BOOKS for change in not_sent),
            outcomes=Counter(outcome for outcome, _ in found.values()),
        )
    outcomes = outcomes_frame(found)
    if any(state.response in (Response.CONFIRMED, Response.LOST) for state in states):
        outcomes.attrs["notes"] = (_OLD_BOOKS,)
    return outcomes


def verify_plan(client: LedgerClient, plan: Plan, *, journal: str | Path | None = None) -> pd.DataFrame:
    """Read every item of a plan back and state whether the books have the planned category.

    :meth:`Effect.check` checks in addition that the report changed by exactly the predicted amounts.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to verify.
    journal : path, optional
        The journal that the plan was applied with. It states when each change was sent: an unchanged item is
        ``not_done`` if that was at least 60 seconds ago, or never; until then, and without the journal, it is
        ``unknown``. It is only read.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`: ``done``, ``not_done``, ``changed_elsewhere``, ``refused``
        (the transaction does not exist, and no change of it was sent) or ``unknown`` (see the reason).

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        The plan is for another instance, or the journal cannot be read or belongs to another plan.
    ServiceError
        The books cannot be read.
    """
    _require_client_and_plan(client, plan)
    read_at, categories = dt.datetime.now(dt.UTC), read_categories(client, plan.items)
    attempts, unchanged = Journal(), (Outcome.UNKNOWN, _WITHOUT_JOURNAL)
    if journal is not None:  # the journal is read after the books: it has every attempt that the books may show
        missing = "pass the journal that the plan was applied with, or none"
        attempts = read_journal(journal, plan_id=plan.plan_id, instance_id=client.instance_id, missing=missing)
        unchanged = Outcome.NOT_DONE, _UNCHANGED
    planned, found = changes_by_entry(plan.items), {}
    for item in plan.items:
        response = attempts.response(item)
        if response == Response.CONFIRMED:  # the run has ended: a change not in the books was changed back
            response = Response.CONFIRMED_EARLIER
        state = _State(item, attempts, planned[item.journal_entry_id], response)
        state.show(categories, read_at)
        outcome, reason = state.outcome()
        verified = {Outcome.ALREADY_DONE: (Outcome.DONE, reason), Outcome.WOULD_CHANGE: unchanged}
        found[item] = verified.get(outcome, (outcome, reason))
    return outcomes_frame(found)


def _require_client_and_plan(client: LedgerClient, plan: Plan) -> None:
    """Refuse anything but a client and a plan of the client's instance."""
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_type(plan, Plan, "plan", "plan_recategorization(proposals, books) makes one, Plan.load(path) reads one")
    require_same_instance(plan.instance_id, client.instance_id)


def _states_before(changes: Sequence[Change], journal: Journal, forbidden: Mapping[Change, str]) -> list[_State]:
    """Make the states of changes before a run.

    The states come from the responses in earlier runs.
    """
    of_earlier_runs = {Response.CONFIRMED: Response.CONFIRMED_EARLIER, Response.LOST: Response.LOST_EARLIER}
    planned = changes_by_entry(changes)
    responses = (of_earlier_runs.get(response, response) for response in map(journal.response, changes))
    return [
        _State(change, journal, planned[change.journal_entry_id], response, forbidden.get(change, ""))
        for change, response in zip(changes, responses, strict=True)
    ]


def _read(client: LedgerClient, states: Sequence[_State]) -> None:
    """Read the books, and store in each state what they show."""
    read_at = dt.datetime.now(dt.UTC)
    categories = read_categories(client, [state.change for state in states])
    for state in states:
        state.show(categories, read_at)


def _try_to_read(client: LedgerClient, states: Sequence[_State]) -> str:
    """Read the books. Return the reason if they cannot be read, else ""."""
    try:
        _read(client, states)
    except _STOPPING:
        raise
    except ServiceError as error:
        for state in states:
            state.shown, state.unread = Shown.UNREAD, str(error)
        return str(error)
    return ""


def _apply_batch(client: LedgerClient, states: Sequence[_State], send: Callable[[_State], None], stopped: str) -> str:
    """Send a batch in rounds. Return why the run stopped, else ""."""
    if stopped:
        for state in states:
            state.unread = stopped
    else:
        stopped = _try_to_read(client, states)
    rounds, failure = _MAX_ROUNDS, ""
    while rounds and not stopped and (pending := [state for state in states if state.is_pending]):
        # changes that were sent before come last, so that failing changes do not keep the others from being sent
        sent = _send_some(send, sorted(pending, key=lambda state: state.response != Response.NOT_SENT))
        failure = next((state.failure for state in reversed(sent) if state.failure), failure)
        stopped = _try_to_read(client, sent)
        rounds -= all(state.is_pending for state in sent)
    left = [state for state in states if state.is_pending]
    if len(left) >= _MAX_LOST and not any(state.response == Response.CONFIRMED for state in states):
        stopped = stopped or failure
    for state in left:
        if state.response == Response.NOT_SENT:
            state.failure = f"not sent: {stopped or failure}"
    return stopped


def _send_some(send: Callable[[_State], None], pending: Sequence[_State]) -> list[_State]:
    """Send changes until too many are lost.

    Also stop if the service refuses a change temporarily. Return the sent changes.
    """
    lost = 0
    for count, state in enumerate(pending, start=1):
        send(state)
        lost = lost + 1 if state.response == Response.LOST else 0
        if lost == _MAX_LOST or state.response == Response.REFUSED_NOW:
            return list(pending[:count])  # reading the categories waits for the rate limit
    return list(pending)


def _send(client: LedgerClient, category_names: Mapping[str, str], modified_by: str | None, state: _State) -> None:
    """Send the change once, and record its intent and response.

    The journal has the intent before the change is sent.
    """
    change, journal = state.change, state.journal
    intent = change._replace(
        opposing_ledger_ids=LIST_SEPARATOR.join(sorted(state.categories)),
        category_ledger_name=category_names.get(change.category_ledger_id, ""),
    )
    journal.append("intent", intent, modified_by=modified_by)
    state.is_sent_again |= state.response == Response.LOST
    error: Exception | None = None
    try:
        client.recategorize_transaction(
            change.ledger_id,
            change.transaction_id,
            updated_category_ledger_id=change.updated_category_ledger_id,
            category_ledger_id=change.category_ledger_id,
            modified_by=modified_by,
        )
    except (*_LOST, StatusError, InputError) as failed:
        error = failed
    state.response = Response.CONFIRMED if error is None else _classify_error(error)
    state.failure = "" if error is None else str(error)
    journal.append("response", change, response=state.response, reason=state.failure)
    if state.response in (Response.CONFIRMED, Response.LOST):
        record_changes(client.source, dt.datetime.now(dt.UTC))
    if isinstance(error, _STOPPING):
        raise error


def _record_outcomes(journal: Journal, states: Sequence[_State]) -> None:
    """Record the outcomes of changes that this run sent or found.

    A found change was lost in an earlier run, but the books show the change.
    """
    for state in states:
        was_found = state.response == Response.LOST_EARLIER and state.shown == Shown.NEW
        if was_found or state.response in _OF_THIS_RUN:
            outcome, reason = state.outcome()
            journal.append("outcome", state.change, outcome=outcome, reason=reason)


def _batches(states: Sequence[_State]) -> Iterator[list[_State]]:
    """Batch changes by account and day, so that few listings read them."""
    ordered = sorted(
        states, key=lambda state: (state.change.ledger_id, state.change.datetime, state.change.transaction_id)
    )
    for start in range(0, len(ordered), _BATCH_SIZE):
        yield ordered[start : start + _BATCH_SIZE]


def _classify_error(error: Exception) -> Response:
    """Classify a failed request as refused temporarily, lost or refused."""
    status = error.status if isinstance(error, StatusError) else None
    if status in _NOT_CHANGED_STATUSES:
        return Response.REFUSED_NOW
    is_lost = status == HTTPStatus.REQUEST_TIMEOUT or isinstance(error, _LOST)
    return Response.LOST if is_lost else Response.REFUSED
