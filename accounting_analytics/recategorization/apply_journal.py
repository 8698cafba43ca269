"""The journal of a run: what was intended, before it is sent, and what came back. It outlives the run.

JSON lines, appended only. The first names the plan and the instance; a ``resumed`` line begins every further run. An
``intent`` is on the disk before its change is sent and says what the categories were, so that a run can be gone on
with, and taken back, from the journal alone.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from accounting_analytics.atomic_files import sync_folder
from accounting_analytics.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.recategorization.plan import PlanItem

_FORMAT = 1
_HEADER_STARTS = b'{"event": "plan"'
_DONE = frozenset({"answer", "done", "already_done"})
_IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")


class Journal:
    """A journal that is open for one run.

    Parameters
    ----------
    file : binary file
        Unbuffered and open for appending.
    path : Path
        Its name, for messages.
    done : set of tuple
        Items that earlier runs carried out.
    """

    def __init__(self, file: IO[bytes], path: Path, done: set[tuple[str, ...]]) -> None:
        self._file = file
        self._done = done
        self.path = path

    def has_done(self, item: PlanItem) -> bool:
        """Whether an earlier run with this journal carried the item out."""
        return item[: len(_IDENTITY)] in self._done

    def note(self, event: str, item: PlanItem | None = None, **facts: Any) -> None:  # noqa: ANN401 (whatever JSON holds)
        """Append an event; it survives a crash of this program, and of the machine after :meth:`keep`.

        Raises
        ------
        PlanError
            It cannot be written; nothing more may be sent.
        """
        about = {} if item is None else dict(zip(_IDENTITY, item, strict=False))
        line = json.dumps({"event": event, "at": dt.datetime.now(dt.UTC).isoformat(), **about, **facts})
        waiting = memoryview(line.encode() + b"\n")
        try:
            while waiting:
                waiting = waiting[self._file.write(waiting) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def keep(self) -> None:
        """Bring what was noted onto the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> PlanError:
        return PlanError(
            f"the journal {self.path} cannot be written ({error.strerror}); the run stopped before the next change: "
            "make room and run again with the same journal"
        )


@contextmanager
def open_journal(path: str | Path, plan_id: str, *, instance_id: str, base_url: str) -> Iterator[Journal]:
    """Open the journal of a plan for one run, new or to go on with.

    Raises
    ------
    PlanError
        The journal belongs to another plan or instance or is no journal, another run has it open, or it cannot be
        written.
    """
    file = Path(path)
    with _locked(file):
        content = _content(file)
        events = _events(content, file)
        _require_same(events, file, plan_id=plan_id, instance_id=instance_id)
        with _appending(file) as opened:
            journal = Journal(opened, file, _done(events))
            if content and not content.endswith(b"\n"):
                opened.write(b"\n")  # a crash cut this line short; the next one stands alone
            if events:
                journal.note("resumed")
            else:
                journal.note("plan", format=_FORMAT, plan_id=plan_id, instance_id=instance_id, base_url=base_url)
            journal.keep()
            sync_folder(file.parent)
            yield journal


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    lock = FileLock(f"{file}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        msg = f"another run has the journal {file} open; wait for it to end"
        raise PlanError(msg) from None
    except OSError as error:
        msg = f"the journal {file} cannot be written: {error.strerror}"
        raise PlanError(msg) from error
    try:
        yield
    finally:
        lock.release()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        msg = f"the journal {file} cannot be read: {error.strerror}"
        raise PlanError(msg) from error


@contextmanager
def _appending(file: Path) -> Iterator[IO[bytes]]:
    try:
        opened = file.open("ab", buffering=0)
    except OSError as error:
        msg = f"the journal {file} cannot be written: {error.strerror}"
        raise PlanError(msg) from error
    with opened:
        yield opened


def _events(content: bytes, file: Path) -> list[dict[str, Any]]:
    """Events of a journal; unreadable may be only what a crash cut short: the last line, or one before a resumption."""
    lines = content.split(b"\n")
    events = [_event(line) for line in lines]
    known = [event for event in events if event is not None]
    if not known:
        if content.strip() and not _HEADER_STARTS.startswith(content.strip()[: len(_HEADER_STARTS)]):
            msg = f"{file} is not a journal; name a new file"
            raise PlanError(msg)
        return []  # new, or cut short before anything was sent
    for number, (line, event) in enumerate(zip(lines, events, strict=True), start=1):
        following = events[number] if number < len(events) else {"event": "resumed"}
        if line.strip() and event is None and (following is None or following["event"] not in {"resumed", "plan"}):
            msg = (
                f"{file}, line {number} cannot be read, so what was done is not certain; name a new file: what is done "
                "will be seen in the books and not sent again"
            )
            raise PlanError(msg)
    return known


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _require_same(events: list[dict[str, Any]], file: Path, *, plan_id: str, instance_id: str) -> None:
    if not events:
        return
    header = events[0]
    if header["event"] != "plan" or header.get("format") != _FORMAT:
        msg = f"{file} is not a journal that this version can go on with; name a new file"
        raise PlanError(msg)
    if header.get("plan_id") != plan_id:
        msg = f"the journal {file} belongs to another plan ({header.get('plan_id')}); name a new file for this one"
        raise PlanError(msg)
    if header.get("instance_id") != instance_id:
        msg = f"the journal {file} belongs to instance {header.get('instance_id')!r}, not {instance_id!r}"
        raise PlanError(msg)


def _done(events: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Items whose last word in the journal is that they are done."""
    last = {
        tuple(str(event[name]) for name in _IDENTITY): event.get("outcome", event["event"])
        for event in events
        if all(name in event for name in _IDENTITY)
    }
    return {identity for identity, word in last.items() if word in _DONE}
