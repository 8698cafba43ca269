"""The command ``demo``: the whole workflow on the demo company, or JupyterLab connected to it."""

from __future__ import annotations

from pathlib import Path

import typer

from accounting_analytics.cli.options import OpenLab, Output


def demo(output: Output = Path("demo-output"), *, lab: OpenLab = False) -> None:
    """Run the whole workflow on a small company.

    Load, certify, recompute, reconcile, chart and export its books.
    """
    from accounting_analytics.demo_company import open_lab, run_demo

    if lab:
        raise typer.Exit(open_lab())
    run_demo(output, echo=typer.echo)
