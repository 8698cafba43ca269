"""Arguments of public functions: one that cannot be used is refused with a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def require_type(value: object, kind: type | tuple[type, ...], name: str, hint: str) -> None:
    """Refuse an argument of another type; the message ends in a hint, such as the function that returns one."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(one.__name__ for one in kinds)
        given = type(value)
        library = f"{given.__module__.partition('.')[0]}." if given.__name__ in expected else ""
        raise InputError(f"{name} is of type {library}{given.__name__}, not {expected}; {hint}")


def to_texts(value: str | Iterable[str] | None) -> tuple[str, ...]:
    """Texts of an argument that is one text or several; empty for None."""
    return (value,) if isinstance(value, str) else tuple(() if value is None else value)


def to_path(value: str | Path, name: str) -> Path:
    """Path of a file or folder; a NUL character, which no system allows in a path, is refused."""
    require_type(value, (str, Path), name, "pass the path of a file or folder")
    if "\0" in str(value):
        raise InputError(
            f"{name} {str(value)!r} contains a NUL character, so it is not a path; nothing was read or written"
        )
    return Path(value)
