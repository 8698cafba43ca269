"""Journal of applying a plan: each change before it is sent, its response, and its outcome.

A file of JSON lines that is only appended to. The first line names the plan and the instance; a ``resumed`` line
starts every further run, and an ``end`` line with counts ends a run that was not interrupted. An ``intent`` has the
columns of the plan, with the categories that the books showed, and is on disk before its change is sent: the journal
and the books are enough to resume a run, or to undo it or a part of it.

Each line has a hash of itself and of the line before, so a line that was edited, and lines that were removed before
others, are found. This protects from accidents, not from someone who computes the hashes again. A last line that a
crash truncated was not acted on: it does not count, and is removed by the next run.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from filelock import FileLock, Timeout

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import sync_folder
from accounting_analytics.errors import PlanError
from accounting_analytics.messages import count_of
from accounting_analytics.recategorization.changes import IDENTITY, IN_BOOKS, Change, Response

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


_PRIVATE_MODE = 0o600
_HASH_LENGTH = 16
_HEADER_STARTS = b'{"event": "plan"'
_DONE = {*IN_BOOKS, Response.CONFIRMED}
_SETTLING_TIME = dt.timedelta(seconds=60)
"""How long after an attempt a change may still be carried out, whatever the response was."""


class Attempts:
    """When each change was sent, and whether it is done, according to the events of a journal.

    An attempt that the service refused does not count: it never changes the books.
    """

    def __init__(self, events: Iterable[Mapping[str, Any]] = ()) -> None:
        self._times: dict[tuple[str, ...], list[dt.datetime]] = {}
        self._states: dict[tuple[str, ...], str] = {}
        self._confirmed: set[tuple[tuple[str, ...], dt.datetime]] = set()
        for event in events:
            self.add(event)

    def __contains__(self, change: Change) -> bool:
        return bool(self._times.get(change.identity))

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event: an attempt, the response to the last attempt of a change, or its outcome."""
        if event["event"] not in {"intent", "response", "outcome"}:
            return
        identity, time = tuple(event[name] for name in IDENTITY), dt.datetime.fromisoformat(event["at"])
        response = event.get("response")
        self._states[identity] = event.get("outcome") or response or event["event"]
        times = self._times.setdefault(identity, [])
        if response is not None:
            times.pop()
        if event["event"] == "intent" or response in {Response.CONFIRMED, Response.LOST}:
            times.append(time)
        if response == Response.CONFIRMED:
            self._confirmed.add((identity, time))

    def has_done(self, change: Change) -> bool:
        """Whether the last response or outcome of a change is that it is done."""
        return self._states.get(change.identity) in _DONE

    def may_change(self, change: Change, read_at: dt.datetime, *, lost_only: bool = False) -> bool:
        """Whether an attempt, or one whose response was lost, may change the books after `read_at`."""
        identity = change.identity
        return any(
            read_at - time < _SETTLING_TIME and not (lost_only and (identity, time) in self._confirmed)
            for time in self._times.get(identity, ())
        )


class SentChanges(NamedTuple):
    """Changes that the runs of a journal sent, their attempts, and what the journal may lack, one sentence each."""

    changes: list[Change]
    attempts: Attempts
    notes: list[str]


class _Content(NamedTuple):
    """The events of a journal, the hash of the last one, and the bytes of their lines."""

    events: list[dict[str, Any]]
    last_hash: str
    size: int


