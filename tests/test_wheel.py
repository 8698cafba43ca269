"""The wheel: built from the checkout, installed without it, and used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder where pip installed the built wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)  # noqa: S603 (our own build)
    (wheel,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    target = folder / "installed"
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True, capture_output=True)  # noqa: S603
    return target


@pytest.fixture
def run_installed(installed, tmp_path):
    """Return a function that runs Python with the installed wheel, outside of the checkout."""

    def run_installed(*arguments):
        finished = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run_installed


def test_every_file_of_the_package_is_in_the_wheel(installed):
    package = {
        path.relative_to(PROJECT / "accounting_analytics").as_posix()
        for path in (PROJECT / "accounting_analytics").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    examples = {
        f"examples/{path.relative_to(PROJECT).as_posix()}"
        for path in (*(PROJECT / "notebooks").glob("*.ipynb"), *filter(Path.is_file, (PROJECT / "data").rglob("*")))
    }
    found = {
        path.relative_to(installed / "accounting_analytics").as_posix()
        for path in (installed / "accounting_analytics").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert found == package | examples
    assert any(name.endswith(".ipynb") for name in examples)


@pytest.mark.long
def test_notebooks_of_the_wheel_are_copied_and_run(run_installed, installed, tmp_path):
    program = ("-m", "accounting_analytics")
    assert str(installed) in run_installed("-c", "import accounting_analytics as aa; print(aa.__path__)")
    assert "notebooks/03_recategorize.ipynb" in run_installed(*program, "notebooks", "copy", "mine")
    notebook = tmp_path / "mine" / "notebooks" / "03_recategorize.ipynb"
    days = ("-p", "start_date=2026-06-01", "-p", "end_date=2026-06-30")
    run_installed(*program, "run", notebook, "--demo", *days, "--output", "runs")
    (executed,) = (tmp_path / "runs").glob("*.ipynb")
    assert "would_change" in executed.read_text(encoding="utf-8")
