"""Notebooks run as jobs, and pages that need nothing but a browser."""

from accounting_analytics.notebook_jobs.notebook_run import NotebookRun, run_notebook

__all__ = ["NotebookRun", "run_notebook"]
