"""What tests of the audit for wrong fixes share: trees from texts."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

import pytest

from agentbench.audit.base_tree import BaseTree
from agentbench.audit.task_facts import FilesByPath
from agentbench.core.files import FileContent
from agentbench.extensions.symbolic.differential.trees import AttemptTrees, SourceTree
from tests.audit.conftest import facts_of as facts_of
from tests.cli.conftest import cli as cli
from tests.cli.conftest import program as program

Files = Mapping[str, str | None]


def tree_of(base: Mapping[str, str], change: Files) -> SourceTree:
    """The tree that a change makes of a base."""
    contents = {PurePosixPath(path): text.encode() for path, text in base.items()}
    blobs = dict.fromkeys(contents, "0" * 40)
    return SourceTree(base=BaseTree(blobs=blobs, contents=contents), change=_change(change))


def _change(files: Files) -> FilesByPath:
    return {
        PurePosixPath(path): None
        if text is None
        else FileContent(content=text.encode(), executable=False)
        for path, text in files.items()
    }


@pytest.fixture
def trees() -> Callable[..., AttemptTrees]:
    def made(base: Mapping[str, str], reference: Files, agents: Files) -> AttemptTrees:
        return AttemptTrees(
            base=tree_of(base, {}),
            reference=tree_of(base, reference),
            agents=tree_of(base, agents),
        )

    return made
