"""Counts the floating-point operations of one execution of an op from shapes alone: a file a family of op types.

Each file ends in tables from op type to a function of `Execution`. Callers use `arithmetic.py`.
"""
