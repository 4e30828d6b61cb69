"""The examples in an instruction: Python code that shows a bug, and what it does in a tree.

A reader of the instruction runs them, so that two fixes with the same outcomes are equal to them.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.judged_tests import write_files
from agentbench.attempt.sandboxes import open_test_sandbox
from agentbench.core.files import FileContent
from agentbench.python_source import python_syntax
from agentbench.sandbox.interface import Command

_PROGRAM = Path(__file__).parent / "mounted" / "run_examples.py"
LONGEST_EXAMPLES = timedelta(minutes=2)
"""The time limit of all examples together, with the reference solution."""
_MOST_PIECES = 60
_PROMPT = re.compile(r"^\s*(?:>>> ?|In \[\d+\]: ?)(?P<code>.*)$")
_CONTINUED = re.compile(r"^\s*\.\.\.:? ?(?P<code>.*)$")
_FENCE = re.compile(r"^\s*```+\s*(?P<language>[\w+-]*)")
_PYTHON = frozenset({"", "py", "py3", "python", "python3", "pycon", "ipython"})
_INLINE = re.compile(r"(?<!`)`([^`\n]+\))`(?!`)")  # a call within a sentence
_CODE = re.compile(r"`[^`]*`|\w[\w.]*\([^)]*\)")
_PRINT = re.compile(r"^(\s*)print (?![=(])(.+)$", re.MULTILINE)  # Python 2's statement
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")


class ExampleOutcome(NamedTuple):
    """What a piece of code did: `value`, an exception's type, or `unknown`; and its text."""

    kind: str
    text: str

    @property
    def is_value(self) -> bool:
        return self.kind == "value"

    @property
    def is_known(self) -> bool:
        """Whether the example ran; otherwise it needs a name that is nowhere."""
        return self.kind != "unknown"

    def equals(self, other: "ExampleOutcome") -> bool:
        """Whether two outcomes are the same; the words of an exception do not count."""
        both_values = self.is_value and other.is_value
        return self == other if both_values else self.kind == other.kind


class ExamplesRun(NamedTuple):
    """The outcomes of examples, in order, and the time that they took together."""

    outcomes: tuple[ExampleOutcome, ...]
    took: timedelta


def examples_in(instruction: str) -> tuple[str, ...]:
    """The statements of an instruction's sessions, blocks and calls in sentences, in order."""
    pieces = [piece for block in _blocks(instruction) for piece in _statements(block)]
    return tuple(pieces[:_MOST_PIECES])


def prose_of(instruction: str) -> str:
    """The sentences of an instruction: without blocks, sessions, code in a line and calls."""
    lines: list[str] = []
    in_block = False
    for line in instruction.splitlines():
        if _FENCE.match(line):
            in_block = not in_block
        elif not in_block and not line.startswith(("    ", "\t")) and not _PROMPT.match(line):
            lines.append(_CODE.sub(" ", line))
    return "\n".join(lines)


def run_examples(
    context: PreparedContext,
    pieces: Sequence[str],
    modules: Sequence[str],
    files: Mapping[PurePosixPath, FileContent | None],
    limit: timedelta = LONGEST_EXAMPLES,
) -> ExamplesRun:
    """Run examples in a fresh sandbox with some files changed; fewer outcomes at the time limit.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: the run was cancelled.
    """
    with open_test_sandbox(context) as sandbox:
        write_files(sandbox, files, edited_at=context.edited_at)
        question = json.dumps({"pieces": list(pieces), "modules": list(modules)})
        ran = sandbox.run(
            Command(
                argv=("python", "-c", _PROGRAM.read_text("utf-8")),
                timeout=limit,
                env=context.task.environment.env,
                stdin=question.encode(),
            )
        )
    return ExamplesRun(tuple(_outcomes(ran.stdout)), ran.duration)


def _outcomes(output: str) -> Iterator[ExampleOutcome]:
    # The code under test may write lines of its own to the stream.
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        match answer:
            case [str() as kind, str() as text]:
                yield ExampleOutcome(kind, _ADDRESS.sub("0x", text))
            case _:
                pass


def _blocks(instruction: str) -> Iterator[str]:
    """Code without prompts: sessions anywhere, and whole blocks between fences."""
    session: list[str] = []
    fenced: list[str] | None = None  # the lines of a block so far
    is_session = False  # whether they have prompts, so that the others are output
    for line in [*instruction.splitlines(), "```"]:
        prompt = _PROMPT.match(line) or (_CONTINUED.match(line) if session else None)
        if prompt is not None:
            session.append(prompt["code"])
            is_session = fenced is not None
            continue
        if session:
            yield "\n".join(session)
            session = []
        if (fence := _FENCE.match(line)) is not None:
            if fenced is not None and not is_session:
                yield "\n".join(fenced)
            starts = fenced is None and fence["language"].lower() in _PYTHON
            fenced, is_session = [] if starts else None, False
        elif fenced is not None:
            fenced.append(line)
        else:
            yield from _INLINE.findall(line)


def _statements(block: str) -> Iterator[str]:
    text = _PRINT.sub(r"\1print(\2)", block)
    try:
        tree = python_syntax.parse(text)
    except python_syntax.UNPARSABLE:
        return
    for node in tree.body:
        # A sentence of one word is a name, and a number is a sentence's, too.
        is_word = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_word:
            yield ast.unparse(node)
