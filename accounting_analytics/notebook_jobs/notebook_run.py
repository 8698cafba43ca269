"""Execute a notebook with papermill, and save the notebook and its HTML page."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager

from accounting_analytics.client.secret import known_secrets, masked
from accounting_analytics.core import errors
from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    InputError,
    JobTimedOutError,
    NotebookFailedError,
    with_context,
)
from accounting_analytics.core.messages import quote
from accounting_analytics.core.progress import BATCH_VARIABLE
from accounting_analytics.notebook_jobs.notebook_parameters import declared_parameters, read_notebook, require_declared
from accounting_analytics.notebook_jobs.saved_notebook import (
    mask_notebook,
    notebook_html,
    remove_upload_buttons,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.client.secret import Secret
    from accounting_analytics.notebook_jobs.notebook_parameters import Parameter

KERNEL = "accounting-analytics"
_PERIOD = ("start_date", "end_date")
_MAX_MESSAGE_LENGTH = 500
_PAPERMILL = """
import json, logging, sys
sys.modules["rfc3987_syntax"] = None  # jsonschema would build its grammar for a second; notebooks have no IRIs
from papermill import execute_notebook
from papermill.translators import PythonTranslator, papermill_translators
class Day(str):
    pass
class Translator(PythonTranslator):
    @classmethod
    def translate(cls, value):
        is_day = isinstance(value, Day)
        return f"__import__('datetime').date.fromisoformat({str(value)!r})" if is_day else super().translate(value)
papermill_translators.register("python", Translator)
logging.basicConfig(level="ERROR")
days, arguments = json.load(sys.stdin)
arguments["parameters"] |= {name: Day(day) for name, day in days.items()}
execute_notebook(**arguments)
"""
"""Program that a run executes: papermill, changed so that it writes days as dates into the notebook."""
_RAISE_AT_QUIT = 'get_ipython().ask_exit = __import__("sys").exit'
"""Code line that makes ``quit()`` and ``exit()`` end the run as ``sys.exit()`` does, not stop the kernel later."""


@dataclass(frozen=True)
class NotebookRun:
    """Files of a finished run.

    Parameters
    ----------
    notebook : Path
        The executed notebook.
    html : Path
        The same as a self-contained HTML page.
    """

    notebook: Path
    html: Path

    def summary(self) -> str:
        """One line of text: where the two files are."""
        return f"The executed notebook is {self.notebook}, its HTML page is {self.html}."


def run_notebook(
    notebook: str | Path,
    output: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
    title: str = "",
    code: bool = False,
) -> NotebookRun:
    """Execute a notebook from top to bottom, and save it together with an HTML page of it.

    Parameters
    ----------
    notebook : path
        The notebook; it is not modified.
    output : path
        Folder for the executed notebook and the page. Their names are that of the notebook and, where its parameters
        are `start_date` and `end_date`, the period: ``report_2026-05-01_2026-05-31.html``. After a failure they end in
        ``.failed.ipynb`` and ``.failed.html``, and those of an earlier run of the same name in ``.previous.ipynb`` and
        ``.previous.html``. Only their owner may read them (mode 0600), because they have amounts of the books.
    parameters : mapping, optional
        Values for names that the notebook's cell tagged ``parameters`` declares, of the type that an annotation or
        else the default states: a day is a ``date`` where the annotation is one, else its text. Nothing in that cell
        may be calculated from a given parameter.
    timeout : float, optional
        Seconds the whole run may take.
    environment : mapping, optional
        Environment variables of the run, in addition to those of this process. Tokens belong here: in what is
        saved or raised, they are masked.
    title : str, optional
        Heading of the page, such as company and period.
    code : bool, default False
        Show the code of the cells in the page; the executed notebook has it always.

    Raises
    ------
    NotebookParametersError
        A parameter is not declared, has another type, or looks like a secret; nothing was executed.
    NotebookFailedError
        A cell raised or ended the run early; ``exit_code`` is that of the error where it is one of this package.
    JobTimedOutError
        The run took longer than `timeout`; what was executed is saved.
    InputError
        The notebook cannot be read or is not in Python, the folder cannot be written, or `timeout` is not above 0.
    """
    source, folder = to_path(notebook, "notebook"), to_path(output, "output")
    if timeout is not None and not 0 < timeout <= threading.TIMEOUT_MAX:
        raise InputError(f"timeout is {timeout:g} seconds, and must be more than 0; nothing was executed")
    values = dict(parameters or {})
    variables = {**os.environ, **(environment or {}), BATCH_VARIABLE: "1"}
    secrets = known_secrets(variables)
    content = read_notebook(source)
    _require_python(source, content)
    declared = declared_parameters(content)
    require_declared(source, values, declared, secrets)
    values = {name: declared[name].fitting(value) for name, value in values.items()}
    days = {name: day for name, day in values.items() if declared[name].type is dt.date and day is not None}
    files = _named(folder, source.stem + _period_suffix(declared, values))
    earlier = _marked(files, "previous")
    with _folder_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="notebook-run-") as temporary:
        executed = Path(temporary) / "executed.ipynb"
        status, stderr = _execute(source, executed, values, variables, Path(temporary), days=days, timeout=timeout)
        finished = read_notebook(executed if executed.exists() else source)
    failure = _find_failure(source, finished, status, stderr, secrets)
    mask_notebook(finished, secrets)
    save = partial(_save, finished, title=masked(title, secrets), has_code=code)
    if failure is not None:
        failed = save(_marked(files, "failed"), aside=(files, earlier))
        remaining = f"; the page of the run before is now {earlier.html}" if earlier.html.exists() else ""
        raise with_context(failure, f"the notebook with all outputs so far is {failed.notebook}{remaining}")
    save(files)
    for path in (earlier.notebook, earlier.html):
        path.unlink(missing_ok=True)
    return files


def _named(folder: Path, name: str) -> NotebookRun:
    return NotebookRun(folder / f"{name}.ipynb", folder / f"{name}.html")


def _marked(run: NotebookRun, mark: str) -> NotebookRun:
    """Name the files of a run with `mark` before their suffixes."""
    return _named(run.html.parent, f"{run.html.stem}.{mark}")


def _period_suffix(declared: Mapping[str, Parameter], values: Mapping[str, Any]) -> str:
    """Write the period for file names, if the notebook declares one."""
    parameters = {**{name: parameter.default for name, parameter in declared.items()}, **values}
    days = [parameters.get(name) for name in _PERIOD]
    if not all(isinstance(day, str) and day for day in days):
        return ""
    return "".join(f"_{re.sub(r'[^0-9A-Za-z-]+', '-', str(day))}" for day in days)


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    """Report a folder that cannot be created or written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created or written: {error.strerror}") from error


