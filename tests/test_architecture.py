"""The rooms of the package, their documentation, and the import contracts between them."""

import re
import tomllib
from pathlib import Path

from importlinter.cli import lint_imports

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "accounting_analytics"
ARCHITECTURE = (PROJECT / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def rooms(folder):
    """Return the modules and packages of a folder."""
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def layers(container):
    """Return the layers of an import contract, from top to bottom."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (one for one in contracts["contracts"] if one.get("containers") == [container])
    return [layer for layer in contract["layers"] if not layer.startswith("__")]


def test_imports_follow_the_contracts():
    """Every import contract of pyproject.toml is kept."""
    assert lint_imports(config_filename=str(PROJECT / "pyproject.toml"), no_cache=True) == 0


def test_every_room_is_documented():
    """The table of rooms lists exactly the modules and packages that exist."""
    assert set(re.findall(r"^\| `(\w+)` \|", ARCHITECTURE, re.MULTILINE)) == rooms(PACKAGE)


def test_documented_layers_are_the_contracts():
    """The pictures of layers are those of the contracts, and contain every room."""
    pictures = [block.splitlines() for block in re.findall(r"^```\n(.*?)^```", ARCHITECTURE, re.MULTILINE | re.DOTALL)]
    for folder in (PACKAGE, PACKAGE / "client", PACKAGE / "service"):
        container = ".".join(folder.relative_to(PROJECT).parts)
        assert layers(container) in pictures
        assert {room for layer in layers(container) for room in layer.split(" | ")} == rooms(folder)
