"""Progress of long work: a bar in a terminal or in JupyterLab, silence in batch."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol, Self

from IPython import get_ipython
from tqdm.auto import tqdm

BATCH_VARIABLE = "ACCOUNTING_ANALYTICS_BATCH"
"""Set to 1 where notebooks run unattended."""


def progress_bar(progress: bool | None, **options: Any) -> tqdm[Any]:  # noqa: ANN401, FBT001 (tqdm's own options)
    """Bar of some work; a silent one unless `progress` is True, or None and somebody is watching."""
    return tqdm(disable=not (_watched() if progress is None else progress), leave=False, **options)


def _watched() -> bool:
    """Whether there is a terminal, or a notebook that is not run in batch."""
    if os.environ.get(BATCH_VARIABLE) == "1":
        return False
    return sys.stderr.isatty() or hasattr(get_ipython(), "kernel")


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
    """Lines read so far, lines a second, and the quota that is left where the service tells it.

    Parameters
    ----------
    progress : bool, optional
        Show a bar; None shows one where somebody is watching.
    client : Metered
        The client that reads.
    """

    def __init__(self, progress: bool | None, client: Metered) -> None:  # noqa: FBT001 (as in the public functions)
        self._bar = progress_bar(progress, desc="line entries", unit=" lines", unit_scale=True)
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def already(self, lines: int) -> None:
        """Show lines that were there before."""
        self._bar.update(lines)

    def expect(self, lines: int) -> None:
        """Show how many lines are expected in all, so that the bar can tell the time left."""
        self._bar.total = max(lines, self._bar.n)

    def read(self, lines: int) -> None:
        """Show lines that were read."""
        left = self._client.quota.remaining
        if left is not None:
            self._bar.set_postfix_str(f"quota left {left}", refresh=False)
        self._bar.update(lines)