def _require_python(notebook: Path, content: Any) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Refuse a notebook of another language, because Python may misread its cells."""
    kernel = content.metadata.get("kernelspec", {})
    name = kernel.get("name", "python3")
    stated = kernel.get("language") or content.metadata.get("language_info", {}).get("name") or "python"
    if stated.casefold() not in {"python", "ipython"}:
        raise InputError(
            f"{notebook} is written for the kernel {kernel.get('name', stated)!r}, whose language is {stated}: only "
            "notebooks in Python are run; nothing was executed"
        )
    installed = KernelSpecManager().get_all_specs()
    languages = {kernel_name: installed[kernel_name]["spec"]["language"].casefold() for kernel_name in installed}
    if languages.get(name.casefold(), "python" if name in {KERNEL, "python"} else "") != "python":
        pythons = ", ".join(kernel_name for kernel_name, language in languages.items() if language == "python")
        raise InputError(
            f"the kernel of {notebook}, {name!r}, is not installed here as one of Python (installed: {pythons}), and "
            "only notebooks in Python are run: choose one of these in JupyterLab and save it; nothing was executed"
        )


def _execute(
    source: Path,
    executed: Path,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    temporary: Path,
    *,
    days: Mapping[str, str],
    timeout: float | None,
) -> tuple[int, str]:
    """Run papermill with this interpreter, and return its exit code and stderr."""
    write_kernel_spec(temporary / "kernels" / KERNEL, extra_arguments=[f"--IPKernelApp.exec_lines={_RAISE_AT_QUIT}"])
    arguments = {
        "input_path": _without_fields(source),
        "output_path": _without_fields(executed),
        "parameters": parameters,
        "kernel_name": KERNEL,
        "language": "python",
        "progress_bar": False,
        "cwd": str(source.parent),
    }
    paths = [str(temporary), *filter(None, [environment.get("JUPYTER_PATH")])]
    papermill = subprocess.Popen(  # noqa: S603 (our own command)
        [sys.executable, "-c", _PAPERMILL],
        env={**environment, "JUPYTER_PATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, stderr = papermill.communicate(json.dumps([days, arguments]), timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(papermill)
        return -signal.SIGKILL, f"the run took longer than {timeout:g} seconds"
    except BaseException:  # after an interrupt, end the kernel too
        _kill(papermill)
        raise
    return papermill.returncode, stderr


def _without_fields(path: Path) -> str:
    """Escape the braces of a path, which papermill would replace."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _kill(papermill: subprocess.Popen[str]) -> None:
    """Kill papermill and its kernel."""
    os.killpg(papermill.pid, signal.SIGKILL)
    papermill.communicate()


