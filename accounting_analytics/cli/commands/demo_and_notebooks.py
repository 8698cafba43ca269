"""The commands ``demo``, ``run`` and ``notebooks``: the demo company, notebooks as jobs, and copies of the examples."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import (
    AsJson,
    LocalBooks,
    Output,
    Profile,
    UseDemo,
)
from accounting_analytics.cli.output import print_mapping, print_message
from accounting_analytics.cli.service_or_demo import notebook_environment
from accounting_analytics.errors import NotebookParametersError

_ALLOW_EMPTY = "allow_empty"


def run(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="Notebook to execute.", show_default=False)],
    output: Output,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the notebook; repeatable."),
    ] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Time limit of the whole run, in seconds.")] = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Accept a period without line entries: sets the parameter allow_empty."),
    ] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Execute a notebook with parameters.

    Parameters have the types that the notebook declares: for strict = True, -p strict=false is False, and 'maybe' is
    refused; for a text, 00123 stays 00123.

    The executed notebook and an HTML page with its charts are saved under the name of the notebook, followed by the
    period if its parameters are start_date and end_date: report_2026-05-01_2026-05-31.html. The files of a failed run
    end in .failed.html and .failed.ipynb; those of an earlier run of the same name then end in .previous.html and
    .previous.ipynb. A notebook may refuse a period without line entries (exit code 3), as scheduled_report does.
    """
    from accounting_analytics.notebook_jobs.notebook_parameters import parse_parameters

    texts = dict(_split_parameter(text) for text in parameters or ())
    if allow_empty:
        texts[_ALLOW_EMPTY] = "true"
    with notebook_environment(profile, use_demo=use_demo, books=books) as environment:
        values = parse_parameters(notebook, texts, {**os.environ, **environment})
        finished = aa.run_notebook(notebook, output, parameters=values, timeout=timeout, environment=environment)
    print_mapping({"notebook": str(finished.notebook), "html": str(finished.html)}, as_json=as_json)


def _split_parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise NotebookParametersError(f"parameter {name!r} must be written as name=value")
    return name, value


notebooks = typer.Typer(help="Copies of the example notebooks.")


@notebooks.command("copy")
def copy(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to copy to; created if missing.", show_default=False)
    ],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace files that differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the example notebooks and the files they read to a folder.

    Nothing is copied if a file in the folder has other content, unless --force is given.
    """
    from accounting_analytics.notebook_jobs.example_notebooks import copy_notebooks

    result = copy_notebooks(folder, force=force)
    print_mapping({"copied": result.copied, "unchanged": result.unchanged}, as_json=as_json)
    quoted = shlex.quote(str(result.folder))
    print_message(f"next: jupyter lab {quoted}")
    print_message(f"or, connected to the demo company: cd {quoted} && accounting-analytics demo --lab")


def demo(
    output: Output = Path("demo-output"),
    *,
    lab: Annotated[
        bool, typer.Option("--lab", help="Open JupyterLab on the notebooks, connected to the demo company.")
    ] = False,
) -> None:
    """Run the whole workflow on a small company.

    Load, certify, reconcile and export its books, and make the pack of the last month.
    """
    from accounting_analytics.demo_company import open_lab, run_demo

    if lab:
        raise typer.Exit(open_lab())
    run_demo(output, echo=typer.echo)
