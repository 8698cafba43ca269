"""The formats that books can be exported to."""

import json

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.exports import FORMATS, find_export


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_exports_the_same_tables(name, frames, tmp_path):
    """Each format writes the three tables with their rows, lists them in its manifest, and replaces itself."""
    export = find_export(name)
    export(tmp_path / "out", **frames)
    manifest = export(tmp_path / "out", **frames)
    tables = {file.name.partition(".")[0]: file.rows for file in manifest.files}
    assert tables == {
        "fact_line_entry": len(frames["line_entries"]),
        "fact_cash_flow_line": len(frames["report"].lines),
        "dim_ledger": len(frames["ledgers"]),
    }
    names = {file["name"] for file in json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names | {"manifest.json"}


def test_unknown_formats_are_refused():
    """The message lists the formats."""
    with pytest.raises(InputError, match=f"unknown export format 'pdf'; the formats are: {', '.join(FORMATS)}"):
        find_export("pdf")
