"""Files that are whole, or as they were before."""

import os
import stat

import pytest

from accounting_analytics.durable import write_durably


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_replaced_in_one_step(tmp_path, sync):
    """Until all is written the old content stands, and afterwards nothing else lies there."""
    path = tmp_path / "lines.csv"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    write_durably(path, write, sync=sync)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("lines.csv", b"new")]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_changes_nothing(tmp_path, problem):
    """A full disk, or somebody who interrupts: the old content stays, and no half of a new one."""
    path = tmp_path / "lines.csv"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half")
        raise problem

    with pytest.raises(type(problem)):
        write_durably(path, write)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("lines.csv", b"old")]


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    """Each writes a file of its own; the one that ends last is what is read, and it is whole."""
    path = tmp_path / "lines.csv"

    def first(file):
        file.write(b"first")
        write_durably(path, lambda other: other.write(b"second, which is longer"))

    write_durably(path, first)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"first"]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no such modes")
@pytest.mark.parametrize(
    ("private", "umask", "mode"), [(True, 0o022, 0o600), (False, 0o022, 0o644), (False, 0o077, 0o600)]
)
def test_who_may_read_it(tmp_path, private, umask, mode):
    """Its owner alone, already while it is written; or whom the umask allows."""
    path, seen = tmp_path / "lines.csv", []

    def write(_):
        seen.extend(one.stat().st_mode for one in tmp_path.iterdir())

    before = os.umask(umask)
    try:
        write_durably(path, write, private=private)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one) for one in (*seen, path.stat().st_mode)] == [mode, mode]
