"""Journal of applying a plan: each change before it is sent, its response, and its outcome.

A file of JSON lines that is only appended to. The first line names the plan and the instance; a ``resumed`` line
starts every further run, and an ``end`` line with counts ends a run that was not interrupted. An ``intent`` is on disk
before its change is sent and states the previous categories, the name of the one that is replaced, and the rule and the
group of the change, so that the journal and the books are enough to resume a run, or to undo it or a part of it.

Each line has a hash of itself and of the line before, so a line that was edited, and lines that were removed before
others, are found. This protects from accidents, not from someone who computes the hashes again. Lines that a crash
truncated have no valid JSON and are skipped: the line after them continues the hashes of the line before.
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
from accounting_analytics.recategorization.changes_and_outcomes import IDENTITY, IN_BOOKS, Change, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


_FORMAT = 1
_PRIVATE_MODE = 0o600
_HASH_LENGTH = 16
_HEADER_STARTS = b'{"event": "plan"'
_DONE = {*IN_BOOKS, "answer"}
_REFUSED = frozenset({Outcome.REFUSED, Outcome.NOT_DONE})
_NOT_CERTAIN = (
    "so it is not certain which changes are done; restore the file from a copy, or choose a new file: changes that the "
    "books already show are not sent again"
)
_NOT_SENT = (
    "The books already had {changes} of the plan that no run with this journal sent, or whose lines it lost; "
    "these are not part of it, so they are not undone."
)
_UNDONE = "pass the journal of the run that is to be undone"
_SETTLING_TIME = dt.timedelta(seconds=60)
"""How long after an attempt a change may still be carried out, whatever the response was."""


class JournalContent(NamedTuple):
    """The events of a journal, the hash of the last one, and whether the last line has no end."""

    events: tuple[dict[str, Any], ...] = ()
    last_hash: str = ""
    is_truncated: bool = False

    @property
    def end(self) -> Mapping[str, Any] | None:
        """End line of the last run; None if it was interrupted, or the end of the file is missing."""
        return self.events[-1] if self.events and self.events[-1]["event"] == "end" else None

    @property
    def note(self) -> str | None:
        """What it may lack; None if its last run ended, and found no change that it has not sent."""
        if self.end is None:
            return (
                "The journal has no end line: its run was interrupted, or the end of it is missing, so it may lack "
                "changes."
            )
        not_sent = self.end["not_sent"]
        return _NOT_SENT.format(changes=count_of(not_sent, "change")) if not_sent else None


class Attempts:
    """When each item was sent, and whether it is done, according to the events of a journal.

    An attempt that the service refused does not count: it never changes the books.
    """

    def __init__(self, events: Iterable[Mapping[str, Any]] = ()) -> None:
        self._times: dict[tuple[str, ...], list[dt.datetime]] = {}
        self._states: dict[tuple[str, ...], str] = {}
        for event in events:
            self.add(event)

    def __contains__(self, item: Change) -> bool:
        return bool(self._times.get(item.identity))

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event: an attempt, or the response to the last attempt of an item."""
        identity = _event_identity(event)
        if identity is None:
            return
        self._states[identity] = event.get("outcome", event["event"])
        times = self._times.setdefault(identity, [])
        if event["event"] == "intent":
            times.append(dt.datetime.fromisoformat(event["at"]))
        elif times and event["event"] in _REFUSED:
            times.pop()
        elif times and event["event"] in {"answer", Outcome.UNKNOWN}:
            times[-1] = dt.datetime.fromisoformat(event["at"])

    def has_done(self, item: Change) -> bool:
        """Whether the last event or outcome of an item is that it is done."""
        return self._states.get(item.identity) in _DONE

    def may_change(self, item: Change, read_at: dt.datetime) -> bool:
        """Whether an attempt may still be carried out after the books were read at `read_at`."""
        return any(read_at - time < _SETTLING_TIME for time in self._times.get(item.identity, ()))


class SentChanges(NamedTuple):
    """Changes that the runs of a journal sent, their attempts, and a sentence about what the journal may lack."""

    changes: list[Change]
    attempts: Attempts
    note: str | None


