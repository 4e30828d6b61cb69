"""Which programs a command line starts, as far as its words alone tell."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from agentbench.sandbox.interface import Command, Sandbox

_TIMEOUT = timedelta(seconds=60)
_PUNCTUATION = "|&;()<>\n"
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_EXPANDED = re.compile(r"[$`*?\[\]{}~!\\]")
_REDIRECTION = re.compile(r"(?!<<)[<>&]*[<>][<>&]*")  # without here-documents
# A shell's own commands are found, too.
_LOOK = 'for name do command -v "$name" > /dev/null 2>&1 || printf "%s\\n" "$name"; done'


def programs_of(line: str) -> tuple[str, ...]:
    """The programs of a command or a pipeline, each once; none where the shell decides more.

    >>> programs_of("TERM=dumb my-agent --task {instruction} 2>&1 | tee log")
    ('my-agent', 'tee')
    >>> programs_of("cd tools && ./my-agent")
    ()
    """
    try:
        found = [_program(words) for words in _commands(line.replace("{instruction}", "x").strip())]
    except ValueError:  # more than a pipeline, or an open quote
        return ()
    return tuple(dict.fromkeys(found))


def missing_programs(
    sandbox: Sandbox, programs: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """Those that a shell does not find in the sandbox, started in its workspace.

    Raises:
        SandboxError: the sandbox is lost.
    """
    look = Command(argv=("sh", "-c", _LOOK, "sh", *programs), timeout=_TIMEOUT, env=env)
    looked = sandbox.run(look)
    return tuple(name for name in programs if name in looked.stdout.splitlines())


def _commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a pipeline, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token == "|":
            yield words
            words = []
        elif _REDIRECTION.fullmatch(token):
            if words and words[-1].isdigit():
                words.pop()  # the descriptor: an argument before it is no less a redirection
            next(tokens, None)
        elif token and set(token) <= set(_PUNCTUATION):
            raise ValueError("no mere pipeline")
        else:
            words.append(token)
    yield words


def _program(words: list[str]) -> str:
    for word in words:
        assigned = _ASSIGNMENT.match(word)
        if assigned is None:
            if not word or _EXPANDED.search(word) or "\n" in word:
                raise ValueError("a name that the shell makes")
            return word
        if assigned[1] == "PATH":
            raise ValueError("looked for elsewhere")
    raise ValueError("no program")
