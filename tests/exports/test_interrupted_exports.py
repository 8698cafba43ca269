"""Exports that are killed, that run out of space, and that are read while they are replaced."""

import json
import pickle
import random
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import accounting_analytics as aa
from accounting_analytics.exports import Manifest, verify_export

ZONE = "America/New_York"
PROGRAM = """
import json, os, pickle, resource, sys
import pandas, pyarrow.parquet
from accounting_analytics.errors import InputError
from accounting_analytics.exports.parquet import export_parquet

path, out = sys.argv[1:]
for line in sys.stdin:
    limit, count = json.loads(line)
    if (child := os.fork()) == 0:
        with open(path, "rb") as file:
            whole, march = pickle.load(file)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        print(os.getpid(), flush=True)
        problem = ""
        try:
            for number in range(count):
                frames = march if number % 2 else whole
                export_parquet(out, **frames, replace_months=frames is march)
        except InputError as error:
            problem = f"{error.exit_code} {error}"
        print(json.dumps(problem), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Exporter:
    """A process that has done its imports, and exports in a fork of itself."""

    def __init__(self, process):
        self._process = process

    def start(self, *, count, limit=0):
        """Export so many times, the whole and its last month in turn; the files have at most `limit` bytes."""
        print(json.dumps([limit, count]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def wait(self):
        """Wait for the exports, and return the error message."""
        problem = json.loads(self._process.stdout.readline())
        assert self._process.stdout.readline() == "ended\n"
        return problem

    def kill(self, pid):
        """Kill the exports with SIGKILL, and wait until they have ended."""
        subprocess.run(["/bin/kill", "-9", str(pid)], check=False, capture_output=True)  # noqa: S603
        while self._process.stdout.readline() != "ended\n":
            pass


@contextmanager
def exporter(path, out):
    """Run the program."""
    command = [sys.executable, "-c", PROGRAM, str(path), str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        yield Exporter(process)
        process.stdin.close()


@pytest.fixture(scope="module")
def pickled(frames, demo_company, tmp_path_factory):
    """Return a file with the frames of the quarter and of its last month."""
    days = ("2025-03-01", "2025-03-31")
    march = {
        "ledgers": frames["ledgers"],
        "line_entries": aa.load_line_entries(demo_company.client, frames["ledgers"]["id"], *days, time_zone=ZONE),
        "report": aa.load_cash_flow_report(demo_company.client, *days, time_zone=ZONE),
    }
    path = tmp_path_factory.mktemp("frames") / "frames.pickle"
    path.write_bytes(pickle.dumps((frames, march)))
    return path


def digests(manifest):
    """Return the digest of each file."""
    return {file.name: file.sha256 for file in manifest.files}


def content(folder):
    """Return names of everything in the folder of versions."""
    return sorted(path.name for path in (folder / "versions").iterdir())


@pytest.mark.soak
def test_killed_exports(pickled, frames, tmp_path, soak_count):
    """A killed export leaves the former or the new one, whole; the next export removes what it left."""
    out, chance = tmp_path / "out", random.Random(15)  # noqa: S311 (not for secrets)
    expected = digests(aa.export_parquet(out, **frames))
    with exporter(pickled, out) as program:
        for _ in range(soak_count(50)):
            pid = program.start(count=1000)
            time.sleep(chance.uniform(0, 2))
            program.kill(pid)
            result = verify_export(out)
            assert result.verified, result.explain()
            assert digests(Manifest.load(out / "current")) == expected
        assert program.start(count=1) > 0
        assert program.wait() == ""
    assert all(name.isdigit() for name in content(out))
    assert len(content(out)) == 2


@pytest.mark.soak
def test_exports_without_space(pickled, frames, tmp_path, soak_count):
    """An export of which a file does not fit, whichever it is, is an error, and the former export stays alone."""
    out = tmp_path / "out"
    manifest = aa.export_parquet(out, **frames)
    sizes = sorted({(out / "current" / file.name).stat().st_size for file in manifest.files})
    before = content(out)
    with exporter(pickled, out) as program:
        for size in sizes[:: max(1, len(sizes) // soak_count(len(sizes) or 1))]:
            assert program.start(count=1, limit=size - 1) > 0
            problem = program.wait()
            assert problem.startswith("2 the export to "), problem
            assert "(File too large); the previous content is unchanged" in problem
            assert content(out) == before
            assert verify_export(out).verified
        assert program.start(count=1) > 0
        assert program.wait() == ""


@pytest.mark.soak
def test_a_reader_during_exports(pickled, frames, tmp_path, soak_count):
    """A reader that resolves the link once reads a whole export while the next one replaces it."""
    out = tmp_path / "out"
    expected = digests(aa.export_parquet(out, **frames))
    with exporter(pickled, out) as program:
        for _ in range(soak_count(100)):
            version = (out / "current").resolve()
            assert program.start(count=1) > 0
            result = verify_export(version)
            assert result.verified, result.explain()
            assert digests(Manifest.load(version)) == expected
            assert program.wait() == ""
    assert (out / "current").resolve().name == str(soak_count(100) + 1)
