"""Compiled kernels and layouts of tree types kept in files, so that a program's next start needs no compiler."""
