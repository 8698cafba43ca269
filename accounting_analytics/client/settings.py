"""Settings of the connection: options over environment variables over a TOML profile over defaults."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import platformdirs

from accounting_analytics.client.credentials import require_private
from accounting_analytics.errors import ConfigurationError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

_PRIORITY = {"option": 0, "environment": 1, "profile": 2}
PREFIX = "ACCOUNTING_ANALYTICS_"
DEFAULT_PROFILE = "default"
_MASK = "***"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/]*@")
_DEFAULTS = {"instance_header": "service-instance-id", "amounts": "float64"}
_SECRETS = ("token", "client_secret")
NAMES = (
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
    "amounts",
)
TOKEN_SOURCES = ("token", "token_file", "token_url")
"""Settings that name a token or its source; the one with the highest priority is used, then the first."""


@dataclass(frozen=True)
class Setting:
    """A setting: its name, value and source."""

    name: str
    value: str | None
    source: str

    @property
    def masked_value(self) -> str | None:
        """Value with secrets masked, also a password in an address."""
        if self.name in _SECRETS and self.value:
            return _MASK
        return self.value and _USER_OF_ADDRESS.sub(f"{_MASK}@", self.value)


@dataclass(frozen=True, repr=False)
class Settings:
    """All settings; secrets are masked when printed."""

    settings: tuple[Setting, ...]
    profile: str
    file: Path

    def __getitem__(self, name: str) -> str | None:
        return next(setting.value for setting in self.settings if setting.name == name)

    def first_set(self, names: tuple[str, ...]) -> str | None:
        """Name of the setting with the highest priority: option, environment, then profile; None if none is set."""
        found = [setting for name in names for setting in self.settings if setting.name == name and setting.value]
        return min(found, key=lambda setting: _PRIORITY[setting.source.partition(" ")[0]]).name if found else None

    def __repr__(self) -> str:
        return f"Settings(\n{self.frame.to_string(index=False)}\n)"

    @property
    def frame(self) -> pd.DataFrame:
        """Table of name, value (secrets masked) and source."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and not needed to connect)

        rows = [(setting.name, setting.masked_value, setting.source) for setting in self.settings]
        return pd.DataFrame(rows, columns=["setting", "value", "source"])


def configuration_file() -> Path:
    """Path of the configuration file, which need not exist."""
    return platformdirs.user_config_path("accounting-analytics") / "config.toml"


def load_settings(profile: str | None = None, **options: str | None) -> Settings:
    """Load the settings: options over environment variables over the profile over defaults.

    Raises
    ------
    ConfigurationError
        The profile does not exist, the file is not TOML or has settings that are unknown or in no profile, or an
        option is unknown.
    """
    _require_known(options, "")
    name = profile or os.environ.get(f"{PREFIX}PROFILE") or DEFAULT_PROFILE
    file = configuration_file()
    stored = _profile(file, name, required=name != DEFAULT_PROFILE)
    return Settings(tuple(_setting(key, options, stored, f"profile {name!r}") for key in NAMES), name, file)


def _setting(name: str, options: Mapping[str, str | None], stored: Mapping[str, Any], profile: str) -> Setting:
    variable = f"{PREFIX}{name.upper()}"
    if options.get(name) is not None:
        return Setting(name, str(options[name]), "option")
    if os.environ.get(variable):
        return Setting(name, os.environ[variable], f"environment {variable}")
    if name in stored:
        return Setting(name, str(stored[name]), profile)
    return Setting(name, _DEFAULTS.get(name), "default" if name in _DEFAULTS else "not set")


def _require_known(names: Iterable[str], where: str) -> None:
    unknown = set(names) - set(NAMES)
    if unknown:
        msg = f"{where}unknown setting {quote(min(unknown))}; the settings are {', '.join(NAMES)}"
        raise ConfigurationError(msg)


def _profile(file: Path, name: str, *, required: bool) -> dict[str, Any]:
    try:
        profiles = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the configuration file {file} cannot be read: {error}"
        raise ConfigurationError(msg) from None
    outside = [key for key, value in profiles.items() if not isinstance(value, dict)]
    if outside:
        msg = f"{quote(outside[0])} in {file} is not in a profile; write it below a line such as [{DEFAULT_PROFILE}]"
        raise ConfigurationError(msg)
    if required and name not in profiles:
        known = ", ".join(profiles) or "none"
        msg = f"no profile {name!r} in {file}; profiles: {known}"
        raise ConfigurationError(msg)
    stored: dict[str, Any] = profiles.get(name, {})
    _require_known(stored, f"profile {name!r} in {file}: ")
    if stored.keys() & set(_SECRETS):
        require_private(file, file.stat().st_mode)
    return stored
