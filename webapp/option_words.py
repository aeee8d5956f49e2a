"""Names options of the command line, in sentences of the engine, as the fields of the pages name them."""

DROP_DEVICES_LABEL = "Ignore device placements stored in the file"
FIELD_OF_OPTION = {"--drop-devices": f"“{DROP_DEVICES_LABEL}”"}
"""option → its field on the pages"""


def with_fields(sentence: str) -> str:
    """`sentence` with the names of fields in place of options."""
    for option, field in FIELD_OF_OPTION.items():
        sentence = sentence.replace(option, field)
    return sentence
