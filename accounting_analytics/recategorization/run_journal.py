"""Journal of a run, with intents, responses and outcomes, and the plan that undoes a run.

A file of JSON lines that is only appended to. The first line names the plan and the instance; an ``end`` line with
counts ends a run that was not interrupted. An ``intent`` has the fields of its change, with the categories that the
books showed, and is on disk before its change is sent: the journal and the books are enough to resume a run, or to undo
it or a part of it.

Each line has a hash of itself and of the line before, so a line that was edited, and lines that were removed before
others, are found. This protects from accidents, not from someone who computes the hashes again. A last line that a
crash truncated was not acted on: it does not count, and is removed by the next run.

The inverse of a run has the same changes with both categories exchanged. It is an ordinary plan, which is previewed,
saved, applied with its own journal, and verified like any other plan, on any later day. Whether the books still have
what the run changed is known when the inverse is applied.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import msgspec
from filelock import FileLock, Timeout

from accounting_analytics.client import LedgerClient
from accounting_analytics.core.arguments import require_type, to_path, to_texts
from accounting_analytics.core.atomic_files import PRIVATE_MODE, sync_folder
from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import PlanError
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.recategorization.changes import (
    IDENTITY,
    Change,
    changes_by_entry,
    joining_changes,
    name_changes,
)
from accounting_analytics.recategorization.outcomes import IN_BOOKS, Response
from accounting_analytics.recategorization.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

_HASH_LENGTH = 16
_HEADER_STARTS = b'{"event": "plan"'
_OF_CHANGES = frozenset({"intent", "response", "outcome"})
_SETTLING_TIME = dt.timedelta(seconds=60)
"""Time after a request in which the service may still carry out the change, whatever the response was."""
_UNDO = "undo"
_JOINED = (
    "they joined a part of a split with another part; these cannot be distinguished, so what was replaced cannot be "
    "restored"
)
_MAY_STILL_CHANGE = "they were sent less than 60 seconds ago and may still be carried out; plan again a minute later"


class Journal:
    """The events of all runs that used a journal file. The file is open for a run, or was only read.

    An attempt counts as lost until its response is recorded. An attempt that the service refused does not count: it
    never changes the books. A journal without a path belongs to no run.
    """

    file: IO[bytes]

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.events: list[Mapping[str, Any]] = []
        self._sent: dict[tuple[str, ...], list[tuple[dt.datetime, str]]] = {}
        self._last: dict[tuple[str, ...], str] = {}

    def __contains__(self, change: Change) -> bool:
        return bool(self._sent.get(change.identity))

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event that the file has, and record the attempts of its change."""
        self.events.append(event)
        if event["event"] not in _OF_CHANGES:
            return
        identity, response = tuple(event[name] for name in IDENTITY), event.get("response", Response.LOST)
        self._last[identity] = event.get("outcome", response)
        sent = self._sent.setdefault(identity, [])
        if event["event"] == "response":
            sent.pop()
        if event["event"] != "outcome" and response in {Response.CONFIRMED, Response.LOST}:
            sent.append((dt.datetime.fromisoformat(event["at"]), response))

    def append(self, event: str, change: Change | None = None, **fields: Any) -> None:  # noqa: ANN401 (any JSON value)
        """Append an event to the file, and sync it to disk."""
        names = () if change is None else Change._fields if event == "intent" else IDENTITY
        of_change = {name: value for name in names if (value := getattr(change, name)) is not None}
        content = {"event": event, "at": dt.datetime.now(dt.UTC).isoformat(), **of_change, **fields}
        content["hash"] = hash_event(content, self.events[-1]["hash"] if self.events else "")
        self.add(content)
        remaining = memoryview(json.dumps(content, default=str).encode() + b"\n")
        try:
            while remaining:
                remaining = remaining[self.file.write(remaining) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            raise PlanError(
                f"the journal {self.path} cannot be written ({error.strerror}); the run stopped before the next "
                "change: free disk space and run again with the same journal"
            ) from error

    def has_done(self, change: Change) -> bool:
        """Return whether a change is done by its last response or outcome."""
        return self._last.get(change.identity) in {*IN_BOOKS, Response.CONFIRMED}

    def response(self, change: Change) -> Response:
        """Return the response to a change, in any run."""
        if self.has_done(change):
            return Response.CONFIRMED
        return Response.LOST if change in self else Response.NOT_SENT

    def may_change(self, change: Change, read_at: dt.datetime, *, lost_only: bool = False) -> bool:
        """Return whether an attempt of a change may still have changed the books after `read_at`.

        With `lost_only`, attempts with a response do not count.
        """
        counting = {Response.LOST} if lost_only else {Response.LOST, Response.CONFIRMED}
        sent = self._sent.get(change.identity, ())
        return any(response in counting and read_at - time < _SETTLING_TIME for time, response in sent)

    def may_change_again(self, change: Change, now: dt.datetime) -> bool:
        """Return whether a request without response may still take effect."""
        # if a change is done, its only attempt was carried out, and cannot take effect again
        is_open = len(self._sent[change.identity]) > 1 or not self.has_done(change)
        return is_open and self.may_change(change, now, lost_only=True)

    def sent_changes(self) -> list[Change]:
        """Return the sent changes, without changes that were refused each time."""
        intents = [[event.get(name) for name in Change._fields] for event in self.events if event["event"] == "intent"]
        changes = msgspec.convert(intents, list[Change])
        by_identity = {change.identity: change for change in changes}
        return [change for change in by_identity.values() if change in self]

    def require_end(self, *, incomplete: bool) -> str:
        """Say what the journal may lack. Refuse a journal without an end, unless `incomplete` is true."""
        end = self.events[-1]
        if end["event"] != "end":
            lacking = "its run was interrupted, or the end of it is missing, so it may lack changes"
            if not incomplete:
                raise PlanError(
                    f"the journal {self.path} has no end line: {lacking}. Nothing was sent: run it again with this "
                    "journal to complete it, or undo the changes that it has with incomplete=True (--incomplete)"
                )
            return f"The journal has no end line: {lacking}."
        if not end["not_sent"]:
            return ""
        return (
            f"The books already had {count_of(end['not_sent'], 'change')} of the plan that no run with this journal "
            "sent, or whose lines it lost; these are not part of it, so they are not undone."
        )


@contextmanager
def open_run_journal(path: str | Path, plan_id: str, *, instance_id: str, base_url: str) -> Iterator[Journal]:
    """Create or resume the journal of a plan for one run."""
    file = to_path(path, "journal")
    with _lock(file):
        journal = read_journal(file, instance_id=instance_id, plan_id=plan_id)
        try:
            opened = open(file, "ab", buffering=0, opener=partial(os.open, mode=PRIVATE_MODE))  # noqa: SIM115 (closed below)
        except OSError as error:
            raise PlanError(f"the journal {file} cannot be written: {error.strerror}") from error
        with opened as journal.file:
            opened.truncate(file.read_bytes().rfind(b"\n") + 1)
            if not journal.events:
                journal.append("plan", plan_id=plan_id, instance_id=instance_id, base_url=base_url)
            sync_folder(file.parent)
            yield journal


def read_journal(path: str | Path, *, instance_id: str, plan_id: str = "", missing: str = "") -> Journal:
    """Read a journal. Refuse the journal of another instance or plan.

    `missing` is advice for the error if there is no journal. Without `missing`, an empty journal is returned instead.
    """
    file = to_path(path, "journal")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be read: {error.strerror}") from error
    journal = _parse(content, file)
    if missing and not journal.events:
        raise PlanError(f"the journal {file} does not exist or is empty; {missing}")
    header = journal.events[0] if journal.events else {"plan_id": plan_id, "instance_id": instance_id}
    if plan_id not in {"", header["plan_id"]}:
        raise PlanError(
            f"the journal {file} belongs to another plan ({header['plan_id']}), not to {plan_id}; name the journal "
            "of this plan, or a new file for its first run"
        )
    if header["instance_id"] != instance_id:
        raise PlanError(f"the journal {file} belongs to instance {header['instance_id']!r}, not {instance_id!r}")
    return journal


def _parse(content: bytes, file: Path) -> Journal:
    """Parse the text lines and check their hashes. Ignore a truncated last line."""
    if not content.startswith(_HEADER_STARTS) and not _HEADER_STARTS.startswith(content):
        raise PlanError(f"{file} is not a journal of a run; name its journal, or a new file for a first run")
    journal, last = Journal(file), ""
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            event = json.loads(line)
            is_as_written = event["hash"] == hash_event(event, last)
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):  # not a line of a journal
            is_as_written = False
        if not is_as_written:
            raise PlanError(
                f"{file}, line {number} was edited, or lines before it were removed: its hash is another one, so it is "
                "not certain which changes are done; restore the file from a copy, or choose a new file: changes that "
                "the books already show are not sent again"
            )
        journal.add(event)
        last = event["hash"]
    return journal


