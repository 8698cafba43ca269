"""The program: every command by its name, and the exit code and message of every error."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from accounting_analytics.cli.commands import (
    access_and_audit,
    apply_and_undo,
    apply_exact_rules,
    books,
    bridge,
    demo_and_notebooks,
    doctor_and_config,
    export_and_verify,
    import_and_backup,
    instances,
    ledgers_and_report,
    pack,
    preview,
    propose_and_plan,
    queue,
    reconcile,
    rules,
    serve,
    statements,
    sync,
    verify,
    verify_pack,
)
from accounting_analytics.cli.options import Version
from accounting_analytics.cli.output import print_message, print_note
from accounting_analytics.errors import AccountingAnalyticsError
from accounting_analytics.messages import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILED, _KILLED = 1, 5
_WRONG_CHOICE, _QUOTED = re.compile("'([^']*)' is not one of (.*)"), re.compile("'([^']*)'")
_INTERRUPTED = 128 + signal.SIGINT

_SECTIONS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Read and check": {
        "demo": demo_and_notebooks.demo,
        "discover": ledgers_and_report.discover,
        "report": ledgers_and_report.report,
        "statements": statements.statements,
        "register": statements.register,
        "bridge": bridge.bridge,
        "reconcile": reconcile.reconcile,
        "sync": sync.sync,
        "books": books.books,
        "doctor": doctor_and_config.doctor,
    },
    "Recategorize": {
        "queue": queue.queue,
        "propose": propose_and_plan.propose,
        "plan": propose_and_plan.plan,
        "preview": preview.preview,
        "apply": apply_and_undo.apply,
        "verify": verify.verify,
        "undo": apply_and_undo.undo,
        "categorize": apply_exact_rules.categorize,
        "rules": rules.rules,
    },
    "Export and schedule": {
        "export": export_and_verify.export,
        "verify-export": export_and_verify.verify_export,
        "pack": pack.pack,
        "verify-pack": verify_pack.verify_pack,
        "run": demo_and_notebooks.run,
        "notebooks": demo_and_notebooks.notebooks,
        "config": doctor_and_config.config,
    },
    "Embedded service": {
        "serve": serve.serve,
        "import": import_and_backup.import_books,
        "backup": import_and_backup.backup,
        "restore": import_and_backup.restore,
        "instances": instances.instances,
        "ledgers": instances.ledgers,
        "audit": access_and_audit.audit,
        "tokens": access_and_audit.tokens,
    },
}


class _Sections(TyperGroup):
    """The program, whose help lists the commands in their sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 (as in typer, which hides its types)
        """Write a list of commands for each section."""
        width = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for section, commands in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in commands])


app = typer.Typer(
    cls=_Sections,
    name="accounting-analytics",
    help="Load, recompute, reconcile and recategorize the books of a Ledger Accounting Service.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: tables of options cut long names, and take twice the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _commands in _SECTIONS.values():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name)
        else:
            app.command(_name)(_command)


@app.callback()
def program(*, version: Version = False) -> None:  # noqa: ARG001 (it is printed when it is parsed)
    """Options of the program itself."""
    print_note.cache_clear()  # in a process that runs several commands each prints its notes


_PROGRAM = typer.main.get_command(app)


def main() -> NoReturn:
    """Run the command line; every error of the package is a message on stderr and its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _prepare_stdout()
    sys.exit(_run())


def _prepare_stdout() -> None:
    """Accept any text on stdout, whatever its encoding, and also where it is closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the program ends)
    codecs.register_error("escape_as_json", _escape_as_json)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="escape_as_json")


def _escape_as_json(error: UnicodeError) -> tuple[str, int]:
    """Escape characters that an encoding does not have: JSON stays the same, and tables readable."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _run() -> int:
    """Run the command of the command line and return its exit code."""
    try:
        code = _PROGRAM(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 (typer turned Ctrl-C into an exit code)
        sys.stdout.flush()
    except AccountingAnalyticsError as error:
        _print_error(error)
        return error.exit_code
    except typer.TyperException as error:
        _print_usage_error(error)
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print_message("stopped")
        return _KILLED
    except _database_errors() as error:
        print_message(f"error: the database failed: {error.orig}; unfinished changes were not written")  # type: ignore[attr-defined]
        return _FAILED
    except OSError as error:
        _discard_stdout()
        problem = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        print_message(f"error: {problem}: {error.strerror}; free some space or give another path, and run it again")
        return _FAILED
    return int(code)


def _print_error(error: AccountingAnalyticsError) -> None:
    """Print an error; the lines of a list of problems are indented below the first."""
    first, *problems = str(error).split("\n")
    print_message(f"error: {first}")
    for problem in problems:
        print_message(f"  {problem}")


def _print_usage_error(error: typer.TyperException) -> None:
    """Print what is wrong with the command line and which help to read."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None and message == context.get_help():  # a group without a command
        typer.echo(message)
        return
    message = " ".join(message.split())  # choices are on lines of their own
    message = message.replace(": Value error, ", ": ")  # which pydantic writes before a wrong choice
    wrong = _WRONG_CHOICE.search(message)
    question = did_you_mean(wrong[1], _QUOTED.findall(wrong[2])) if wrong else ""
    message = f"{message.removesuffix('.')}; {question}" if question else message
    sentence = message if message.endswith((".", "?")) else f"{message}."
    print_message(f"error: {sentence} See: accounting-analytics{_command_path(error)} --help")


def _command_path(error: typer.TyperException) -> str:
    """Command that an error is about, as it is typed after the program's name."""
    context = getattr(error, "ctx", None)
    return context.command_path.removeprefix(context.find_root().command_path) if context else ""


def _discard_stdout() -> None:
    """Discard buffered output: flushing it at exit would fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _database_errors() -> tuple[type[Exception], ...]:
    """Errors of the embedded service's database; none where SQLAlchemy was never imported."""
    exceptions = sys.modules.get("sqlalchemy.exc")
    return () if exceptions is None else (exceptions.DBAPIError,)
