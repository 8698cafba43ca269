"""Progress bars in a terminal or in JupyterLab; none in batch runs."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from tqdm import tqdm

BATCH_VARIABLE = "ACCOUNTING_ANALYTICS_BATCH"
"""Environment variable that is 1 if notebooks run unattended."""


def progress_bar(progress: bool | None, **options: Any) -> tqdm[Any]:  # noqa: ANN401, FBT001 (tqdm's own options)
    """Create a bar that disappears at its end, and that batch runs do not show."""
    from tqdm import tqdm  # noqa: PLC0415 (most loads show no bar)

    is_visible = _is_visible(progress)
    file = _NotebookLine() if is_visible and _in_kernel() else None
    return tqdm(disable=not is_visible, leave=False, file=file, **options)


class _NotebookLine:
    """A text line below a cell, removed when it is blank.

    A saved notebook shows a widget as "Error displaying widget: model not found", and stderr as a red bar.
    """

    def __init__(self) -> None:
        self._display_id: str | None = None

    def write(self, text: str) -> None:
        """Replace the text line."""
        from IPython.display import display, update_display  # noqa: PLC0415 (imported in a notebook already)

        line = text.strip()
        content = {"text/plain": line} if line else {}
        if self._display_id is not None:
            update_display(content, display_id=self._display_id, raw=True)
        elif line:
            self._display_id = uuid.uuid4().hex
            display(content, display_id=self._display_id, raw=True)

    def flush(self) -> None:
        """Do nothing, because a text line is shown as soon as it is written."""


def _is_visible(progress: bool | None) -> bool:  # noqa: FBT001 (as in the public functions)
    """Return whether to show a bar.

    Without a request, bars are shown only outside of batch runs.
    """
    if progress is not None:
        return progress
    return is_interactive_kernel() or (sys.stderr.isatty() and not _is_batch())


def is_interactive_kernel() -> bool:
    """Return whether this kernel serves a person."""
    return _in_kernel() and not _is_batch()


def _in_kernel() -> bool:
    ipython = sys.modules.get("IPython")  # slow to import, and already imported in a notebook
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _is_batch() -> bool:
    return os.environ.get(BATCH_VARIABLE) == "1"


def show_notice(text: str) -> None:
    """Write a text line to stderr above the bar, but not in batch runs."""
    if _is_visible(None):
        from tqdm import tqdm  # noqa: PLC0415 (most calls show nothing)

        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


class LoadProgress:
    """Progress bar of a load: lines, speed, time left, and quota if known."""

    def __init__(
        self,
        progress: bool | None,  # noqa: FBT001 (as in the public functions)
        remaining: Callable[[], int | None],
    ) -> None:
        self._bar: tqdm[Any] | None = None
        if _is_visible(progress):
            self._bar = progress_bar(progress=True, desc="line entries", unit=" lines", unit_scale=True)
        self._remaining = remaining
        self._expected = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def total(self) -> float | None:
        """Expected number of line entries, including those already read, or None if unknown or hidden."""
        return None if self._bar is None else self._bar.total

    def expect(self, lines: float) -> None:
        """Add line entries to the expected number. Any thread may call this."""
        if self._bar is None:
            return
        with self._lock:
            self._expected += lines
            self._bar.total = max(self._expected, self._bar.n)

    def update(self, lines: int, expected: float = 0) -> None:
        """Add line entries that were read. :meth:`expect` has counted `expected` of them."""
        if self._bar is None:
            return
        remaining = self._remaining()
        with self._lock:
            self._expected += lines - expected
            if self._bar.total is not None:
                self._bar.total = max(self._expected, self._bar.n + lines)
            if remaining is not None:
                self._bar.set_postfix_str(f"quota left {remaining}", refresh=False)
            self._bar.update(lines)
