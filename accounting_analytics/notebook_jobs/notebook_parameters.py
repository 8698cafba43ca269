"""Parameters of notebooks: their names and types, and checks of given values.

The type of a parameter is the type in its annotation, else the type of its default, if that is a literal.
"""

from __future__ import annotations

import ast
import codecs
import datetime as dt
import json
import math
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager

from accounting_analytics.client.secret import TOKEN_VARIABLE, is_secret_parameter, known_secrets
from accounting_analytics.core.errors import InputError, NotebookParametersError
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accounting_analytics.client.secret import Secret

_EXAMPLES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number such as 5",
    float: "a number such as 0.5",
    str: "a text",
    list: 'a list such as ["a", "b"]',
    tuple: 'a list such as ["a", "b"]',
    dict: 'a mapping such as {"a": "b"}',
    dt.date: "a day such as 2026-05-01",
}
_TYPES = {kind.__name__: kind for kind in _EXAMPLES}
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_AMBIGUOUS = (bool, int, float, list, tuple, dict, type(None))
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_LITERAL = object()


class Parameter(NamedTuple):
    """A name that a notebook declares, its default as written and as a value, and its type.

    The type is None if the default is None without an annotation, or the annotation has several types. `unreadable` is
    the code line whose type cannot be read, and `calculated` is the code line that calculates with the default.
    """

    name: str
    source: str
    default: Any
    type: type | None
    is_optional: bool
    unreadable: str = ""
    calculated: str = ""

    def fitting(self, given: object) -> object:
        """Convert a value for the notebook. Refuse a value of another type."""
        value = _plain(given)
        if value is _NOT_LITERAL:
            raise NotebookParametersError(
                f"{quote(given)}, a {type(given).__name__}, for parameter {self.name!r} cannot be written into a "
                "notebook: give a text, a number, True, False, None, or a list or mapping of these"
            )
        if self.type is None or (value is None and self.is_optional):
            return value
        if self.type is dt.date:
            return self._day(given)
        if self.type is float and type(value) is int:
            return float(value)
        if type(value) is not (list if self.type is tuple else self.type):
            raise self._misfit(given)
        return value

    def parse(self, text: str) -> object:
        """Read a text of the command line as a value of the parameter's type."""
        if self.type is str:
            return text
        if self.type is dt.date and not (self.is_optional and text.strip().casefold() in _WORDS):
            return self._day(text)
        literal = _literal(text)
        if literal is None and self.is_optional:
            return None
        if self.type is None:
            if not isinstance(literal, _AMBIGUOUS):
                return text
            name = "str" if literal is None else type(literal).__name__
            raise NotebookParametersError(
                f"{quote(text)} for parameter {self.name!r} can be a text or the value {quote(literal)}, and its "
                f"default, {self.source}, does not decide; declare its type in the notebook, such as {self.name}: "
                f"{name}{' | None' if self.is_optional else ''} = {self.source}; nothing was executed"
            )
        if literal is _NOT_LITERAL or (isinstance(literal, float) and not math.isfinite(literal)):
            raise self._misfit(text)
        try:
            return self.fitting(literal)
        except NotebookParametersError as error:
            raise self._misfit(text) from error

    def _day(self, given: object) -> str:
        if type(given) is dt.date:
            return given.isoformat()
        with suppress(ValueError):
            if isinstance(given, str):
                return dt.date.fromisoformat(given).isoformat()
        raise self._misfit(given)

    def _misfit(self, given: object) -> NotebookParametersError:
        wanted = _EXAMPLES[self.type] if self.type else "another value"
        return NotebookParametersError(
            f"{quote(given)} does not fit parameter {self.name!r}, whose default is {self.source}: give {wanted}"
            f"{' or None' if self.is_optional else ''}; nothing was executed"
        )


def read_notebook(notebook: Path) -> Any:  # noqa: ANN401 (nbformat's NotebookNode)
    """Read a notebook of any version."""
    try:
        read = notebook.read_bytes()
        if read.startswith(codecs.BOM_UTF8):
            raise InputError(
                f"{notebook} begins with a byte order mark, which no Jupyter reads: save it as UTF-8 without"
            )
        return nbformat.reads(read.decode(), as_version=4)
    except OSError as error:
        raise InputError(f"the notebook {notebook} cannot be read: {error.strerror}") from error
    except (ValueError, nbformat.ValidationError, AttributeError, KeyError, RecursionError) as error:
        raise InputError(f"{notebook} is not a notebook") from error


