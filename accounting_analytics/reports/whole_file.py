"""A text file that is there whole, or as it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.durable import replace_file
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, text: str) -> Path:
    """Write a text file whole or not at all; its folder must exist.

    Raises
    ------
    InputError
        It cannot be written; what was there before is still there, and nothing is left beside it.
    """
    try:
        replace_file(path, lambda file: file.write(text.encode()))
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}; what was there before is still there"
        raise InputError(msg) from error
    return path
