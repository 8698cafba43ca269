"""An export from local books that is killed leaves the export before it or the new one, whole."""

import random

import pytest

import accounting_analytics as aa
from accounting_analytics.exports import Manifest, verify_export

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
PROGRAM = """
import os, pathlib, signal, sys
from accounting_analytics.books import Books
from accounting_analytics.exports import export

folder, version, out, at = sys.argv[1:]
steps = 0

def counted(function):
    def call(*arguments, **options):
        global steps
        steps += 1
        if steps == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call

for module, names in (
    (os, ("fsync", "link", "replace", "rename", "symlink", "unlink", "rmdir")),
    (pathlib.Path, ("replace", "rename", "hardlink_to", "symlink_to", "mkdir", "unlink")),
):
    for name in names:
        setattr(module, name, counted(getattr(module, name)))
export(out, line_entries=Books.open(folder).as_of(int(version)))
print(steps)
"""


def digests(folder):
    """Return version of the books, and the digest of each file, of an export."""
    manifest = Manifest.load(folder / "current")
    return manifest.books_version, {file.name: file.sha256 for file in manifest.files}


@pytest.mark.long
@pytest.mark.soak
def test_killed_exports_of_books(tmp_path, serve, fork_server, soak_count):
    """Killed at any step, between two versions of the books whose months differ; the next export removes the rest."""
    chance = random.Random(6)  # noqa: S311 (a test)
    with serve(600) as service:
        books = aa.Books.open(tmp_path / "books")
        books.sync(service.client, **DAYS)
        for _ in range(3):
            service.recategorize()
            service.double_amounts()
        books.sync(service.client, end_date="2025-12-31", months_a_night=0)
    assert len(books.drift(0).frame) >= 1
    expected = []
    for version in (0, 1):
        aa.export_parquet(tmp_path / f"whole-{version}", line_entries=books.as_of(version))
        expected.append(digests(tmp_path / f"whole-{version}"))
    assert expected[0] != expected[1]

    out = tmp_path / "out"

    def run(version, at):
        fork_server.start(PROGRAM, books.folder, version, out, at, folder=tmp_path)
        return fork_server.wait()

    steps = [int(run(version, 0).stdout) for version in (0, 1)]
    assert min(steps) > 20
    killed, times = 0, soak_count(100, fewer=6)
    for number in range(times):
        version = number % 2
        ended = run(version, chance.randrange(1, steps[version] + 1))
        killed += ended.returncode == -9
        result = verify_export(out)
        assert result.verified, (number, result.explain())
        assert digests(out) in expected, number
        if ended.returncode == 0:
            assert digests(out) == expected[version]
    assert killed > times // 2
    assert run(1, 0).returncode == 0
    assert digests(out) == expected[1]
    assert all(path.name.isdigit() for path in (out / "versions").iterdir())
    assert len(list((out / "versions").iterdir())) == 2
