"""Whether a sentence of the application is one for people."""

LONGEST = 2000
"""characters; names from files are shortened in sentences"""


def fault_of_sentence(sentence: str) -> str:
    """Why `sentence` is none for people; empty if it is one."""
    if not sentence.strip() or "Traceback" in sentence or 'File "' in sentence or "Something went wrong" in sentence:
        return f"no plain sentence: {sentence[:150]}"
    if len(sentence) > LONGEST:
        return f"a sentence of more than {LONGEST} characters"
    if not sentence.isprintable():
        return "a sentence with unprintable characters"
    return ""
