"""Where finished windows stay until all of them are read: in memory, or in the folder of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pyarrow as pa

    from accounting_analytics.loader.window_reader import WindowLines
    from accounting_analytics.loader.windows import Window
    from accounting_analytics.periods import Period


@dataclass(frozen=True)
class FinishedWindow:
    """A window that was read to its end, from `read_at` on; `read_table` returns its lines."""

    window: Window
    lines: int
    pages: int
    noise_removed: int
    repeats_removed: int
    newest: dt.datetime | None
    read_table: Callable[[], pa.Table]
    path: Path | None = None
    characters_replaced: int = 0
    read_at: dt.datetime | None = None


class WindowStore(Protocol):
    """Stores finished windows during a load, as a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def finished(self) -> Iterable[FinishedWindow]:
        """Windows that an earlier load finished."""
        ...

    def save(self, lines: WindowLines) -> FinishedWindow:
        """Save a window; when this returns it is as safe as the store can make it."""
        ...

    def discard(self, windows: Iterable[FinishedWindow]) -> None:
        """Remove windows that turned out to be stale."""
        ...

    def is_verified(self, days: Period) -> bool:
        """Whether :meth:`mark_verified` was called for these days and exactly these windows."""
        ...

    def mark_verified(self, days: Period) -> None:
        """Note the days whose lines in these windows are those of one moment."""
        ...

    def recovery_hint(self, *, may_succeed: bool = True) -> str:
        """Which lines are safe after a failure, and how to continue if another load may succeed, for a message."""
        ...


class MemoryWindowStore:
    """Stores windows as tables in memory; nothing survives the load."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""

    def finished(self) -> Iterable[FinishedWindow]:
        """No windows: a new load starts from nothing."""
        return ()

    def save(self, lines: WindowLines) -> FinishedWindow:
        """Keep the table."""
        return FinishedWindow(
            window=lines.window,
            lines=lines.table.num_rows,
            pages=lines.pages,
            noise_removed=lines.noise_removed,
            repeats_removed=lines.repeats_removed,
            characters_replaced=lines.characters_replaced,
            newest=lines.newest,
            read_at=lines.read_at,
            read_table=lambda: lines.table,
        )

    def discard(self, windows: Iterable[FinishedWindow]) -> None:
        """Nothing survives the load anyway."""

    def is_verified(self, days: Period) -> bool:  # noqa: ARG002 (of the protocol)
        """Return False: a new load starts from nothing."""
        return False

    def mark_verified(self, days: Period) -> None:
        """Nothing survives the load anyway."""

    def recovery_hint(self, *, may_succeed: bool = True) -> str:
        """Point at checkpoints: nothing was kept."""
        advice = ": load again (a load with checkpoint=... continues where it failed)" if may_succeed else ""
        return f"nothing was kept{advice}"
