"""Words that the process of a recording and the experiment share, without the libraries that the former loads."""

STEP, MODE, ROW = "step", "mode", "row"
"""keys of messages"""
START = "start"
"""the step of a child that ended before it told one"""
BUILD, SIZE, RECORD, GROUP = STEPS = ("build", "size", "record", "group")
ONE_BY_ONE_KINDS = ("recurrent",)
"""kinds of models whose layers take tokens one after another, each with ops of its own"""
