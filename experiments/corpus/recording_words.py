"""Words that the process of a recording and the experiment share, without the libraries that the former loads."""

MODE = "mode"
"""key of messages, beside those of `forked.py`"""
BUILD, SIZE, RECORD, GROUP = STEPS = ("build", "size", "record", "group")
ONE_BY_ONE_KINDS = ("recurrent",)
"""kinds of models whose layers take tokens one after another, each with ops of its own"""
