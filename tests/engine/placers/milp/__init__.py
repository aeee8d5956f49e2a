"""Tests of mixed-integer programming."""