def parse_parameters(notebook: Path, texts: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Read texts as values of the types that the notebook declares."""
    declared = declared_parameters(read_notebook(notebook))
    require_declared(notebook, texts, declared, known_secrets(environment))
    return {name: declared[name].parse(text) for name, text in texts.items()}


def require_declared(
    notebook: Path, values: Mapping[str, Any], declared: Mapping[str, Parameter], secrets: list[Secret]
) -> None:
    """Refuse parameters that are not declared, or look like secrets."""
    for name, value in values.items():
        if is_secret_parameter(name, value, secrets):
            raise NotebookParametersError(
                f"parameter {name!r} looks like a secret, and parameters are stored in the executed notebook; "
                f"pass tokens in the environment ({TOKEN_VARIABLE}_FILE)"
            )
        if name not in declared:  # papermill would only warn
            raise NotebookParametersError(
                f"{notebook} declares no parameter {name!r}; it declares: {', '.join(declared) or 'none'}"
            )
        if line := declared[name].calculated:
            raise NotebookParametersError(
                f"{notebook} calculates with {name!r} in its cell tagged parameters, before the given value is there "
                f"({line}): move that line to the next cell; nothing was executed"
            )
        if line := declared[name].unreadable:
            raise NotebookParametersError(
                f"{notebook} does not say which type {name!r} has ({line}): give it a literal as default, or annotate "
                f"it as bool, int, float, str, list, dict or date; nothing was executed"
            )


def declared_parameters(notebook: Any) -> dict[str, Parameter]:  # noqa: ANN401 (nbformat's NotebookNode)
    """Find the names assigned in the cell tagged `parameters`.

    Papermill inserts the given values after this cell.
    """
    found: dict[str, Parameter] = {}
    calculated: dict[str, str] = {}
    for statement in _statements(notebook):
        line = f"line {statement.lineno}, {quote(ast.unparse(statement))}"
        for name in found.keys() & _names_read(statement):
            calculated.setdefault(name, line)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
            for target in targets:
                if isinstance(target, ast.Name):
                    found[target.id] = _parameter(target.id, statement.value, annotation, line)
    return {name: parameter._replace(calculated=calculated.get(name, "")) for name, parameter in found.items()}


def _statements(notebook: Any) -> list[ast.stmt]:  # noqa: ANN401 (nbformat's NotebookNode)
    """Parse the cell tagged `parameters`. Refuse several such cells."""
    tags = [cell.metadata.get("tags", ()) for cell in notebook.cells]
    tagged = [number for number, names in enumerate(tags) if "parameters" in names]
    inserted = [number for number, names in enumerate(tags) if "injected-parameters" in names]
    if len(tagged) > 1 or (tagged and inserted and inserted[0] < tagged[0]):
        raise NotebookParametersError(
            f"cells {', '.join(str(number + 1) for number in sorted({*tagged, *inserted}))} of the notebook are tagged "
            "parameters or injected-parameters, and the last would be set over given values: tag one cell as "
            "parameters, and delete those that were inserted; nothing was executed"
        )
    try:
        return ast.parse(TransformerManager().transform_cell(notebook.cells[tagged[0]].source)).body if tagged else []
    except SyntaxError:  # such as a magic command without its %
        return []


def _names_read(statement: ast.stmt) -> set[str]:
    """Find the names whose values a statement reads. Annotations do not count."""
    parts = [statement.value] if isinstance(statement, ast.AnnAssign) and statement.value else [statement]
    names = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return read | {node.id for node in names if isinstance(statement, ast.AugAssign)}


def _parameter(name: str, value: ast.expr, annotation: ast.expr | None, line: str) -> Parameter:
    stated = _stated_types(annotation)
    default = _NOT_LITERAL
    with suppress(ValueError, TypeError):
        default = ast.literal_eval(value)
    kinds = [_TYPES[type_name] for type_name in stated if type_name in _TYPES]
    if not kinds or (kinds == [dt.date] and isinstance(default, str)):
        kinds = [kind for kind in _EXAMPLES if type(default) is kind]
    is_readable = kinds or (default is None and stated in ([], ["None"]))
    kind = kinds[0] if len(kinds) == 1 else None
    is_optional = default is None or "None" in stated
    return Parameter(name, ast.unparse(value), default, kind, is_optional, "" if is_readable else line)


def _stated_types(annotation: ast.expr | None) -> list[str]:
    """Name the types of an annotation: ``str | None`` has two."""
    if annotation is None:
        return []
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    text = re.sub(r"^(?:\w+\.)?Optional\[(.*)\]$", r"\1 | None", str(text))
    return [part.strip().rpartition(".")[2] for part in re.sub(r"\[.*\]", "", text).split("|")]


def _literal(text: str) -> Any:  # noqa: ANN401 (any literal)
    """Read a text as a literal of Python or JSON."""
    stripped = text.strip()
    if stripped.casefold() in _WORDS:
        return _WORDS[stripped.casefold()]
    for read in (ast.literal_eval, json.loads):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            literal = read(stripped)
            return _NOT_LITERAL if isinstance(literal, tuple) and not stripped.startswith("(") else literal
    return _NOT_LITERAL


def _plain(value: Any) -> Any:  # noqa: ANN401 (any value)
    """Convert a value to JSON.

    Return `_NOT_LITERAL` if JSON would change the value.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dt.date | os.PathLike):
        value = value.isoformat() if isinstance(value, dt.date) else os.fspath(value)
    if isinstance(value, list | tuple):
        items = [_plain(part) for part in value]
        return _NOT_LITERAL if _NOT_LITERAL in items else items
    if isinstance(value, dict):
        pairs = {key: _plain(part) for key, part in value.items()}
        return _NOT_LITERAL if _NOT_LITERAL in pairs.values() or any(type(key) is not str for key in pairs) else pairs
    is_text = isinstance(value, str) and not _SURROGATE.search(value)
    return value if is_text or value is None or isinstance(value, bool | int | float) else _NOT_LITERAL