def hash_event(event: Mapping[str, Any], previous: str) -> str:
    """Hash an event together with the hash before it."""
    content = json.dumps({name: value for name, value in event.items() if name != "hash"}, default=str)
    return hashlib.sha256(f"{previous}{content}".encode()).hexdigest()[:_HASH_LENGTH]


def _lock(file: Path) -> AbstractContextManager[object]:
    """Lock a journal for one run, until the returned context ends."""
    try:
        return FileLock(f"{file}.lock", timeout=0).acquire()
    except Timeout:
        raise PlanError(f"another run uses the journal {file}; wait until it ends") from None
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be written: {error.strerror}") from error


def undo_plan(
    client: LedgerClient,
    journal: str | Path,
    *,
    groups: str | Iterable[str] | None = None,
    incomplete: bool = False,
) -> Plan:
    """Plan the inverse of a run, or of a part of it, from its journal; nothing is sent.

    :func:`apply_plan` applies the result, with a journal of its own and with the same guards: a transaction that
    another user has changed since is ``changed_elsewhere`` then, and left alone. To resume an interrupted undo, plan it
    again, or load the plan that was saved, and apply it with the same journal.

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
        change and ``undo: `` before its rule. :attr:`~Plan.left_out` has the changes that are left out, and ``notes``
        says why: parts of a split that were joined cannot be restored, and what was sent in the last minute may still
        be carried out. ``notes`` also states what the journal may lack.

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        The journal cannot be read, was edited, has no end line and `incomplete` is False, is of another instance, lacks
        what undoing needs, or a run uses it; or it has no change of one of the `groups`.
    """
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_type(incomplete, bool, "incomplete", "pass True to undo what the journal of an interrupted run has")
    missing = "pass the journal of the run that is to be undone"
    of_run = read_journal(journal, instance_id=client.instance_id, missing=missing)
    with _lock(to_path(journal, "journal")):  # no run uses this file
        pass
    notes = list(filter(None, [of_run.require_end(incomplete=incomplete)]))
    sent = of_run.sent_changes()
    changes = sent if groups is None else _changes_of(sent, to_texts(groups))
    of_entry, now = changes_by_entry(sent), dt.datetime.now(dt.UTC)
    joined = [change for change in joining_changes(sent) if change in changes]
    unknown = [change for change in changes if change not in joined and of_run.may_change_again(change, now)]
    for found, why in ((joined, _JOINED), (unknown, _MAY_STILL_CHANGE)):
        if found:
            notes.append(
                f"{len(found):,} of {count_of(len(changes), 'change')} left out: {why}: {name_changes(found)}."
            )
    left_out = dict.fromkeys([*joined, *unknown])
    undone = [_inverse(change, of_entry[change.journal_entry_id]) for change in changes if change not in left_out]
    return Plan(
        undone,
        scale=client.scale,
        instance_id=client.instance_id,
        notes=notes,
        left_out=left_out,
    )


