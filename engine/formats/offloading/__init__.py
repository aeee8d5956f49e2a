"""Weights that wait on another device than the ops that take them."""
