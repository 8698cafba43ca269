from .notebook_run import NotebookRun, run_notebook

__all__ = ["NotebookRun", "run_notebook"]
