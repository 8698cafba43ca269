"""The program: every command by its name, and the exit code and message of every error."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError

import accounting_analytics as aa
from accounting_analytics.cli import apply, books, deliver, plan, read, service
from accounting_analytics.cli.output import print_message, print_note
from accounting_analytics.errors import AccountingAnalyticsError

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILED, _BAD_INPUT, _KILLED = 1, 2, 5
_SECTIONS: dict[str, dict[str, Callable[..., int | None] | App]] = {
    "Read and check": {
        "demo": deliver.demo,
        "discover": read.discover,
        "report": read.report,
        "statements": read.statements,
        "register": read.register,
        "bridge": read.bridge,
        "reconcile": read.reconcile,
        "sync": books.sync,
        "books": books.books,
        "doctor": read.doctor,
    },
    "Recategorize": {
        "queue": plan.queue,
        "propose": plan.propose,
        "plan": plan.plan,
        "preview": plan.preview,
        "apply": apply.apply,
        "verify": apply.verify,
        "undo": apply.undo,
        "categorize": apply.categorize,
        "rules": plan.rules,
    },
    "Export and schedule": {
        "export": deliver.export,
        "verify-export": deliver.verify_export,
        "pack": deliver.pack,
        "verify-pack": deliver.verify_pack,
        "run": deliver.run,
        "notebooks": deliver.notebooks,
        "config": read.config,
    },
    "Embedded service": {
        "serve": service.serve,
        "import": service.import_books,
        "backup": service.backup,
        "restore": service.restore,
        "instances": service.instances,
        "ledgers": service.ledgers,
        "audit": service.audit,
        "tokens": service.tokens,
    },
}

app = App(
    name="accounting-analytics",
    help="Load, recompute, reconcile and recategorize the books of a Ledger Accounting Service.",
    version=lambda: aa.__version__,
    help_format="plaintext",
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command()
for _place, (_title, _commands) in enumerate(_SECTIONS.items()):
    _group = Group(_title, sort_key=_place)
    for _number, (_name, _command) in enumerate(_commands.items()):
        if isinstance(_command, App):
            _command.group, _command.sort_key = _group, _number
            app.command(_command)
        else:
            app.command(_command, name=_name, group=_group, sort_key=_number, help_format="markdown")


def main() -> NoReturn:
    """Run the command line; every error of the package is a message on stderr and its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Run the command of a command line and return its exit code."""
    print_note.cache_clear()  # in a process that runs several commands each prints its notes
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
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushing it at exit would fail again
        problem = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        print_message(f"error: {problem}: {error.strerror}; free some space or give another path, and run it again")
        return _FAILED
    return code


def _call(words: list[str]) -> int:
    """Call the command; the exit code is what it returns, or ends with."""
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except SystemExit as ended:
        code = ended.code
    return code if isinstance(code, int) else 0


def _describe(error: CycloptsError) -> str:
    """Say what is wrong with a command line, without repeating what may be a secret."""
    if isinstance(error, UnusedCliTokensError):
        return "There is an argument that the command does not have; options are written --name VALUE."
    return str(error)


def _database_errors() -> tuple[type[Exception], ...]:
    """Errors of the embedded service's database; none where SQLAlchemy was never imported."""
    exceptions = sys.modules.get("sqlalchemy.exc")
    return () if exceptions is None else (exceptions.DBAPIError,)
