"""The program: every command by its name, and what an error becomes."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import typer

from accounting_analytics.cli import (
    administration,
    cash_flow,
    categorization,
    configuration,
    diagnosis,
    embedded_service,
    export,
    notebook,
    recategorization,
    reconciliation,
)
from accounting_analytics.cli.output import say
from accounting_analytics.errors import AccountingAnalyticsError

if TYPE_CHECKING:
    from collections.abc import Callable

_KILLED = 5
_INTERRUPTED = 128 + signal.SIGINT

_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": embedded_service.demo,
    "serve": embedded_service.serve,
    "import": embedded_service.import_,
    "discover": cash_flow.discover,
    "report": cash_flow.report,
    "reconcile": reconciliation.reconcile,
    "queue": categorization.queue,
    "propose": categorization.propose,
    "plan": categorization.plan,
    "preview": recategorization.preview,
    "apply": recategorization.apply,
    "verify": recategorization.verify,
    "export": export.export,
    "run": notebook.run,
    "doctor": diagnosis.doctor,
}
_GROUPS = {
    "config": configuration.config,
    "instances": administration.instances,
    "tokens": administration.tokens,
    "clients": administration.clients,
}

app = typer.Typer(
    name="accounting-analytics",
    help="Load, recompute, reconcile and recategorize the books of a Ledger Accounting Service.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name)


def main() -> NoReturn:
    """Run the command line; every error of the package is one line and its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    atexit.register(gc.freeze)  # the process ends: looking for garbage in pandas takes longer than many a command
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 (typer made a code of it)
        sys.stdout.flush()
    except AccountingAnalyticsError as error:
        say(f"error: {error}")
        code = error.exit_code
    except typer.TyperException as error:
        if message := error.format_message():  # none where the help was shown instead
            ended = message if message.endswith((".", "?")) else f"{message}."
            say(f"error: {ended} See: accounting-analytics{_asked(error)} --help")
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        code = _KILLED
    except _database_failures() as error:
        say(f"error: the database failed: {error.orig}; what was not finished was not written")  # type: ignore[attr-defined]
        code = 1
    except OSError as error:
        _give_up_stdout()
        problem = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        say(f"error: {problem}: {error.strerror}; make room, or name another place, and run it again")
        code = 1
    sys.exit(code)


def _asked(error: typer.TyperException) -> str:
    """Command that an error is about, as it is typed after the program's name."""
    context = getattr(error, "ctx", None)
    return context.command_path.removeprefix(context.find_root().command_path) if context else ""


def _give_up_stdout() -> None:
    """Print nothing more: what is still in the buffer would fail again when the interpreter ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _database_failures() -> tuple[type[Exception], ...]:
    """Errors of the database under the embedded service; none are possible where it was never used."""
    exceptions = sys.modules.get("sqlalchemy.exc")
    return () if exceptions is None else (exceptions.DBAPIError,)
