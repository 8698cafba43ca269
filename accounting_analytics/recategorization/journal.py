"""The journal of a run: what was intended, before it is sent, and what came back. It outlives the run."""

from __future__ import annotations

import datetime as dt
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from accounting_analytics.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMAT = 1


class Journal:
    """An append-only file of JSON lines; a line is on the disk before :meth:`note` returns."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self._file = file
        self._path = path

    def note(self, event: str, **facts: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
        """Append an event durably; if that fails, nothing more may be sent."""
        line = json.dumps({"event": event, "at": dt.datetime.now(dt.UTC).isoformat(), **facts})
        try:
            self._file.write(line + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            msg = (
                f"the journal {self._path} cannot be written ({error.strerror}); the run stopped before the next "
                "change: make room and run again with the same journal"
            )
            raise PlanError(msg) from error


@contextmanager
def open_journal(path: str | Path, plan_id: str) -> Iterator[Journal]:
    """Open the journal of a plan for one run, new or to go on with.

    Raises
    ------
    PlanError
        The journal belongs to another plan or is no journal, another run has it open, or it cannot be written.
    """
    file = Path(path)
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
        events = _events(file)
        if events and events[0].get("plan_id") != plan_id:
            msg = (
                f"the journal {file} belongs to another plan ({events[0].get('plan_id')}); name a new file for this one"
            )
            raise PlanError(msg)
        with _appending(file) as opened:
            journal = Journal(opened, file)
            if not events:
                journal.note("plan", plan_id=plan_id, format=_FORMAT)
            yield journal
    finally:
        lock.release()


def _appending(file: Path) -> IO[str]:
    """Open for appending; a line that a crash cut short is ended, so that the next one stands alone."""
    try:
        opened = file.open("a+", encoding="utf-8")
        if opened.tell():
            opened.seek(opened.tell() - 1)
            if opened.read(1) != "\n":
                opened.write("\n")
    except OSError as error:
        msg = f"the journal {file} cannot be written: {error.strerror}"
        raise PlanError(msg) from error
    return opened


def _events(file: Path) -> list[dict[str, Any]]:
    """Events of a journal; only a line that a crash cut short may be unreadable."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"the journal {file} cannot be read: {error.strerror}"
        raise PlanError(msg) from error
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    if lines and not events:
        msg = f"{file} is not a journal; name a new file"
        raise PlanError(msg)
    return events
