"""A file that is there whole, or as it was before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from accounting_analytics.errors import InputError


def write_whole(path: Path, text: str) -> Path:
    """Write a text file that everybody may read, whole or not at all; its folder must exist.

    Raises
    ------
    InputError
        It cannot be written; what was there before is still there, and nothing is left beside it.
    """
    beside: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}-", delete=False
        ) as file:
            beside = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(0o644)
        return beside.replace(path)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}; what was there before is still there"
        raise InputError(msg) from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)
