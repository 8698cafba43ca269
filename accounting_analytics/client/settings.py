"""Connect to the configured service: options over environment variables over a TOML profile over defaults."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import platformdirs

from accounting_analytics.client.auth import (
    ClientCredentials,
    Credentials,
    TokenFile,
    read_secret_file,
    require_private,
)
from accounting_analytics.client.ledger_client import LedgerClient
from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

_PRIORITY = {"option": 0, "environment": 1, "profile": 2}
_PREFIX = "ACCOUNTING_ANALYTICS_"
DEFAULT_PROFILE = "default"
_MASK = "***"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/]*@")
_DEFAULTS = {"instance_header": "service-instance-id", "amounts": "float64", "fiscal_year_start_month": "1"}
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
    "amounts",
    "company",
    "currency",
    "fiscal_year_start_month",
    "books",
    "browser",
)
_NOT_OF_CLIENTS = ("company", "currency", "fiscal_year_start_month", "books", "browser")
"""Settings of statements, local books and PDFs: a client does not have them."""
_MAX_NAME = 200
_MONTHS = tuple(map(str, range(1, 13)))
_TOKEN_SOURCES = ("token", "token_file", "token_url")
"""Settings that name a token or its source; the one with the highest priority is used, then the first."""


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
    named = {name: options.pop(name) for name in _NAMES if name in options and name not in _NOT_OF_CLIENTS}
    settings = load_settings(profile, **named, token=None if credentials else token)
    missing = [name for name in ("base_url", "instance_id") if not settings[name]]
    token_source = settings.first_set(_TOKEN_SOURCES)
    if token_source is None and credentials is None:
        missing.append("token_file")
    if missing:
        variables = ", ".join(f"{_PREFIX}{name.upper()}" for name in missing)
        raise ConfigurationError(
            f"no Ledger Accounting Service is configured: set {variables} (or a profile in {settings.file}); "
            "to try the demo company instead: accounting_analytics.demo() in Python, --demo in the shell, or make lab"
        )
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
        raise ConfigurationError(
            f"token_url needs {_PREFIX}CLIENT_ID, and {_PREFIX}CLIENT_SECRET_FILE or {_PREFIX}CLIENT_SECRET"
        )
    return ClientCredentials(str(settings["token_url"]), str(settings["client_id"]), secret)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"requests_per_minute {text!r} is not a number") from None


class Presentation(NamedTuple):
    """What statements are headed with, and the first month of the fiscal year; the service states none of it."""

    company: str | None = None
    currency: str | None = None
    fiscal_year_start_month: int = 1


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

    def presentation(self) -> Presentation:
        """Company, currency and fiscal year, checked."""
        return Presentation(self._name("company"), self._name("currency"), self._fiscal_year_start_month())

    def _name(self, name: str) -> str | None:
        """Return a setting that is shown as it is: one line of text."""
        text = self[name]
        if text is not None and not (text.strip() and text.isprintable() and len(text) <= _MAX_NAME):
            raise self._refusal(name, f"1 to {_MAX_NAME} printable characters")
        return text

    def _fiscal_year_start_month(self) -> int:
        text = str(self["fiscal_year_start_month"])
        if text not in _MONTHS:
            raise self._refusal("fiscal_year_start_month", "a month from 1 to 12")
        return int(text)

    def _refusal(self, name: str, expected: str) -> ConfigurationError:
        """Error that names a setting, its value, where it was set, and what it must be."""
        setting = next(setting for setting in self.settings if setting.name == name)
        where = f"{setting.source} of {self.file}" if setting.source.startswith("profile") else setting.source
        return ConfigurationError(f"{name} is {quote(setting.value)} ({where}); it must be {expected}")

    def names_books(self) -> bool:
        """Whether local books are configured in the place of a service, which otherwise comes first."""
        return self.first_set(("base_url", "books")) == "books"

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
    """Load the settings: options over environment variables over the profile over defaults."""
    _require_known(options, "")
    name = profile or os.environ.get(f"{_PREFIX}PROFILE") or DEFAULT_PROFILE
    file = configuration_file()
    stored = _profile(file, name, required=name != DEFAULT_PROFILE)
    return Settings(tuple(_setting(key, options, stored, f"profile {name!r}") for key in _NAMES), name, file)


def _setting(name: str, options: Mapping[str, str | None], stored: Mapping[str, Any], profile: str) -> Setting:
    variable = f"{_PREFIX}{name.upper()}"
    if options.get(name) is not None:
        return Setting(name, str(options[name]), "option")
    if os.environ.get(variable):
        return Setting(name, os.environ[variable], f"environment {variable}")
    if name in stored:
        return Setting(name, str(stored[name]), profile)
    return Setting(name, _DEFAULTS.get(name), "default" if name in _DEFAULTS else "not set")


def _require_known(names: Iterable[str], where: str) -> None:
    unknown = set(names) - set(_NAMES)
    if unknown:
        raise ConfigurationError(f"{where}unknown setting {quote(min(unknown))}; the settings are {', '.join(_NAMES)}")


def _profile(file: Path, name: str, *, required: bool) -> dict[str, Any]:
    try:
        profiles = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"the configuration file {file} cannot be read: {error}") from None
    outside = [key for key, value in profiles.items() if not isinstance(value, dict)]
    if outside:
        raise ConfigurationError(
            f"{quote(outside[0])} in {file} is not in a profile; write it below a line such as [{DEFAULT_PROFILE}]"
        )
    if required and name not in profiles:
        known = ", ".join(profiles) or "none"
        raise ConfigurationError(f"no profile {name!r} in {file}; profiles: {known}")
    stored: dict[str, Any] = profiles.get(name, {})
    _require_known(stored, f"profile {name!r} in {file}: ")
    if stored.keys() & set(_SECRETS):
        require_private(file, file.stat().st_mode)
    return stored
