"""Fuzz target: the text of kernels through the front end.

An input is Python source that defines functions: the last is a kernel, those before it are @func. It may compile, or
be refused by a CompilationError with a place inside the text. Anything else is a finding: another exception, IR that
does not verify, a stage that fails on what import accepted. source.cpp runs this under libFuzzer, replay() in tests.

Function bodies are never executed as Python, but static(...) computes while compiling, so texts that reach for the
system, or ask for a lot of work on purpose, are passed over.
"""

import ast
import builtins
import importlib
import linecache
import re
import traceback
import warnings
import zlib

import numpy as np

FILE = "<fuzz>"
MODULE_USES = 64  # kernels that share a SourceModule: making one costs more than walking a kernel


class Finding(Exception):
    """What the front end must not do."""


def _dangerous_names():
    names = {"exec", "eval", "open", "input", "exit", "quit", "breakpoint", "compile", "globals", "locals", "vars", "setattr"}
    names |= {"delattr", "help", "memoryview", "dir", "aot", "context", "runtime", "attach_source", "init", "reset", "Context"}
    for module in ("os", "sys", "subprocess", "shutil", "pathlib", "importlib", "ctypes"):
        names |= {module, *dir(importlib.import_module(module))}
    return names


def make_names():
    """The names that fuzzed kernels find around them."""
    import metate as ti

    vec3 = ti.types.vector(3, ti.f32)
    Tree = ti.types.SNodeTreeBuilder().pointer(ti.ij, 3).dense(ti.ij, 5)
    Tree = Tree.place(ti.types.struct({"a": ti.f32, "b": vec3})).build()
    split = ti.types.SNodeTreeBuilder()
    split.pointer(ti.ij, 3).place(ti.types.struct({"a": ti.f32}).a)
    split.pointer(ti.i, 3).place(ti.types.struct({"n": ti.i32}).n)
    return {
        "ti": ti, "vec3": vec3, "mat2": ti.types.matrix(2, 2, ti.f32), "Tree": Tree, "Split": split.build(),
        "X": ti.types.ndarray(dtype=ti.f32, ndim=1), "XY": ti.types.ndarray(dtype=ti.i32, ndim=2),
        "V": ti.types.ndarray(dtype=vec3, ndim=1), "Any": ti.types.ndarray(), "N": 4, "PI": 3.14159, "FLAG": True,
        "TABLE": np.arange(6, dtype=np.int32), "WEIGHTS": np.eye(2, dtype=np.float32), "LEVELS": (1, 2, 3),
        "math": importlib.import_module("math"),
    }  # fmt: skip


