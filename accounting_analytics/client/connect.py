"""Connect to the configured service."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from accounting_analytics.client.credentials import (
    ClientCredentials,
    Credentials,
    TokenFile,
    read_secret_file,
)
from accounting_analytics.client.ledger_client import LedgerClient
from accounting_analytics.client.settings import NAMES, PREFIX, TOKEN_SOURCES, Settings, load_settings
from accounting_analytics.errors import ConfigurationError


def connect(profile: str | None = None, **options: Any) -> LedgerClient:  # noqa: ANN401 (LedgerClient's own)
    """Connect to the configured service.

    Parameters
    ----------
    profile : str, optional
        Name of a profile in the configuration file.
    **options
        Settings by name (``base_url``, ``token``, ``token_file``, ``token_url``, ``client_id``, ``client_secret``,
        ``client_secret_file``, ``instance_id``, ``instance_header``, ``time_zone``, ``requests_per_minute``,
        ``amounts``), which override everything else, and any further option of
        :class:`~accounting_analytics.LedgerClient`.

    Raises
    ------
    ConfigurationError
        A required setting is missing; the message says what to set.
    PeriodError
        The configured time zone is unknown.
    """
    token = options.pop("token", None)
    credentials: Credentials | None = None if token is None or isinstance(token, str) else token
    named = {name: options.pop(name) for name in NAMES if name in options}
    settings = load_settings(profile, **named, token=None if credentials else token)
    missing = [name for name in ("base_url", "instance_id") if not settings[name]]
    token_source = settings.first_set(TOKEN_SOURCES)
    if token_source is None and credentials is None:
        missing.append("token_file")
    if missing:
        variables = ", ".join(f"{PREFIX}{name.upper()}" for name in missing)
        msg = (
            f"no Ledger Accounting Service is configured: set {variables} (or a profile in {settings.file}); "
            "to try the demo company instead: accounting_analytics.demo() in Python, --demo in the shell, or make lab"
        )
        raise ConfigurationError(msg)
    return LedgerClient(
        str(settings["base_url"]),
        token=credentials or _credentials(settings, str(token_source)),
        instance_id=str(settings["instance_id"]),
        instance_header=str(settings["instance_header"]),
        requests_per_minute=_number(settings["requests_per_minute"]),
        time_zone=settings["time_zone"],
        amounts=cast("Any", settings["amounts"]),  # the client checks it
        **options,
    )


def _credentials(settings: Settings, token_source: str) -> str | Credentials:
    """Token or its source."""
    if token_source == "token":  # noqa: S105 (name of a setting)
        return str(settings["token"])
    if token_source == "token_file":  # noqa: S105 (name of a setting)
        return TokenFile(str(settings["token_file"]))
    secret = settings["client_secret"]
    if settings.first_set(("client_secret", "client_secret_file")) == "client_secret_file":
        secret = read_secret_file(Path(str(settings["client_secret_file"])), "client secret")
    if not settings["client_id"] or not secret:
        msg = f"token_url needs {PREFIX}CLIENT_ID, and {PREFIX}CLIENT_SECRET_FILE or {PREFIX}CLIENT_SECRET"
        raise ConfigurationError(msg)
    return ClientCredentials(str(settings["token_url"]), str(settings["client_id"]), secret)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        msg = f"requests_per_minute {text!r} is not a number"
        raise ConfigurationError(msg) from None
