"""How a service is found: option, environment, profile in a TOML file, default, in this order."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from accounting_analytics.client.credentials import (
    ClientCredentials,
    Credentials,
    TokenFile,
    read_secret_file,
    require_private,
)
from accounting_analytics.client.ledger_client import LedgerClient
from accounting_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

_DISTANCE = {"option": 0, "environment": 1, "profile": 2}
PREFIX = "ACCOUNTING_ANALYTICS_"
DEFAULT_PROFILE = "default"
_SECRET = "***"  # noqa: S105 (what is shown instead of a secret)
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/]*@")
_DEFAULTS = {"instance_header": "service-instance-id", "time_zone": "UTC"}
_SECRETS = ("token", "client_secret")
_NAMES = (
    "base_url",
    "token",
    "token_file",
    "token_url",
    "client_id",
    "client_secret",
    "client_secret_file",
    "instance_id",
    "instance_header",
    "time_zone",
    "requests_per_minute",
)
_OPENING = ("token", "token_file", "token_url")
"""Settings that open the door, each in its way; of those set, the nearest counts, then the first."""


@dataclass(frozen=True)
class Setting:
    """One setting: its value, and where it comes from."""

    name: str
    value: str | None
    source: str

    @property
    def shown(self) -> str | None:
        """Value without a secret, be it one by itself or in an address where it does not belong."""
        if self.name in _SECRETS and self.value:
            return _SECRET
        return self.value and _USER_OF_ADDRESS.sub(f"{_SECRET}@", self.value)


@dataclass(frozen=True, repr=False)
class Settings:
    """Everything that is configured; secrets are masked when shown."""

    settings: tuple[Setting, ...]
    profile: str
    file: Path

    def __getitem__(self, name: str) -> str | None:
        return next(setting.value for setting in self.settings if setting.name == name)

    def nearest(self, names: tuple[str, ...]) -> str | None:
        """Of some settings the one that is set nearest: as an option, else in the environment, else in the profile."""
        found = [setting for name in names for setting in self.settings if setting.name == name and setting.value]
        return min(found, key=lambda setting: _DISTANCE[setting.source.partition(" ")[0]]).name if found else None

    @property
    def time_zone(self) -> str:
        """Zone that days are counted in."""
        return self["time_zone"] or _DEFAULTS["time_zone"]

    def __repr__(self) -> str:
        return f"Settings(\n{self.frame().to_string(index=False)}\n)"

    def frame(self) -> pd.DataFrame:
        """Table of name, value (secrets masked) and source."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and a connection needs none of it)

        rows = [(setting.name, setting.shown, setting.source) for setting in self.settings]
        return pd.DataFrame(rows, columns=["setting", "value", "source"])


def configuration_file() -> Path:
    """Path of the configuration file, whether it exists or not."""
    return platformdirs.user_config_path("accounting-analytics") / "config.toml"


def load_settings(profile: str | None = None, **options: str | None) -> Settings:
    """Find the settings in force: options over environment over the profile over defaults.

    Raises
    ------
    ConfigurationError
        The profile does not exist, the file is not TOML or has unknown names, or an option is unknown.
    """
    unknown = options.keys() - set(_NAMES)
    if unknown:
        msg = f"unknown setting {min(unknown)!r}; the settings are {', '.join(_NAMES)}"
        raise ConfigurationError(msg)
    name = profile or os.environ.get(f"{PREFIX}PROFILE") or DEFAULT_PROFILE
    file = configuration_file()
    stored = _profile(file, name, required=name != DEFAULT_PROFILE)
    return Settings(tuple(_setting(key, options, stored, f"profile {name!r}") for key in _NAMES), name, file)


def connect(profile: str | None = None, **options: Any) -> LedgerClient:  # noqa: ANN401 (LedgerClient's own)
    """Connect to the configured service.

    Parameters
    ----------
    profile : str, optional
        Name of a profile in the configuration file.
    **options
        Settings by name (``base_url``, ``token``, ``token_file``, ``token_url``, ``client_id``, ``client_secret``,
        ``client_secret_file``, ``instance_id``, ``instance_header``, ``requests_per_minute``), which win over
        everything else, and any further option of
        :class:`~accounting_analytics.LedgerClient`.

    Raises
    ------
    ConfigurationError
        Something needed is not configured; the message says what to set.
    """
    token = options.pop("token", None)
    given: Credentials | None = None if token is None or isinstance(token, str) else token
    named = {name: options.pop(name) for name in _NAMES if name in options}
    settings = load_settings(profile, **named, token=None if given else token)
    missing = [name for name in ("base_url", "instance_id") if not settings[name]]
    opening = settings.nearest(_OPENING)
    if opening is None and given is None:
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
        token=given or _credentials(settings, str(opening)),
        instance_id=str(settings["instance_id"]),
        instance_header=str(settings["instance_header"]),
        requests_per_minute=_number(settings["requests_per_minute"]),
        **options,
    )


def _credentials(settings: Settings, opening: str) -> str | Credentials:
    """Token, or where it comes from."""
    if opening == "token":
        return str(settings["token"])
    if opening == "token_file":
        return TokenFile(str(settings["token_file"]))
    secret = settings["client_secret"]
    if settings.nearest(("client_secret", "client_secret_file")) == "client_secret_file":
        secret = read_secret_file(Path(str(settings["client_secret_file"])), "client secret")
    if not settings["client_id"] or not secret:
        msg = f"token_url needs {PREFIX}CLIENT_ID, and {PREFIX}CLIENT_SECRET_FILE or {PREFIX}CLIENT_SECRET"
        raise ConfigurationError(msg)
    return ClientCredentials(str(settings["token_url"]), str(settings["client_id"]), secret)


def _setting(name: str, options: Mapping[str, str | None], stored: Mapping[str, Any], where: str) -> Setting:
    variable = f"{PREFIX}{name.upper()}"
    if options.get(name) is not None:
        return Setting(name, str(options[name]), "option")
    if os.environ.get(variable):
        return Setting(name, os.environ[variable], f"environment {variable}")
    if name in stored:
        return Setting(name, str(stored[name]), where)
    return Setting(name, _DEFAULTS.get(name), "default" if name in _DEFAULTS else "not set")


def _profile(file: Path, name: str, *, required: bool) -> dict[str, Any]:
    try:
        profiles = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the configuration file {file} cannot be read: {error}"
        raise ConfigurationError(msg) from None
    stored = profiles.get(name)
    if stored is None and required:
        known = ", ".join(profiles) or "none"
        msg = f"there is no profile {name!r} in {file}; there is: {known}"
        raise ConfigurationError(msg)
    if not isinstance(stored or {}, dict) or (stored or {}).keys() - set(_NAMES):
        msg = f"profile {name!r} in {file} has settings other than {', '.join(_NAMES)}"
        raise ConfigurationError(msg)
    if (stored or {}).keys() & set(_SECRETS):
        require_private(file, file.stat().st_mode)
    return dict(stored or {})


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        msg = f"requests_per_minute {text!r} is not a number"
        raise ConfigurationError(msg) from None