class Journal:
    """A journal that is open for one run: a file, unbuffered and open for appending, after what earlier runs wrote.

    `earlier_attempts` are those of earlier runs, `attempts` also those of this one.
    """

    def __init__(self, file: IO[bytes], path: Path, earlier: JournalContent) -> None:
        self._file = file
        self._hash = earlier.last_hash
        self._separator = b"\n" if earlier.is_truncated else b""
        self.earlier_attempts = Attempts(earlier.events)
        self.attempts = Attempts(earlier.events)
        self.path = path

    def append(self, event: str, item: Change | None = None, **fields: Any) -> None:  # noqa: ANN401 (any JSON value)
        """Append an event; it survives a crash of this program, and after :meth:`sync` a crash of the machine."""
        identity = {} if item is None else dict(zip(IDENTITY, item.identity, strict=True))
        content = {"event": event, "at": dt.datetime.now(dt.UTC).isoformat(), **identity, **fields}
        self._hash = hash_event(content, self._hash)
        line = json.dumps(content | {"hash": self._hash}).encode()
        remaining = memoryview(self._separator + line + b"\n")
        self._separator = b""
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
            journal = Journal(opened, file, earlier)
            if earlier.events:
                journal.append("resumed")
            else:
                journal.append("plan", format=_FORMAT, plan_id=plan_id, instance_id=instance_id, base_url=base_url)
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
    file = to_path(path, "journal")
    _read(file, instance_id=instance_id, missing=_UNDONE)  # a lock would be written beside a file that is missing
    with _lock(file):
        journal = _read(file, instance_id=instance_id, missing=_UNDONE)
    if journal.end is None and not incomplete:
        raise PlanError(
            f"the journal {file} has no end line: its run was interrupted, or the end of the file is missing, so it "
            "may lack changes. Nothing was sent: run it again with this journal to complete it, or undo the changes "
            "that it has with incomplete=True (--incomplete)"
        )
    attempts = Attempts(journal.events)
    intents = {_event_identity(event): event for event in journal.events if event["event"] == "intent"}
    changes = map(_sent_change, intents.values())
    return SentChanges([change for change in changes if change in attempts], attempts, journal.note)


def hash_event(event: Mapping[str, Any], previous: str) -> str:
    """Hash of an event and of the one before it."""
    return hashlib.sha256(f"{previous}{json.dumps(event)}".encode()).hexdigest()[:_HASH_LENGTH]


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


def _read(file: Path, *, instance_id: str, plan_id: str = "", missing: str = "") -> JournalContent:
    """Read a journal of an instance and, where it is given, plan; `missing` is what to do where there is none."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be read: {error.strerror}") from error
    if missing and not content:
        raise PlanError(f"the journal {file} does not exist or is empty; {missing}")
    journal = _parse(content, file)
    header = journal.events[0] if journal.events else {"plan_id": plan_id, "instance_id": instance_id}
    if plan_id not in {"", header.get("plan_id")}:
        raise PlanError(
            f"the journal {file} belongs to another plan ({header.get('plan_id')}), not to {plan_id}; name the journal "
            "of this plan, or a new file for its first run"
        )
    if header.get("instance_id") != instance_id:
        raise PlanError(f"the journal {file} belongs to instance {header.get('instance_id')!r}, not {instance_id!r}")
    return journal


@contextmanager
def _open_for_append(file: Path) -> Iterator[IO[bytes]]:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE_MODE)
    except OSError as error:
        raise PlanError(f"the journal {file} cannot be written: {error.strerror}") from error
    with open(descriptor, "ab", buffering=0) as opened:  # noqa: PTH123 (a descriptor)
        yield opened


def _parse(content: bytes, file: Path) -> JournalContent:
    """Parse the events and check their hashes; only lines truncated by a crash may be invalid."""
    lines = content.split(b"\n")
    parsed = [_parse_event(line) for line in lines]
    if not any(parsed) and content.strip() and not _HEADER_STARTS.startswith(content.strip()[: len(_HEADER_STARTS)]):
        raise PlanError(f"{file} is not a journal of a run; name its journal, or a new file for a first run")
    events: list[dict[str, Any]] = []
    last_hash = ""
    invalid: list[int] = []  # lines since the last event
    for number, (line, event) in enumerate(zip(lines, parsed, strict=True), start=1):
        if event is None:
            invalid += [number] if line.strip() else []
            continue
        if not events and (event["event"], event.get("format")) != ("plan", _FORMAT):
            raise PlanError(f"{file} is not a journal that this version can resume or undo; choose a new file")
        stated, last_hash = event.pop("hash", None), hash_event(event, last_hash)
        if stated != last_hash:
            raise _damaged(file, number, invalid)
        events.append(event)
        invalid = []
    if events and invalid and not lines[-1]:
        raise _damaged(file, invalid[0], invalid)
    return JournalContent(tuple(events), last_hash, is_truncated=bool(lines[-1]))


def _damaged(file: Path, number: int, invalid: Sequence[int]) -> PlanError:
    """Error that names the first line that is damaged."""
    if invalid:
        return PlanError(f"{file}, line {invalid[0]} cannot be read, {_NOT_CERTAIN}")
    return PlanError(
        f"{file}, line {number} was edited, or lines before it were removed: its hash is another one, {_NOT_CERTAIN}"
    )


def _parse_event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # also one nested too deeply
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _sent_change(intent: Mapping[str, Any]) -> Change:
    """Change of an intent."""
    return Change(
        intent["transaction_id"],
        intent["ledger_id"],
        intent["category_ledger_id"],
        intent["updated_category_ledger_id"],
        intent["journal_entry_id"],
        dt.datetime.fromisoformat(intent["datetime"]),
        frozenset(intent["before"]),
        category_ledger_name=intent["category_name"] or "",
        rule=intent["rule"],
        group_id=intent["group_id"],
    )


def _event_identity(event: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Identity of the item of an event; None where it has none."""
    return tuple(event[name] for name in IDENTITY) if all(name in event for name in IDENTITY) else None
