"""The command that executes a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.connection import notebook_environment
from accounting_analytics.cli.options import AsJson, Output, Profile, UseDemo
from accounting_analytics.cli.output import print_mapping
from accounting_analytics.errors import NotebookParametersError


def run(
    notebook: Annotated[Path, typer.Argument(help="Notebook to execute.", show_default=False)],
    output: Output,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="name=value; may be given several times.")
    ] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds the whole run may take.")] = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Execute a notebook with parameters; keeps the executed notebook and an HTML page with its charts."""
    given = dict(_parameter(text) for text in parameters or ())
    with notebook_environment(profile, use_demo=use_demo) as environment:
        finished = aa.run_notebook(notebook, output, parameters=given, timeout=timeout, environment=environment)
    print_mapping({"notebook": str(finished.notebook), "html": str(finished.html)}, as_json=as_json)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        msg = f"parameter {name!r} must be written as name=value"
        raise NotebookParametersError(msg)
    return name, value
