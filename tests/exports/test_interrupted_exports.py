"""Exports that are killed, that run out of space, and that are read while they are replaced."""

import json
import pickle
import random
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.exports import Manifest, verify_export

ZONE = "America/New_York"
PROGRAM = """
import json, os, pickle, resource, sys
import duckdb, pandas, pyarrow.parquet, xlsxwriter
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import export

for line in sys.stdin:
    export_format, out, limit, count = json.loads(line)
    if (child := os.fork()) == 0:
        with open(sys.argv[1], "rb") as file:
            whole, march = pickle.load(file)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        print(os.getpid(), flush=True)
        problem = ""
        try:
            for number in range(count):
                frames = march if number % 2 and export_format != "parquet" else whole
                export(out, format=export_format, **frames)
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

    def start(self, out, *, count=1, limit=0, export_format="parquet"):
        """Export so many times, the whole and its last month in turn; the files have at most `limit` bytes."""
        print(json.dumps([export_format, str(out), limit, count]), file=self._process.stdin, flush=True)
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


@pytest.fixture(scope="module")
def pickled(frames, demo_company, tmp_path_factory):
    """Return a file with the frames of the quarter and of its last month."""
    days = ("2025-03-01", "2025-03-31")
    march = {
        "ledgers": frames["ledgers"],
        "line_entries": aa.load_line_entries(demo_company.client, frames["ledgers"]["id"], *days, time_zone=ZONE),
        "report": aa.load_cash_flow_report(demo_company.client, *days, time_zone=ZONE),
    }
    # read at one time, so that the exports of both state the same
    march["line_entries"].attrs["load"] |= {"read_at": frames["line_entries"].attrs["load"]["read_at"]}
    march["report"] = replace(march["report"], read_at=frames["report"].read_at)
    path = tmp_path_factory.mktemp("frames") / "frames.pickle"
    path.write_bytes(pickle.dumps((frames, march)))
    return path


@pytest.fixture(scope="module")
def program(pickled):
    """Return a running process that exports the pickled frames."""
    command = [sys.executable, "-c", PROGRAM, str(pickled)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        yield Exporter(process)
        process.stdin.close()


def contents(manifest):
    """Return rows and sums of each file."""
    return {file.name: (file.rows, file.sums) for file in manifest.files}


def content(folder):
    """Return names of everything in the folder of versions."""
    return sorted(path.name for path in (folder / "versions").iterdir())


@pytest.mark.soak
def test_killed_exports(program, frames, tmp_path, soak_count):
    """A killed export leaves the former or the new one, whole; the next export removes what it left."""
    out, chance = tmp_path / "out", random.Random(15)  # noqa: S311 (not for secrets)
    expected = contents(aa.export_parquet(out, **frames))
    for _ in range(soak_count(50, fewer=2)):
        pid = program.start(out, count=1000)
        time.sleep(chance.uniform(0, 1))
        program.kill(pid)
        result = verify_export(out)
        assert result.verified, result.explain()
        assert contents(Manifest.load(out / "current")) == expected
    aa.export_parquet(out, **frames)
    assert all(name.isdigit() for name in content(out))
    assert len(content(out)) == 2


@pytest.mark.soak
def test_exports_without_space(program, frames, tmp_path, soak_count):
    """An export of which a file does not fit, whichever it is, is an error, and the former export stays alone."""
    out = tmp_path / "out"
    manifest = aa.export_parquet(out, **frames)
    sizes = sorted({(out / "current" / file.name).stat().st_size for file in manifest.files})
    before = content(out)
    for size in sizes[:: max(1, len(sizes) // soak_count(len(sizes) or 1, fewer=1))]:
        assert program.start(out, limit=size - 1) > 0
        problem = program.wait()
        assert problem.startswith("2 the export to "), problem
        assert "(File too large); the previous content is unchanged" in problem
        assert content(out) == before
        assert verify_export(out).verified


@pytest.mark.soak
@pytest.mark.long
def test_a_reader_during_exports(program, frames, tmp_path, soak_count):
    """A reader that resolves the link once reads a whole export while the next one replaces it."""
    out = tmp_path / "out"
    expected = contents(aa.export_parquet(out, **frames))
    times = soak_count(100, fewer=4)
    for _ in range(times):
        version = (out / "current").resolve()
        assert program.start(out) > 0
        result = verify_export(version)
        assert result.verified, result.explain()
        assert contents(Manifest.load(version)) == expected
        assert program.wait() == ""
    assert (out / "current").resolve().name == str(times + 1)


def duckdb_rows(path):
    """Return the rows of each table as a count and a sum of hashes."""
    with duckdb.connect(str(path), read_only=True) as database:
        tables = [name for (name,) in database.sql("select table_name from duckdb_tables()").fetchall()]
        query = "select count(*), sum(hash(one)) from {} as one"
        return {name: database.sql(query.format(name)).fetchall() for name in tables}


def excel_sheets(path):
    """Return the content of each file of the workbook, except the time of the export."""
    with zipfile.ZipFile(path) as workbook:
        return {name: workbook.read(name) for name in workbook.namelist() if name != "docProps/core.xml"}


def csv_files(path):
    """Return the content of each file."""
    return {file.name: file.read_bytes() for file in (path / "current").resolve().iterdir()}


@pytest.fixture(
    scope="module",
    params=[("duckdb", "out.duckdb", duckdb_rows), ("excel", "out.xlsx", excel_sheets), ("csv", "out", csv_files)],
    ids=["duckdb", "excel", "csv"],
)
def whole(request, pickled, tmp_path_factory):
    """Return a format that is written as a whole, an output, what reads it, and its content after both exports."""
    export_format, name, read = request.param
    out, contents = tmp_path_factory.mktemp(export_format) / name, []
    for frames in pickle.loads(pickled.read_bytes()):  # noqa: S301 (our own file)
        aa.export(out, format=export_format, **frames)
        contents.append(read(out))
    assert contents[0] != contents[1]
    return export_format, out, read, contents


@pytest.mark.soak
@pytest.mark.long
def test_killed_whole_exports(program, whole, soak_count):
    """A killed export leaves all of the former books or all of the others; the next one removes what it left."""
    (export_format, out, read, contents), chance = whole, random.Random(16)  # noqa: S311 (not for secrets)
    for _ in range(soak_count(20)):
        pid = program.start(out, count=1000, export_format=export_format)
        time.sleep(chance.uniform(0, 1))
        program.kill(pid)
        assert read(out) in contents
    assert program.start(out, export_format=export_format) > 0
    assert program.wait() == ""
    assert read(out) == contents[0]
    assert [path for path in out.parent.iterdir() if path != out] == []


@pytest.mark.long
def test_whole_exports_without_space(program, whole):
    """An export that does not fit at its start or at its end is an error; the former one stays, and no other file."""
    export_format, out, read, _ = whole
    size = max(file.stat().st_size for file in out.parent.rglob("*") if file.is_file())
    before = read(out)
    for limit in (10, size // 2):
        assert program.start(out, limit=limit, export_format=export_format) > 0
        problem = program.wait()
        assert problem.startswith(f"2 the export to {out} failed ("), problem
        assert "File too large); the previous content is unchanged" in problem
        assert read(out) == before
        assert not list(out.parent.rglob("*.unfinished*"))
