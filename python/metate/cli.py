"""The command `metate`: modules and stage dumps from kernel files, without writing a program; programs checked.

    metate build  kernels.py -o kernels.metate --target x86-64-v3
    metate stages kernels.py --stop-after offload
    metate explain program.py
    metate check  program.py -- its own arguments
    metate doctor
    metate cache info
    metate targets
    metate config --cmakedir

The first two run FILE.py as a module, never as __main__, and take the kernels and tree types that it defines;
explain/command.py, check.py, doctor.py and object_cache/command.py do the others. Compiling is aot.py's and the compiler's:
here are arguments, files and messages only.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import sys

from . import aot, bundle, compile_options, context, depfile, native, signing
from .context import CHECKS, INTERP_STAGES
from .errors import CompilationError, MetateError, RuntimeValueError_
from .tree_type import TreeType

DESCRIPTION = """\
Compiles Metate kernels ahead of time, shows what the compiler makes of them, and finds mistakes in programs.
The modules it builds need no compiler and no Python where they run: see metate-run and metate.hpp."""

BUILD = """\
Compiles the kernels of a Python file into a module.

Every kernel, graph and tree type that FILE.py defines at its top level goes in, under its Python name.
A kernel's annotations must say all there is to know: ti.types.ndarray(dtype=ti.f32, ndim=1) does,
ti.types.ndarray() does not; such kernels are left out with a note, or refused if named by --kernel.
A real function goes in as a kernel that calls it, where --kernel names it."""

BUILD_EXAMPLES = """\
examples:
  metate build kernels.py -o kernels.metate                          for this machine's CPU
  metate build kernels.py -o out/ --target x86-64-v3                 out/module.metate, for any such CPU
  metate build kernels.py -o all.metate --target x86-64 --target x86-64-v4 --target aarch64
                                                                     one file; the host picks what it can run
  metate build kernels.py -o kernels.so                              kernels.so and kernels.h: dlopen, tvm-ffi, metate-run
  metate build kernels.py -o kernels.o --target aarch64              kernels.o and kernels.h, for a linker
  metate build kernels.py --bundle host --target x86-64-v3           host/: the module, headers, libmetate, FILES.txt
  metate build kernels.py --bundle host --emit o                     host/: kernels.o, kernels.h, FILES.txt
then:
  metate-run inspect kernels.metate"""

STAGES = """\
Takes kernels through the compiler stage by stage, and shows the IR.

  import    Python becomes the metate dialect; types are known         simplify  inlined, folded, nothing twice
  activate  sparsity is explicit                                       offload   a list of parallel tasks
  layout    cells are bytes and offsets                                map       loops for the target's CPU
  emit      object code                                                pack      the .metate file

A dump is text (pack: the module) and holds everything that the next stage needs: fed back with
--start-from it gives the same module, byte for byte. After layout and map a module is one target's: its dump is
FILE.layout.TARGET, and goes on for that target alone."""

STAGES_EXAMPLES = """\
examples:
  metate stages kernels.py --stop-after simplify                     prints the IR after that stage
  metate stages kernels.py --kernel run1 -o dumps                    dumps/kernels.import ... dumps/kernels.pack
  metate stages --start-from layout --input dumps/kernels.layout.native -o again
                                                                     goes on from a dump, perhaps an edited one"""

CHECK = """\
Runs a Python program with its kernels in the reference interpreter, and prints what is wrong with them.

FILE.py runs as `python FILE.py` would, whatever it asks mt.init and Context for. Kernels are
interpreted, one operation and one iteration at a time: use small data. What the program does is otherwise the same.

Looked for always:
  bounds          an index outside of an array, a dense tree or a vector
by default:
  division        an integer divided by zero, or its remainder
  nan             the operation that makes a NaN of numbers
  conflict        two iterations of a parallel loop that write different values to one place
  order           results that depend on the order of the iterations: kernels run twice, forwards and shuffled
