"""Programs that are killed at a step, and files that may not grow, as on a full disk."""

import resource
from contextlib import contextmanager

COUNTED = """
import os, pathlib, signal, sys

at, *arguments = sys.argv[1:]
steps = 0

def counted(function):
    def call(*arguments, **options):
        global steps
        steps += 1
        if steps == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
"""
"""The beginning of a program whose counted functions kill it at a step; `arguments` are those after the step."""
KILLED_AT_A_STEP = f"""
{COUNTED}
import accounting_analytics as aa

for owner, names in (
    (os, ("fsync", "link", "replace", "rename", "symlink", "unlink", "rmdir")),
    (pathlib.Path, ("replace", "rename", "hardlink_to", "symlink_to", "mkdir", "unlink")),
    (aa.LedgerClient, ("_call",)),
):
    for name in names:
        setattr(owner, name, counted(getattr(owner, name)))
"""
"""The beginning of a program that is killed before a step: a change of the file system, or a request."""
NEVER = 10**9
"""A step that no program reaches."""


@contextmanager
def file_size_limit(size):
    """Let no file of this process grow beyond a size, as if the disk were full."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
