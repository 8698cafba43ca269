"""The command ``run``: a period without line entries, and the names of its files."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "scheduled_report.ipynb"
DAYS = ("-p", "start_date=2030-01-01", "-p", "end_date=2030-01-31")


@pytest.mark.parametrize(("options", "code"), [((), 3), pytest.param(("--allow-empty",), 0, marks=pytest.mark.long)])
@pytest.mark.long
def test_an_empty_period_needs_permission(run, demo_company, tmp_path, options, code):
    """Without line entries the scheduled report fails with exit code 3 and a sentence, unless that is allowed."""
    finished = run("run", NOTEBOOK, "--output", "out", *DAYS, *options, **demo_company.environment())
    assert finished.returncode == code, finished.stderr
    assert ("no line entries from 2030-01-01 to 2030-01-31" in finished.stderr) == (code == 3)
    mark = ".failed" if code else ""
    assert (tmp_path / "out" / f"scheduled_report_2030-01-01_2030-01-31{mark}.html").is_file()


def test_a_notebook_without_the_parameter_is_refused(run, tmp_path):
    """--allow-empty is invalid for a notebook that does not decide about empty periods."""
    finished = run("run", NOTEBOOK.with_name("01_cash_flow.ipynb"), "--output", "out", "--allow-empty")
    assert finished.returncode == 2
    assert "declares no parameter 'allow_empty'" in finished.stderr
    assert not (tmp_path / "out").exists()
