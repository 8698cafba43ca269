"""Where finished windows are kept until all are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pyarrow as pa

    from accounting_analytics.loader.query import Window
    from accounting_analytics.loader.window_reader import WindowLines


@dataclass(frozen=True)
class KeptWindow:
    """A finished window: what it holds, and how to get at it."""

    window: Window
    lines: int
    pages: int
    dusted: int
    repeated: int
    newest: dt.datetime | None
    table: Callable[[], pa.Table]
    path: Path | None = None


class Shelf(Protocol):
    """Keeps finished windows, as a context manager that is left when the load is done with them."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def finished(self) -> Iterable[KeptWindow]:
        """Windows that were finished before this load."""
        ...

    def keep(self, lines: WindowLines) -> KeptWindow:
        """Keep a window; when this returns it is as safe as the shelf can make it."""
        ...

    def forget(self, windows: Iterable[KeptWindow]) -> None:
        """Let go of windows that turned out to be stale."""
        ...

    def safe(self) -> str:
        """Say, for a message, what is safe when a load fails, and how to go on."""
        ...


class MemoryShelf:
    """Keeps windows as tables in memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing outlives a load here."""

    def finished(self) -> Iterable[KeptWindow]:
        """Nothing outlives a load here."""
        return ()

    def keep(self, lines: WindowLines) -> KeptWindow:
        """Hold on to the table."""
        return KeptWindow(
            window=lines.window,
            lines=lines.table.num_rows,
            pages=lines.pages,
            dusted=lines.dusted,
            repeated=lines.repeated,
            newest=lines.newest,
            table=lambda: lines.table,
        )

    def forget(self, windows: Iterable[KeptWindow]) -> None:
        """Nothing outlives a load here."""

    def safe(self) -> str:
        """Say that nothing is kept."""
        return "nothing was kept: load again (with checkpoint= what was read is kept and not read again)"
