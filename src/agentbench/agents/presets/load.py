"""Where presets come from: those that ship, and a user's own files."""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from agentbench.agents.presets.preset import Preset
from agentbench.errors import InputError
from agentbench.tasks.task_fault import describe_fault

SUFFIX = ".toml"


@cache
def shipped_presets() -> tuple[Preset, ...]:
    """The presets that come with agentbench, by name."""
    folder = files("agentbench.agents.presets")
    found = sorted(each.name for each in folder.iterdir() if each.name.endswith(SUFFIX))
    return tuple(parse_preset((folder / name).read_text("utf-8"), name) for name in found)


def find_preset(name: str) -> Preset | None:
    """The preset of a name, or of a file whose name ends in `.toml`.

    Raises:
        InputError: the file cannot be read or is no preset; names every fault.
    """
    if name.endswith(SUFFIX):
        return _read(Path(name))
    return next((preset for preset in shipped_presets() if preset.name == name), None)


def parse_preset(text: str, where: str) -> Preset:
    """A preset from the text of its file.

    Raises:
        InputError: it is none; names every fault.
    """
    try:
        return Preset.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: expected TOML: {error}") from error
    except ValidationError as error:
        faults = [f"{where}: {describe_fault(each, Preset)}" for each in error.errors()]
        raise InputError(*faults) from error


def _read(path: Path) -> Preset:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a preset, cannot read it: {error}") from error
    return parse_preset(text, str(path))
