"""Runs one probe, or all of them, in this process: `run_probe.py [NAME...]`.

Exit code 0: all values right; 3: a value is wrong (the mismatch is printed); anything else: the probe
itself or the compiler failed. METATE_MUTANT says which fault this process has.
"""

import importlib
import pathlib
import pkgutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import probes

for _module in pkgutil.iter_modules(probes.__path__):
    importlib.import_module(f"probes.{_module.name}")


def main(names):
    status = 0
    for name in names or probes.PROBES:
        try:
            probes.PROBES[name]()
        except probes.Mismatch as mismatch:
            print(f"{name}: {mismatch}")
            status = 3
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
