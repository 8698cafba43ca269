"""The commands `backup` and `restore`: what an operator reads."""

import pytest


@pytest.fixture
def database(tmp_path, run_on_books):
    """Return a database with an instance."""
    run_on_books("instances", "create", "--instance", "acme")
    return tmp_path / "books.db"


def test_backup_and_restore(database, tmp_path, run_on_books, assert_refused):
    """A backup is made and restored, and a broken one is refused."""
    assert f"restore copy.db --database {database.name}\n" in run_on_books("backup", "copy.db").stderr
    assert_refused(run_on_books("backup", "copy.db", code=2), 2, "copy.db exists already")
    run_on_books("instances", "create", "--instance", "later")
    assert f"serve --check --database {database.name}" in run_on_books("restore", "copy.db").stderr
    assert "later" not in run_on_books("instances", "list").stdout
    (tmp_path / "copy.db").write_bytes((tmp_path / "copy.db").read_bytes()[:8192])
    content = database.read_bytes()
    assert_refused(run_on_books("restore", "copy.db", code=2), 2, "copy.db", "nothing was changed")
    assert database.read_bytes() == content
