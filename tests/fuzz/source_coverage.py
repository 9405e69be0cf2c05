"""Coverage of the front end's Python code for libFuzzer: a counter for each block of statements.

libFuzzer watches compiled code; the walker is Python. So its modules are compiled here from syntax trees in which
every block starts with `metate_fuzz_hits[N] = 1`, a byte of the harness's extra counters. Must be installed before
anything of metate.frontend is imported.
"""

import ast
import builtins
import importlib.machinery
import sys
import zlib

_PREFIX = "metate.frontend."
_BLOCKS = 16384  # counters for blocks; what is behind them belongs to `mark`


class _Instrument(ast.NodeTransformer):
    def __init__(self, loader):
        self.loader = loader
        self.depth = 0

    def _counted(self, statements):
        if not statements:
            return statements
        number = self.loader.next_number()
        (probe,) = ast.parse(f"metate_fuzz_hits[{number}] = 1").body
        for node in ast.walk(probe):
            ast.copy_location(node, statements[0])
        return [probe, *statements]

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        has_text = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        node.body = node.body[:has_text] + self._counted(node.body[has_text:] or [ast.copy_location(ast.Pass(), node)])
        return node

    def _blocks(self, node):
        self.generic_visit(node)
        if self.depth:
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(node, name, None)
                if statements:
                    setattr(node, name, self._counted(statements))
        return node

    visit_If = visit_For = visit_While = visit_Try = visit_ExceptHandler = visit_With = _blocks


class _Loader(importlib.machinery.SourceFileLoader):
    used = 0

    @classmethod
    def next_number(cls):
        cls.used += 1
        if cls.used > _BLOCKS:
            raise RuntimeError(f"more than {_BLOCKS} blocks in the front end: give source.cpp more counters")
        return cls.used - 1

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = _Instrument(self).visit(ast.parse(self.get_data(path), path))
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if not name.startswith(_PREFIX):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install(counters) -> None:
    """counters: a writable memoryview of the harness's extra counters."""
    builtins.metate_fuzz_hits = counters
    sys.meta_path.insert(0, _Finder)


def mark(kind: str, text: str) -> None:
    """Makes an outcome that no block of Python tells apart, such as an error's text, a feature of its own."""
    hits = getattr(builtins, "metate_fuzz_hits", None)
    if hits is not None:
        hits[_BLOCKS + zlib.crc32(f"{kind}:{text}".encode()) % (len(hits) - _BLOCKS)] = 1
