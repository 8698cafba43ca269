"""Settings that keep DuckDB from downloading, and escaped names of files."""

from __future__ import annotations

import re

WITHOUT_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Settings of a connection that never downloads anything."""
_PATTERN = re.compile(r"[*?\[]")


def exact_name(file: str) -> str:
    """Escape a file name so that DuckDB does not read it as a pattern."""
    return _PATTERN.sub(r"[\g<0>]", file)
