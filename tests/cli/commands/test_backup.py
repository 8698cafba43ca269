"""The commands `backup`, `restore` and `serve --check`: what an operator reads."""

import sqlite3
from contextlib import closing

import pytest


@pytest.fixture
def database(tmp_path, run_on_books):
    """Return a database with an instance."""
    run_on_books("instances", "create", "--instance", "acme")
    return tmp_path / "books.db"


def test_backup_and_restore(database, tmp_path, run_on_books, assert_refused):
    """A backup is made, found broken or whole, restored, and the former file is kept and named."""
    assert f"restore copy.db --database {database.name}\n" in run_on_books("backup", "copy.db").stderr
    assert_refused(run_on_books("backup", "copy.db", code=2), 2, "copy.db exists already")
    run_on_books("instances", "create", "--instance", "later")
    restored = run_on_books("restore", "copy.db").stderr
    assert "every invariant holds" in restored
    assert "kept as books.db.before-restore" in restored
    assert "later" not in run_on_books("instances", "list").stdout
    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection, connection:
        connection.execute("DELETE FROM ledgers WHERE pk = 1")
    content = database.read_bytes()
    assert_refused(run_on_books("restore", "copy.db", code=3), 3, "was not restored", "nothing was changed")
    assert database.read_bytes() == content


def test_the_check_reads_only(database, tmp_path, run_on_books):
    """A read-only file is checked, no file appears beside it, and its bytes and times stay."""
    database.chmod(0o444)
    tmp_path.chmod(0o555)
    before = database.read_bytes(), database.stat().st_mtime_ns
    assert "every invariant holds" in run_on_books("serve", "--check").stderr
    assert (database.read_bytes(), database.stat().st_mtime_ns) == before
    assert [path.name for path in tmp_path.iterdir()] == ["books.db"]
    tmp_path.chmod(0o755)
