"""The rooms and the walls between them."""

from pathlib import Path

from importlinter.cli import lint_imports

PROJECT = Path(__file__).parent.parent


def test_imports_go_only_downwards():
    """Every import contract of pyproject.toml is kept."""
    assert lint_imports(config_filename=str(PROJECT / "pyproject.toml"), no_cache=True) == 0
