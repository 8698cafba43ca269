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
from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.arguments import require_type
from accounting_analytics.client import LedgerClient
from accounting_analytics.client.url_and_header_text import user_name
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
from accounting_analytics.local_books import refuse_books
from accounting_analytics.progress import progress_bar
from accounting_analytics.recategorization.categories_in_books import (
    days_of,
    find_ledgers,
    read_categories,
    require_no_cash,
    unusable_categories,
)
from accounting_analytics.recategorization.changes_and_outcomes import (
    IN_BOOKS,
    MAY_STILL_CHANGE,
    FoundOutcome,
    Guards,
    Outcome,
    classify_changes,
    findings_frame,
    joining_changes,
)
from accounting_analytics.recategorization.journal import open_journal, read_attempts
from accounting_analytics.recategorization.plan import require_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.changes_and_outcomes import Categories, Change
    from accounting_analytics.recategorization.journal import Attempts, Journal
    from accounting_analytics.recategorization.plan import Plan

_LOST = (TransportError, DeadlineExceededError, ServerFaultError, ProtocolError)
_STOPPING = (AuthenticationError, PermissionDeniedError)
_NOT_CHANGED_STATUSES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INSUFFICIENT_STORAGE})
"""Statuses of a service that has certainly changed nothing, and may accept the change later."""
_AFTER_DONE = {
    Outcome.WOULD_CHANGE: FoundOutcome(
        Outcome.CHANGED_ELSEWHERE,
        "done in an earlier run with this journal, and changed back since; a run with a new journal changes it again",
    ),
    Outcome.UNKNOWN: FoundOutcome(Outcome.ALREADY_DONE),
}
_LEFT_ALONE = FoundOutcome(
    Outcome.UNKNOWN,
    "an earlier run with this journal sent it, and the books show the previous category: it was not carried out, or "
    "it was changed back since; it is left alone, and a run with a new journal sends it again",
)
_NO_RESPONSE = FoundOutcome(Outcome.NOT_DONE)
_BATCH_SIZE = 100
_MAX_ATTEMPTS = 3
"""Rounds of a batch without any response that the books confirm, before what is lost is left."""
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
    is sent; a change whose response was lost, and that the books do not show then, is sent again, a few times.

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
    refuse_books(client, "local books cannot change the service: connect to it")
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_plan(plan)
    for name, value in (("confirm", confirm), ("allow_irreversible", allow_irreversible)):
        if not isinstance(value, bool):
            msg = f"{name} must be True or False, not {value!r}; nothing was sent"  # the text "False" is true
            raise InputError(msg)
    if modified_by is not None:
        user_name(modified_by, "modified_by")
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
        return findings_frame(guards.refuse(_after_earlier_runs(found, earlier), categories), items)
    names = find_ledgers(client, [item.category_ledger_id for item in items], days_of(items)).names
    findings: dict[Change, FoundOutcome] = {}
    stopped: str | None = None
    with (
        open_journal(journal, plan.plan_id, instance_id=client.instance_id, base_url=client.base_url) as opened,
        progress_bar(progress, total=len(items), desc="recategorize", unit=" items") as bar,
    ):
        sender = _BatchSender(client, opened, modified_by, guards, names, items)
        for batch in _batches(items):
            try:
                found, stopped = sender.send(batch, stopped, is_first=not findings)
            except _STOPPING as error:
                reason = f"the run stopped. The journal {opened.path} records what is done"
                raise with_context(error, f"{reason}: run again with the same journal") from None
            findings |= found
            bar.update(len(batch))
        _record_end(opened, findings)
    return findings_frame(findings, items)


@dataclass(eq=False)
class _BatchItem:
    """A change of the batch that is being sent: what is known of it, and whether it is to be sent.

    `response` is that to its last request, and `failure` why that may be tried again. `was_lost` is whether any
    response was lost.
    """

    change: Change
    finding: FoundOutcome
    read_at: dt.datetime
    is_pending: bool = False
    response: FoundOutcome = _NO_RESPONSE
    failure: str = ""
    was_lost: bool = False
    is_sent_again: bool = False


