"""A program that imports the package once, and runs other programs in forks of itself.

Each line on standard input is a program as JSON; the fork prints its process id, and the server its exit status.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import threading
import traceback

import accounting_analytics


def import_everything():
    """Import every module of the package, and with them the libraries that they use."""
    for module in pkgutil.walk_packages(accounting_analytics.__path__, "accounting_analytics."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def become(*, code, arguments, folder, environment, output, seconds):
    """Run a program in this process as Python does, with its own arguments, folder, environment and output."""
    signal.alarm(seconds)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    opened = [os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for path in (os.devnull, *output)]
    print(os.getpid(), flush=True)  # noqa: T201 (read by the tests)
    for descriptor, file in enumerate(opened):
        os.dup2(file, descriptor)
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 (programs of the tests)


def end(code):
    """End this process as Python does, but without freeing its memory, which takes longer than most programs."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main():
    """Serve until standard input ends."""
    sys.modules["rfc3987_syntax"] = None  # jsonschema does without it, and its grammar takes seconds
    import_everything()
    gc.freeze()  # or the collector copies all memory in every fork
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                become(**json.loads(line))
            except SystemExit as ended:
                end(ended.code or 0)
            except BaseException:  # noqa: BLE001 (a fork must end here)
                traceback.print_exc()
                end(1)
            end(0)
        print(os.waitpid(child, 0)[1], flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