def _find_failure(
    notebook: Path,
    finished: Any,  # noqa: ANN401 (nbformat's NotebookNode)
    code: int,
    stderr: str,
    secrets: list[Secret],
) -> AccountingAnalyticsError | None:
    """Return the error of a failed or unfinished run, or None."""
    if code == -signal.SIGKILL:
        return JobTimedOutError(f"{notebook}: {stderr}")
    for number, cell in enumerate(finished.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                where = f"In [{cell.execution_count or ' '}] ({_first_line(cell, secrets)})"
                where += _under_heading(finished.cells[:number], secrets)
                raised = masked(": ".join(filter(None, (output.ename, output.evalue))), secrets)[:_MAX_MESSAGE_LENGTH]
                return NotebookFailedError(f"{notebook}: {where} raised {raised}", exit_code=_exit_code(output.ename))
    if code:
        reason = (masked(stderr, secrets).strip().splitlines() or ["no reason given"])[-1]
        return NotebookFailedError(f"{notebook} could not be executed: {reason}")
    for cell in finished.cells:
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            where = _first_line(cell, secrets)
            return NotebookFailedError(f"{notebook}: the run ended early: {where} was not executed")
    return None


def _first_line(cell: Any, secrets: list[Secret]) -> str:  # noqa: ANN401 (nbformat's NotebookNode)
    """Quote the first code line of a cell.

    Readers find the cell by this line. The number of the cell would be wrong, because papermill inserts cells.
    """
    return quote(masked(cell.source.strip().partition("\n")[0], secrets))


def _under_heading(cells: Sequence[Any], secrets: list[Secret]) -> str:
    """Name the last heading in some cells, or return "" without one."""
    lines = [line for cell in cells if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    headings = [line.lstrip("#").strip() for line in lines if re.match("#{1,6} ", line)]
    return f" under the heading {quote(masked(headings[-1], secrets))}" if headings else ""


def _exit_code(error_name: str) -> int:
    """Return the exit code of an error by name, or 1."""
    kind = getattr(errors, error_name, None)
    return kind.exit_code if isinstance(kind, type) and issubclass(kind, AccountingAnalyticsError) else 1


def _save(
    notebook: Any,  # noqa: ANN401 (nbformat's NotebookNode)
    run: NotebookRun,
    *,
    title: str,
    has_code: bool,
    aside: tuple[NotebookRun, NotebookRun] | None = None,
) -> NotebookRun:
    """Write the notebook and its page after both are made.

    With `aside`, files of an earlier run are renamed just before, so that after a failure no old page has the name of
    the new page.
    """
    remove_upload_buttons(notebook)
    page = notebook_html(notebook, title=title or run.html.stem, heading=title, has_code=has_code)
    if aside is not None:
        _rename(*aside)
    write_text(run.notebook, nbformat.writes(notebook), private=True)
    write_text(run.html, page, private=True)
    return run


def _rename(run: NotebookRun, to: NotebookRun) -> None:
    with _folder_errors(run.html.parent):
        for path, target in ((run.notebook, to.notebook), (run.html, to.html)):
            with suppress(FileNotFoundError):
                path.replace(target)
