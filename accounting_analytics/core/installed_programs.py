"""Installed programs that the package runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SECONDS = 300


def find_program(name: str) -> str | None:
    """Find a program in the environment of this Python, or on the path."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def lists_fonts() -> bool:
    """Return whether the fonts of this machine can be listed."""
    return shutil.which("fc-list") is not None


def letters_without_font(text: str) -> str:
    """Return the letters that no font has, or "" if the fonts are not known."""
    program = shutil.which("fc-list")
    wanted = {letter for letter in text if not letter.isascii() and unicodedata.category(letter)[0] in "LNPS"}
    if program is None or not wanted:
        return ""
    listed = run_program([program, "--format", "%{charset} "], folder=os.curdir, environment={}, advice="")
    covered: set[int] = set()
    for letters in set(listed.stdout.split()):
        first, _, last = letters.partition("-")
        covered.update(range(int(first, 16), int(last or first, 16) + 1))
    return "".join(sorted(letter for letter in wanted if covered and ord(letter) not in covered))


def run_program(
    command: Sequence[str], *, folder: str, environment: Mapping[str, str], advice: str
) -> subprocess.CompletedProcess[str]:
    """Run a program without a shell or input. The message of a failure ends with `advice`."""
    try:
        return subprocess.run(  # noqa: S603 (an installed program, without a shell)
            command,
            capture_output=True,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        name = Path(command[0]).name
        raise InputError(f"{name} needed more than {_SECONDS} seconds; ask about a shorter period") from None
    except OSError as error:
        raise InputError(f"{command[0]} cannot be run: {error.strerror}; {advice}") from error