and where asked for, with --checks or --all:
  outside         an access outside of a sparse tree, which reads the background and writes nothing
  inactive-read   a read of a cell of a sparse tree that is not active, which gives the background
  unwritten-read  a read of an active cell that no kernel has written
  overflow        an integer result that does not fit its type and wraps
  lossy-cast      a cast that changes the value
  quant-range     a value that a quantised member cannot hold, so that another one is stored

Each finding names the place, the values, the kernel and the iteration: the first time, and how often.
Kernels loaded from a .metate module are machine code and are not checked."""

CHECK_EXAMPLES = """\
examples:
  metate check simulate.py                               the program as it is
  metate check simulate.py -- --size 32 input.ply        with its own arguments
  metate check --checks bounds,overflow simulate.py      these only; --all: everything
  metate check --json simulate.py > findings.json        for other programs; its prints go to stderr
exit status:
  0 nothing found, 1 findings, 2 the program itself failed (its error is shown) or cannot be run"""


EXPLAIN = """\
Writes a page that shows what the compiler makes of a program's kernels: open it in a browser.

Each source line stands beside the IR of each stage and the assembly: point at a line, or click it, and its
lines light up in the others. Below each loop stands what the compiler did and why it declined:

  tasks        what runs in parallel: a range, or the slots of a tree
  vectors      iterations computed side by side (lanes: loops in order inside of them as well)
  atomics      whether += became a plain load and store
  reductions   whether a sum has a partial result for each chunk
  chunks       what one worker runs at least
  rows         whether neighbours in a sparse tree are staged, by rows or by a tile
  masks, activations, slots, conditionals, nontemporal stores, registers, ...

besides sizes of trees and what each stage of compiling took. kernel.report() has the same as text.

FILE.py is imported: what it calls at its top level is compiled, and kernels whose annotations say
all there is to know. With --run it runs as `python FILE.py` would, and the page shows what each task took,
beside what this machine's memory and arithmetic allow (measured, about a second)."""

EXPLAIN_EXAMPLES = """\
examples:
  metate explain simulate.py                             writes simulate.html
  metate explain --run simulate.py -- --steps 100        with the program's own arguments, and with times
  metate explain --kernel substep -o out.html simulate.py
  metate explain --target aarch64 simulate.py            what another machine would run
exit status:
  0 written, 1 nothing to explain, 2 the program failed, a kernel does not compile, or FILE.py cannot be run"""


DOCTOR = """\
Prints what is installed and whether it works: versions, CPU, threads, caches; a kernel is compiled and run, a
module is built, loaded and verified; the optional libraries, and what to install where something is missing.

exit status: 0 everything required works, 1 something does not"""


CACHE = """\
Compiled kernels are kept in files, so that a program's next start does not compile them.

  info   how many there are, and their size
  clean  deletes them
  path   prints the folder: METATE_OFFLINE_CACHE_FILE_PATH, else metate in the user's folder for caches"""


TARGETS = """\
Lists the targets that have names, one a line: name, carriers of modules for it, what it is. Any machine builds for any of them.

An architecture's CPU is ARCHITECTURE:CPU, as in aarch64:cortex-a72; its code may use all that machines of the architecture have
in common, and without a system all that the CPU has."""
CONFIG = """\
Prints where build systems find Metate's native files, one answer a line, in the order of the questions."""

CONFIG_EXAMPLES = """\
examples:
  cmake -S . -B build -Dmetate_DIR=$(metate config --cmakedir)
  PKG_CONFIG_PATH=$(metate config --pkgconfigdir) pkg-config --cflags --libs metate
  cc host.c $(metate config --cflags --libs)"""


class UsageError(Exception):
    """What the user asked for cannot be done; the text says what to do instead."""


