"""The formats that books can be exported to."""

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.exports import FORMATS, find_export


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_exports_the_line_entries(name, frames, tmp_path):
    """Each format writes the books, lists its files in the manifest, and replaces its own export."""
    export = find_export(name)
    export(tmp_path / "out", **frames)
    manifest = export(tmp_path / "out", **frames)
    assert manifest.tables["fact_line_entry"] == len(frames["line_entries"])


def test_unknown_formats_are_refused():
    """The message lists the formats."""
    with pytest.raises(InputError, match=f"unknown export format 'pdf'; the formats are: {', '.join(FORMATS)}"):
        find_export("pdf")
