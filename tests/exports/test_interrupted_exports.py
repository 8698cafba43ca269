"""Exports that are killed, that run out of space, and that are read while they are replaced."""

import pickle
import random
from dataclasses import replace

import duckdb
import pytest
from interruptions import KILLED_AT_A_STEP, NEVER, file_size_limit

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import Manifest, verify_export

PROGRAM = f"""{KILLED_AT_A_STEP}
import pickle
file, out, name, which = arguments
with open(file, "rb") as opened:
    books = pickle.load(opened)[int(which)]
aa.export(books, out, format=name)
print(steps)
"""


@pytest.fixture(scope="module")
def pickled(quarter, demo_company, tmp_path_factory):
    """Return a file with the books of the quarter and of its last month."""
    days = ("2025-03-01", "2025-03-31")
    # read at one time, so that the exports of both state the same
    report = aa.load_cash_flow_report(demo_company.client, *days)
    march = quarter.with_reports([replace(report, read_at=quarter.reports[0].read_at)]).of(days)
    path = tmp_path_factory.mktemp("books") / "books.pickle"
    path.write_bytes(pickle.dumps((quarter, march)))
    return path


@pytest.fixture
def start(pickled, fork_server, tmp_path):
    """Return a function that starts an export of the quarter, or of its last month, which is killed at a step."""

    def start(step, out, name="parquet", which=0):
        return fork_server.start(PROGRAM, step, pickled, out, name, which, folder=tmp_path)

    return start


def contents(folder):
    """Return rows and sums of each file of a version."""
    return {file.name: (file.rows, file.sums) for file in Manifest.load(folder).files}


def versions(out):
    """Return names of everything in the folder of versions."""
    return sorted(path.name for path in (out / "versions").iterdir())


@pytest.mark.soak
def test_killed_exports_are_old_or_new_and_whole(start, fork_server, quarter, tmp_path, soak_count):
    out, chance = tmp_path / "out", random.Random(15)  # noqa: S311 (not for secrets)
    aa.export(quarter, out)
    expected = contents(out / "current")
    start(NEVER, out)
    steps = int(fork_server.wait().stdout)
    for _ in range(soak_count(50, fewer=3)):
        start(chance.randrange(1, steps + 1), out)
        assert fork_server.wait().returncode == -9
        result = verify_export(out)
        assert result.verified, result.explain()
        assert contents(out / "current") == expected
    aa.export(quarter, out)
    assert [name.isdigit() for name in versions(out)] == [True, True]


@pytest.mark.soak
def test_export_without_space_keeps_the_former(quarter, tmp_path, soak_count):
    out = tmp_path / "out"
    manifest = aa.export(quarter, out)
    sizes = sorted({(out / "current" / file.name).stat().st_size for file in manifest.files})
    before = versions(out)
    for size in sizes[:: max(1, len(sizes) // soak_count(len(sizes) * 10, fewer=2))]:
        with file_size_limit(size - 1), pytest.raises(InputError, match="the export to ") as refused:
            aa.export(quarter, out)
        assert "(File too large); the previous content is unchanged" in str(refused.value)
        assert versions(out) == before
        assert verify_export(out).verified


@pytest.mark.soak
@pytest.mark.long
def test_reader_during_exports_sees_a_whole_one(start, fork_server, quarter, tmp_path, soak_count):
    out = tmp_path / "out"
    aa.export(quarter, out)
    expected = contents(out / "current")
    times = soak_count(100, fewer=4)
    for _ in range(times):
        version = (out / "current").resolve()
        start(NEVER, out)
        result = verify_export(version)
        assert result.verified, result.explain()
        assert contents(version) == expected
        assert fork_server.wait().returncode == 0
    assert (out / "current").resolve().name == str(times + 1)


def duckdb_rows(path):
    """Return the rows of each table as a count and a sum of hashes."""
    with duckdb.connect(str(path), read_only=True) as database:
        tables = [name for (name,) in database.sql("select table_name from duckdb_tables()").fetchall()]
        query = "select count(*), sum(hash(one)) from {} as one"
        return {name: database.sql(query.format(name)).fetchall() for name in tables}


def csv_files(path):
    return {file.name: file.read_bytes() for file in (path / "current").resolve().iterdir()}


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "file", "read"),
    [("duckdb", "out.duckdb", duckdb_rows), ("csv", "out", csv_files)],
    ids=["duckdb", "csv"],
)
def test_interrupted_whole_exports(start, fork_server, pickled, tmp_path, soak_count, *, name, file, read):
    out, chance, expected = tmp_path / "outputs" / file, random.Random(16), []  # noqa: S311 (not for secrets)
    out.parent.mkdir()
    both = pickle.loads(pickled.read_bytes())  # noqa: S301 (our own file)
    for books in both:
        aa.export(books, out, format=name)
        expected.append(read(out))
    assert expected[0] != expected[1]
    size = max(path.stat().st_size for path in out.parent.rglob("*") if path.is_file())
    for limit in (10, size // 2):
        with file_size_limit(limit), pytest.raises(InputError, match=r"File too large\); the previous content is"):
            aa.export(both[0], out, format=name)
        assert read(out) == expected[1]
        assert not list(out.parent.rglob("*.unfinished*"))
    start(NEVER, out, name)
    steps = int(fork_server.wait().stdout)
    for number in range(soak_count(20)):
        start(chance.randrange(1, steps + 1), out, name, number % 2)
        fork_server.wait()
        assert read(out) in expected
    aa.export(both[0], out, format=name)
    assert read(out) == expected[0]
    assert [path for path in out.parent.iterdir() if path != out] == []
