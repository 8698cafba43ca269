"""Lines of code that connect a client to an instance, in Python or a shell."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from accounting_analytics.core.money import DEFAULT_SCALE
from accounting_analytics.service.database import beside

if TYPE_CHECKING:
    from accounting_analytics.service.database import Store
    from accounting_analytics.service.stored_values import Instance


def connection_lines(store: Store, instance: Instance, base_url: str) -> list[str]:
    """Write the lines of code that connect a client. They contain no token."""
    settings = _settings(store, instance, base_url)
    options = ", ".join(f"{name}={_literal(value)}" for name, value in settings.items())
    lines = [
        "To use it in Python:",
        "  import accounting_analytics as aa",
        f"  client = aa.connect({options})",
        "  books = aa.load_books(client)",
        "or from another terminal:",
        *(
            f"  export ACCOUNTING_ANALYTICS_{name.upper()}={shlex.quote(str(value))}"
            for name, value in settings.items()
        ),
    ]
    if "token_file" not in settings:
        words = ["accounting-analytics", "service", "tokens", "issue", "--database", store.name]
        command = shlex.join([*words, "--instance", instance.id, "--token-file", "FILE"])
        lines.append(f"An access token, whose file is the setting token_file: {command}")
    return lines


def _settings(store: Store, instance: Instance, base_url: str) -> dict[str, str | int]:
    """Return a client's settings. Only the first instance has a token file."""
    settings: dict[str, str | int | None] = {"base_url": base_url, "instance_id": instance.id}
    is_first = store.instances()[0].id == instance.id
    if is_first and store.path and (file := beside(store.path, ".token").absolute()).exists():
        settings["token_file"] = str(file)
    settings |= {"time_zone": instance.localtime, "company": instance.company, "currency": instance.currency}
    settings["scale"] = None if instance.scale == DEFAULT_SCALE else instance.scale
    return {name: value for name, value in settings.items() if value is not None}


def _literal(value: str | int) -> str:
    """Write a value as Python code. Texts are in double quotes if possible."""
    is_plain = isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}
    return f'"{value}"' if is_plain else repr(value)
