"""Tokens and passwords that an executed notebook could show, masked in its values."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accounting_analytics.client.secret import Secret, masked

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_VARIABLE = "ACCOUNTING_ANALYTICS_TOKEN"  # noqa: S105 (the name of a variable)
_VARIABLES = (TOKEN_VARIABLE, "ACCOUNTING_ANALYTICS_CLIENT_SECRET")
_FORMAT_METADATA = frozenset({"kernelspec", "language_info"})
_FORMAT_FIELDS = frozenset({"cell_type", "id", "output_type"})
_BASE64_TYPES = re.compile(r"image/(?!svg)|application/pdf")


def known_secrets(environment: Mapping[str, str]) -> list[Secret]:
    """Return the secrets that the environment contains or whose files it names."""
    values = {environment.get(name, "") for name in _VARIABLES}
    for name in _VARIABLES:
        with suppress(OSError, UnicodeDecodeError):  # a notebook that needs the file fails with its own error
            values.add(Path(environment.get(f"{name}_FILE", "")).read_text(encoding="utf-8").strip())
    return [Secret(value) for value in sorted(values - {""})]


def mask_notebook(notebook: Any, secrets: list[Secret]) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Mask secrets in the values of a notebook; names and marks of the file format may be the same words, and stay."""
    notebook.metadata = _mask_fields(notebook.metadata, secrets, _FORMAT_METADATA)
    for cell in notebook.cells:
        outputs = cell.pop("outputs", None)
        cell.update(_mask_fields(cell, secrets, _FORMAT_FIELDS))
        if outputs is not None:
            cell.outputs = [_mask_output(output, secrets) for output in outputs]


def _mask_output(output: Any, secrets: list[Secret]) -> Any:  # noqa: ANN401 (nbformat's NotebookNode)
    is_stream = output.output_type == "stream"  # named stdout or stderr
    return _mask_fields(output, secrets, _FORMAT_FIELDS | {"name"} if is_stream else _FORMAT_FIELDS)


def _mask_fields(fields: Any, secrets: list[Secret], kept: frozenset[str]) -> Any:  # noqa: ANN401 (a node)
    return type(fields)({name: value if name in kept else _mask(value, secrets) for name, value in fields.items()})


def _mask(value: Any, secrets: list[Secret]) -> Any:  # noqa: ANN401 (any JSON)
    """Mask secrets in the text of a JSON value, not in the names of its fields and not in base64."""
    if isinstance(value, str):
        return masked(value, secrets)
    if isinstance(value, list):
        return [_mask(one, secrets) for one in value]
    if isinstance(value, dict):
        return type(value)(
            {name: one if _BASE64_TYPES.match(name) else _mask(one, secrets) for name, one in value.items()}
        )
    return value
