"""Copies of the example notebooks: complete, and never over the work of a user."""

import re
from pathlib import Path

import pytest

from accounting_analytics.core.errors import InputError
from accounting_analytics.notebook_jobs.example_notebooks import copy_notebooks

PROJECT = Path(__file__).parents[2]
NOTEBOOK = "notebooks/02_reconcile.ipynb"


def contents(folder):
    """Return the content of every file below a folder, by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copied(tmp_path):
    return copy_notebooks(tmp_path / "new" / "folder").folder


def test_all_notebooks_are_copied(tmp_path):
    result = copy_notebooks(tmp_path / "new" / "folder")
    files = contents(result.folder)
    assert {path.name for path in (PROJECT / "notebooks").glob("*.ipynb")} <= {Path(name).name for name in files}
    assert sorted(result.copied) == sorted(files)
    assert result.unchanged == ()
    assert all((PROJECT / name).read_bytes() == content for name, content in files.items())
    named = [
        (path.parent / name).resolve()
        for path in (result.folder / "notebooks").glob("*.ipynb")
        for name in re.findall(r"\.\./[\w/.]+\w", path.read_text(encoding="utf-8"))
    ]
    assert named
    assert [path for path in named if not path.is_file()] == []


def test_copying_again_changes_nothing(copied):
    (copied / NOTEBOOK).unlink()
    before = {name: (copied / name).stat().st_mtime_ns for name in contents(copied)}
    result = copy_notebooks(copied)
    assert result.copied == (NOTEBOOK,)
    assert set(result.unchanged) == set(before)
    assert {name: (copied / name).stat().st_mtime_ns for name in before} == before


def test_changed_files_are_refused(copied):
    (copied / NOTEBOOK).write_text("my work", encoding="utf-8")
    (copied / "data" / "rules.toml").write_text("my rules", encoding="utf-8")
    (copied / "notebooks" / "01_cash_flow.ipynb").unlink()
    before = contents(copied)
    with pytest.raises(InputError, match=rf"2 files .* unlike .*: {NOTEBOOK}, data/rules.toml; nothing was copied"):
        copy_notebooks(copied)
    assert contents(copied) == before


def test_force_replaces_changed_files_only(copied):
    (copied / NOTEBOOK).write_text("my work", encoding="utf-8")
    (copied / "notebooks" / "mine.ipynb").write_text("mine", encoding="utf-8")
    assert copy_notebooks(copied, force=True).copied == (NOTEBOOK,)
    assert (copied / NOTEBOOK).read_bytes() == (PROJECT / NOTEBOOK).read_bytes()
    assert (copied / "notebooks" / "mine.ipynb").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["notebooks", "."])
def test_a_file_or_folder_in_place_of_the_other_is_refused(tmp_path, name):
    target = tmp_path / "target"
    blocking = target / name
    blocking.parent.mkdir(exist_ok=True)
    blocking.write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be used"):
        copy_notebooks(target)
    assert blocking.read_text(encoding="utf-8") == "a file"
    (tmp_path / "other" / NOTEBOOK).mkdir(parents=True)
    with pytest.raises(InputError, match=r"02_reconcile\.ipynb cannot be used"):
        copy_notebooks(tmp_path / "other", force=True)
