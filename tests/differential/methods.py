"""A random kernel as a method: of an object that has its template arguments as members."""

from __future__ import annotations

import ast
import copy

import metate as mt
from metate.frontend.function import Template
from metate.frontend.specialize import annotation_of
from metate.kernel import attach_source


def as_a_method(kernel, namespace):
    """What is called as the kernel is, and calls a method of the same text."""
    source = kernel.source
    members = {name for name in source.parameters if isinstance(annotation_of(source, name), Template)}
    definition = _Members(members).method(copy.deepcopy(source.tree))
    owner = ast.ClassDef("Owner", [], [], [definition], [ast.parse("mt.data_oriented", mode="eval").body])
    file = f"{source.file[:-1]} as a method>"
    text = ast.unparse(ast.fix_missing_locations(owner))
    attach_source(file, text)
    names = {**namespace, "mt": mt}
    exec(compile(text, file, "exec"), names)
    made = names["Owner"]()

    def call(*arguments):
        given = dict(zip(source.parameters, arguments))
        for name in members:
            setattr(made, name, given.pop(name))
        return getattr(made, source.name)(*given.values())

    return call


class _Members(ast.NodeTransformer):
    """Names of template parameters become members of `self`."""

    def __init__(self, names):
        self.names = names

    def method(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        tree.body = [self.visit(statement) for statement in tree.body]
        parameters = [one for one in tree.args.args if one.arg not in self.names]
        tree.args = ast.arguments([], [ast.arg("self"), *parameters], None, [], [], None, [])
        return tree

    def visit_Name(self, node):
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx)
