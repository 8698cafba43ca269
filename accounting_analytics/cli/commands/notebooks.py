"""The commands ``run`` and ``notebooks``: a notebook as a job, and copies of the example notebooks."""

from __future__ import annotations

import shlex

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import (
    AllowEmpty,
    AsJson,
    Force,
    Notebook,
    NotebooksFolder,
    Output,
    Parameters,
    Profile,
    Timeout,
    UseDemo,
)
from accounting_analytics.cli.output import print_mapping, print_message
from accounting_analytics.cli.service_connection import notebook_environment
from accounting_analytics.errors import NotebookParametersError

_ALLOW_EMPTY = "allow_empty"


def run(
    notebook: Notebook,
    output: Output,
    parameters: Parameters = None,
    timeout: Timeout = None,
    profile: Profile = None,
    *,
    allow_empty: AllowEmpty = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Execute a notebook with parameters.

    The executed notebook and an HTML page with its charts are saved under the name of the notebook, followed by the
    period if its parameters are start_date and end_date: report_2026-05-01_2026-05-31.html. The files of a failed run
    end in .failed.html and .failed.ipynb; those of an earlier run of the same name then end in .previous.html and
    .previous.ipynb. A notebook may refuse a period without line entries (exit code 3), as scheduled_report does.
    """
    values: dict[str, str | bool] = dict(_parse_parameter(text) for text in parameters or ())
    if allow_empty:
        values[_ALLOW_EMPTY] = True
    with notebook_environment(profile, use_demo=use_demo) as environment:
        finished = aa.run_notebook(notebook, output, parameters=values, timeout=timeout, environment=environment)
    print_mapping({"notebook": str(finished.notebook), "html": str(finished.html)}, as_json=as_json)


def _parse_parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        msg = f"parameter {name!r} must be written as name=value"
        raise NotebookParametersError(msg)
    return name, value


notebooks = typer.Typer(help="Copies of the example notebooks.")


@notebooks.command("copy")
def copy(folder: NotebooksFolder, *, force: Force = False, as_json: AsJson = False) -> None:
    """Copy the example notebooks and the files they read to a folder.

    Nothing is copied if a file in the folder has other content, unless --force is given.
    """
    from accounting_analytics.notebook_jobs.example_notebooks import copy_notebooks

    result = copy_notebooks(folder, force=force)
    print_mapping({"copied": result.copied, "unchanged": result.unchanged}, as_json=as_json)
    quoted = shlex.quote(str(result.folder))
    print_message(f"next: jupyter lab {quoted}")
    print_message(f"or, connected to the demo company: cd {quoted} && accounting-analytics demo --lab")
