"""Notebook runs: parameters are checked, failures are raised, charts are in the page."""

import re
import stat
import subprocess
import sys

import nbformat
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, JobTimedOutError, NotebookFailedError, NotebookParametersError
from accounting_analytics.notebook_jobs import notebook_run

CHART = """
import plotly.graph_objects as go
go.Figure(go.Bar(x=["</script><script>document.title='owned'</script>"], y=[3], name="<img src=x onerror=alert(1)>"))
"""


def test_runs_with_parameters_and_saves_both_files(notebook, tmp_path):
    """The value of a parameter is in the output of the notebook and in the page."""
    run = aa.run_notebook(
        notebook('start_date = "2025-01-01"', "print('from', start_date)"),
        tmp_path / "out",
        parameters={"start_date": "2026-02-03"},
    )
    executed = nbformat.read(run.notebook, as_version=4)
    assert "from 2026-02-03" in executed.cells[-1].outputs[0].text
    assert "from 2026-02-03" in run.html.read_text(encoding="utf-8")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["job.html", "job.ipynb"]


def test_no_grammar_is_built_for_a_run():
    """Papermill starts without the parser of a check that notebooks do not need."""
    command = [sys.executable, "-X", "importtime", "-c", notebook_run._PAPERMILL]
    loaded = subprocess.run(command, input="", capture_output=True, text=True, check=False).stderr  # noqa: S603 (ours)
    assert "nbformat" in loaded
    assert "JSONDecodeError" in loaded
    assert "lark" not in loaded


PERIOD = 'start_date = "2026-06-01"\nend_date: str = "2026-06-30"\nfail = False'


def names_in(folder):
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_runs_of_two_periods_keep_both(notebook, tmp_path):
    """The files are named by the period, given or by default, without characters that end a file name."""
    job = notebook(PERIOD)
    for parameters in ({}, {"start_date": "2026-05-01", "end_date": "../2026-05-31"}):
        run = aa.run_notebook(job, tmp_path / "out", parameters=parameters)
        assert f"<title>{run.html.stem}</title>" in run.html.read_text(encoding="utf-8")
    periods = ("2026-05-01_-2026-05-31", "2026-06-01_2026-06-30")
    assert names_in(tmp_path / "out") == [f"job_{days}.{suffix}" for days in periods for suffix in ("html", "ipynb")]


def test_a_failed_run_leaves_no_page_of_an_earlier_run(notebook, tmp_path):
    """Until a run succeeds again, the page of the run before has another name, which the error states."""
    job = notebook(PERIOD, "if fail: raise ValueError")
    earlier = aa.run_notebook(job, tmp_path / "out").html.read_bytes()
    name = "job_2026-06-01_2026-06-30"
    failing = [f"{name}.{mark}.{suffix}" for mark in ("failed", "previous") for suffix in ("html", "ipynb")]
    for _ in range(2):
        with pytest.raises(NotebookFailedError, match=rf"the run before is now .*{name}\.previous\.html"):
            aa.run_notebook(job, tmp_path / "out", parameters={"fail": True})
        assert names_in(tmp_path / "out") == failing
        assert (tmp_path / "out" / f"{name}.previous.html").read_bytes() == earlier
    aa.run_notebook(job, tmp_path / "out")
    assert names_in(tmp_path / "out") == [*failing[:2], f"{name}.html", f"{name}.ipynb"]


@pytest.mark.long
def test_refused_parameters_leave_the_page(notebook, tmp_path):
    """A run that never starts changes no file."""
    job = notebook(PERIOD)
    aa.run_notebook(job, tmp_path / "out")
    before = names_in(tmp_path / "out")
    with pytest.raises(NotebookParametersError):
        aa.run_notebook(job, tmp_path / "out", parameters={"end": "2026-06-30"})
    assert names_in(tmp_path / "out") == before


