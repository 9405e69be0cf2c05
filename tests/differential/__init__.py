"""The differential tester: random kernels, run in every way there is, must agree.

`table` lists what the language can say, `generate` writes programs of it, `run` runs one in all
variants, `coverage` counts what ran, `reduce` makes a failing program small.
"""