class Target:
    """The front end with its state between inputs."""

    def __init__(self):
        import metate as ti
        from metate.frontend import component_access, diagnostics, specialize, walker
        from metate_native import _compiler

        warnings.simplefilter("ignore", diagnostics.CastWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        self.ti, self.specialize, self.walker, self.compiler = ti, specialize, walker, _compiler
        self.names = make_names()
        allowed = {
            *ti.__all__,
            *dir(ti.types),
            *component_access.METHODS,
            "shape",
            "a",
            "b",
            "n",
            "m",
            "x",
            "y",
            "z",
            "i",
            "j",
            "sep",
        }
        self.dangerous = {*_dangerous_names()} - allowed | {"aot", "context", "attach_source", "init", "reset", "np", "numpy"}
        self.module, self.uses = None, 0
        self.kernels = 0

    #  -- what is run at all -------------------------------------------------------------------------

    def parse(self, data):
        """(text, tree) of an input that may be run, else None."""
        try:
            text = data.decode()
            tree = ast.parse(text)
            compile(tree, FILE, "exec")  # what only Python's compiler refuses
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if not tree.body or not all(isinstance(node, ast.FunctionDef) and not node.decorator_list for node in tree.body):
            return None
        if len({node.name for node in tree.body} | {"ti"}) != len(tree.body) + 1:
            return None
        return (text, tree) if self._is_harmless(tree) and all(map(_annotations_are_plain, tree.body)) else None

    def _is_harmless(self, tree):
        """No name of the system, and no more work while compiling than a small kernel's."""
        most, unrolled, repeated, has_sequence = 1, 0, False, False
        for node in ast.walk(tree):
            kind, name = type(node), None
            if kind is ast.Name:
                name = node.id
            elif kind is ast.Attribute:
                name = node.attr
            elif kind is ast.arg or kind is ast.keyword:
                name = node.arg
            elif kind is ast.Constant:
                if isinstance(node.value, str):
                    name, has_sequence = node.value, True
                elif isinstance(node.value, int):
                    most = max(most, abs(node.value))
            elif kind is ast.Tuple or kind is ast.List:
                has_sequence = True
            elif kind is ast.Mult or kind is ast.Pow:
                repeated = True
            if name is not None:
                if name.startswith("_") or name in self.dangerous:
                    return False
                unrolled += name in _COMPUTING
            unrolled += kind is ast.comprehension
        if repeated and has_sequence and most > 4096:
            return False  # "text" * 2147483647
        return unrolled == 0 or (most <= 10 and unrolled <= 8) or most**unrolled <= 4096

    #  -- one input ------------------------------------------------------------------------------------

    def run(self, data, thorough=False):
        """True if the text compiled, False if it was refused, None if it was not run. Raises Finding."""
        parsed = self.parse(data)
        if parsed is None:
            return None
        text, tree = parsed
        names = dict(self.names)
        try:
            exec(compile(tree, FILE, "exec"), names)
        except Exception:
            return None  # an annotation or a default that fails in Python, before the front end sees anything
        choice = zlib.crc32(data)
        self.ti.attach_source(FILE, text)
        try:
            kernel = self._kernel(names, tree, not thorough and choice % 16 != 0)
            return self._import(kernel, text, choice, thorough)
        except self.ti.CompilationError as error:
            self._check_place(error)
            return False
        except Finding:
            raise
        except Exception as error:
            raise Finding(f"{type(error).__name__} instead of a CompilationError:\n{traceback.format_exc()}") from None

    def _kernel(self, names, tree, with_tree):
        *functions, last = tree.body
        for node in functions:
            names[node.name] = self.ti.func(names[node.name])
        kernel = self.ti.kernel(names[last.name])
        if with_tree:  # spares reading the source once more, which is slow
            for node in functions:
                names[node.name].source.__dict__["tree"] = node
            kernel.source.__dict__["tree"] = last
        self.kernels += 1
        kernel.source.name = f"{last.name}{self.kernels}"
        return kernel

    def _import(self, kernel, text, choice, thorough):
        alone = thorough or choice % 8 == 0
        if self.module is None or self.uses >= MODULE_USES:
            self.module, self.uses = self.compiler.SourceModule("fuzz"), 0
        module = self.compiler.SourceModule("fuzz") if alone else self.module
        self.uses += not alone
        fast, alias = bool(choice >> 8 & 1), bool(choice >> 9 & 1)
        options = self.walker.FrontendOptions(fast_math=fast)
        parameters = self._parameters(kernel.source, options, choice >> 10)
        try:
            self.walker.Walker(module, kernel.source, options, alias).walk(parameters)
        except BaseException:
            if alone and (problem := module.verify()):
                raise Finding(f"a refused kernel left IR behind that does not verify: {problem}") from None
            raise
        if alone:
            self._later_stages(module, choice, thorough)
        return True

    def _parameters(self, source, options, choice):
        """A specialisation; what the annotations leave open is chosen by the input's hash."""
        specialize, ti = self.specialize, self.ti
        specialize.check_annotations(source)
        found = {}
        for k, (name, parameter) in enumerate(source.parameters.items()):
            annotation, pick = parameter.annotation, choice >> 2 * k & 3
            if isinstance(annotation, ti.types.NDArrayType):
                element = annotation.dtype or (ti.f32, ti.i32, ti.u8, self.names["vec3"])[pick]
                ndim = annotation.ndim if annotation.ndim is not None else pick
                found[name] = specialize.ArrayParameter(element, ndim, bool(annotation.contiguous or pick & 1))
            elif isinstance(annotation, specialize.Template):
                tree = specialize.TreeParameter(self.names["Tree"])
                array = specialize.ArrayParameter(ti.f64, 2, False)
                found[name] = (tree, array, specialize.StaticParameter(3), specialize.StaticParameter((1.5, ti.f32)))[pick]
            else:
                found[name] = specialize._by_type(annotation, options)
        return found

    def _later_stages(self, module, choice, thorough):
        problem = module.verify()
        if problem:
            raise Finding(f"the imported module does not verify: {problem}")
        text = module.text(True)
        for operation in set(re.findall(r"\b(?:arith|math|scf|vector|memref|metate|func)\.[\w.]+", text)):
            mark("op", operation)
        stop = "emit" if thorough or choice >> 3 & 63 == 0 else "map" if choice >> 3 & 7 == 0 else None
        if stop is None:
            return
        names = self.compiler.stage_names()
        choices = self.compiler.Choices()
        choices.targets = [self.ti.context.current().options.cpu]
        choices.opt_level = choice >> 13 & 1
        for debug in (False, True) if thorough else (bool(choice >> 12 & 1),):
            choices.debug = debug
            try:
                self.compiler.run_stages(text, names[0], stop, choices)
            except self.compiler.CompileError as error:
                raise Finding(f"stage {stop} refuses what import accepted, {debug=}: {error}") from None

    #  -- errors ----------------------------------------------------------------------------------------

    def _check_place(self, error):
        lines = [line.rstrip("\n") for line in linecache.getlines(FILE)]
        mark("error", re.sub(r"'[^']*'|\d+", "", error.message)[:28])  # what follows may quote the input
        if error.file != FILE:
            raise Finding(f"an error without its file: {error!r} says {error.file!r}")
        if not isinstance(error.line, int) or not 1 <= error.line <= len(lines):
            raise Finding(f"line {error.line} of {len(lines)}: {error}")
        width = len(lines[error.line - 1])
        if error.column is not None and not 1 <= error.column <= width + 1:
            raise Finding(f"column {error.column} of {width}: {error}")
        if not error.message or not str(error).startswith(f"{FILE}:{error.line}:"):
            raise Finding(f"an error without a text or a place: {error!r}: {error}")


# What computes while compiling, as often as a constant says.
_COMPUTING = {"static", "zero", "one", "unit", "identity", "list", "tuple", "sum", "sorted", "str"}


def _annotations_are_plain(function):
    """Annotations and defaults are computed by Python: only names, attributes, constants and calls of types."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    parts = [a.annotation for a in every if a is not None] + [*arguments.defaults, *arguments.kw_defaults, function.returns]
    plain = (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.Load, ast.Tuple)
    for part in filter(None, parts):
        for node in ast.walk(part):
            if not isinstance(node, plain) or (isinstance(node, ast.Name) and node.id not in _ANNOTATION_NAMES):
                return False
            if isinstance(node, ast.Call) and not ast.unparse(node.func).startswith(("ti.types.", "ti.template")):
                return False
    return True


_ANNOTATION_NAMES = {"ti", "int", "float", "bool", "vec3", "mat2", "Tree", "Split", "X", "XY", "V", "Any", "N", "PI", "FLAG"}


def mark(kind, text):
    if hasattr(builtins, "metate_fuzz_hits"):
        import source_coverage

        source_coverage.mark(kind, text)
