"""The wings of the package, their documentation, the import contracts between them, and what tests import."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import accounting_analytics as aa
from accounting_analytics import charts, exports

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "accounting_analytics"
ARCHITECTURE = (PROJECT / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8")

WIRE, RECORDS = "service/interface.py", "client/records.py"
SECTION = re.compile(r"^(Parameters|Returns|Raises|Yields)\n-{3,}$", re.MULTILINE)


def wings(folder):
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def layers(container):
    """Return the layers of an import contract, from top to bottom."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (one for one in contracts["contracts"] if one.get("containers") == [container])
    return [layer for layer in contract["layers"] if not layer.startswith("__")]


def test_imports_follow_the_contracts():
    assert lint_imports(config_filename=str(PROJECT / "pyproject.toml"), no_cache=True) == 0


def test_every_wing_is_documented():
    assert set(re.findall(r"^\| `(\w+)` \|", ARCHITECTURE, re.MULTILINE)) == wings(PACKAGE)


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "client", PACKAGE / "service"])
def test_documented_layers_are_the_contracts(folder):
    pictures = [block.splitlines() for block in re.findall(r"^```\n(.*?)^```", ARCHITECTURE, re.MULTILINE | re.DOTALL)]
    container = ".".join(folder.relative_to(PROJECT).parts)
    assert layers(container) in pictures
    assert {one for layer in layers(container) for one in layer.split(" | ")} == wings(folder)


def test_places_of_decisions_are_files():
    places = re.findall(r"^\| [^`|]+ \| `([\w/.]+\.\w+)` \|$", ARCHITECTURE, re.MULTILINE)
    assert len(places) > 30
    assert [place for place in places if not (PACKAGE / place).is_file()] == []


def test_one_class_has_one_name():
    """Classes of one name are only what the client reads and the embedded service writes, each declared on its own."""
    homes = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(path.relative_to(PACKAGE).as_posix())
    twins = {name for name, files in homes.items() if {WIRE, RECORDS} <= files}
    repeated = {name: sorted(files) for name, files in homes.items() if len(files) > 1 and name not in twins}
    assert not repeated


def test_sections_are_in_docstrings_that_users_read():
    """Functions that no public name, schema, chart, command or operation of the service leads to have no sections."""
    bases = {one.__name__ for name in aa.__all__ for one in getattr(getattr(aa, name), "__mro__", ())}
    public = {*aa.__all__, *bases, *charts.__all__, *exports.__all__, "import_books"}
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name in {"core/schemas.py", "core/errors.py"} or name.startswith(("service/operations/", "cli/")):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if getattr(node, "name", None) in public:
                continue
            functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            found += [f"{name}: {one.name}" for one in functions if SECTION.search(ast.get_docstring(one) or "")]
    assert not found


TESTS = PROJECT / "tests"
EXCEPTIONS = TESTS / "inner_imports.txt"
PUBLIC = {"", "core.errors", "core.schemas", "charts", "exports"}
"""Modules of the package that users import, without its own name."""


def imported_modules(path):
    """Return the modules of the package that a file imports, without the package's own name."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        modules |= {one.partition(".")[2] for one in names if one and one.partition(".")[0] == "accounting_analytics"}
    return modules


OWN = {"journals": {"journals"}, "service": {"journals", "service"}}
"""Wings whose modules the tests of a folder may import: the service posts the entries of journals."""


def imports_inner_modules(path):
    """Whether a file imports modules that are not public, other than those of its own wing."""
    modules = imported_modules(path) - PUBLIC
    return any(one.partition(".")[0] not in OWN.get(path.relative_to(TESTS).parts[0], ()) for one in modules)


def test_tests_of_inner_modules_are_listed():
    listed = EXCEPTIONS.read_text(encoding="utf-8").split()
    found = [path.relative_to(TESTS).as_posix() for path in sorted(TESTS.rglob("*.py")) if imports_inner_modules(path)]
    assert sorted(set(found) - set(listed)) == [], "import public names, or test through a fixture"
    assert sorted(set(listed) - set(found)) == [], "take these from the list"


def bound_names(tree):
    """Yield the names that loops, comprehensions and lambdas bind, with their lines."""
    for node in ast.walk(tree):
        targets = [node.target] if isinstance(node, ast.For) else []
        targets += [part.target for part in getattr(node, "generators", [])]
        names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        yield from ((name.id, name.lineno) for name in names)
        if isinstance(node, ast.Lambda):
            yield from ((argument.arg, node.lineno) for argument in node.args.args)


def test_loops_name_what_they_bind():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        for name, line in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name == "one"
    ]
    assert found == []
