"""Where environments come from: an option's values, in a module that starts quickly."""

from enum import StrEnum


class EnvironmentChoice(StrEnum):
    """The values of `--environment` of `tasks import swebench`."""

    AUTO = "auto"  # the instance's image if it is available, else a recipe
    IMAGES = "images"
    RECIPES = "recipes"
