"""Small notebooks."""

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
