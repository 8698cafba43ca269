"""Tests import public names only: those that do not yet are listed, and the list only becomes shorter."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
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


def imports_inner_modules(path):
    """Whether a file imports modules that are not public; the tests of the service may import its modules."""
    modules = imported_modules(path) - PUBLIC
    of_service = path.is_relative_to(TESTS / "service")
    return any(not (of_service and one.partition(".")[0] == "service") for one in modules)


def test_tests_import_public_names():
    """Another test that imports an inner module is refused, and one that no longer does leaves the list."""
    listed = EXCEPTIONS.read_text(encoding="utf-8").split()
    found = [path.relative_to(TESTS).as_posix() for path in sorted(TESTS.rglob("*.py")) if imports_inner_modules(path)]
    assert sorted(set(found) - set(listed)) == [], "import public names, or test through a fixture"
    assert sorted(set(listed) - set(found)) == [], "take these from the list"