@pytest.mark.browser
def test_charts_are_in_the_page(notebook, rendered, tmp_path):
    """A browser without network draws the chart, and does not execute hostile text in it."""
    run = aa.run_notebook(notebook("x = 1", CHART), tmp_path / "out")
    page = run.html.read_text(encoding="utf-8")
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"http", page) == []
    document = rendered(run.html)
    assert "main-svg" in document
    assert "<title>owned" not in document


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strat_date": "2025-01-01"}, "declares no parameter 'strat_date'; it declares: start_date"),
        ({"api_token": "x"}, "looks like a secret"),
        ({"start_date": "canary-token-1"}, "looks like a secret"),
        ({"start_date": "Bearer abc"}, "looks like a secret"),
    ],
)
def test_parameters_are_checked_before_the_run(notebook, tmp_path, parameters, message):
    """Unknown parameters and secrets are refused; nothing is written, and the value is not repeated."""
    with pytest.raises(NotebookParametersError, match=re.escape(message)) as caught:
        aa.run_notebook(
            notebook('start_date = ""'),
            tmp_path / "out",
            parameters=parameters,
            environment={"ACCOUNTING_ANALYTICS_TOKEN": "canary-token-1"},
        )
    assert "canary-token-1" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("cell", "exit_code", "message"),
    [
        ("1 / 0", 1, "job.ipynb: In [3] ('1 / 0') raised ZeroDivisionError"),
        ("import sys; sys.exit(0)", 1, "raised SystemExit"),
        (
            "from accounting_analytics.core.errors import BooksDoNotTieError as E; raise E('off by 0.01')",
            3,
            "off by 0.01",
        ),
        ("import os; os._exit(0)", 1, "job.ipynb"),
    ],
)
def test_failed_runs_raise_and_are_saved(notebook, tmp_path, cell, exit_code, message):
    """A notebook that raises, exits or dies fails with the code of its error; it is saved under another name."""
    with pytest.raises(NotebookFailedError, match=re.escape(message)) as caught:
        aa.run_notebook(notebook("x = 1", "print('before')", cell, "print('after')"), tmp_path / "out")
    assert caught.value.exit_code == exit_code
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["job.failed.html", "job.failed.ipynb"]
    assert "job.failed.ipynb" in str(caught.value)


def test_a_failure_names_the_heading_above_it(notebook, tmp_path):
    """Where a cell fails, its reader finds it by the last heading before it."""
    notebook("x = 1", "1 / 0")
    file = tmp_path / "job.ipynb"
    content = nbformat.read(file, as_version=4)
    content.cells.insert(1, nbformat.v4.new_markdown_cell("# Report\n\n## Totals\n\nSums."))
    nbformat.write(content, file)
    with pytest.raises(
        NotebookFailedError, match=re.escape("('1 / 0') under the heading 'Totals' raised ZeroDivision")
    ):
        aa.run_notebook(file, tmp_path / "out")


def test_the_page_has_a_title_and_no_code_unless_asked(notebook, tmp_path):
    """The executed notebook has the code always; the title is the heading of the page and its name in a browser."""
    file = notebook("x = 1", "print(6 * 7)")
    run = aa.run_notebook(file, tmp_path / "out", title="Harbor & Lane, May 2026")
    page = run.html.read_text(encoding="utf-8")
    assert "<title>Harbor &amp; Lane, May 2026</title>" in page
    assert re.search(r"<h1[^>]*>Harbor &amp; Lane, May 2026", page)
    assert "42" in page
    assert "print" not in re.sub("<(style|script).*?</(style|script)>", "", page, flags=re.DOTALL)
    assert "print(6 * 7)" in run.notebook.read_text(encoding="utf-8")
    with_code = aa.run_notebook(file, tmp_path / "out", code=True).html.read_text(encoding="utf-8")
    assert "print" in re.sub("<(style|script).*?</(style|script)>", "", with_code, flags=re.DOTALL)
    assert "<title>job</title>" in with_code


def test_long_runs_time_out(notebook, tmp_path):
    """A run that exceeds its timeout is killed with JobTimedOutError."""
    with pytest.raises(JobTimedOutError, match="longer than 5 seconds"):
        aa.run_notebook(notebook("x = 1", "import time; time.sleep(60)"), tmp_path / "out", timeout=5)


def test_tokens_are_not_in_the_files(notebook, tmp_path):
    """A token printed by the notebook, from the environment or a token file, is masked in both files."""
    file = tmp_path / "file.token"
    file.write_text("canary-token-2\n")
    cell = (
        "from os import environ\nname = 'ACCOUNTING_ANALYTICS_TOKEN'\n"
        "print(environ[name], open(environ[name + '_FILE']).read())"
    )
    run = aa.run_notebook(
        notebook("x = 1", cell),
        tmp_path / "out",
        environment={"ACCOUNTING_ANALYTICS_TOKEN": "canary-token-1", "ACCOUNTING_ANALYTICS_TOKEN_FILE": str(file)},
    )
    for path in (run.notebook, run.html):
        text = path.read_text(encoding="utf-8")
        assert "canary-token" not in text
        assert "*** ***" in text


