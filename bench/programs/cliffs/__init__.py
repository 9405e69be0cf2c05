"""Ordinary workloads in the ways in which users write them: a file each, made for bench/cliffs (harness/workload.py)."""
