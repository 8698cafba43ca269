"""Arguments of public functions: one of a wrong type is refused with a sentence."""

from __future__ import annotations

from accounting_analytics.errors import InputError


def require_type(value: object, kind: type, name: str, hint: str) -> None:
    """Refuse an argument of another type.

    Parameters
    ----------
    value : object
        The argument.
    kind : type
        The class it must be of.
    name : str
        Name of the parameter.
    hint : str
        What to pass instead, such as the function that returns one.

    Raises
    ------
    InputError
        It is of another type.
    """
    if not isinstance(value, kind):
        msg = f"{name} is of type {type(value).__name__}, not {kind.__name__}; {hint}"
        raise InputError(msg)
