"""The files of the repository: which are allowed, and where."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
VISIBLE = {"Makefile", "README.md", "accounting_analytics", "data", "notebooks", "pyproject.toml", "tests"}
HIDDEN = {".ci", ".github", ".gitignore", ".pre-commit-config.yaml"}
MEGABYTE = 1_000_000
METAPHORS = re.compile(
    r"\b(crew|dial|door|dust|dusted|evidence|examination|governor|knock|nobody|odd|oddly|patience|road|shelf|somebody"
    r"|stamp|stamped|stretch|whoever|a look|the look|at once|come right|comes right|first look|quick look|second look"
    r"|gave out|gives out|gone meanwhile|is no|let go|none of ours|so far as|stand twice|stands twice)\b"
)
REGISTRY = re.compile(r"python[h]osted|/[s]imple/|registry\.[n]pm|deb\.[d]ebian|--index-url\s+http", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|home|work)/\w")


@pytest.fixture(scope="module")
def tracked():
    """Return the files that git tracks; skips where the project is not a git checkout."""
    try:
        finished = subprocess.run(
            ["git", "ls-files", "-z"],  # noqa: S607 (the git of this machine)
            cwd=PROJECT,
            capture_output=True,
            check=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout: {error}")
    return [PROJECT / name for name in finished.stdout.split("\0") if name and (PROJECT / name).exists()]


def test_top_level_has_the_agreed_files(tracked):
    assert {path.relative_to(PROJECT).parts[0] for path in tracked} == VISIBLE | HIDDEN


def test_no_file_is_larger_than_a_megabyte(tracked):
    assert [path.name for path in tracked if path.stat().st_size > MEGABYTE] == []


def test_no_registry_addresses_or_machine_paths(tracked):
    found = []
    for path in tracked:
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [
            f"{path.name}: {match.group()}" for match in (REGISTRY.search(text), MACHINE_PATH.search(text)) if match
        ]
    assert found == []


def test_no_file_has_marks_of_an_unfinished_merge(tracked):
    marks = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert [path.name for path in tracked if marks.search(path.read_text(encoding="utf-8", errors="replace"))] == []


def test_notebooks_carry_no_outputs():
    notebooks = sorted((PROJECT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == [], path.name


def test_demo_lock_is_what_its_script_makes():
    command = [sys.executable, PROJECT / ".ci" / "demo_lock.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 (our own)
    assert (PROJECT / ".ci" / "demo.lock").read_text(encoding="utf-8") == printed
    assert not re.findall(r"^(?:pytest|pyspark|mypy|hypothesis|playwright)==", printed, re.MULTILINE)


@pytest.mark.parametrize("name", ["requirements.lock", "demo.lock"])
def test_every_pin_has_a_hash(name):
    text = (PROJECT / ".ci" / name).read_text(encoding="utf-8")
    pins = re.findall(r"^(\S+?)==(\S+).*?\\\n((?:\s+--hash=sha256:[0-9a-f]{64}.*\n)+)", text, re.MULTILINE)
    names = re.findall(r"^[A-Za-z0-9][^\s=<>~!]*", text, re.MULTILINE)
    assert len(pins) == len(names) > 0


def test_the_only_python_is_found(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    (tmp_path / "sort").symlink_to(shutil.which("sort"))
    script = (PROJECT / ".ci/run").read_text(encoding="utf-8")
    function = re.search(r"^pythons\(\) \{.*?^\}$", script, re.MULTILINE | re.DOTALL)
    command = [shutil.which("bash"), "-c", f"set -euo pipefail\n{function[0]}\npythons"]
    finished = subprocess.run(command, env={"PATH": str(tmp_path)}, check=True, capture_output=True, text=True)  # noqa: S603 (our own)
    assert finished.stdout == "{}.{} {}\n".format(*sys.version_info[:2], tmp_path / "python3")


def test_metaphors_are_not_used(tracked):
    texts = {".css", ".ipynb", ".j2", ".js", ".md", ".py", ".pyi", ".toml"}
    found = []
    for path in tracked:
        if path.suffix in texts and "tests" not in path.relative_to(PROJECT).parts:
            text = re.sub(r"there is no|is no longer", "", path.read_text(encoding="utf-8").lower())
            words = " ".join(re.findall("[a-z]+", text))
            found += [f"{path.name}: {one}" for one in METAPHORS.findall(words)]
    assert found == []
