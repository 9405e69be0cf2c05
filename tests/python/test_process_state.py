"""What a process has once: nothing in libmetate, named and justified exceptions elsewhere.

The reasons stand in docs/decisions/20261121-contexts.md. A new static variable that can change fails here
until it is removed or justified there.
"""

import ast
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# MLIR's, LLVM's, nanobind's, OpenVDB's, Eigen's, the C++ library's, what MLIR's generators write: constants in fact, or theirs to
# guard.
FOREIGN = re.compile(
    r"^(guard variable for )?(mlir|llvm|nanobind|std|tsl|lld|openvdb|nanovdb|tbb|Eigen)(::|__|_)|"
    r"^(guard variable for )?mlir::|DW\.ref|"
    r"getAttributeNames\(\)::attrNames|::resolveTypeID\(\)::id|^_ZGV|^vtable |^typeinfo |UniqueFunctionBase<"
)
# Ours that can change, with the reason.
OWN = {
    r"^metate::lastError$": "the text of each thread's last failed call",
    r"^runLld\(.*::(mutex|broken)$": "LLD has process-wide state of its own: one link at a time, none after a crash of it",
    r"^(guard variable for )?(metate::grid::)?optimise\(.*::levels$": "a table of LLVM's constants",
    r"^makeMachine\(.*::once$": "LLVM's targets are registered once in a process",
    r"^(guard variable for )?metate::perfDump\(\)::(mutex|living)$": "perf takes one file of a process: LLVM keeps it",
    r"^initialise\w+\(\)::once$": "LLVM's targets are registered once in a process",
    r"metate::python::\(anonymous namespace\)::innermost$|mainThread": "signals arrive at a process, at its main thread",
    r"^metate::python::\(anonymous namespace\)::(compileError|frontendError)$": "the extension's exception classes",
    r"^metate::python::((callable|bound)::)?\(anonymous namespace\)::(\w*[sS]lots|members|methods|spec)$": "Python's tables",
    r"^metate::python::(bound::)?\(anonymous namespace\)::properties$": "Python's tables",
    r"^metate::python::bound::\(anonymous namespace\)::(type|callableType)$": "the extension's types",
    r"^metate::python::callable::\(anonymous namespace\)::watchers$": "while a tape is open in some thread no call is plain",
    r"^metate::python::\(anonymous namespace\)::create\(.*::(names|slowName)$": "Python's tables",
}


def writable(path):
    """(section, name) of each variable in a writable section of an object file or a library."""
    lines = subprocess.run(["objdump", "-tC", str(path)], check=True, capture_output=True, text=True).stdout.splitlines()
    assert any("SYMBOL TABLE" in line for line in lines)
    for line in lines:
        match = re.match(r"^[0-9a-f]+ (.{7}) (\.(?:bss|data|tbss|tdata)\S*)\s+[0-9a-f]+\s+(?:\.hidden |\.protected )?(.*)$", line)
        if match is None or match[1][5] == "d" or match[2].startswith(".data.rel.ro"):  # a section, a constant
            continue
        if match[1][6] == "O" or match[2].startswith(".t"):
            yield match[2], match[3]


def test_libmetate_has_nothing_but_the_text_of_the_last_error():
    library = BUILD / "lib" / "libmetate.so"
    found = {(section.split(".")[1], name) for section, name in writable(library)}
    startup = {("bss", "completed.0"), ("data", "__dso_handle"), ("data", "__TMC_END__")}  # the C compiler's own
    assert found - startup == {("tbss", "metate::lastError")}


def test_what_the_other_libraries_have_is_justified():
    objects = [path for folder in ("compiler", "bindings", "runtime") for path in (BUILD / folder).rglob("*.o")]
    # Not the twin with deliberate faults, which asks its process for the one to show.
    objects = [path for path in objects if not any(part.endswith("_mutants.dir") for part in path.parts)]
    # Nanobind's own objects, in files of one source or of several.
    sources = [
        path
        for path in objects
        if not any("nanobind" in part or part.startswith("nb_") for part in path.relative_to(BUILD).parts)
    ]
    assert len(sources) > 30, "the build folder has the object files"
    found = {}
    for path in sources:
        for _, name in writable(path):
            if not FOREIGN.search(name):
                found.setdefault(name, path.relative_to(BUILD).as_posix())
    unknown = {name: path for name, path in found.items() if not any(re.search(own, name) for own in OWN)}
    assert unknown == {}


# Python: the default context, which contexts a thread has entered, what `metate check` imposes on the program that it runs,
# dropped windows, which wait until no other one draws, numbers of calls: memory that several contexts use has those of all;
# which devices are open: contexts of one arch share a machine and its memory; what functions of tvm-ffi call when they go, which
# may be kept anywhere.
PYTHON = {
    ("context.py", "_default"), ("context.py", "_entered"), ("context.py", "_imposed"), ("device.py", "_LEFT"),
    ("devices.py", "_open"), ("devices.py", "_opening"), ("packed_functions.py", "_library"),
    ("recording.py", "_watchers"), ("recording.py", "_lock"), ("recording.py", "count"), ("remembered_call.py", "_at_hand"),
    ("remembered_call.py", "_numbers"),
}  # fmt: skip
HOLDERS = {
    "list", "dict", "set", "defaultdict", "deque", "OrderedDict", "Counter", "Lock", "RLock", "local", "ContextVar", "count",
    "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "Context",
}  # fmt: skip


def holds_state(value) -> bool:
    """Is this module-level value something that exists to be changed?"""
    if isinstance(value, (ast.List, ast.Dict, ast.Set)):
        items = value.values if isinstance(value, ast.Dict) else value.elts
        return not items or any(isinstance(item, ast.Call) and holds_state(item) for item in items)
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return (name in HOLDERS and not value.args and not value.keywords) or name in ("ContextVar", "count")
    return False


def states_of(text):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        if isinstance(node, ast.FunctionDef):
            names = {getattr(part, "attr", getattr(part, "id", "")) for one in node.decorator_list for part in ast.walk(one)}
            if names & {"cache", "lru_cache"}:
                yield node.name
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and holds_state(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets)


def test_the_package_has_a_default_context_and_no_other_state():
    found = {(path.name, name) for path in (ROOT / "python/metate").rglob("*.py") for name in states_of(path.read_text())}
    assert found - PYTHON == set()
    assert ("context.py", "_default") in found


@pytest.mark.parametrize(
    "text",
    [
        "x = []",
        "x: dict = {}",
        "x = threading.Lock()",
        "x = [Context()]",
        "def f():\n    global x",
        "@functools.cache\ndef x(): pass",
    ],
)
def test_the_search_finds_state(text):
    assert list(states_of(text)) == ["x"]