class Journal:
    """A journal that is open for one run: a file, unbuffered and open for appending.

    `attempts` are those of all runs, also of this one.
    """

    def __init__(self, file: IO[bytes], path: Path, events: Iterable[Mapping[str, Any]] = (), last: str = "") -> None:
        self._file = file
        self._hash = last
        self.attempts = Attempts(events)
        self.path = path

    def append(self, event: str, change: Change | None = None, **fields: Any) -> None:  # noqa: ANN401 (any JSON value)
        """Append an event; it survives a crash of this program, and after :meth:`sync` a crash of the machine."""
        of_change = {} if change is None else change._asdict()
        if event != "intent":
            of_change = {name: of_change[name] for name in IDENTITY if of_change}
        content = {"event": event, "at": dt.datetime.now(dt.UTC).isoformat(), **of_change, **fields}
        self._hash = hash_event(content, self._hash)
        remaining = memoryview(_to_json(content | {"hash": self._hash}).encode() + b"\n")
        self.attempts.add(content)
        try:
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            raise self._write_error(error) from error

    def sync(self) -> None:
        """Sync the appended events to disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> PlanError:
        return PlanError(
            f"the journal {self.path} cannot be written ({error.strerror}); the run stopped before the next change: "
            "free disk space and run again with the same journal"
        )


@contextmanager
def open_journal(path: str | Path, plan_id: str, *, instance_id: str, base_url: str) -> Iterator[Journal]:
    """Create or resume the journal of a plan for one run."""
    file = to_path(path, "journal")
    with _lock(file):
        earlier = _read(file, instance_id=instance_id, plan_id=plan_id)
        with _open_for_append(file) as opened:
            os.truncate(file, earlier.size)
            journal = Journal(opened, file, earlier.events, earlier.last_hash)
            if earlier.events:
                journal.append("resumed")
            else:
                journal.append("plan", plan_id=plan_id, instance_id=instance_id, base_url=base_url)
            journal.sync()
            sync_folder(file.parent)
            yield journal


def read_attempts(path: str | Path, plan_id: str, *, instance_id: str, must_exist: bool) -> Attempts:
    """Read the attempts of all runs with a journal, also while a run uses it."""
    missing = "pass the journal that the plan was applied with, or none" if must_exist else ""
    return Attempts(_read(to_path(path, "journal"), instance_id=instance_id, plan_id=plan_id, missing=missing).events)


def read_sent_changes(path: str | Path, *, instance_id: str, incomplete: bool) -> SentChanges:
    """Read the changes that all runs with a journal sent, in the order in which they were first sent.

    A change that was sent several times is listed once; one that the service refused each time is not listed.
    """
    file, undone = to_path(path, "journal"), "pass the journal of the run that is to be undone"
    _read(file, instance_id=instance_id, missing=undone)  # a lock would be written beside a file that is missing
    with _lock(file):
        events = _read(file, instance_id=instance_id, missing=undone).events
    end = events[-1] if events[-1]["event"] == "end" else None
    notes = []
    if end is None:
        lacking = "its run was interrupted, or the end of it is missing, so it may lack changes"
        if not incomplete:
            raise PlanError(
                f"the journal {file} has no end line: {lacking}. Nothing was sent: run it again with this journal to "
                "complete it, or undo the changes that it has with incomplete=True (--incomplete)"
            )
        notes.append(f"The journal has no end line: {lacking}.")
    elif end["not_sent"]:
        notes.append(
            f"The books already had {count_of(end['not_sent'], 'change')} of the plan that no run with this journal "
            "sent, or whose lines it lost; these are not part of it, so they are not undone."
        )
    sent = {change.identity: change for change in (Change.from_json(one) for one in events if one["event"] == "intent")}
    attempts = Attempts(events)
    return SentChanges([change for change in sent.values() if change in attempts], attempts, notes)


def _to_json(event: Mapping[str, Any]) -> str:
    return json.dumps(event, default=str)


def hash_event(event: Mapping[str, Any], previous: str) -> str:
    """Hash of an event and of the one before it."""
    return hashlib.sha256(f"{previous}{_to_json(event)}".encode()).hexdigest()[:_HASH_LENGTH]


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    lock = FileLock(f"{file}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise PlanError(f"another run uses the journal {file}; wait until it ends") from None
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def _read(file: Path, *, instance_id: str, plan_id: str = "", missing: str = "") -> _Content:
    """Read a journal of an instance and, where it is given, plan; `missing` is what to do where there is none."""
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


@contextmanager
def _open_for_append(file: Path) -> Iterator[IO[bytes]]:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE_MODE)
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be written: {error.strerror}") from error
    with open(descriptor, "ab", buffering=0) as opened:  # noqa: PTH123 (a descriptor)
        yield opened


def _parse(content: bytes, file: Path) -> _Content:
    """Parse the lines and check their hashes; a last line without its end was truncated by a crash."""
    if not content.startswith(_HEADER_STARTS) and not _HEADER_STARTS.startswith(content):
        raise PlanError(f"{file} is not a journal of a run; name its journal, or a new file for a first run")
    *lines, truncated = content.split(b"\n")
    events: list[dict[str, Any]] = []
    last = ""
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
            stated, last = event.pop("hash"), hash_event(event, last)
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
            stated = None  # no line of a journal
        if stated is None or stated != last:
            raise PlanError(
                f"{file}, line {number} was edited, or lines before it were removed: its hash is another one, so it is "
                "not certain which changes are done; restore the file from a copy, or choose a new file: changes that "
                "the books already show are not sent again"
            )
        events.append(event)
    return _Content(events, last, len(content) - len(truncated))
