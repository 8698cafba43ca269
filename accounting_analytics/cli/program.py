"""The program: it imports every command, and turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from io import TextIOWrapper
from typing import NoReturn, get_args

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnusedCliTokensError

# Each module declares its commands. The help lists the commands in this order.
# isort: off
from accounting_analytics.cli import deliver, read, local_books, decide_categories, apply, service  # noqa: F401

# isort: on
from accounting_analytics.cli.declarations import app
from accounting_analytics.cli.output import print_message, print_note
from accounting_analytics.core.errors import AccountingAnalyticsError

_DAYS = re.compile(r"[0-9]{4}(-[0-9Hh Qq-]{1,5})?(-[0-9]{2})?")
"""Pattern of words that certainly mean days, and are no secret."""
_SHORT_NUMBER = re.compile(r"[0-9][0-9.,_]*[kKmM]?")
_FAILED, _BAD_INPUT, _KILLED = 1, 2, 5
_LIMITS = {
    errno.EMFILE: "allow more open files, as with ulimit -n 1024",
    errno.ENFILE: "close other programs",
    errno.ENOMEM: "free some memory",
}
"""Advice for errors of the system whose cause is not the file."""


def main() -> NoReturn:
    """Run the command line and exit with its exit code. Errors are printed on stderr."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Run the command of a command line and return its exit code."""
    print_note.cache_clear()  # in a process that runs several commands, each command prints its notes
    try:
        code = _call(words)
        sys.stdout.flush()
    except AccountingAnalyticsError as error:
        print_message("\n  ".join(f"error: {error}".split("\n")))
        return error.exit_code
    except CycloptsError as error:
        print_message(f"error: {_describe(error)} See: {' '.join([app.name[0], *(error.command_chain or ())])} --help")
        return _BAD_INPUT
    except KeyboardInterrupt:
        print_message("stopped")
        return _KILLED
    except _database_errors() as error:
        print_message(f"error: the database failed: {error.orig}; unfinished changes were not written")  # type: ignore[attr-defined]
        return _FAILED
    except BrokenPipeError:  # the reader of the output wants no more, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except ModuleNotFoundError:
        raise
    except (OSError, MemoryError, ImportError) as error:
        print_message(f"error: {_shortage(error)}, and run it again")
        return _FAILED
    return code


def _call(words: list[str]) -> int:
    """Call the command and return its exit code."""
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except SystemExit as ended:
        code = ended.code
    return code if isinstance(code, int) else 0


def _shortage(error: OSError | MemoryError | ImportError) -> str:
    """Say what the machine lacks, and what to do."""
    if not isinstance(error, OSError):
        found = str(error).partition("\n")[0]  # a library cannot be mapped into memory
        return f"there is not enough memory{f' ({found})' if found else ''}; free some"
    if error.errno in _LIMITS:
        return f"{error.strerror}; {_LIMITS[error.errno]}"
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushing stdout at exit would fail again
    problem = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
    return f"{problem}: {error.strerror}; free some space or give another path"


def _describe(error: CycloptsError) -> str:
    """Say what is wrong with a command line, without possible secrets."""
    if isinstance(error, UnusedCliTokensError):
        if days := [text for text in error.unused_tokens or () if _DAYS.fullmatch(text)]:
            return f"{days[0]} is given without an option: write --period {days[0]}; options are written --name VALUE."
        return "There is an argument that the command does not have; options are written --name VALUE."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"{error.argument.name} is missing, or has no value."
    message = str(error)
    if isinstance(error, CoercionError) and error.argument is not None and error.token is not None:
        word = error.token.value
        if error.target_type is int and _SHORT_NUMBER.fullmatch(word):
            return f"{error.argument.name} is {word}; it must be a whole number, written in full, such as 20000."
        choices = [choice for choice in get_args(error.target_type) if isinstance(choice, str)]
        if begun := [choice for choice in choices if choice.startswith(word)]:
            return f'{message.partition(" Did you mean")[0]} Did you mean "{begun[0]}"?'
    return message


def _database_errors() -> tuple[type[Exception], ...]:
    """Return the error types of the embedded service's database.

    There are none if SQLAlchemy was not imported.
    """
    exceptions = sys.modules.get("sqlalchemy.exc")
    return () if exceptions is None else (exceptions.DBAPIError,)
