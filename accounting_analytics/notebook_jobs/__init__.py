"""Notebooks executed as jobs, and self-contained HTML pages."""

from accounting_analytics.notebook_jobs.notebook_run import NotebookRun, run_notebook

__all__ = ["NotebookRun", "run_notebook"]
