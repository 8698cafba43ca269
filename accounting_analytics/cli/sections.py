"""The program and the sections of its help; commands are declared in a section, and listed in the order of that."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from cyclopts import App, Group, Parameter

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Callable

app = App(
    name="accounting-analytics",
    help="Load, recompute, reconcile and recategorize the books of a Ledger Accounting Service.",
    version=lambda: aa.__version__,
    help_format="plaintext",  # Markdown takes time to load
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command()

READ = Group("Read and check", sort_key=1)
RECATEGORIZE = Group("Recategorize", sort_key=2)
DELIVER = Group("Export and schedule", sort_key=3)
SERVICE = Group("Embedded service", sort_key=4)
_numbers = count()


def command(section: Group, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a command."""
    return app.command(name=name, group=section, sort_key=next(_numbers), help_format="markdown")


def commands(section: Group, name: str, text: str) -> App:
    """Declare a name under which there are several commands."""
    group = App(name=name, help=text, group=section, sort_key=next(_numbers), help_format="markdown")
    app.command(group)
    return group
