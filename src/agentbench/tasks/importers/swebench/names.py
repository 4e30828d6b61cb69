"""SWE-bench's names of tests: node ids as its parsers of logs left them.

A parser takes a line's second word, so that an id ends at its first blank. Some of them shorten a
parameter that is a path. sympy's runner prints the names of functions, without a file. What such a
name means is found out by running the tests, and comparing what each id would have become.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from agentbench.scoring.evidence import NodeId
from agentbench.tasks.task_file import ListedId

_LISTED: TypeAdapter[NodeId] = TypeAdapter(ListedId)
_FUNCTION = re.compile(r"[A-Za-z_]\w*")
_UNITTEST = re.compile(r"\S+ \([\w.]+\)")
_PATH_PARAMETER = re.compile(r"(.*?)\[(/[^/*].*/[^/]*)\]")


class Kind(StrEnum):
    """What a name is."""

    NODE_ID = "node id"
    CUT = "cut"  # an id as far as its first blank, or with a shortened parameter
    FUNCTION = "function"  # without file and class
    UNITTEST = "unittest"  # as the runner of unittest prints it: "test_a (module.Case)"
    OTHER = "other"  # a line of a log that was taken for a test


def kind_of(name: str) -> Kind:
    """What a name of FAIL_TO_PASS or PASS_TO_PASS is."""
    if "::" in name:
        whole = name.count("[") <= name.count("]") and "[/" not in name
        return Kind.NODE_ID if whole and _can_be_listed(name) else Kind.CUT
    if _FUNCTION.fullmatch(name):
        return Kind.FUNCTION
    return Kind.UNITTEST if _UNITTEST.fullmatch(name) else Kind.OTHER


def are_whole(names: Iterable[str]) -> bool:
    """Whether all of them can be listed in a task as they are."""
    return all(kind_of(name) is Kind.NODE_ID for name in names)


def meant_by(name: str, node_ids: Sequence[NodeId]) -> tuple[NodeId, ...]:
    """Which of some ids would have become a name; itself alone where it is one of them."""
    if name in node_ids:
        return (NodeId(name),)
    if kind_of(name) is Kind.FUNCTION:
        return tuple(each for each in node_ids if _function_of(each) == name)
    return tuple(each for each in node_ids if name in _left_of(each))


def _can_be_listed(name: str) -> bool:
    try:
        _LISTED.validate_python(name)
    except ValidationError:
        return False
    return True


def _left_of(node_id: NodeId) -> set[str]:
    """What parsers make of an id."""
    forms = {node_id, _PATH_PARAMETER.sub(_last_part, node_id)}
    return forms | {form.split(maxsplit=1)[0] for form in forms}


def _last_part(found: re.Match[str]) -> str:
    return f"{found[1]}[/{found[2].rpartition('/')[2]}]"


def _function_of(node_id: NodeId) -> str:
    return node_id.partition("[")[0].rpartition("::")[2]
