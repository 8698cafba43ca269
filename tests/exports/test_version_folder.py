"""A folder of versions: other files are safe, a failed version is invisible, one writer at a time."""

import pytest

from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import Manifest
from accounting_analytics.exports.outputs import VersionFolder

MANIFEST = Manifest(
    "", "2025-01-01", "2025-01-31", "UTC", 2, None, "USD", 1, partial=False, verdict="", known_ledgers=""
)


def write(folder, text):
    """Write a version with one file and a manifest."""
    with VersionFolder(folder, ".txt").replaced() as version:
        (version / "file.txt").write_text(text)
        (version / "manifest.json").write_text(MANIFEST.to_json())


def test_the_newest_version_is_current(tmp_path):
    """The link names the newest version; the one before stays, earlier ones do not."""
    for text in ("one", "two", "three"):
        write(tmp_path / "out", text)
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "three"
    assert sorted(path.name for path in (tmp_path / "out" / "versions").iterdir()) == ["2", "3"]


def test_a_failed_version_is_invisible(tmp_path):
    """An error leaves the current version and no other file; an unfinished version of a killed program is removed."""
    write(tmp_path / "out", "one")
    with pytest.raises(FileNotFoundError), VersionFolder(tmp_path / "out", ".txt").replaced() as version:
        (version / "folder" / "file.txt").write_text("two")
    versions = tmp_path / "out" / "versions"
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "one"
    assert [path.name for path in versions.iterdir()] == ["1"]
    (versions / "2.unfinished").mkdir()
    write(tmp_path / "out", "two")
    assert sorted(path.name for path in versions.iterdir()) == ["1", "2"]


def test_other_files_are_never_touched(tmp_path):
    """A folder with other files and a file are refused."""
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"files that are not part of an export \(thesis\.txt\)"):
        VersionFolder(tmp_path, ".txt")
    with pytest.raises(InputError, match=r"thesis\.txt is a file; name a folder"):
        VersionFolder(tmp_path / "thesis.txt", ".txt")
    with pytest.raises(InputError, match=r"books\.xlsx is the name of a file.* choose the format duckdb or excel"):
        VersionFolder(tmp_path / "books.xlsx", ".txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_exports_copied_without_links_are_not_replaced(tmp_path):
    """A folder in the place of the link is named, before anything is written."""
    (tmp_path / "current").mkdir()
    with pytest.raises(InputError, match=r"current is not a link to a version; .* name an empty or new folder"):
        VersionFolder(tmp_path, ".txt")


def test_one_writer_at_a_time(tmp_path):
    """A second writer is refused while the first is at work, and may write afterwards."""
    folder = VersionFolder(tmp_path / "out", ".txt")
    with folder.replaced() as version:
        (version / "manifest.json").write_text(MANIFEST.to_json())
        with pytest.raises(InputError, match=r"another export to .* is running") as refused:
            write(tmp_path / "out", "two")
        assert refused.value.exit_code == 2
    write(tmp_path / "out", "two")
    assert (tmp_path / "out" / "current" / "file.txt").read_text() == "two"
