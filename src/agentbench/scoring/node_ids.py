"""The form of a test's id, `file::name`, whatever its runner calls it.

The file is relative to the repository, and the name may have `::` of its own. Every runner reports
its tests in this form. A listed test in another form is a name that a runner prints.
"""

from collections.abc import Iterable

from agentbench.scoring.evidence import NodeId

_SEPARATOR = "::"


def is_node_id(test: str) -> bool:
    """Whether a listed test has a file; otherwise it is a name that a runner prints."""
    return _SEPARATOR in test


def file_of(node_id: NodeId) -> str:
    """The file of a test."""
    return node_id.partition(_SEPARATOR)[0]


def name_in_file(node_id: NodeId) -> str:
    """The name of a test in its file."""
    return node_id.partition(_SEPARATOR)[2]


def node_id_of(file: str, name: str) -> NodeId:
    """The id of a test in a file."""
    return NodeId(f"{file}{_SEPARATOR}{name}")


def files_of(tests: Iterable[NodeId]) -> tuple[str, ...]:
    """The files of tests, each once and in their order; names without a file have none."""
    return tuple(dict.fromkeys(file_of(test) for test in tests if is_node_id(test)))
