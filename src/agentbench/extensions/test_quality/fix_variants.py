"""Changes of a reference solution: how several are applied, and what they are made of."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentbench.audit.unstated import plain
from agentbench.errors import InputError
from agentbench.extensions.test_quality.mutants import FixedFile, ParsedFile, change_of
from agentbench.extensions.test_quality.mutation_rewrites import Rewrite
from agentbench.python_source.source_text import SourceEdit, apply_edits, parse_source
from agentbench.validation.fairness_results import VariantKind
from agentbench.validation.mutation_results import MutantChange

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
"""The nodes of functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A change to the fixed files: edits of them, and new files."""

    kind: VariantKind
    change: MutantChange
    edits: Mapping[PurePosixPath, tuple[SourceEdit, ...]]
    new_files: Mapping[PurePosixPath, str] = field(default_factory=dict)
    subject: frozenset[str] = frozenset()  # of a part: the words of its names
    is_detail: bool = False  # of a part: whether it is less than a changed place


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """What the author of another fix can read, and what not."""

    instruction: str
    new_names: frozenset[str]  # that hidden tests need, the fix introduces and nothing gives
    called: frozenset[str] = frozenset()  # new functions that hidden tests call
    shows_output: bool = False  # whether the instruction has a text of several words of a test

    def says(self, message: str) -> bool:
        """Whether the instruction gives a message."""
        return plain(message) in plain(self.instruction)

    def has_word(self, word: str) -> bool:
        return re.search(rf"(?i)\b{re.escape(word)}\b", self.instruction) is not None


def variant_of(file: ParsedFile, kind: VariantKind, rewrite: Rewrite) -> Variant:
    """The variant that one rewrite makes."""
    return Variant(
        kind=kind,
        change=change_of(file.source, rewrite, file.with_rewrite(rewrite)),
        edits={file.file.path: (SourceEdit(span=rewrite.span, text=rewrite.text),)},
    )


def parsed_files(files: Iterable[FixedFile]) -> Iterator[ParsedFile]:
    """The files that can be parsed."""
    for file in files:
        with suppress(InputError):
            yield ParsedFile.of(file)


def apply_variants(
    files: Iterable[FixedFile], variants: Iterable[Variant]
) -> dict[PurePosixPath, bytes]:
    """The contents of the files that some variants change together."""
    edits: dict[PurePosixPath, list[SourceEdit]] = {}
    contents: dict[PurePosixPath, bytes] = {}
    for variant in variants:
        for path, own in variant.edits.items():
            edits.setdefault(path, []).extend(own)
        contents |= {path: text.encode() for path, text in variant.new_files.items()}
    for file in files:
        if file.path in edits:
            text = parse_source(file.after.decode(), file.path.as_posix()).text
            contents[file.path] = apply_edits(text, edits[file.path]).encode()
    return contents


def groups_of(variants: Sequence[Variant]) -> list[list[Variant]]:
    """The variants in groups that can be applied together: no edit lies in another."""
    groups: list[list[Variant]] = []
    for variant in variants:
        for group in groups:
            if not any(_overlap(variant, other) for other in group):
                group.append(variant)
                break
        else:
            groups.append([variant])
    return groups


def _overlap(one: Variant, other: Variant) -> bool:
    return any(
        mine.span.overlaps(theirs.span)
        for path, edits in one.edits.items()
        for mine in edits
        for theirs in other.edits.get(path, ())
    )
