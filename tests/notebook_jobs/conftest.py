"""Small notebooks."""

import nbformat
import pytest
from nbformat import v4


@pytest.fixture(scope="session")
def notebook(tmp_path_factory):
    """Return a function that writes a notebook of code cells below a heading, the first one tagged `parameters`."""

    def write(parameters, *cells, name="job"):
        first = v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
        heading = v4.new_markdown_cell("# Report\n\n## Totals\n\nSums.")
        path = tmp_path_factory.mktemp("notebook") / f"{name}.ipynb"
        nbformat.write(v4.new_notebook(cells=[first, heading, *map(v4.new_code_cell, cells)]), path)
        return path

    return write
