"""What set-up commands install, as far as their text tells."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_PIP = re.compile(r"pip[\d.]*")
_VALUED = frozenset(
    {"-i", "-f", "--find-links", "-t", "--target", "--prefix",
     "--root", "--python", "-c", "--constraint", "--platform", "--python-version", "--cache-dir",
     "--progress-bar", "--timeout", "--upgrade-strategy", "--proxy", "--cert", "--trusted-host",
     "--no-binary", "--only-binary", "--config-settings", "--log", "--src", "--report"}
)  # fmt: skip
_FILES = frozenset({"-r", "--requirement"})
_EDITABLE = frozenset({"-e", "--editable"})
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_OPERATORS = re.compile(r"[;&|()\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """One thing that a command installs."""

    name: str = ""  # of a package in an index
    pinned: bool = False
    file: str = ""  # of requirements
    url: str = ""
    local: bool = False  # the checkout, or a file


def installs_of(command: str) -> Iterator[Install]:
    """What a shell command has pip install."""
    for words in _commands(command):
        at = next((n for n, word in enumerate(words) if _PIP.fullmatch(_program(word))), None)
        if at is not None and "install" in words[at:]:
            arguments = words[words.index("install", at) + 1 :]
            if "--no-index" not in arguments:
                yield from _arguments(arguments)


def clones_of(command: str) -> Iterator[str]:
    """The URLs that a shell command has git clone or fetch."""
    for words in _commands(command):
        if "git" in map(_program, words) and {"clone", "fetch", "pull", "remote"} & set(words):
            yield from (word for word in words if "://" in word or word.endswith(".git"))


def requirements_in(text: str) -> Iterator[Install]:
    """What a file of requirements names."""
    for raw in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).partition(";")[0].strip()
        words = line.split()
        if words and words[0].startswith("-"):
            yield from _arguments(words)
        elif line:
            yield _requirement(line)


def _program(word: str) -> str:
    return PurePosixPath(word).name


def _commands(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.whitespace = " \t\r"
    try:
        words = list(lexer)
    except ValueError:  # a quote that does not end
        words = text.split()
    command: list[str] = []
    for word in words:
        if _OPERATORS.fullmatch(word):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _arguments(words: list[str]) -> Iterator[Install]:
    waiting = iter(words)
    for word in waiting:
        option, equals, value = word.partition("=")
        if option in _FILES | _EDITABLE | _VALUED or option.endswith("-url"):
            value = value if equals else next(waiting, "")
            if option in _FILES:
                yield Install(file=value)
            elif option in _EDITABLE:
                yield Install(url=value) if "://" in value else Install(local=True)
        elif word.startswith("-r") and len(word) > 2:
            yield Install(file=word[2:])
        elif not word.startswith("-"):
            yield _requirement(word)


def _requirement(text: str) -> Install:
    if "://" in text or text.startswith("git+"):
        return Install(url=text.rpartition(" @ ")[2])
    if text.startswith((".", "/", "~", "$")) or text.endswith((".whl", ".tar.gz", ".zip")):
        return Install(local=True)
    found = _REQUIREMENT.fullmatch(text)
    if found is None or found.group(2).startswith("/"):
        return Install(local=True)
    return Install(name=found.group(1), pinned=found.group(2).startswith("=="))
