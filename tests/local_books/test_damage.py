"""A damaged file, a missing commit or one of another program is named, never believed; a folder can be moved."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError, BooksError, InputError


@pytest.fixture(scope="session")
def synced(tmp_path_factory, demo_company, demo_books):
    """Return local books of the demo company with two versions; tests copy them."""
    folder = shutil.copytree(demo_books, tmp_path_factory.mktemp("synced") / "books")
    aa.LocalBooks.open(folder).sync(demo_company.client, end_date="2025-03-31", months_a_night=0)
    return folder


@pytest.fixture
def folder(synced, tmp_path):
    """Return a copy of the books."""
    return shutil.copytree(synced, tmp_path / "books")


def read_all(folder):
    """Read all that the books have, in every version; return the newest."""
    books = aa.LocalBooks.open(folder)
    for version in reversed(books.history()["version"].tolist()):
        frames = books.as_of(version).line_entries(), books.as_of(version).ledgers()
    return frames


def files_of(folder):
    """Files that decide what the books are."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "books.lock")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_every_damaged_file_is_named(synced, tmp_path):
    """Without the file of the newest commit the books are those of the version before."""
    lines, ledgers = read_all(synced)
    for number, original in enumerate(files_of(synced)):
        is_log = original.suffix == ".json"
        is_newest = is_log and original == max(original.parent.iterdir())
        for damage in (*(() if is_log else (flip,)), truncate, *(() if is_newest else (Path.unlink,))):
            copy = shutil.copytree(synced, tmp_path / f"copy-{number}")
            path = copy / original.relative_to(synced)
            damage(path)
            with pytest.raises(
                AccountingAnalyticsError, match=path.parts[-3] if is_log else f"{path.name}|is no longer kept"
            ):
                read_all(copy)
            shutil.rmtree(copy)
    assert len(lines) > 1000
    assert len(ledgers) > 10


def test_a_changed_record_is_found(folder):
    path = max((folder / "lines" / "_delta_log").glob("*.json"))
    content = path.read_text(encoding="utf-8")
    start = content.index('"accounting_analytics":')
    for change in (("ties", "tied"), ("true", "false"), ("2025-0", "2024-0"), ("UTC", "GMT"), ("sync", "cync")):
        before, after = change
        if (at := content.find(before, start)) < 0:
            continue
        path.write_text(content[:at] + after + content[at + len(before) :], encoding="utf-8")
        with pytest.raises(BooksError, match="was changed after it was written"):
            aa.LocalBooks.open(folder)


def test_commits_of_other_programs_are_named(folder, tmp_path):
    import deltalake  # noqa: PLC0415 (only here)

    table = deltalake.DeltaTable(folder / "lines")
    table.delete("month = '2025-02'")
    with pytest.raises(BooksError, match=r"version 2 .* was written by another program .*DELETE"):
        aa.LocalBooks.open(folder)
    other = tmp_path / "other"
    deltalake.write_deltalake(other / "lines", _one_row())
    with pytest.raises(BooksError, match=r"version 0 .* was written by another program"):
        aa.LocalBooks.open(other)


def _one_row():
    import pyarrow as pa  # noqa: PLC0415 (only here)

    return pa.table({"id": ["1"]})


def test_books_of_another_package_version_are_refused(folder):
    books = aa.LocalBooks.open(folder)
    books._storage.commit(msgspec.structs.replace(books._version, number=books.version + 1, format=99))
    with pytest.raises(BooksError, match="were written by another version of this package: sync into a new folder"):
        aa.LocalBooks.open(folder)


def test_a_folder_can_be_moved(folder, tmp_path):
    before = read_all(folder)
    moved = tmp_path / "elsewhere" / "books"
    moved.parent.mkdir()
    folder.rename(moved)
    for frame, other in zip(before, read_all(moved), strict=True):
        assert frame.equals(other)


def test_books_before_the_first_sync_name_the_sync(tmp_path):
    books = aa.LocalBooks.open(tmp_path / "new")
    assert "none yet" in repr(books)
    assert books.explain() == books.summary() == f"Local books in {tmp_path / 'new'}: none yet, sync first."
    assert "none yet, sync first" in books._repr_html_()
    assert json.loads(books.to_json()) == {"folder": str(tmp_path / "new"), "version": None, "notes": []}
    assert (books.version, books.notes, len(books.frame)) == (None, (), 0)
    refused = (books.line_entries, books.ledgers, books.closed, books.alarms, lambda: books.drift(0))
    for call in (*refused, lambda: books.sql("select 1")):
        with pytest.raises(InputError, match="sync"):
            call()
    assert not (tmp_path / "new").exists()


def test_file_in_the_place_of_books_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; local books are in a folder"):
        aa.LocalBooks.open(tmp_path / "file")


@pytest.mark.parametrize("address", ["s3://bucket/books", Path("dbfs:/Volumes/main/books"), "file:///books"])
def test_addresses_of_object_stores_are_refused(address):
    with pytest.raises(InputError, match="is an address, and local books are in a folder of a file system"):
        aa.LocalBooks.open(address)


@pytest.mark.long
def test_another_address_is_noted_and_another_instance_refused(synced, tmp_path):
    folder = shutil.copytree(synced, tmp_path / "books")
    with aa.demo() as company:
        result = aa.LocalBooks.open(folder).sync(company.client, end_date="2025-03-31", months_a_night=0)
        assert result.ties
        assert any(f"The service is at {company.client.base_url} now" in note for note in result.notes)
        with (
            aa.LedgerClient(company.client.base_url, token="canary-token-value", instance_id="other") as other,
            pytest.raises(InputError, match=r"are of instance harbor-lane .*, not of other .*; nothing was changed"),
        ):
            aa.LocalBooks.open(folder).sync(other)
