"""The program, the sections of its help, and the declaration of its commands."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from cyclopts import App, Group, Parameter

import accounting_analytics as aa

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


def commands(section: Group, name: str, text: str, *, of: App = app) -> App:
    """Declare a name with several commands below it, such as ``rules``."""
    group = App(name=name, help=text, group=section, sort_key=next(_numbers), help_format="markdown")
    of.command(group)
    return group
