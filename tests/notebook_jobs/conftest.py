"""Small notebooks, and a browser that renders pages."""

import subprocess

import nbformat
import pytest
from nbformat import v4


@pytest.fixture
def notebook(tmp_path):
    """Return a function that writes a notebook of code cells, the first one tagged `parameters`."""

    def write(parameters, *cells, name="job"):
        first = v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(v4.new_notebook(cells=[first, *map(v4.new_code_cell, cells)]), path)
        return path

    return write


@pytest.fixture
def rendered(tmp_path):
    """Return a function that opens a page in a browser and returns its document after scripts ran."""

    def rendered(page):
        finished = subprocess.run(  # noqa: S603 (our own page)
            [  # noqa: S607 (the chromium on the path)
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={tmp_path / 'browser'}",
                "--virtual-time-budget=8000",
                "--dump-dom",
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return finished.stdout

    return rendered
