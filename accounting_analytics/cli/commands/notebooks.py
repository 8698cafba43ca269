"""The commands ``notebooks``: copies of the example notebooks."""

from __future__ import annotations

import shlex

import typer

from accounting_analytics.cli.options import AsJson, Force, NotebooksFolder
from accounting_analytics.cli.output import print_mapping, print_message

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
