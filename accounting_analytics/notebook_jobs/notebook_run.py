"""A notebook as a job: parameters checked, executed by papermill in its own process, kept, and turned into HTML."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from ipykernel.kernelspec import write_kernel_spec

from accounting_analytics import errors
from accounting_analytics.atomic_files import write_text
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    InputError,
    JobTimedOutError,
    NotebookFailedError,
    NotebookParametersError,
)
from accounting_analytics.notebook_jobs.notebook_html import notebook_html
from accounting_analytics.progress import BATCH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

KERNEL = "accounting-analytics"
_SECRET_NAME = re.compile(r"token|password|passwd|secret|authorization|credential|api_?key|bearer", re.IGNORECASE)
_TOKEN = "ACCOUNTING_ANALYTICS_TOKEN"  # noqa: S105 (the name of a variable)
_MASK = "***"
_SHOWN_MESSAGE = 500


@dataclass(frozen=True)
class NotebookRun:
    """What a finished run left behind.

    Parameters
    ----------
    notebook : Path
        The executed notebook.
    html : Path
        The same as a page that needs nothing but a browser.
    """

    notebook: Path
    html: Path


def run_notebook(
    notebook: str | Path,
    output: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> NotebookRun:
    """Execute a notebook from top to bottom and keep it, with an HTML page of it.

    Parameters
    ----------
    notebook : path
        The notebook; it is not changed.
    output : path
        Folder for the executed notebook and the page, named like the notebook. After a failure they end in
        ``.failed.ipynb`` and ``.failed.html``.
    parameters : mapping, optional
        Values for names that the notebook's cell tagged ``parameters`` declares.
    timeout : float, optional
        Seconds the whole run may take.
    environment : mapping, optional
        Environment variables of the run, on top of this process's own; the place for a token.

    Raises
    ------
    NotebookParametersError
        A parameter is not declared, or looks like a secret; nothing was run.
    NotebookFailedError
        A cell raised or ended the run early; ``exit_code`` is that of the error where it is one of this package.
    JobTimedOutError
        The time was up; what was done is kept.
    InputError
        The notebook cannot be read, or the folder not written.
    """
    source, folder = Path(notebook), Path(output)
    given = dict(parameters or {})
    variables = {**os.environ, **(environment or {}), BATCH_VARIABLE: "1"}
    tokens = _tokens(variables)
    _require_parameters(source, given, tokens)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the folder {folder} cannot be made: {error.strerror}"
        raise InputError(msg) from error
    with tempfile.TemporaryDirectory(prefix="notebook-run-") as temporary:
        executed = Path(temporary) / "executed.ipynb"
        code, said = _execute(source, executed, given, variables, Path(temporary), timeout=timeout)
        finished = _read(executed) if executed.exists() else _read(source)
    failure = _failure(source, finished, code, said)
    run = _keep(finished, folder, source.stem if failure is None else f"{source.stem}.failed", tokens)
    if failure is not None:
        raise _located(failure, run.notebook)
    return run


def _require_parameters(notebook: Path, given: Mapping[str, Any], tokens: set[str]) -> None:
    """Refuse what the notebook does not declare (papermill only warns) and what looks like a secret."""
    declared = _declared(notebook)
    for name, value in given.items():
        if _SECRET_NAME.search(name) or str(value) in tokens or str(value).lower().startswith("bearer "):
            msg = (
                f"parameter {name!r} looks like a secret, and parameters are stored in the executed notebook; "
                f"put tokens into the environment ({_TOKEN}_FILE)"
            )
            raise NotebookParametersError(msg)
        if name not in declared:
            msg = f"{notebook} declares no parameter {name!r}; it declares: {', '.join(declared) or 'none'}"
            raise NotebookParametersError(msg)


def _declared(notebook: Path) -> list[str]:
    """Names assigned in the cell tagged `parameters`."""
    cells = [cell for cell in _read(notebook).cells if "parameters" in cell.metadata.get("tags", ())]
    return [name for cell in cells for name in re.findall(r"^(\w+)\s*(?::[^=\n]+)?=", cell.source, re.MULTILINE)]


def _read(notebook: Path) -> Any:  # noqa: ANN401 (nbformat's NotebookNode)
    try:
        return nbformat.read(notebook, as_version=4)
    except OSError as error:
        msg = f"the notebook {notebook} cannot be read: {error.strerror}"
        raise InputError(msg) from error
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, AttributeError, KeyError) as error:
        msg = f"{notebook} is not a notebook"
        raise InputError(msg) from error


def _execute(
    source: Path,
    executed: Path,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    temporary: Path,
    *,
    timeout: float | None,
) -> tuple[int, str]:
    """Run papermill with a kernel of this very interpreter; exit code and last words."""
    write_kernel_spec(temporary / "kernels" / KERNEL)
    values = temporary / "parameters.yaml"
    values.write_text(json.dumps(dict(parameters)), encoding="utf-8")  # JSON is YAML
    command = [
        sys.executable,
        "-m",
        "papermill",
        str(source),
        str(executed),
        "--kernel",
        KERNEL,
        "--language",
        "python",
    ]
    command += ["--no-progress-bar", "--log-level", "ERROR", "--cwd", str(source.parent), "-f", str(values)]
    paths = [str(temporary), *filter(None, [environment.get("JUPYTER_PATH")])]
    papermill = subprocess.Popen(  # noqa: S603 (our own words)
        command,
        env={**environment, "JUPYTER_PATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = papermill.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(papermill)
        return -signal.SIGKILL, f"the run took longer than {timeout:g} seconds"
    except BaseException:  # the kernel must not outlive an interrupted run
        _end(papermill)
        raise
    return papermill.returncode, said


def _end(papermill: subprocess.Popen[str]) -> None:
    """End papermill and its kernel."""
    os.killpg(papermill.pid, signal.SIGKILL)
    papermill.communicate()


def _failure(notebook: Path, finished: Any, code: int, said: str) -> AccountingAnalyticsError | None:  # noqa: ANN401
    """Tell what went wrong, if anything; a notebook that ended itself early has failed too."""
    if code == -signal.SIGKILL:
        return JobTimedOutError(f"{notebook}: {said}")
    for number, cell in enumerate(finished.cells, start=1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                msg = f"{notebook}: cell {number} raised {output.ename}: {output.evalue[:_SHOWN_MESSAGE]}"
                return NotebookFailedError(msg, exit_code=_exit_code(output.ename))
    if code:
        return NotebookFailedError(
            f"{notebook} could not be run: {(said.strip().splitlines() or ['no reason given'])[-1]}"
        )
    skipped = [
        number
        for number, cell in enumerate(finished.cells, start=1)
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None
    ]
    if skipped:
        return NotebookFailedError(f"{notebook}: it ended early, cell {skipped[0]} was not run")
    return None


def _exit_code(error_name: str) -> int:
    """Exit code of an error by its name; 1 for one that is not of this package."""
    kind = getattr(errors, error_name, None)
    return kind.exit_code if isinstance(kind, type) and issubclass(kind, AccountingAnalyticsError) else 1


def _located(failure: AccountingAnalyticsError, kept: Path) -> AccountingAnalyticsError:
    failure.args = (f"{failure.args[0]}; the notebook up to there is {kept}",)
    return failure


def _keep(notebook: Any, folder: Path, name: str, tokens: set[str]) -> NotebookRun:  # noqa: ANN401
    """Write notebook and page, each whole or not at all, without any token."""
    run = NotebookRun(folder / f"{name}.ipynb", folder / f"{name}.html")
    for path, text in ((run.notebook, _text(notebook)), (run.html, notebook_html(notebook))):
        for token in tokens:
            text = text.replace(token, _MASK)  # noqa: PLW2901 (the same text, masked)
        write_text(path, text)
    return run


def _text(notebook: Any) -> str:  # noqa: ANN401 (nbformat's NotebookNode)
    return str(nbformat.writes(notebook))


def _tokens(environment: Mapping[str, str]) -> set[str]:
    """Tokens this run could leak."""
    tokens = {environment.get(_TOKEN, "")}
    with suppress(OSError, UnicodeDecodeError):  # the notebook itself will say so, if it needs the file
        tokens.add(Path(environment.get(f"{_TOKEN}_FILE", "")).read_text(encoding="utf-8").strip())
    return tokens - {""}
