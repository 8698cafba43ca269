"""Notebook runs: parameters are checked, failures are raised, charts are in the page."""

import re
import stat
import subprocess
import sys
from typing import NamedTuple

import nbformat
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, JobTimedOutError, NotebookFailedError, NotebookParametersError
from accounting_analytics.notebook_jobs import NotebookRun, notebook_run

CHART = """
import plotly.graph_objects as go
go.Figure(go.Bar(x=["</script><script>document.title='owned'</script>"], y=[3], name="<img src=x onerror=alert(1)>"))
"""
PERIOD = 'start_date = "2026-06-01"\nend_date: str = "2026-06-30"\nfail = False'
SECRETS = """
import os
names = ("TOKEN", "CLIENT_SECRET")
variables = [f"ACCOUNTING_ANALYTICS_{name}{end}" for name in names for end in ("", "_FILE")]
first, second, third, fourth = map(os.environ.get, variables)
print("secrets:", first, open(second).read().strip(), third, open(fourth).read().strip())
"""
FAIL = """
from accounting_analytics.core.errors import BooksDoNotTieError
if fail:
    raise BooksDoNotTieError(os.environ["ACCOUNTING_ANALYTICS_TOKEN"] + " is off by 0.01")
"""
MAY, JUNE = "job_2026-05-01_-2026-05-31", "job_2026-06-01_2026-06-30"


class Job(NamedTuple):
    """A notebook, its folder of results and its secrets, and two runs of it: one of May, then one of June with code."""

    notebook: str
    folder: str
    environment: dict
    may: NotebookRun
    june: NotebookRun


@pytest.fixture(scope="module")
def job(notebook, tmp_path_factory):
    """Run a notebook of all kinds of outputs for two periods, the second time by its defaults."""
    folder = tmp_path_factory.mktemp("job")
    environment = {}
    for name in ("TOKEN", "CLIENT_SECRET"):
        (folder / name).write_text(f"canary-file-{name}\n")
        environment[f"ACCOUNTING_ANALYTICS_{name}"] = f"canary-{name}"
        environment[f"ACCOUNTING_ANALYTICS_{name}_FILE"] = str(folder / name)
    path = notebook(PERIOD, "print('from', start_date)", SECRETS, CHART, FAIL)
    may = {"start_date": "2026-05-01", "end_date": "../2026-05-31"}
    title, out = "Harbor & Lane, May 2026", folder / "out"
    runs = (
        aa.run_notebook(path, out, parameters=may, environment=environment, title=title),
        aa.run_notebook(path, out, environment=environment, code=True),
    )
    return Job(path, out, environment, *runs)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def without_scripts(page):
    """Return the text of a page."""
    return re.sub("<(style|script).*?</(style|script)>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_runs_with_parameters_and_saves_both_files(job):
    for run, name, day in ((job.may, MAY, "2026-05-01"), (job.june, JUNE, "2026-06-01")):
        assert (run.html.name, run.notebook.name) == (f"{name}.html", f"{name}.ipynb")
        for path in (run.html, run.notebook):
            assert f"from {day}" in path.read_text(encoding="utf-8")


def test_the_page_has_a_title_and_no_code_unless_asked(job):
    page = job.may.html.read_text(encoding="utf-8")
    assert "<title>Harbor &amp; Lane, May 2026</title>" in page
    assert re.search(r"<h1[^>]*>Harbor &amp; Lane, May 2026", page)
    assert "print" not in without_scripts(job.may.html)
    assert "print" in job.may.notebook.read_text(encoding="utf-8")
    assert "print" in without_scripts(job.june.html)
    assert f"<title>{JUNE}</title>" in job.june.html.read_text(encoding="utf-8")
    dark = re.search(r'<style media="screen and \(prefers-color-scheme: dark\)">(.*?)</style>', page, re.DOTALL)
    assert "--jp-layout-color0: #111" in dark[1]


def test_secrets_are_not_in_the_files(job):
    for path in (job.may.notebook, job.may.html):
        text = path.read_text(encoding="utf-8")
        assert "canary" not in text
        assert "secrets: *** *** *** ***" in text


@pytest.mark.browser
def test_charts_are_drawn_and_hostile_text_is_not_executed(job, rendered):
    page = job.may.html.read_text(encoding="utf-8")
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"http", page) == []
    document = rendered(job.may.html)
    assert "main-svg" in document
    assert "<title>owned" not in document