class _BatchSender(NamedTuple):
    """Sends the changes of a plan in batches, and finds the outcome of each in the books.

    `names` are those of the categories that are replaced, for the journal; `changes` are all of the plan.
    """

    client: LedgerClient
    journal: Journal
    modified_by: str | None
    guards: Guards
    names: Mapping[str, str]
    changes: Sequence[Change]

    def send(
        self, batch: Sequence[Change], stopped: str | None, *, is_first: bool
    ) -> tuple[dict[Change, FoundOutcome], str | None]:
        """Send a batch, unless the run has stopped; returns its findings, and why the run has stopped, if it has."""
        read_at, categories = dt.datetime.now(dt.UTC), {}
        try:
            if stopped is None:
                categories = read_categories(self.client, batch)
        except ServiceError as error:
            if is_first or isinstance(error, _STOPPING):
                raise
            stopped = str(error)
        if stopped is not None:
            return {change: self._not_read(change, stopped) for change in batch}, stopped
        items = self._classify(batch, categories, read_at)
        attempts, failures = _MAX_ATTEMPTS, [_RATE_LIMITED]
        while attempts and stopped is None and (pending := _pending_last_lost(items)):
            sent = self._send_some(pending, categories)
            failures += [item.failure for item in sent if item.failure]
            stopped = self._confirm(sent, categories)
            if all(item.is_pending for item in sent):
                attempts -= 1
        if len(_pending_last_lost(items)) >= _MAX_LOST and all(one.finding.outcome != Outcome.DONE for one in items):
            stopped = stopped or failures[-1]
        for item in items:
            if item.finding.outcome == Outcome.WOULD_CHANGE:
                item.finding = self._known(item, FoundOutcome(Outcome.NOT_DONE, f"not sent: {stopped or failures[-1]}"))
        return {item.change: item.finding for item in items}, stopped

    def _not_read(self, change: Change, stopped: str) -> FoundOutcome:
        """Outcome of a change that this run neither sent nor read: not done only if no earlier run sent it."""
        outcome = Outcome.UNKNOWN if change in self.journal.attempts else Outcome.NOT_DONE
        return FoundOutcome(outcome, f"not sent: {stopped}; its category was not read")

    def _known(self, item: _BatchItem, finding: FoundOutcome) -> FoundOutcome:
        """Outcome of an item whose category is unchanged; unknown while an attempt may still be carried out."""
        if self.journal.attempts.may_change(item.change, item.read_at):
            return FoundOutcome(Outcome.UNKNOWN, f"{MAY_STILL_CHANGE}: {finding.reason}")
        return finding

    def _classify(self, batch: Sequence[Change], categories: Categories, read_at: dt.datetime) -> list[_BatchItem]:
        """Classify a batch before it is sent, considering what earlier runs with this journal did."""
        found = classify_changes(batch, categories, self._done(batch))
        self._journal_completed(found)
        found = self.guards.refuse(_after_earlier_runs(found, self.journal.earlier_attempts), categories)
        items = [_BatchItem(change, finding, read_at) for change, finding in found.items()]
        for item in items:
            item.is_pending = item.finding.outcome == Outcome.WOULD_CHANGE
            if item.finding.outcome == Outcome.REFUSED:
                item.finding = self._known(item, item.finding)
        return items

    def _journal_completed(self, found: Mapping[Change, FoundOutcome]) -> None:
        """Record changes that the books show to be done, and that an earlier run sent without recording a response.

        Otherwise they would be sent again after they were undone.
        """
        attempts = self.journal.earlier_attempts
        for change, finding in found.items():
            if finding.outcome == Outcome.ALREADY_DONE and change in attempts and not attempts.has_done(change):
                self.journal.append("outcome", change, **finding._asdict())
        self.journal.sync()

    def _done(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yield the changes of the same journal entries that runs with this journal have carried out."""
        entries = {change.journal_entry_id for change in changes}
        has_done = self.journal.attempts.has_done
        return (one for one in self.changes if one.journal_entry_id in entries and has_done(one))

    def _send_some(self, pending: Sequence[_BatchItem], categories: Categories) -> list[_BatchItem]:
        """Send items one by one, until too many are lost in a row or one is refused that may be accepted later.

        Reading the categories afterwards waits for the rate limit.
        """
        sent: list[_BatchItem] = []
        lost = 0
        for item in pending:
            self._send(item, categories[item.change.transaction])
            sent.append(item)
            lost = lost + 1 if item.response.outcome == Outcome.UNKNOWN else 0
            if lost == _MAX_LOST or item.response.outcome == Outcome.NOT_DONE:
                break
        self.journal.sync()
        return sent

    def _send(self, item: _BatchItem, before: frozenset[str]) -> None:
        """Record the intent on disk, send the change once, record the response."""
        change = item.change
        item.is_sent_again, item.failure = item.was_lost, ""
        self.journal.append(
            "intent",
            change,
            journal_entry_id=change.journal_entry_id,
            datetime=change.datetime.isoformat(),
            before=sorted(before),
            category_name=self.names.get(change.category_ledger_id),
            rule=change.rule,
            group_id=change.group_id,
            modified_by=self.modified_by,
        )
        self.journal.sync()
        try:
            response = self.client.recategorize_transaction(
                change.ledger_id,
                change.transaction_id,
                updated_category_ledger_id=change.updated_category_ledger_id,
                category_ledger_id=change.category_ledger_id,
                modified_by=self.modified_by,
            )
        except (*_LOST, StatusError, InputError) as error:
            item.response = FoundOutcome(_classify_error(error), str(error))
            self.journal.append(item.response.outcome, change, reason=item.response.reason)
            if isinstance(error, _STOPPING):
                raise
            item.was_lost |= item.response.outcome == Outcome.UNKNOWN
            if item.response.outcome != Outcome.REFUSED:
                item.failure = _RATE_LIMITED if isinstance(error, RateLimitedError) else item.response.reason
            return
        self.journal.append("answer", change, after=[category.ledger_id for category in response.categories])
        item.response = FoundOutcome(Outcome.DONE)

    def _confirm(self, sent: Sequence[_BatchItem], categories: dict[tuple[str, str], frozenset[str]]) -> str | None:
        """Determine the outcome of each item from the books, whose categories are added to those that are known.

        If the books cannot be read, it is that of the response alone, and the reason is returned.
        """
        changes, read_at, stopped = [item.change for item in sent], dt.datetime.now(dt.UTC), None
        try:
            read = read_categories(self.client, changes)
        except ServiceError as error:
            if isinstance(error, _STOPPING):
                raise
            stopped = str(error)
        else:
            categories |= read
            found = classify_changes(changes, read, self._done(changes))
            guarded = self.guards.refuse(found, read)
        for item in sent:
            item.is_pending = False
            if stopped is None:
                item.read_at = read_at
                finding = self._combine(item, found[item.change], guarded[item.change])
            else:
                finding = self._not_read_back(item, stopped)
            again = _SENT_AGAIN if item.is_sent_again else ""
            item.finding = finding._replace(reason="; ".join(filter(None, [again, finding.reason])))
            self.journal.append("outcome", item.change, **item.finding._asdict())
        self.journal.sync()
        return stopped

    def _not_read_back(self, item: _BatchItem, stopped: str) -> FoundOutcome:
        """Outcome of an item that was sent, where the books cannot be read afterwards."""
        response = item.response
        certain = response.outcome == Outcome.DONE or item.change not in self.journal.attempts
        reason = f"{response.reason or 'the service confirmed the change'}; not read back: {stopped}"
        return FoundOutcome(response.outcome if certain else Outcome.UNKNOWN, reason)

    def _combine(self, item: _BatchItem, found: FoundOutcome, guarded: FoundOutcome) -> FoundOutcome:
        """Outcome of an item that was sent, from its response and from the categories found afterwards.

        It is not sent again where `guarded` refuses it: another user may have moved a part of its split meanwhile.
        """
        response = item.response
        if found.outcome == Outcome.ALREADY_DONE:
            # refused, yet the books have the new category: changed by this run only if an earlier response was lost
            return FoundOutcome(Outcome.DONE) if response.outcome == Outcome.DONE or item.was_lost else found
        if found.outcome == Outcome.WOULD_CHANGE:
            item.is_pending = response.outcome in {Outcome.UNKNOWN, Outcome.NOT_DONE}
            if item.is_pending and guarded.outcome == Outcome.REFUSED:
                item.is_pending = False
                reason = "; ".join(filter(None, [response.reason, guarded.reason]))
                return self._known(item, guarded._replace(reason=reason))
            outcome = Outcome.REFUSED if response.outcome == Outcome.REFUSED else Outcome.NOT_DONE
            return self._known(item, FoundOutcome(outcome, response.reason or _NOT_SHOWN))
        if found.outcome == Outcome.REFUSED and item.change in self.journal.attempts:
            return FoundOutcome(Outcome.UNKNOWN, f"{response.reason or _NOT_SHOWN}; {found.reason}")
        if found.outcome == Outcome.UNKNOWN and response.outcome == Outcome.DONE:
            return response
        return found


def _pending_last_lost(items: Iterable[_BatchItem]) -> list[_BatchItem]:
    """Items still to be sent; those that were sent before come last."""
    pending = [item for item in items if item.is_pending]
    return sorted(pending, key=lambda item: item.finding.outcome != Outcome.WOULD_CHANGE)


def _record_end(journal: Journal, findings: Mapping[Change, FoundOutcome]) -> None:
    """Record that the run was not interrupted, how many changes were sent or found, and the number by outcome."""
    not_sent = [change for change in findings if change not in journal.attempts]
    journal.append(
        "end",
        sent=len(findings) - len(not_sent),
        not_sent=sum(findings[change].outcome in IN_BOOKS for change in not_sent),
        outcomes=Counter(finding.outcome for finding in findings.values()),
    )
    journal.sync()


def _after_earlier_runs(found: Mapping[Change, FoundOutcome], earlier: Attempts) -> dict[Change, FoundOutcome]:
    """Outcomes that consider what earlier runs with the journal have done."""
    return {item: _after_earlier_run(item, outcome, earlier) for item, outcome in found.items()}


def _after_earlier_run(item: Change, found: FoundOutcome, earlier: Attempts) -> FoundOutcome:
    if earlier.has_done(item) and found.outcome in _AFTER_DONE:
        return _AFTER_DONE[found.outcome]
    if item not in earlier:
        return found
    if found.outcome == Outcome.REFUSED:
        return FoundOutcome(Outcome.UNKNOWN, f"an earlier run with this journal sent it, and {found.reason}")
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
