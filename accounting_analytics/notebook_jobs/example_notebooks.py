"""Copy the example notebooks and the files they read to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from accounting_analytics.core.atomic_files import replace_file
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of

_PACKAGE = Path(__file__).parents[1]
_PATTERNS = ("notebooks/*.ipynb", "data/*", "data/imports/*")


class CopiedNotebooks(NamedTuple):
    """Result of :func:`copy_notebooks`; files are relative to the folder, unchanged ones had the same content."""

    folder: Path
    copied: tuple[str, ...]
    unchanged: tuple[str, ...]


def copy_notebooks(folder: str | Path, *, force: bool = False) -> CopiedNotebooks:
    """Copy the example notebooks and the files they read to a folder; nothing is copied if a file there differs."""
    target = Path(folder)
    contents = {path.relative_to(root).as_posix(): path.read_bytes() for root, path in _example_files()}
    try:
        existing = {name: (target / name).read_bytes() for name in contents if (target / name).exists()}
        changed = [name for name, content in existing.items() if content != contents[name]]
        if changed and not force:
            raise InputError(
                f"{count_of(len(changed), 'file')} in {target} unlike the ones to copy: {', '.join(changed)}; nothing "
                "was copied. Copy to another folder, or use --force to replace them"
            )
        copied = tuple(name for name in contents if name in changed or name not in existing)
        for name in copied:
            _write(target / name, contents[name])
    except OSError as error:
        raise InputError(
            f"{error.filename or target} cannot be used: {error.strerror}; no existing file was damaged"
        ) from error
    return CopiedNotebooks(target, copied, tuple(name for name in contents if name not in copied))


def _example_files() -> list[tuple[Path, Path]]:
    """List each example file with the folder of the examples."""
    packaged = _PACKAGE / "examples"
    root = packaged if packaged.is_dir() else _PACKAGE.parent
    files = [(root, path) for pattern in _PATTERNS for path in sorted(root.glob(pattern)) if path.is_file()]
    if not files:
        raise InputError(
            f"this installation has no notebooks in {root}; install the package again from a wheel or a checkout"
        )
    return files


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: file.write(content))