def test_a_failed_run_leaves_no_page_of_an_earlier_run(job):
    """The error names the heading above the cell and has the exit code of what the cell raised, but no secret."""
    earlier, others = job.june.html.read_bytes(), {job.may.html.name, job.may.notebook.name}
    failing = [f"{JUNE}.{mark}.{suffix}" for mark in ("failed", "previous") for suffix in ("html", "ipynb")]
    message = (
        r"In \[6\] \('from accounting.* under the heading 'Totals' raised BooksDoNotTieError: \*\*\* is off by 0\.01;"
        rf".*{JUNE}\.failed\.ipynb; the page of the run before is now .*{JUNE}\.previous\.html"
    )
    for _ in range(2):
        with pytest.raises(NotebookFailedError, match=message) as caught:
            aa.run_notebook(job.notebook, job.folder, parameters={"fail": True}, environment=job.environment)
        assert caught.value.exit_code == 3
        assert set(names_in(job.folder)) - others == set(failing)
        assert (job.folder / f"{JUNE}.previous.html").read_bytes() == earlier
    assert {stat.S_IMODE(path.stat().st_mode) for path in job.folder.iterdir()} == {0o600}
    assert not [path for path in job.folder.iterdir() if b"canary" in path.read_bytes()]
    aa.run_notebook(job.notebook, job.folder, environment=job.environment)
    assert set(names_in(job.folder)) - others == {*failing[:2], f"{JUNE}.html", f"{JUNE}.ipynb"}


def test_no_grammar_is_built_for_a_run():
    """Papermill starts without the parser of a check that notebooks do not need."""
    command = [sys.executable, "-X", "importtime", "-c", notebook_run._PAPERMILL]
    loaded = subprocess.run(command, input="", capture_output=True, text=True, check=False).stderr  # noqa: S603 (ours)
    assert "nbformat" in loaded
    assert "JSONDecodeError" in loaded
    assert "lark" not in loaded


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
    with pytest.raises(NotebookParametersError, match=re.escape(message)) as caught:
        aa.run_notebook(
            notebook('start_date = ""'),
            tmp_path / "out",
            parameters=parameters,
            environment={"ACCOUNTING_ANALYTICS_TOKEN": "canary-token-1"},
        )
    assert "canary-token-1" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize("cell", ["1 / 0", "import sys; sys.exit(0)", "import os; os._exit(0)"])
def test_failed_runs_raise_and_are_saved(notebook, tmp_path, cell):
    with pytest.raises(NotebookFailedError, match=r"job\.ipynb.*job\.failed\.ipynb") as caught:
        aa.run_notebook(notebook("x = 1", "print('before')", cell, "print('after')"), tmp_path / "out")
    assert caught.value.exit_code == 1
    assert names_in(tmp_path / "out") == ["job.failed.html", "job.failed.ipynb"]


@pytest.mark.parametrize("token", ["name", "y", "stream", '"'])
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
    first = next(cell for cell in nbformat.read(good.notebook, as_version=4).cells if cell.get("outputs"))
    assert "before *** after" in first.outputs[0].text
    assert "before *** after" in (page := good.html.read_text(encoding="utf-8"))
    with pytest.raises(NotebookFailedError, match="nothing answers") as caught:
        aa.run_notebook(job, tmp_path / "out", parameters={"fail": True}, environment=environment)
    assert caught.value.exit_code == 4
    previous = tmp_path / "out" / "job.previous.html"
    assert previous.read_text(encoding="utf-8") == page
    assert "nothing answers" in (tmp_path / "out" / "job.failed.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_page_of_the_run_before_stays_until_the_new_one_is_complete(notebook, tmp_path):
    listed = "import pathlib\nprint(sorted(path.name for path in pathlib.Path(folder).iterdir()))"
    job = notebook(f"folder = {str(tmp_path / 'out')!r}", listed)
    printed = [
        nbformat.read(aa.run_notebook(job, tmp_path / "out").notebook, as_version=4).cells[-1].outputs[0].text
        for _ in range(2)
    ]
    assert printed == ["[]\n", "['job.html', 'job.ipynb']\n"]


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        aa.run_notebook(tmp_path / "none.ipynb", tmp_path / "out")


@pytest.mark.parametrize("content", [b"hello", b"\xfb of a database", b"[]", b'{"nbformat": "x"}'])
def test_files_that_are_no_notebooks_are_refused(tmp_path, content):
    (tmp_path / "text.ipynb").write_bytes(content)
    with pytest.raises(InputError, match="is not a notebook"):
        aa.run_notebook(tmp_path / "text.ipynb", tmp_path / "out")


def test_runs_end_at_their_timeout(notebook, tmp_path):
    job = notebook("x = 1", "import time; time.sleep(60)")
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="nothing was executed"):
            aa.run_notebook(job, tmp_path / "out", timeout=timeout)
    assert not (tmp_path / "out").exists()
    with pytest.raises(JobTimedOutError, match="longer than 3 seconds"):
        aa.run_notebook(job, tmp_path / "out", timeout=3)
