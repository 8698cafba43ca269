"""The command `migrate`: what it prints about what it did."""

import gzip
from pathlib import Path

import pytest

from accounting_analytics.service.storage.migrations import VERSION

OLD = Path(__file__).parents[2] / "service" / "storage" / "versions" / "version_2.db.gz"


@pytest.fixture
def database(tmp_path):
    """Return a file of version 2."""
    path = tmp_path / "books.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    return path


@pytest.mark.usefixtures("database")
def test_migrate(run_on_books):
    """The versions and the backup are named; a second time there is nothing to do."""
    first = run_on_books("migrate")
    assert f"from version 2 to version {VERSION}" in first.stderr
    assert "books.db.version-2" in first.stderr
    assert "nothing to do" in run_on_books("migrate").stderr


def test_migrate_without_books(tmp_path, run_on_books, assert_refused):
    """A missing file is refused by its name, and not created."""
    assert_refused(run_on_books("migrate", code=2), 2, "books.db does not exist")
    assert list(tmp_path.iterdir()) == []
