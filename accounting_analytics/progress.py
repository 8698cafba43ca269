"""Progress of long work: a bar in a terminal or in JupyterLab, silence in batch."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from tqdm.auto import tqdm

BATCH_VARIABLE = "ACCOUNTING_ANALYTICS_BATCH"
"""Set to 1 where notebooks run unattended."""


def progress_bar(progress: bool | None, **options: Any) -> tqdm[Any]:  # noqa: ANN401, FBT001 (tqdm's own options)
    """Bar of some work; a silent one unless `progress` is True, or None and somebody is watching."""
    from tqdm.auto import tqdm  # noqa: PLC0415 (imports asyncio, and most loads are watched by nobody)

    return tqdm(disable=not _watched(progress), leave=False, **options)


def _watched(progress: bool | None) -> bool:  # noqa: FBT001 (as in the public functions)
    """Whether a bar is wanted, or there is a terminal, or a notebook that is not run in batch."""
    if progress is not None:
        return progress
    if os.environ.get(BATCH_VARIABLE) == "1":
        return False
    if sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")  # a notebook has imported it, and it takes a while
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Quota(Protocol):
    """What is left of a rate limit; None where the service does not tell."""

    @property
    def remaining(self) -> int | None:
        """Requests left."""
        ...


class Metered(Protocol):
    """A client that knows its quota."""

    @property
    def quota(self) -> Quota:
        """What the service last said of it."""
        ...


class LoadProgress:
    """Lines read so far, lines a second, the time left, and the quota that is left where the service tells it.

    Parameters
    ----------
    progress : bool, optional
        Show a bar; None shows one where somebody is watching.
    client : Metered
        The client that reads.
    """

    def __init__(self, progress: bool | None, client: Metered) -> None:  # noqa: FBT001 (as in the public functions)
        self._bar: tqdm[Any] | None = None
        if _watched(progress):
            self._bar = progress_bar(progress=True, desc="line entries", unit=" lines", unit_scale=True)
        self._client = client
        self._expected = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def total(self) -> float | None:
        """Lines to expect in all, read or not; None where nothing is known yet, or nobody is watching."""
        return None if self._bar is None else self._bar.total

    def already(self, lines: int) -> None:
        """Show lines that were there before."""
        self.read(lines)

    def expect(self, lines: float) -> None:
        """Show that so many more lines are to come; from any thread."""
        if self._bar is None:
            return
        with self._lock:
            self._expected += lines
            self._bar.total = max(self._expected, self._bar.n)

    def read(self, lines: int, expected: float = 0) -> None:
        """Show lines that were read, and how many of those to come they were."""
        if self._bar is None:
            return
        left = self._client.quota.remaining
        with self._lock:
            self._expected += lines - expected
            if self._bar.total is not None:
                self._bar.total = max(self._expected, self._bar.n + lines)
            if left is not None:
                self._bar.set_postfix_str(f"quota left {left}", refresh=False)
            self._bar.update(lines)
