"""A random kernel with one parameter: an argument pack of all that it is called with."""

from __future__ import annotations

import ast
import copy

import metate as mt
from metate.frontend.specialize import annotation_of
from metate.kernel import attach_source


def in_a_pack(kernel, namespace):
    """What is called as the kernel is, and gives one of the same text a pack of its arguments; without parameters, itself."""
    if not kernel.source.parameters:
        return kernel
    made, pack = packed(kernel, namespace)
    return lambda *arguments: made(pack(*arguments))


def packed(kernel, namespace):
    """(a kernel of the same text with one parameter, the type of the pack that it is)."""
    source = kernel.source
    pack = mt.types.argpack(**{name: annotation_of(source, name) for name in source.parameters})
    file = f"{source.file[:-1]} in a pack>"
    text = ast.unparse(_Members(set(source.parameters)).definition(copy.deepcopy(source.tree)))
    attach_source(file, text)
    names = {**namespace, "Pack": pack}
    exec(compile(text, file, "exec"), names)
    return names[source.name], pack


class _Members(ast.NodeTransformer):
    """Names of parameters become members of `pack`."""

    def __init__(self, names):
        self.names = names

    def definition(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        tree.body = [self.visit(statement) for statement in tree.body]
        tree.args = ast.arguments([], [ast.arg("pack", ast.Name("Pack", ast.Load()))], None, [], [], None, [])
        return ast.fix_missing_locations(tree)

    def visit_Name(self, node):
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name("pack", ast.Load()), node.id, node.ctx)
