"""Apply a plan: read the categories, journal the intent, send the change, read the categories again.

A lost response does not show whether the change was made, so every outcome is determined from the books. A change that
the books do not show may still be carried out for a minute, so its outcome is unknown until then. Each change
is sent with the category it replaces, so a change made by another user in the meantime is never overwritten, and
sending a change again that the books do not show changes a transaction at most once.

A change that an earlier run sent, and that the books do not show, was not carried out, or was carried out and changed
back since: the books cannot tell these apart. It is left alone and reported as unknown.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from http import HTTPStatus
from typing import TYPE_CHECKING

from accounting_analytics.arguments import require_type
from accounting_analytics.client import LedgerClient
from accounting_analytics.client.request_validation import header_value
from accounting_analytics.errors import (
    AuthenticationError,
    DeadlineExceededError,
    InputError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    StatusError,
    TransportError,
    with_context,
)
from accounting_analytics.progress import progress_bar
from accounting_analytics.recategorization.changes import (
    IN_BOOKS,
    MAY_STILL_CHANGE,
    Finding,
    Guards,
    Outcome,
    classify_changes,
    findings_frame,
    joining_changes,
)
from accounting_analytics.recategorization.current_categories import (
    category_names,
    read_categories,
    require_no_cash,
    unusable_categories,
)
from accounting_analytics.recategorization.journal import open_journal, read_attempts
from accounting_analytics.recategorization.plan import require_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.changes import Categories, Change
    from accounting_analytics.recategorization.journal import Attempts, Journal
    from accounting_analytics.recategorization.plan import Plan

_LOST = (TransportError, DeadlineExceededError, ServerFaultError, ProtocolError)
_STOPPING = (AuthenticationError, PermissionDeniedError)
_NOT_CHANGED_STATUSES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INSUFFICIENT_STORAGE})
"""Statuses of a service that has certainly changed nothing, and may accept the change later."""
_AFTER_DONE = {
    Outcome.WOULD_CHANGE: Finding(
        Outcome.CHANGED_ELSEWHERE,
        "done in an earlier run with this journal, and changed back since; a run with a new journal changes it again",
    ),
    Outcome.UNKNOWN: Finding(Outcome.ALREADY_DONE),
}
_LEFT_ALONE = Finding(
    Outcome.UNKNOWN,
    "an earlier run with this journal sent it, and the books show the previous category: it was not carried out, or "
    "it was changed back since; it is left alone, and a run with a new journal sends it again",
)
_BATCH_SIZE = 100
_MAX_ATTEMPTS = 3
_RATE_LIMITED = "the service is limiting the request rate"
_SENT_AGAIN = "sent again: a response was lost, and the books did not show the change"
_NOT_SHOWN = "the service confirmed the change, but the books do not show it"
_MAX_LOST = 10
"""A batch stops after this many lost changes in a row; if none of the batch is done by then, the run stops."""


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
    is sent; a change whose response was lost, and that is not in the books some seconds later, is sent again, a few
    times.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to change.
    journal : path
        File that records each change before it is sent. The same journal resumes an interrupted run: no change that an
        earlier run sent is sent again. One that is done, and was changed back since, is left alone; so is one whose
        response was lost and that the books do not show, because it may have been changed back too. A dry run reads the
        journal, and does not write it. A journal that was edited, or that lacks lines, is refused.
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
        ``already_done``, ``changed_elsewhere`` (by another user; left alone), ``refused`` (by the service, or not sent
        because the new category does not exist or has another name than in the plan, or because the change joins parts
        of a split), ``not_done`` (not sent because the run stopped, or refused by the rate limit or by a service
        whose disk is full), ``unknown`` (the response was lost and the books do not show the change, which may still
        be carried out, or cannot be read; or the service confirmed it and the books do not show it).
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
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_plan(plan)
    for name, value in (("confirm", confirm), ("allow_irreversible", allow_irreversible)):
        if not isinstance(value, bool):
            msg = f"{name} must be True or False, not {value!r}; nothing was sent"  # the text "False" is true
            raise InputError(msg)
    if modified_by is not None:
        header_value(modified_by, "modified_by")
    plan.require_instance(client.instance_id)
    items = plan.items
    earlier = read_attempts(journal, plan.plan_id, instance_id=client.instance_id, must_exist=False)
    require_no_cash(client, items)
    guards = Guards(
        unusable_categories(client, items), None if allow_irreversible else frozenset(joining_changes(items))
    )
    if not confirm or not items:
        categories = read_categories(client, items)
        found = classify_changes(items, categories, filter(earlier.has_done, items))
        return findings_frame(_refuse(guards, _after_earlier_runs(found, earlier), categories), items)
    names = category_names(client, [item.category_ledger_id for item in items], items)
    with (
        open_journal(journal, plan.plan_id, instance_id=client.instance_id, base_url=client.base_url) as opened,
        progress_bar(progress, total=len(items), desc="recategorize", unit=" items") as bar,
    ):
        run = _Run(client, opened, modified_by, guards, names, items=items)
        for batch in _batches(items):
            run.apply_batch(batch)
            bar.update(len(batch))
        run.end()
    return findings_frame(run.outcomes, items)


class _Run:
    """One run of a plan.

    Parameters
    ----------
    client : LedgerClient
        The service.
    journal : Journal
        Records every change before it is sent.
    modified_by : str or None
        Name for the audit log.
    guards : Guards
        What refuses an item before it is sent.
    names : mapping of str to str
        Names of the categories that are replaced, for the journal.
    items : list of Change
        All items of the plan.
    """

    def __init__(
        self,
        client: LedgerClient,
        journal: Journal,
        modified_by: str | None,
        guards: Guards,
        names: Mapping[str, str],
        *,
        items: Sequence[Change],
    ) -> None:
        self._client = client
        self._parts: dict[str, list[Change]] = defaultdict(list)
        for item in items:
            self._parts[item.journal_entry_id].append(item)
        self._journal = journal
        self._modified_by = modified_by
        self._guards = guards
        self._names = names
        self._stopped: str | None = None
        self._failure = _RATE_LIMITED
        self._lost: set[Change] = set()
        self._sent_again: set[Change] = set()
        self._pending: set[Change] = set()
        self._read_at: dict[Change, dt.datetime] = {}
        self._categories: dict[tuple[str, str], frozenset[str]] = {}
        self.outcomes: dict[Change, Finding] = {}

    def apply_batch(self, batch: Sequence[Change]) -> None:
        """Apply a batch; once the run has stopped, only mark its items as not sent."""
        try:
            if self._stopped is None:
                self._apply_batch(batch)
        except _STOPPING as error:
            stopped = f"the run stopped. The journal {self._journal.path} records what is done"
            raise with_context(error, f"{stopped}: run again with the same journal") from None
        for item in batch:
            if item not in self.outcomes:
                self.outcomes[item] = self._not_read(item)
            elif self.outcomes[item].outcome == Outcome.WOULD_CHANGE:
                self.outcomes[item] = self._known(
                    item, Finding(Outcome.NOT_DONE, f"not sent: {self._stopped or self._failure}")
                )

    def end(self) -> None:
        """Record that the run was not interrupted, how many changes were sent or found, and the number by outcome."""
        sent = sum(item in self._journal.attempts for item in self.outcomes)
        counts = Counter(outcome.outcome for outcome in self.outcomes.values())
        not_sent = sum(
            outcome.outcome in IN_BOOKS and item not in self._journal.attempts
            for item, outcome in self.outcomes.items()
        )
        self._journal.append("end", sent=sent, not_sent=not_sent, outcomes=counts)
        self._journal.sync()

    def _apply_batch(self, batch: Sequence[Change]) -> None:
        try:
            self.outcomes |= self._classify(batch)
        except _STOPPING:
            raise
        except ServiceError as error:
            if not self.outcomes:
                raise
            self._stopped = str(error)
            return
        attempts = _MAX_ATTEMPTS
        while attempts and self._stopped is None and (pending := self._pending_last_lost(batch)):
            responses = self._send_some(pending)
            self._confirm(responses)
            if responses.keys() <= self._pending:
                attempts -= 1
        pending = self._pending_last_lost(batch)
        if len(pending) >= _MAX_LOST and not any(self.outcomes[item].outcome == Outcome.DONE for item in batch):
            self._stopped = self._stopped or self._failure

    def _pending_last_lost(self, batch: Sequence[Change]) -> list[Change]:
        """Items still to be sent; those that were sent before come last."""
        pending = [item for item in batch if item in self._pending]
        return sorted(pending, key=lambda item: self.outcomes[item].outcome != Outcome.WOULD_CHANGE)

    def _not_read(self, item: Change) -> Finding:
        """Outcome of an item that this run neither sent nor read: not done only if no earlier run sent it."""
        outcome = Outcome.UNKNOWN if item in self._journal.attempts else Outcome.NOT_DONE
        return Finding(outcome, f"not sent: {self._stopped}; its category was not read")

    def _known(self, item: Change, outcome: Finding) -> Finding:
        """Outcome of an item whose category is unchanged; unknown while an attempt may still be carried out."""
        if self._journal.attempts.may_change(item, self._read_at[item]):
            return Finding(Outcome.UNKNOWN, f"{MAY_STILL_CHANGE}: {outcome.reason}")
        return outcome

    def _read_categories(self, items: Collection[Change]) -> dict[tuple[str, str], frozenset[str]]:
        now = dt.datetime.now(dt.UTC)
        self._read_at |= dict.fromkeys(items, now)
        return read_categories(self._client, items)

    def _classify(self, items: Sequence[Change]) -> dict[Change, Finding]:
        """Classify a batch before it is sent, considering what earlier runs with this journal did."""
        self._categories = self._read_categories(items)
        found = classify_changes(items, self._categories, self._done(items))
        self._journal_completed(found)
        found = _refuse(self._guards, _after_earlier_runs(found, self._journal.earlier_attempts), self._categories)
        self._pending |= {item for item, result in found.items() if result.outcome == Outcome.WOULD_CHANGE}
        return found | {
            item: self._known(item, found[item]) for item in items if found[item].outcome == Outcome.REFUSED
        }

    def _journal_completed(self, found: Mapping[Change, Finding]) -> None:
        """Record items that the books show to be done, and that an earlier run sent without recording a response.

        Otherwise they would be sent again after they were undone.
        """
        attempts = self._journal.earlier_attempts
        for item, outcome in found.items():
            if outcome.outcome == Outcome.ALREADY_DONE and item in attempts and not attempts.has_done(item):
                self._journal.append("outcome", item, **outcome._asdict())
        self._journal.sync()

    def _done(self, items: Iterable[Change]) -> Iterator[Change]:
        """Yield the items of the same journal entries that runs with this journal have carried out."""
        entries = {item.journal_entry_id for item in items}
        return (part for entry in entries for part in self._parts[entry] if self._journal.attempts.has_done(part))

    def _send_some(self, pending: list[Change]) -> dict[Change, Finding]:
        """Send changes one by one, until too many are lost in a row or one is refused that may be accepted later.

        Reading the categories afterwards waits for the rate limit.
        """
        responses: dict[Change, Finding] = {}
        lost = 0
        for item in pending:
            responses[item] = self._send(item)
            lost = lost + 1 if responses[item].outcome == Outcome.UNKNOWN else 0
            if lost == _MAX_LOST or responses[item].outcome == Outcome.NOT_DONE:
                break
        self._journal.sync()
        return responses

    def _send(self, item: Change) -> Finding:
        """Record the intent on disk, send the change once, record the response."""
        if item in self._lost:
            self._sent_again.add(item)
        self._journal.append(
            "intent",
            item,
            journal_entry_id=item.journal_entry_id,
            datetime=item.datetime.isoformat(),
            before=sorted(self._categories[item.ledger_id, item.transaction_id]),
            category_name=self._names.get(item.category_ledger_id),
            modified_by=self._modified_by,
        )
        self._journal.sync()
        try:
            response = self._client.recategorize_transaction(
                item.ledger_id,
                item.transaction_id,
                updated_category_ledger_id=item.updated_category_ledger_id,
                category_ledger_id=item.category_ledger_id,
                modified_by=self._modified_by,
            )
        except (*_LOST, StatusError, InputError) as error:
            outcome = Finding(_classify_error(error), str(error))
            self._journal.append(outcome.outcome, item, reason=outcome.reason)
            if isinstance(error, _STOPPING):
                raise
            if outcome.outcome == Outcome.UNKNOWN:
                self._lost.add(item)
            if outcome.outcome != Outcome.REFUSED:
                self._failure = _RATE_LIMITED if isinstance(error, RateLimitedError) else outcome.reason
            return outcome
        self._journal.append("answer", item, after=[category.ledger_id for category in response.categories])
        return Finding(Outcome.DONE)

    def _confirm(self, responses: dict[Change, Finding]) -> None:
        """Determine the outcome of each change from the books; from the responses alone if these cannot be read."""
        self._pending -= responses.keys()
        try:
            categories = self._read_categories(responses)
        except _STOPPING:
            raise
        except ServiceError as error:
            self._stopped = str(error)
            found = {item: self._not_read_back(item, response, error) for item, response in responses.items()}
        else:
            self._categories |= categories
            found = classify_changes(responses, categories, self._done(responses))
            found = {item: self._combine(item, response, found[item]) for item, response in responses.items()}
        for item, outcome in found.items():
            again = _SENT_AGAIN if item in self._sent_again else ""
            self.outcomes[item] = outcome._replace(reason="; ".join(filter(None, [again, outcome.reason])))
            self._journal.append("outcome", item, **self.outcomes[item]._asdict())
        self._journal.sync()

    def _not_read_back(self, item: Change, response: Finding, error: ServiceError) -> Finding:
        """Outcome of an item that was sent, where the books cannot be read afterwards."""
        certain = response.outcome == Outcome.DONE or item not in self._journal.attempts
        reason = f"{response.reason or 'the service confirmed the change'}; not read back: {error}"
        return Finding(response.outcome if certain else Outcome.UNKNOWN, reason)

    def _combine(self, item: Change, response: Finding, found: Finding) -> Finding:
        """Outcome of an item that was sent, from its response and from the categories found afterwards."""
        if found.outcome == Outcome.ALREADY_DONE:
            # refused, yet the books have the new category: changed by this run only if an earlier response was lost
            return (
                Finding(Outcome.DONE)
                if response.outcome in {Outcome.DONE, Outcome.UNKNOWN} or item in self._lost
                else found
            )
        if found.outcome == Outcome.WOULD_CHANGE:
            if response.outcome in {Outcome.UNKNOWN, Outcome.NOT_DONE}:
                self._pending.add(item)
            reason = response.reason or _NOT_SHOWN
            return self._known(
                item, Finding(Outcome.REFUSED if response.outcome == Outcome.REFUSED else Outcome.NOT_DONE, reason)
            )
        if found.outcome == Outcome.REFUSED and item in self._journal.attempts:
            return Finding(Outcome.UNKNOWN, f"{response.reason or _NOT_SHOWN}; {found.reason}")
        if found.outcome == Outcome.UNKNOWN and response.outcome == Outcome.DONE:
            return response
        return found


def _refuse(guards: Guards, found: Mapping[Change, Finding], categories: Categories) -> dict[Change, Finding]:
    """Outcomes with the changes refused that may not be sent."""
    return {
        change: guards.refuse(change, finding, categories.get(change.transaction, frozenset()))
        for change, finding in found.items()
    }


def _after_earlier_runs(found: Mapping[Change, Finding], earlier: Attempts) -> dict[Change, Finding]:
    """Outcomes that consider what earlier runs with the journal have done."""
    return {item: _after_earlier_run(item, outcome, earlier) for item, outcome in found.items()}


def _after_earlier_run(item: Change, found: Finding, earlier: Attempts) -> Finding:
    if earlier.has_done(item) and found.outcome in _AFTER_DONE:
        return _AFTER_DONE[found.outcome]
    if item not in earlier:
        return found
    if found.outcome == Outcome.REFUSED:
        return Finding(Outcome.UNKNOWN, f"an earlier run with this journal sent it, and {found.reason}")
    return _LEFT_ALONE if found.outcome == Outcome.WOULD_CHANGE else found


def _batches(items: Sequence[Change]) -> Iterator[list[Change]]:
    """Split the items into batches, ordered by account and day so that few listings read a batch."""
    ordered = sorted(items, key=lambda item: (item.ledger_id, item.datetime, item.transaction_id))
    for start in range(0, len(ordered), _BATCH_SIZE):
        yield ordered[start : start + _BATCH_SIZE]


def _classify_error(error: Exception) -> Outcome:
    """Outcome of a change whose request failed: certainly not done, unknown, or refused."""
    status = error.status if isinstance(error, StatusError) else None
    if status in _NOT_CHANGED_STATUSES:
        return Outcome.NOT_DONE
    lost = status == HTTPStatus.REQUEST_TIMEOUT or isinstance(error, _LOST)
    return Outcome.UNKNOWN if lost else Outcome.REFUSED
