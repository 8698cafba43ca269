"""Carrying a plan out: look, note, change, look again.

An answer that is lost does not say whether the change was made, so every outcome is taken from the books. A change is
sent with the category it replaces, so one that somebody else made meanwhile is never overwritten, and sending again
what the books do not show changes a transaction at most once.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

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
)
from accounting_analytics.progress import progress_bar
from accounting_analytics.recategorization.apply_journal import open_journal
from accounting_analytics.recategorization.current_categories import categories_now, require_no_cash
from accounting_analytics.recategorization.outcomes import Outcome, judged, outcomes_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.apply_journal import Journal
    from accounting_analytics.recategorization.plan import Plan, PlanItem

_LOST = (TransportError, DeadlineExceededError, ServerFaultError, ProtocolError)
_STOPPING = (AuthenticationError, PermissionDeniedError)
_OPEN = frozenset({"would_change", "not_done"})
_DONE_BEFORE = {
    "would_change": Outcome("changed_elsewhere", "this journal has it done; somebody has taken it back since"),
    "unknown": Outcome("already_done"),
}
_BATCH = 100
_TRIES = 3
_MANY = 10
"""This many changes lost in a row, and no other of the batch done: the service is not there for writing."""


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

    Changes go out in batches ordered by account and day. Each batch is looked at, sent, and looked at again; what was
    lost on the way and is not in the books is sent again, a few times.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to change.
    journal : path
        File that notes each change before it is sent. The same journal resumes an interrupted run: what is done is not
        sent again, and what somebody took back is left alone. A dry run does not write it.
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
        ``not_done`` (the books do not show it: lost on the way, or not sent because the run stopped), ``unknown`` (the
        answer was lost and the books could not be read).

    Raises
    ------
    InputError
        `confirm` or `modified_by` cannot be used; nothing was sent.
    PlanError
        The plan is for another instance or would move balances, or the journal cannot be used.
    AuthenticationError, PermissionDeniedError
        The token is not accepted (any more); what was done stands in the journal.
    ServiceError
        The books cannot be read before the run; nothing was sent.
    """
    if not isinstance(confirm, bool):
        msg = f"confirm must be True or False, not {confirm!r}; nothing was sent"  # the text "False" is true
        raise InputError(msg)
    if modified_by is not None:
        header_value(modified_by, "modified_by")
    plan.require_instance(client.instance_id)
    items = plan.items
    require_no_cash(client, items)
    if not confirm or not items:
        return outcomes_frame(items, judged(items, categories_now(client, items)))
    with (
        open_journal(journal, plan.plan_id, instance_id=client.instance_id, base_url=client.base_url) as opened,
        progress_bar(progress, total=len(items), desc="recategorize", unit=" items") as bar,
    ):
        run = _Run(client, opened, modified_by)
        for batch in _batches(items):
            run.carry_out(batch)
            bar.update(len(batch))
    return outcomes_frame(items, run.outcomes)


