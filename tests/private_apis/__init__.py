"""Canaries: what the product uses of its libraries although they promise it to nobody still works as it did.

A new version of a library may change it without a word. Each test says what breaks if it fails.
"""
