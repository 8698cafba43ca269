"""Checks of the arguments of public functions, with a message for a wrong value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def require_type(value: object, kind: type | tuple[type, ...], name: str, hint: str) -> None:
    """Refuse an argument of another type. The message ends with `hint`."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(expected_type.__name__ for expected_type in kinds)
        given = type(value)
        library = f"{given.__module__.partition('.')[0]}." if given.__name__ in expected else ""
        raise InputError(f"{name} is of type {library}{given.__name__}, not {expected}; {hint}")


def to_texts(value: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one text or several as a tuple. None becomes an empty tuple."""
    return (value,) if isinstance(value, str) else tuple(() if value is None else value)


def to_path(value: str | Path, name: str) -> Path:
    """Return a path. Refuse a NUL character, which no system allows."""
    require_type(value, (str, Path), name, "pass the path of a file or folder")
    if "\0" in str(value):
        raise InputError(
            f"{name} {str(value)!r} contains a NUL character, so it is not a path; nothing was read or written"
        )
    return Path(value)