def _changes_of(changes: Sequence[Change], wanted: Sequence[str]) -> list[Change]:
    """Select the changes of groups and transactions. Refuse a group or transaction without changes."""
    groups = {change.group_id for change in changes} - {""}
    known = [*sorted(groups), *(change.transaction_id for change in changes)]
    for text in wanted:
        if text not in known:
            counted = f"{count_of(len(changes), 'change')} of {count_of(len(groups), 'group')}"
            hint = did_you_mean(text, known) or f"it has {counted}; without groups the plan lists them"
            raise PlanError(f"the journal has no change of group or transaction {quote(text)}; {hint}")
    return [change for change in changes if change.group_id in wanted or change.transaction_id in wanted]


def _inverse(change: Change, sent: Sequence[Change]) -> Change:
    """Invert a change. The inverse lists the categories that the transaction has after all sent changes."""
    old, new = change.category_ledger_id, change.updated_category_ledger_id
    updated = {sent_change.category_ledger_id: sent_change.updated_category_ledger_id for sent_change in sent}
    return change._replace(
        category_ledger_id=new,
        category_ledger_name=change.updated_category_ledger_name,
        updated_category_ledger_id=old,
        updated_category_ledger_name=change.category_ledger_name or old,
        rule=f"{_UNDO}: {change.rule}" if change.rule else _UNDO,
        opposing_ledger_ids=LIST_SEPARATOR.join(
            sorted({updated.get(ledger_id, ledger_id) for ledger_id in change.previous_categories})
        ),
        confidence=None,
        reason=None,
    )
