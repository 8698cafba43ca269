"""JupyterLab on the demo company."""

import pytest

from accounting_analytics.demo_company import open_lab
from accounting_analytics.errors import ConfigurationError


def test_a_missing_folder_is_refused(tmp_path):
    """A folder of notebooks that does not exist is refused."""
    with pytest.raises(ConfigurationError, match="does not exist"):
        open_lab(tmp_path / "notebooks")
