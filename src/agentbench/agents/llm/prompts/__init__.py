"""What the model is told, as plain text files beside this one."""

import re
from importlib.resources import files

_PLACE = re.compile(r"\{(\w+)\}")


def prompt(name: str, **values: str) -> str:
    """The text of a file, each `{name}` in it replaced by its value.

    Raises:
        KeyError: the file has a place that no value is given for.
    """
    text = files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()
    return _PLACE.sub(lambda found: values[found[1]], text)