def main(arguments=None) -> int:
    """Runs the command; returns the exit status: 0, 1 for a wrong kernel or file, 2 for a wrong call."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parsed = _parser().parse_args(arguments[:split])
    parsed.program_arguments = arguments[split + 1 :]
    if parsed.program_arguments and parsed.run not in (_check, _explain):
        _parser().error("arguments after -- are a program's: metate check FILE.py -- ARGUMENTS, metate explain FILE.py -- ...")
    try:
        return parsed.run(parsed)
    except UsageError as error:
        print(f"metate {parsed.command}: {error}", file=sys.stderr)
        return 2
    except (MetateError, OSError) as error:
        print(f"metate {parsed.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="metate", description=DESCRIPTION, formatter_class=raw)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="{build,stages,explain,check,doctor,cache,targets,config}"
    )

    build = commands.add_parser(
        "build", help="compile a file's kernels into a module", description=BUILD, epilog=BUILD_EXAMPLES, formatter_class=raw
    )
    build.set_defaults(run=_build)
    build.add_argument("file", metavar="FILE.py", type=pathlib.Path, help="a Python file with kernels")
    build.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=str,
        help="the module's file, or a folder (existing, or written with a / at its end)",
    )
    build.add_argument(
        "--bundle", metavar="DIR", type=pathlib.Path,
        help="instead of -o: write exactly the files that a host needs into this folder, and FILES.txt, which lists them",
    )  # fmt: skip
    build.add_argument(
        "--level", choices=bundle.LEVELS,
        help="with --bundle: how the host calls kernels: direct (C functions), standard (libmetate), packed (tvm-ffi); "
        "default: standard for metate, packed for so, else direct",
    )  # fmt: skip
    build.add_argument(
        "--sign", metavar="PRIVATE.pem", type=pathlib.Path,
        help="sign the module's files with an Ed25519 key, as `metate-run sign` does: FILE.sig beside each",
    )  # fmt: skip
    build.add_argument("--name", metavar="NAME", help="the module's name (default: OUT's or FILE's without its suffix)")
    build.add_argument(
        "--depfile", metavar="FILE", type=pathlib.Path,
        help="write the rule of what the module was made of, for make, ninja and CMake",
    )  # fmt: skip
    build.add_argument(
        "--emit",
        choices=aot.CARRIERS,
        help="; ".join(f"{name}: {carrier.what}" for name, carrier in aot.CARRIERS.items())
        + " (default: what OUT's suffix says, else metate)",
    )
    _add_common(build)

    stages = commands.add_parser(
        "stages", help="show the IR after each stage", description=STAGES, epilog=STAGES_EXAMPLES, formatter_class=raw
    )
    stages.set_defaults(run=_stages)
    stages.add_argument(
        "file", metavar="FILE.py", type=pathlib.Path, nargs="?", help="a Python file with kernels; not with --start-from"
    )
    stages.add_argument("--stop-after", metavar="STAGE", help="the last stage to run (default: pack with -o, else emit)")
    stages.add_argument("--start-from", metavar="STAGE", help="the stage whose dump --input is; later stages run")
    stages.add_argument("--input", metavar="DUMP", type=pathlib.Path, help="a dump to go on from, with --start-from")
    stages.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=pathlib.Path,
        help="write the dump of every stage into this folder (default: print the last one)",
    )
    _add_common(stages)

    _add_explain(commands, raw)
    _add_check(commands, raw)
    doctor = commands.add_parser("doctor", help="print what is installed and works", description=DOCTOR, formatter_class=raw)
    doctor.set_defaults(run=_doctor)
    doctor.add_argument("--json", action="store_true", help="print one JSON document to stdout")
    cache = commands.add_parser("cache", help="the cache of compiled kernels", description=CACHE, formatter_class=raw)
    cache.set_defaults(run=_cache)
    cache.add_argument("action", choices=("info", "clean", "path"))
    targets = commands.add_parser("targets", help="what modules can be built for", description=TARGETS, formatter_class=raw)
    targets.set_defaults(run=_targets)
    config = commands.add_parser(
        "config", help="where build systems find headers, libraries, the CMake package", description=CONFIG,
        epilog=CONFIG_EXAMPLES, formatter_class=raw,
    )  # fmt: skip
    config.set_defaults(run=_config)
    for flag, what in native.ANSWERS.items():
        config.add_argument(f"--{flag}", dest="asked", action="append_const", const=flag, help=what)
    return parser


def _add_explain(commands, raw):
    explain = commands.add_parser(
        "explain", help="show what the compiler makes of a program, as a page", description=EXPLAIN, epilog=EXPLAIN_EXAMPLES,
        formatter_class=raw, usage="metate explain [options] FILE.py [-- ARGUMENTS]",
    )  # fmt: skip
    explain.set_defaults(run=_explain)
    explain.add_argument("file", metavar="FILE.py", type=pathlib.Path, help="a Python program; what follows -- is its own")
    explain.add_argument("--run", dest="timed", action="store_true", help="run it as a program, with times of tasks")
    explain.add_argument("-o", "--output", metavar="PAGE.html", type=pathlib.Path, help="the page (default: FILE.html here)")
    explain.add_argument("--kernel", metavar="NAME", action="append", help="this kernel only; repeat for more (default: all)")
    explain.add_argument(
        "--target", metavar="CPU", help="show code for it: native (the default), x86-64-v3, aarch64, ...; with --run, time it"
    )


def _add_check(commands, raw):
    check = commands.add_parser(
        "check", help="run a program and find its kernels' mistakes", description=CHECK, epilog=CHECK_EXAMPLES,
        formatter_class=raw, usage="metate check [options] FILE.py [-- ARGUMENTS]",
    )  # fmt: skip
    check.set_defaults(run=_check)
    check.add_argument("file", metavar="FILE.py", type=pathlib.Path, help="a Python program; what follows -- is its own")
    which = check.add_mutually_exclusive_group()
    which.add_argument("--checks", metavar="A,B,...", help="look for these instead of the default ones (and bounds)")
    which.add_argument("--all", action="store_true", help="look for everything")
    check.add_argument(
        "--stage", metavar="STAGE", choices=INTERP_STAGES, default="import",
        help=f"interpret kernels as they are after this stage: {', '.join(INTERP_STAGES)} (default import)",
    )  # fmt: skip
    check.add_argument("--json", action="store_true", help="print one JSON document to stdout")


def _add_common(parser):
    parser.add_argument(
        "--target",
        metavar="CPU",
        action="append",
        help="native (the default), x86-64-v3, znver4, aarch64, aarch64:cortex-a72, ...; repeat for more",
    )
    parser.add_argument(
        "--kernel",
        metavar="NAME",
        action="append",
        help="this kernel, graph or real function only; repeat for more (default: all kernels and graphs of the file)",
    )
    compile_options.add_arguments(parser)


def _module_of(parsed) -> aot.Module:
    """The builder with what the file defines. Raises UsageError, CompilationError, whatever the file raises."""
    from .frontend.function import RealFunction
    from .function_kernel import kernel_of
    from .graph import Graph
    from .kernel import Kernel

    names = _run_file(parsed.file)
    given = {"name": getattr(parsed, "name", None), **compile_options.given_arguments(parsed)}
    module = aot.Module(targets=parsed.target or [context.cpu], **given)
    kernels = {name: value for name, value in names.items() if isinstance(value, (Kernel, Graph))}
    asked = {name: names.get(name) for name in parsed.kernel or ()}
    kernels |= {name: kernel_of(value) for name, value in asked.items() if isinstance(value, RealFunction)}
    for name in parsed.kernel or ():
        if name not in kernels:
            raise UsageError(f"--kernel: {parsed.file} has no kernel '{name}'; it has {', '.join(kernels) or 'none'}")
    chosen = {name: kernels[name] for name in parsed.kernel} if parsed.kernel else kernels
    for name, kernel in chosen.items():
        if not parsed.kernel and not _is_fully_typed(kernel):
            print(f"metate {parsed.command}: left out: {kernel.signature()}: its annotations are not complete", file=sys.stderr)
            continue
        if isinstance(kernel, Graph):
            module.add_graph(name, kernel)
        else:
            module.add_kernel(kernel, name)
    for name, value in names.items():
        if isinstance(value, TreeType):
            module.add_type(value, name)
    if not module.kernels:
        raise UsageError(
            f"{parsed.file}: expected at least one kernel at its top level that annotations describe fully, got none"
        )
    return module


def _is_fully_typed(kernel) -> bool:
    """Do a kernel's annotations, or a graph's arguments, say all that compiling needs?"""
    from .frontend.specialize import is_fully_typed
    from .graph import Graph

    return kernel.kernel.is_fully_typed if isinstance(kernel, Graph) else is_fully_typed(kernel.source)


def _run_file(file: pathlib.Path) -> dict:
    """What a Python file defines; it runs as a module of its own name, with its folder importable."""
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    name = file.stem if file.stem not in sys.modules else f"metate_file_{file.stem}"  # types.py must not replace types
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file}: expected a Python file, its name ending in .py")
    sys.path.insert(0, str(file.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def _build(parsed) -> int:
    if (parsed.output is None) == (parsed.bundle is None):
        raise UsageError("expected either -o OUT or --bundle DIR")
    if parsed.level and not parsed.bundle:
        raise UsageError("--level: belongs to --bundle")
    if parsed.sign and not parsed.sign.is_file():
        raise UsageError(f"--sign: {parsed.sign}: no such file")
    module = _module_of(parsed)
    try:
        written = _bundle(module, parsed) if parsed.bundle else _save(module, parsed)
        for graph, memory in module.planned:
            print(f"graph {graph}: {memory}")
    except RuntimeValueError_ as error:
        raise UsageError(str(error)) from None
    if parsed.depfile:
        depfile.write(parsed.depfile, written, depfile.dependencies(parsed.file))
    return 0


def _save(module, parsed) -> list[pathlib.Path]:
    """Writes the module's files, and signs them; all that were written, the carriers first."""
    folder = parsed.output.endswith("/") or pathlib.Path(parsed.output).is_dir()
    written = module.save_files(**{"output_dir" if folder else "path": parsed.output}, emit=parsed.emit)
    carriers = [file for file in written if file.suffix != ".h"]
    kernels = ", ".join(module.kernels)
    targets = module.targets_for(parsed.emit or carriers[0].suffix[1:])
    for file in carriers:  # of several, each is called after its target
        of = f", for {', '.join(targets)}{_explained(targets)}" if len(carriers) == 1 else ""
        print(f"{file}: {file.stat().st_size:,} bytes, kernels {kernels}{of}")
    if len(written) > len(carriers):
        print(f"{written[-1]}: its C header")
    if not parsed.sign:
        return written
    return written + [signing.sign(file, parsed.sign) for file in carriers]


