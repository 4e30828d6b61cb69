"""Finds out whether ids that cannot be replaced may reveal a test's expected values."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from agentbench.integrity.sealing.checks import LikeReference, Site
from agentbench.python_source import scopes
from agentbench.python_source.functions import split_id


class StayingIds(Struct, frozen=True, kw_only=True):
    """The ids of one test function, and of the other test functions of its file."""

    function: str  # as in a node id
    node: scopes.FunctionNode
    listed: Sequence[str]  # the node ids of all deciding tests of the file

    @property
    def _parameters(self) -> set[str]:
        arguments = self.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        return {one.arg for one in every}

    def may_tell(self, tests: Iterable[str]) -> bool:
        """Whether the ids of tests have parts that may have been chosen to name expected values.

        Parts that the ids of another function have, too, come from a common fixture. pytest creates
        other parts from a literal that the test gets as an input, or from a parameter's name.
        """
        nodes = [node for one in self.node.decorator_list for node in ast.walk(one)]
        if any(isinstance(node, ast.keyword) and node.arg in ("id", "ids") for node in nodes):
            return True
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        common = set(self._parts_of_others())
        return not all(
            part in common or self._is_numbered(part) or any(part in text for text in texts)
            for one in tests
            for part in _parts(one)
        )

    def _is_numbered(self, part: str) -> bool:
        return part.rstrip("0123456789") in self._parameters

    def _parts_of_others(self) -> Iterator[str]:
        for one in self.listed:
            if split_id(one)[0] != self.function:
                yield from (part for part in _parts(one) if not any(map(str.isdigit, part)))

    def reach(self, site: Site, recorded: Sequence[ast.expr], scope: scopes.NameScope) -> bool:
        """Whether the expected value of an assertion, or a whole recorded value, is a parameter."""
        if site.function != self.function:
            return True  # a helper may get them under other names
        parameters = self._parameters
        if any(parameters & scope.origins(one.node) for one in site.removed):
            return True
        is_like = isinstance(site.check, LikeReference)
        whole = [one for one in recorded if is_like or isinstance(one, ast.Name)]
        return any(parameters & set(scopes.names_in(one)) for one in whole)


def _parts(test: str) -> list[str]:
    return (split_id(test)[1] or "").split("-")
