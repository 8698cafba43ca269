"""Copies of books that are served, made as the guide says."""

import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from broken_invariants import broken_invariants

from accounting_analytics.service.database import Store
from accounting_analytics.service.server import running

GUIDE = (Path(__file__).parents[2] / "accounting_analytics/service/README.md").read_text(encoding="utf-8")


@pytest.fixture
def copied(database, make_own_books, tmp_path, program_path, postgresql_address):
    """Return the address of a copy of books with one entry, which later got another one while they were served."""
    with running(database) as service, make_own_books(database, service.base_url, id="books") as books:
        bank, rent = books.bank(id="bank"), books.category(id="rent")
        books.post("2025-03-01T12:00:00Z", (bank, -5), (rent, 5))
        if books.store.path:
            statement, copy = re.search(r'`sqlite3 books\.db "(VACUUM INTO \'(.+)\')"`', GUIDE).groups()
            with closing(sqlite3.connect(database)) as connection:
                connection.execute(statement.replace(copy, str(tmp_path / copy)))
            address = tmp_path / copy
        else:
            address = postgresql_address()
            for command, of in zip(re.findall(r"`(pg_\w+ [^`]+)`", GUIDE), (database, address), strict=True):
                program, *words = shlex.split(command)
                words = [word.replace("ADDRESS", of) for word in words]
                subprocess.run([program_path(program), *words], cwd=tmp_path, check=True)  # noqa: S603 (of the guide)
        books.post("2025-03-02T12:00:00Z", (bank, -7), (rent, 7))
        yield address, books


@pytest.fixture
def postgresql_address(request):
    """Return a function that creates a further, empty database."""
    return lambda: request.getfixturevalue("postgresql").new()


def test_a_copy_has_the_books_of_its_moment(copied):
    address, books = copied
    with Store.open(address, create=False) as copy:
        assert broken_invariants(copy) == []
        assert copy.ledgers("books") == books.store.ledgers("books")
    with running(address) as service:
        books.http.base_url, served = service.base_url, books.http.base_url
        assert books.report()["ending_cash_balance"] == -5
    books.http.base_url = served
    assert books.report()["ending_cash_balance"] == -12