def _explained(targets) -> str:
    """What source is for, in words: its target names no machine."""
    what = {target.name: target.what for target in aot.targets()}
    return f" ({what[targets[0]]})" if targets[0].split(":")[0] == aot.SOURCE else ""


def _bundle(module, parsed) -> list[pathlib.Path]:
    """Fills the bundle's folder; its list is what was written last."""
    emit = parsed.emit or "metate"
    entries = bundle.write(module, parsed.bundle, parsed.name or parsed.file.stem, emit, parsed.level, parsed.sign)
    sizes = sum((parsed.bundle / entry.path).stat().st_size for entry in entries)
    listing = parsed.bundle / bundle.LIST
    print(
        f"{listing}: {len(entries)} files, {sizes:,} bytes, kernels {', '.join(module.kernels)}, for {', '.join(module.targets)}"
    )
    return [listing, *(parsed.bundle / entry.path for entry in entries)]


def _config(parsed) -> int:
    if not parsed.asked:
        raise UsageError(f"expected at least one of {', '.join(f'--{flag}' for flag in native.ANSWERS)}")
    for flag in parsed.asked:
        print(native.answer(flag))
    return 0


def _targets(parsed) -> int:
    rows = [(target.name, " ".join(target.carriers), target.what) for target in aot.targets()]
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    for name, carriers, what in rows:
        print(f"{name:{widths[0]}}  {carriers:{widths[1]}}  {what}")
    return 0


