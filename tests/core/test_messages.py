"""Messages: short lists, quoted values, and no control characters."""

import numpy as np
import pytest

from accounting_analytics.core.messages import first_lines, fit_terminal, join_ids, printable, quote, shorten


@pytest.mark.parametrize(
    ("ids", "limit", "text"),
    [
        ([], 5, ""),
        (["b", "a"], 5, "a, b"),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c", "d"], 2, "a, b and 2 more"),
        ((identifier for identifier in (1, None)), 5, "1, None"),
    ],
)
def test_join_ids(ids, limit, text):
    """The first ids are sorted, and the others are counted."""
    assert join_ids(ids, limit=limit) == text


def test_first_lines():
    """The first lines stay, and the others are counted."""
    assert first_lines(["a", "b"], limit=2) == ["a", "b"]
    assert first_lines(["a", "b", "c", "d"], limit=2) == ["a", "b", "and 2 more"]


def test_shorten():
    """A text within the limit is unchanged; a longer one is cut to it."""
    assert shorten("12345", limit=5) == "12345"
    assert shorten("123456", limit=5) == "12..."


def test_quote():
    """A value is quoted as Python writes it, and a long one is shortened to the limit."""
    assert quote("a\nb") == r"'a\nb'"
    assert quote(1.5) == "1.5"
    assert quote(np.array([[1], [2]])) == "array([[1],        [2]])"
    assert quote("x" * 100, limit=10) == "'xxxxxx..."
    assert len(quote("x" * 100)) == 60


def test_printable():
    """Escapes, line breaks and invisible marks are replaced; letters of any script stay."""
    assert printable("\x1b[2Jred\n\u202e") == "\ufffd[2Jred\ufffd\ufffd"
    assert printable("a\tb", " ") == "a b"
    assert printable("Café 東京 1") == "Café 東京 1"


def test_fit_terminal():
    """Long lines are wrapped and indented, words stay whole, and lines beyond the thirtieth are counted."""
    assert fit_terminal("a\n\nb") == "a\n\nb"
    assert fit_terminal("x" * 100) == "x" * 100
    table = f"{'a':<40}{'b':>40}"
    assert fit_terminal(table) == table
    assert fit_terminal(f"- {'word ' * 20}").splitlines() == [
        f"- {'word ' * 15}word"[:77].rstrip(),
        f"  {'word ' * 5}".rstrip(),
    ]
    assert fit_terminal("line\n" * 30) == "\n".join(["line"] * 30)
    assert fit_terminal("line\n" * 31).splitlines()[28:] == ["line", "... and 2 more lines: see explain()"]