@pytest.mark.long
def test_tokens_are_not_in_the_message_of_a_failure(notebook, tmp_path):
    """A token in the message of an error is masked in what the run raises, which jobs log, and in the files."""
    cell = "import os; raise ValueError(os.environ['ACCOUNTING_ANALYTICS_TOKEN'] + ' is wrong')"
    with pytest.raises(NotebookFailedError, match=r"ValueError: \*\*\* is wrong") as caught:
        aa.run_notebook(
            notebook("x = 1", cell), tmp_path / "out", environment={"ACCOUNTING_ANALYTICS_TOKEN": "canary-token-3"}
        )
    written = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()]
    assert "canary-token-3" not in "".join([str(caught.value), *written])


@pytest.mark.parametrize(
    "token", [*(pytest.param(one, marks=pytest.mark.long) for one in ("name", "y", "stream")), '"']
)
@pytest.mark.long
def test_tokens_that_are_words_of_the_file_format(notebook, tmp_path, token):
    """Only values are masked: a token that a notebook file has as a name or mark damages neither file nor exit code."""
    cells = [
        "import os; print('before ' + os.environ['ACCOUNTING_ANALYTICS_TOKEN'] + ' after')",
        "from accounting_analytics.core.errors import NoConnectionError as E",
        CHART,
        "if fail: raise E('nothing answers')",
    ]
    job = notebook("fail = False", *cells)
    environment = {"ACCOUNTING_ANALYTICS_TOKEN": token}
    good = aa.run_notebook(job, tmp_path / "out", environment=environment)
    assert "before *** after" in nbformat.read(good.notebook, as_version=4).cells[1].outputs[0].text
    assert "before *** after" in (page := good.html.read_text(encoding="utf-8"))
    with pytest.raises(NotebookFailedError, match="nothing answers") as caught:
        aa.run_notebook(job, tmp_path / "out", parameters={"fail": True}, environment=environment)
    assert caught.value.exit_code == 4
    previous = tmp_path / "out" / "job.previous.html"
    assert previous.read_text(encoding="utf-8") == page
    assert "nothing answers" in (tmp_path / "out" / "job.failed.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_client_secret_is_masked(notebook, tmp_path):
    """The secret of OAuth client credentials is masked as a token is, from the environment or a file."""
    file = tmp_path / "client.secret"
    file.write_text("canary-secret-2\n")
    variables = {"CLIENT_SECRET": "canary-secret-1", "CLIENT_SECRET_FILE": str(file)}
    run = aa.run_notebook(
        notebook("x = 1", "print('canary-' + 'secret-1', 'canary-' + 'secret-2')"),
        tmp_path / "out",
        environment={f"ACCOUNTING_ANALYTICS_{name}": value for name, value in variables.items()},
    )
    assert [path for path in (run.notebook, run.html) if "canary-secret-" in path.read_text(encoding="utf-8")] == []


@pytest.mark.long
def test_the_page_of_the_run_before_stays_until_the_new_one_is_complete(notebook, tmp_path):
    """While a notebook runs, the last good page still has its name."""
    listed = "import pathlib\nprint(sorted(path.name for path in pathlib.Path(folder).iterdir()))"
    job = notebook(f"folder = {str(tmp_path / 'out')!r}", listed)
    printed = [
        nbformat.read(aa.run_notebook(job, tmp_path / "out").notebook, as_version=4).cells[-1].outputs[0].text
        for _ in range(2)
    ]
    assert printed == ["[]\n", "['job.html', 'job.ipynb']\n"]


@pytest.mark.long
def test_the_files_of_a_run_are_private(notebook, tmp_path):
    """Notebook and page have amounts of the books, so only their owner may read them, also after a failure."""
    job = notebook("fail = False", "if fail: raise ValueError")
    aa.run_notebook(job, tmp_path / "out")
    with pytest.raises(NotebookFailedError):
        aa.run_notebook(job, tmp_path / "out", parameters={"fail": True})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert len(modes) == 4
    assert set(modes.values()) == {0o600}, modes


def test_other_files_are_refused(tmp_path):
    """A missing file, or a file that is not a notebook, is an InputError."""
    with pytest.raises(InputError, match="cannot be read"):
        aa.run_notebook(tmp_path / "none.ipynb", tmp_path / "out")
    for content in (b"hello", b"\xfb of a database", b"[]", b'{"nbformat": "x"}'):
        (tmp_path / "text.ipynb").write_bytes(content)
        with pytest.raises(InputError, match="is not a notebook"):
            aa.run_notebook(tmp_path / "text.ipynb", tmp_path / "out")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_other_timeouts_are_refused(notebook, tmp_path, timeout):
    """A time limit that is not a number of seconds above 0 is refused before anything is executed."""
    with pytest.raises(InputError, match="nothing was executed"):
        aa.run_notebook(notebook("x = 1"), tmp_path / "out", timeout=timeout)
    assert not (tmp_path / "out").exists()
