"""Attacks on the running application, from outside as its users see it.

`python -m tests.chaos` kills parts at random moments and checks that every accepted job ends with its answer;
`python -m tests.chaos.stops` stops workers in the middle of runs.
"""
