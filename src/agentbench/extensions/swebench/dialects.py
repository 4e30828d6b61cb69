"""The forms in which data sets store the fields of an instance, and rows that are not instances.

A field is read in another form only if that form has one meaning.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.core.display_text import list_with_more
from agentbench.python_source import python_syntax

_PATCHED_FILE = re.compile(r"^diff --git a/.+ b/(.+?)\r?$", re.MULTILINE)
_TESTS = ("FAIL_TO_PASS", "fail_to_pass", "PASS_TO_PASS", "pass_to_pass")
_FOREIGN_FIELDS = {
    "expected_output_json": "is a row of R2E-Gym: it has no patch, and its tests are in its image",
    "parsed_commit_content": "is a row of R2E-Gym: it has no patch, and its tests are in its image",
    "trajectory": "is the trajectory of an agent; import the data set of the instances",
    "messages": "is the trajectory of an agent; import the data set of the instances",
    "model_patch": "is a prediction; judge it with `agentbench run --agent predictions:FILE`",
    "fix_patch": "is a row of Multi-SWE-bench, whose commands are in its code, not in its rows",
}
"""The kind of a row without `patch`, by one of its fields."""


def instance_row(value: Mapping[str, object]) -> Mapping[str, object]:
    """The row itself, or the instance that a row of NeMo Gym wraps as JSON text."""
    if "patch" in value:
        return value
    metadata = _json_object(_json_object(value.get("responses_create_params")).get("metadata"))
    return _json_object(metadata.get("instance_dict")) or value


def _json_object(value: object) -> Mapping[str, object]:
    """An object or the JSON text of one; anything else is an empty object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def foreign_row(value: Mapping[str, object]) -> tuple[str, str] | None:
    """The field that shows that pytest cannot test a row, and why; None: it may be an instance."""
    if "patch" not in value:
        for name, why in _FOREIGN_FIELDS.items():
            if name in value:
                return name, why
        if "instance_id" not in value and "repo" not in value:
            found = list_with_more([repr(str(key)[:40]) for key in value], 5) or "none"
            return "", f"expected the fields of an instance, such as instance_id; found {found}"
        return None
    if not any(name in value for name in _TESTS):
        if "F2P" in value:
            why = "is a row of SWE-PolyBench, whose logs its own parsers read, one for a project"
            return "F2P", why
        return "FAIL_TO_PASS", "is missing, and PASS_TO_PASS too; no test judges this instance"
    return None


def foreign_suffixes(value: Mapping[str, object]) -> list[str]:
    """The suffixes of the files of a row's patches, if no test of it is one of Python."""
    patches = [value.get(name) for name in ("patch", "test_patch")]
    files = [
        file for each in patches if isinstance(each, str) for file in _PATCHED_FILE.findall(each)
    ]
    lists = [value.get(name) for name in _TESTS[:2]]
    suffixes = sorted({PurePosixPath(file).suffix for file in files} - {""})
    is_python = any(suffix.startswith(".py") for suffix in suffixes) or ".py" in str(lists)
    return [] if is_python else suffixes


def names_of(value: object) -> tuple[object, ...]:
    """The names of tests: a list, its text as JSON or Python, a list by file, or node ids in lines.

    Raises:
        ValueError: the value has another form.
    """
    if isinstance(value, str):
        value = _list_in_text(value)
    if value is None:
        return ()
    if isinstance(value, dict):
        # `{"tests/test_a.py": ["test_x", "TestY::test_z"]}`
        names: list[str] = []
        for file, listed in value.items():
            if not str(file).endswith(".py") or not isinstance(listed, list | tuple):
                raise ValueError(f"expected lists of names by file, found {str(file)[:80]!r}")
            prefix = f"{file}::"
            names += (prefix + name.removeprefix(prefix) for name in map(str, listed))
        value = names
    if not isinstance(value, list | tuple):
        raise ValueError(  # noqa: TRY004 - pydantic takes these for faults of the value
            f"expected a list of names, or one as JSON text, found {type(value).__name__}"
        )
    return tuple(dict.fromkeys(value)) if all(isinstance(n, str) for n in value) else tuple(value)


def _list_in_text(text: str) -> object:
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError) as error:
        fault = f"is not JSON: {error}"
    if text.lstrip().startswith("["):
        try:
            return python_syntax.literal(text.strip())
        except (*python_syntax.UNPARSABLE, TypeError):
            raise ValueError(fault) from None
    names = [name.strip() for name in re.split(r"[,\n]", text)]
    if "[" in text or not all(".py::" in name and " " not in name for name in names):
        raise ValueError(fault)
    return names


def commands_of(value: object) -> object:
    """Commands or requirements: a list, its JSON text, a single text, or null."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            value = from_json(value)
        else:
            return (value,) if value.strip() else ()
    return () if value is None else value


def from_json(value: object) -> object:
    """A value that some data sets store as JSON text.

    Raises:
        ValueError: the text is not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None


def text_of(value: object) -> object:
    """A text; a number, which some data sets use for versions, becomes one, and null is empty."""
    if value is None:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def checked_text(text: str) -> str:
    """A text that a file can hold.

    Raises:
        ValueError: it cannot be written.
    """
    if "\0" in text:
        raise ValueError("contains a NUL character, which no file of a task may hold")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text") from None
    return text


def patch_text(value: object) -> object:
    """A patch; if all of its lines end in CRLF, a program has converted it, and LF is restored."""
    if isinstance(value, str) and "\r\n" in value and value.count("\n") == value.count("\r\n"):
        return value.replace("\r\n", "\n")
    return value


def apt_packages(commands: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The Debian packages that commands install, and the other commands.

    Only an image can install packages, since the set-up of a task does not run as root.
    """
    packages: list[str] = []
    others: list[str] = []
    for command in commands:
        rest = []
        for part in command.split("&&"):
            words = part.split()
            words = words[1:] if words[:1] == ["sudo"] else words
            if words[:1] not in (["apt"], ["apt-get"]):
                if "/var/lib/apt/lists" not in part:
                    rest.append(part.strip())
            elif "install" in words:
                names = words[words.index("install") + 1 :]
                packages += [name for name in names if not name.startswith("-")]
        if rest:
            others.append(" && ".join(rest))
    return tuple(dict.fromkeys(packages)), tuple(others)