def _check(parsed) -> int:
    from . import check

    if not parsed.file.is_file():
        raise UsageError(f"{parsed.file}: no such file")
    try:
        checks = CHECKS if parsed.all else check.chosen_checks(parsed.checks) if parsed.checks else check.DEFAULT_CHECKS
    except ValueError as error:
        raise UsageError(f"--checks: {error}") from None
    return check.run(parsed.file, parsed.program_arguments, checks=checks, stage=parsed.stage, as_json=parsed.json)


def _explain(parsed) -> int:
    from .explain import command

    if not parsed.file.is_file():
        raise UsageError(f"{parsed.file}: no such file")
    if parsed.output is not None and parsed.output.is_dir():
        raise UsageError(f"-o: expected a file for the page, got the folder {parsed.output}")
    problem = command.problem_of(parsed.target, parsed.timed) if parsed.target else None
    if problem:
        raise UsageError(f"--target: {problem}" + ("; without --run the code is shown" if parsed.timed else ""))
    return command.run(
        parsed.file, parsed.program_arguments, output=parsed.output, kernels=parsed.kernel or (), timed=parsed.timed,
        target=parsed.target,
    )  # fmt: skip


def _doctor(parsed) -> int:
    from . import doctor

    return doctor.run(as_json=parsed.json)


