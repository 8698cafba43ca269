"""Files that are whole, or as they were before."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from accounting_analytics.core import atomic_files
from accounting_analytics.core.atomic_files import remove_temporary_files, replace_file, replacing_files, write_durably


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failed_writing_keeps_the_old_content(tmp_path, problem):
    path = tmp_path / "lines.csv"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half")
        raise problem

    with pytest.raises(type(problem)):
        write_durably(path, write)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("lines.csv", b"old")]


@pytest.mark.parametrize("fails", [True, False])
def test_files_of_a_block_are_replaced_together_after_it(tmp_path, fails):
    paths = [tmp_path / name for name in ("a", "b")]
    paths[0].write_bytes(b"old")
    with suppress(KeyboardInterrupt), replacing_files(dict.fromkeys(paths, b"new"), private=True):
        assert [path.exists() and path.read_bytes() for path in paths] == [b"old", False]
        if fails:
            raise KeyboardInterrupt
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == (
        {paths[0]: b"old"} if fails else dict.fromkeys(paths, b"new")
    )


def test_concurrent_writers_of_one_file_leave_a_whole_one(tmp_path):
    path = tmp_path / "lines.csv"

    def first(file):
        file.write(b"first")
        replace_file(path, lambda other: other.write(b"second, which is longer"))

    replace_file(path, first)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"first"]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no such modes")
@pytest.mark.parametrize(
    ("private", "umask", "mode"), [(True, 0o022, 0o600), (False, 0o022, 0o644), (False, 0o077, 0o600)]
)
def test_permissions_are_the_owners_or_those_of_the_umask(tmp_path, private, umask, mode):
    path, seen = tmp_path / "lines.csv", []

    def write(_):
        seen.extend(one.stat().st_mode for one in tmp_path.iterdir())

    before = os.umask(umask)
    try:
        replace_file(path, write, private=private)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one) for one in (*seen, path.stat().st_mode)] == [mode, mode]


@pytest.mark.parametrize(
    ("write", "synced"),
    [
        (lambda path: replace_file(path, lambda file: file.write(b"new"), sync=False), []),
        (lambda path: replace_file(path, lambda file: file.write(b"new")), ["content"]),
        (lambda path: write_durably(path, lambda file: file.write(b"new")), ["content", "name"]),
    ],
    ids=["not", "content", "name"],
)
def test_content_is_on_disk_before_the_name(tmp_path, monkeypatch, write, synced):
    path, seen = tmp_path / "lines.csv", []

    def fsync(descriptor):
        opened = os.fstat(descriptor)
        if stat.S_ISDIR(opened.st_mode):
            seen.append("name" if path.exists() else "nothing")
        else:
            seen.append("content" if opened.st_size == len(b"new") and not path.exists() else "nothing")

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    write(path)
    assert seen == synced


def test_leftovers_of_killed_programs_are_removed(tmp_path):
    path, other = tmp_path / "a[b].csv", tmp_path / "other.csv.0.unfinished"
    old, young = tmp_path / "a[b].csv.0.unfinished", tmp_path / "a[b].csv.1.unfinished"
    for leftover in (other, old, young):
        leftover.touch()
    os.utime(old, (0, 0))
    replace_file(path, lambda file: file.write(b"new"))
    assert sorted(tmp_path.iterdir()) == [path, young, other]
    remove_temporary_files(path)
    assert sorted(tmp_path.iterdir()) == [path, other]


@pytest.mark.parametrize("write", [replace_file, write_durably])
def test_a_new_name_is_not_searched_for(tmp_path, write):
    """Where a name was never written before, the folder, which may hold thousands of files, is not looked through."""
    leftover = tmp_path / "lines.csv.0.unfinished"
    leftover.touch()
    os.utime(leftover, (0, 0))
    write(tmp_path / "lines.csv", lambda file: file.write(b"new"), remove_leftovers=False)
    assert leftover.exists()


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127])
def test_longest_possible_names_are_written(tmp_path, name):
    path = tmp_path / name
    replace_file(path, lambda file: file.write(b"new"))
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("path", [".", "", "/"])
def test_folder_in_place_of_a_file_is_an_error_of_files(path):
    with pytest.raises(IsADirectoryError):
        replace_file(Path(path), lambda file: file.write(b"new"))
