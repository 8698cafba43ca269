"""Private files that hold the secret of an access token or an OAuth client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth.access_tokens import issue_token, revoke_token
from accounting_analytics.service.auth.oauth_clients import issue_client, revoke_client

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.service.storage.store import Store


def token_path(database: Path) -> Path:
    """File for the access token of a database's first instance."""
    return database.with_name(f"{database.name}.token")


def check_new_file(path: Path) -> None:
    """Refuse a file whose folder is missing, or that exists: it may hold the only copy of another secret."""
    if path.exists():
        msg = f"{path} exists already; nothing was issued, give a new file"
        raise ConfigurationError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"there is no folder {path.absolute().parent} for {path.name}; nothing was issued"
        raise ConfigurationError(msg)


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read, also while it is being written."""
    try:
        remove_temporary_files(path)  # they hold secrets
        replace_file(path, lambda file: file.write(f"{secret}\n".encode()), private=True)
    except OSError as error:
        msg = f"the secret cannot be written to {path}: {error.strerror}"
        raise ConfigurationError(msg) from error


def save_new_token(
    store: Store, instance_id: str, path: Path, *, lifetime: float | None = None, label: str = ""
) -> None:
    """Issue an access token into a new private file; the token is revoked if it cannot be saved."""
    check_new_file(path)
    token = issue_token(store, instance_id, lifetime=lifetime, label=label)
    try:
        write_secret(path, token)
    except ConfigurationError:
        revoke_token(store, token)
        raise


def save_new_client(store: Store, instance_id: str, path: Path, *, label: str = "") -> str:
    """Create an OAuth client, save its secret in a new private file, and return its id."""
    check_new_file(path)
    credentials = issue_client(store, instance_id, label=label)
    try:
        write_secret(path, credentials.client_secret)
    except ConfigurationError:
        revoke_client(store, credentials.client_id)
        raise
    return credentials.client_id
