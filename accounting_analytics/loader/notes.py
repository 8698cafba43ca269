"""What a reader of loaded lines must know: what came in oddly, and what did not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accounting_analytics.loader.load_windows import Loaded


def load_notes(loaded: Loaded, repeated: int) -> tuple[str, ...]:
    """Say what came in oddly, and what did not come."""
    return counted(
        (
            sum(one.dusted for one in loaded.windows),
            "amount(s) had float dust, within 1e-6 of the exact value, removed",
        ),
        (
            repeated + sum(one.repeated for one in loaded.windows),
            "line(s) came more than once with the same content and were kept once",
        ),
        (
            len(loaded.missing),
            f"window(s) could not be read, so lines are missing; the first: {loaded.missing[0].error}"
            if loaded.missing
            else "",
        ),
    )


def counted(*said: tuple[int, str]) -> tuple[str, ...]:
    """Write notes on what was counted, without those that count nothing."""
    return tuple(f"{count} {what}." for count, what in said if count)
