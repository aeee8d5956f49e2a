"""Set-up of a fresh checkout: Python packages, front-end packages, a browser for the tests.

It runs before the virtual environment exists, so it uses the standard library alone. Each step leaves a stamp with the
digest of its inputs, so a second call does nothing.
"""