class _Run:
    """One run of a plan.

    Parameters
    ----------
    client : LedgerClient
        The service.
    journal : Journal
        Where every change is noted before it is sent.
    modified_by : str or None
        Who, for the audit log.
    """

    def __init__(self, client: LedgerClient, journal: Journal, modified_by: str | None) -> None:
        self._client = client
        self._journal = journal
        self._modified_by = modified_by
        self._stopped: str | None = None
        self._lost: set[PlanItem] = set()
        self._seen: dict[tuple[str, str], frozenset[str]] = {}
        self.outcomes: dict[PlanItem, Outcome] = {}

    def carry_out(self, batch: Sequence[PlanItem]) -> None:
        """Bring a batch as far as it will go; after the run has stopped, say only that it was not sent."""
        try:
            if self._stopped is None:
                self._carry_out(batch)
        except _STOPPING as error:
            msg = (
                f"{error}; the run stopped, what is done stands in the journal {self._journal.path}: run again with it"
            )
            raise type(error)(msg, status=error.status, error_code=error.error_code) from error
        for item in batch:
            if self.outcomes.get(item, Outcome("would_change")).outcome == "would_change":
                self.outcomes[item] = Outcome("not_done", f"not sent: {self._stopped or 'the service asks to wait'}")

    def _carry_out(self, batch: Sequence[PlanItem]) -> None:
        try:
            self.outcomes |= self._look(batch)
        except _STOPPING:
            raise
        except ServiceError as error:
            if not self.outcomes:
                raise
            self._stopped = str(error)
            return
        tries = _TRIES
        while tries and self._stopped is None and (waiting := self._waiting(batch)):
            answers = self._send_some(waiting)
            self._settle(answers)
            if not any(self.outcomes[item].outcome not in _OPEN for item in answers):
                tries -= 1
        left = self._waiting(batch)
        if len(left) >= _MANY and not any(self.outcomes[item].outcome == "done" for item in batch):
            self._stopped = self._stopped or self.outcomes[left[-1]].reason or "the service asks to wait"

    def _waiting(self, batch: Sequence[PlanItem]) -> list[PlanItem]:
        """Items still to be sent; those that were lost before stand behind the others."""
        waiting = [item for item in batch if self.outcomes[item].outcome in _OPEN]
        return sorted(waiting, key=lambda item: self.outcomes[item].outcome == "not_done")

    def _look(self, items: Sequence[PlanItem]) -> dict[PlanItem, Outcome]:
        """Judge a batch before it is sent, knowing what earlier runs with this journal did."""
        self._seen = categories_now(self._client, items)
        found = judged(items, self._seen)
        return found | {
            item: _DONE_BEFORE[one.outcome]
            for item, one in found.items()
            if one.outcome in _DONE_BEFORE and self._journal.has_done(item)
        }

    def _send_some(self, waiting: list[PlanItem]) -> dict[PlanItem, Outcome]:
        """Send changes one by one, until too many are lost in a row or the service asks to wait.

        The look that follows waits as long as the service asks.
        """
        answers: dict[PlanItem, Outcome] = {}
        lost = 0
        for item in waiting:
            answers[item] = self._send(item)
            lost = lost + 1 if answers[item].outcome == "unknown" else 0
            if lost == _MANY or answers[item].outcome == "not_done":
                break
        self._journal.keep()
        return answers

    def _send(self, item: PlanItem) -> Outcome:
        """Note one change durably, send it once, note the answer."""
        self._journal.note(
            "intent",
            item,
            journal_entry_id=item.journal_entry_id,
            datetime=item.datetime.isoformat(),
            before=sorted(self._seen[item.ledger_id, item.transaction_id]),
            modified_by=self._modified_by,
        )
        self._journal.keep()
        try:
            answer = self._client.recategorize_transaction(
                item.ledger_id,
                item.transaction_id,
                updated_category_ledger_id=item.updated_category_ledger_id,
                category_ledger_id=item.category_ledger_id,
                modified_by=self._modified_by,
            )
        except (*_LOST, StatusError, InputError) as error:
            outcome = Outcome(_answered(error), str(error))
            self._journal.note(outcome.outcome, item, reason=outcome.reason)
            if isinstance(error, _STOPPING):
                raise
            if outcome.outcome == "unknown":
                self._lost.add(item)
            return outcome
        self._journal.note("answer", item, after=[category.ledger_id for category in answer.categories])
        return Outcome("done")

    def _settle(self, answers: dict[PlanItem, Outcome]) -> None:
        """Decide what was sent by what the books say now; by the answers alone where they cannot be read."""
        try:
            now = categories_now(self._client, answers)
        except _STOPPING:
            raise
        except ServiceError as error:
            self._stopped = str(error)
            for item, answer in answers.items():
                self.outcomes[item] = Outcome(answer.outcome, f"{answer.reason or 'answered'}; not read back: {error}")
        else:
            self._seen |= now
            found = judged(answers, now)
            self.outcomes |= {item: self._settled(item, answer, found[item]) for item, answer in answers.items()}
        for item in answers:
            self._journal.note("outcome", item, **self.outcomes[item]._asdict())
        self._journal.keep()

    def _settled(self, item: PlanItem, answer: Outcome, found: Outcome) -> Outcome:
        """Outcome of an item that was sent: what the books say, with what the service answered."""
        if found.outcome == "already_done":
            # refused, though the books have it: ours only if an earlier answer was lost
            return Outcome("done") if answer.outcome != "refused" or item in self._lost else found
        if found.outcome == "would_change":
            if answer.outcome == "refused":
                return answer
            reason = answer.reason or "the service answered that it is done, but the books do not show it"
            return Outcome("not_done", f"the category is still the old one: {reason}")
        if found.outcome == "unknown" and answer.outcome == "done":
            return answer
        return found


def _batches(items: list[PlanItem]) -> Iterator[list[PlanItem]]:
    """Items by account and day: what is looked at together stands together."""
    ordered = sorted(items, key=lambda item: (item.ledger_id, item.datetime, item.transaction_id))
    for start in range(0, len(ordered), _BATCH):
        yield ordered[start : start + _BATCH]


def _answered(error: Exception) -> str:
    """Outcome that an error means for a change: surely not done, not known, or refused."""
    if isinstance(error, RateLimitedError):
        return "not_done"
    timed_out = isinstance(error, StatusError) and error.status == HTTPStatus.REQUEST_TIMEOUT
    return "unknown" if timed_out or isinstance(error, _LOST) else "refused"