def _cache(parsed) -> int:
    from .object_cache import command

    return command.run(parsed.action)


def _stages(parsed) -> int:
    from metate_native import _compiler

    from .stages import dumps_of

    names = _compiler.stage_names()
    stop = parsed.stop_after or (names[-1] if parsed.output else "emit")
    for option, name in (("--stop-after", stop), ("--start-from", parsed.start_from)):
        if name is not None and name not in names:
            raise UsageError(f"{option}: expected one of {', '.join(names)}, got '{name}'")
    if (parsed.start_from is None) != (parsed.input is None):
        raise UsageError("--start-from and --input belong together: the stage, and its dump")
    if (parsed.file is None) == (parsed.start_from is None):
        raise UsageError("expected either FILE.py or --start-from STAGE --input DUMP")
    if stop == names[-1] and not parsed.output:
        raise UsageError("the pack stage writes a module: say where with -o DIR")
    start, text, choices = _first_dump(parsed, names)
    if names.index(stop) < names.index(start):
        raise UsageError(f"--stop-after: expected {start} or a later stage, got '{stop}'")
    per_target = _compiler.per_target_stage_names()
    if start in per_target and len(choices.targets) > 1:
        raise UsageError(f"--start-from: a dump after {start} is one target's: expected one --target, got {len(choices.targets)}")
    try:
        dumps = dumps_of(text, choices, start=start, stop_after=stop)
    except _compiler.CompileError as error:
        raise CompilationError(str(error)) from None
    if parsed.output:
        stem = parsed.file.stem if parsed.file else parsed.input.name.rpartition(f".{start}")[0] or parsed.input.stem
        for name, dump in dumps.items():
            _write_dump(parsed.output / f"{stem}.{name.replace(':', '-')}", dump)
        return 0
    sys.stdout.writelines(dump for name, dump in dumps.items() if name.partition(".")[0] == stop)
    return 0


def _first_dump(parsed, names):
    """(stage, its dump, the compiler's options) to go on from."""
    if parsed.file is not None:
        module = _module_of(parsed)
        return names[0], module.source_module(parsed.file.stem).text(True), module.choices()
    if parsed.start_from == names[-1]:
        raise UsageError("--start-from: expected a stage before pack, which is the last one")
    module = aot.Module(targets=parsed.target or [context.cpu], **compile_options.given_arguments(parsed))
    return parsed.start_from, parsed.input.read_text(), module.choices()


def _write_dump(file: pathlib.Path, dump) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(dump, bytes):
        file.write_bytes(dump)
    else:
        file.write_text(dump)
    print(file)


if __name__ == "__main__":
    sys.exit(main())
