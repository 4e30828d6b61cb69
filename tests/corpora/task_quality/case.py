"""Tasks whose faults are known, and how they are written as folders."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tests.e2e.small_task import patch_of

Change = Mapping[str, str | tuple[tuple[str, str], ...]]
"""New files by path, or for a file that exists the texts to replace, each with its new text."""
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)


class UnfairKind(StrEnum):
    """How the hidden tests of a task reject right fixes."""

    UNSTATED = "unstated name"
    EQUAL = "rejected equal"
    BEYOND = "beyond the report"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCase:
    """A task, its labels, and the fixes that prove them."""

    name: str
    files: Mapping[str, str]
    instruction: str
    fix: Change
    hidden: Mapping[str, str]
    """The deciding tests, which tests.patch adds to a file or a new file; all fail on the base."""

    kind: UnfairKind | None = None  # None: fair
    unstated: str = ""
    """The name or the words that the tests need, the fix introduces and nothing gives."""

    reason: str  # why the task is fair or unfair
    right: Change
    """Another right fix: the tests of a fair task accept it, those of an unfair one do not."""

    wrong: Change = field(default_factory=dict)
    """A wrong fix that the tests accept; empty: the tests are not too wide."""

    wrong_reason: str = ""
    stronger: Mapping[str, str] = field(default_factory=dict)
    """Further tests, which the wrong fix fails and the reference solution passes."""

    @property
    def is_unfair(self) -> bool:
        return self.kind is not None

    @property
    def is_too_wide(self) -> bool:
        return bool(self.wrong)

    def write(self, folder: Path, *, stronger: bool = False) -> Path:
        """Write the task into a new folder and return it; on request with the stronger tests."""
        for name, text in self.files.items():
            path = folder / "repo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        hidden = dict(self.hidden)
        if stronger:
            for path, text in self.stronger.items():
                hidden[path] = hidden.get(path, "") + text
        ids = [f"{path}::{name}" for path, text in hidden.items() for name in _TEST.findall(text)]
        (folder / "instruction.md").write_text(self.instruction)
        (folder / "solution.patch").write_text(self.patch(self.fix))
        (folder / "tests.patch").write_text(
            "".join(
                patch_of(path, self.files.get(path, ""), f"{self.files.get(path, '')}{text}")
                for path, text in hidden.items()
            )
        )
        (folder / "task.toml").write_text(
            f'schema_version = 1\ntitle = "{self.name}"\n\n[repo]\npath = "repo"\n\n[tests]\n'
            f'paths = ["tests"]\nfail_to_pass = {ids}\npass_to_pass = "baseline"\n'
        )
        return folder

    def patch(self, change: Change) -> str:
        """A change of the base as a git patch."""
        return "".join(
            patch_of(path, self.files.get(path, ""), self._after(path, edits))
            for path, edits in change.items()
        )

    def command(self, change: Change) -> str:
        """A command that makes a change of the base."""
        return f"git apply <<'END_OF_PATCH'\n{self.patch(change)}END_OF_PATCH\n"

    def _after(self, path: str, edits: str | tuple[tuple[str, str], ...]) -> str:
        if isinstance(edits, str):
            return edits
        text = self.files[path]
        for before, after in edits:
            assert text.count(before) == 1, (self.name, before)
            text = text.replace(before, after)
        return text
