"""What holds for all tests."""

from hypothesis import settings

# The same examples in every run: a failure is then the change's, and can be repeated. No deadline: the first call of
# compiled code compiles it.
settings.register_profile("placeto", deadline=None, derandomize=True)
settings.load_profile("placeto")
