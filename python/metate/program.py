"""A user's program run as `python FILE.py` would run it, by a command that looks at it: `metate check`, `metate explain`."""

from __future__ import annotations

import builtins
import io
import pathlib
import sys
import threading
import traceback
import types


def run_program(file: pathlib.Path, arguments, name: str = "__main__") -> str | None:
    """Runs it as the module `name`; what it raised is shown as Python shows it. Returns how it failed, None if it did not."""
    module = types.ModuleType(name)
    module.__dict__.update(__file__=str(file), __builtins__=builtins, __cached__=None)
    sys.modules[name] = module  # for good: kernels and threads of the program refer to it
    sys.argv = [str(file), *arguments]
    sys.path[0] = str(file.resolve().parent)
    try:
        with io.open_code(str(file)) as source:
            code = compile(source.read(), str(file), "exec")
        exec(code, module.__dict__)
    except SystemExit as end:
        if end.code is None or end.code == 0:
            return None
        if not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        return f"the program ended with status {end.code if isinstance(end.code, int) else 1}"
    except BaseException as error:
        trace = error.__traceback__ and error.__traceback__.tb_next  # without this function
        traceback.print_exception(type(error), error, trace)
        return f"the program raised {type(error).__name__}"
    finally:
        sys.stdout.flush()
    return None


def wait_for_threads(others) -> None:
    """Python does so at its end: what the program's threads still do belongs to its run."""
    while running := [thread for thread in threading.enumerate() if not thread.daemon and thread not in others]:
        for thread in running:
            thread.join()
