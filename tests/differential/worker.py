"""A process that loads modules and runs their kernels: no compiler in it.

Reads pickled requests from standard input, writes pickled answers to where standard output was:
(module bytes, [(case, {type name: blob}, {tree: block}, fields)]) -> [what `launch` found].
"""

from __future__ import annotations

import os
import pickle
import sys


def main() -> int:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a kernel prints past sys.stdout must not mix with the answers
    from metate import runtime
    from metate.loaded import LoadedModule
    from metate.tree_instances import TreeType
    from metate_native import _runtime

    from .execute import launch

    while True:
        try:
            data, calls = pickle.load(sys.stdin.buffer)
        except EOFError:
            return 0
        module = LoadedModule(_runtime.Module.open_bytes(runtime.device(), data))
        found = []
        for case, blobs, blocks, fields in calls:
            types = {name: TreeType.from_blob(blob) for name, blob in blobs.items()}
            found.append(launch(module.kernels[case.name], case, types, blocks, fields))
        assert "metate_native._compiler" not in sys.modules, "the worker must not have loaded the compiler"
        pickle.dump(found, answers)
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
