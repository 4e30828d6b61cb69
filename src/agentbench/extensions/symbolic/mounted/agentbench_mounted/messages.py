"""The types of the programs' JSON; for type checkers only, since old Pythons lack `Required`."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):  # noqa: UP036 - a sandbox may have an older one
    from typing import Any, Required, TypedDict

    Json = dict[str, Any]  # a JSON object whose keys are checked where they are read

    Form = list[Any]  # a value as it is compared: `[kind, ...]`. See values.py.

    class Step(TypedDict, total=False):
        """The outcome of one statement of a program."""

        kind: Required[str]  # outcomes.RETURNS, RAISES or TIMEOUT
        seconds: float
        text: str  # for a reader: the value, or the error
        form: Form
        type: str  # of the error
        mro: list[str]  # the names of the error's class and its bases
        explicit: bool  # the project's own code raised the error on purpose
        preparing: bool  # the statement only assigned a variable
        stdout: str
        stderr: str
        reached: str  # the first attempt to write, send or start something

    class Observation(Step):
        """One line of the pytest plugin."""

        test: str  # the node id
        at: int  # the number of the assertion; -1: how the test ended

    class Variable(TypedDict, total=False):
        """An argument or a module's variable after a program has run."""

        form: Required[Form]
        text: Required[str]
        changed: bool

    class ProgramResult(TypedDict, total=False):
        """The outcome of a program."""

        steps: Required[list[Step]]
        after: Required[dict[str, Variable]]
        lost: str  # how the process ended, if it did

    class TypeDescription(TypedDict, total=False):
        """A parameter's type."""

        t: Required[str]  # the kind: int, list, union ...
        name: str
        of: Any  # the type of the items, the types of a row or a union, the texts of a choice
        keys: TypeDescription
        values: TypeDescription
        fields: dict[str, TypeDescription]
        module: str  # to import
        init: list[Parameter]
        makers: list[Method]

    class Parameter(TypedDict, total=False):
        """A parameter of a callable."""

        name: Required[str]
        type: Required[TypeDescription]
        how: Required[str]  # position, name, many or any_name
        optional: bool
        guessed: bool

    class Method(TypedDict, total=False):
        """A method or property."""

        name: Required[str]
        params: list[Parameter]
        static: bool
        property: bool

    class Description(TypedDict, total=False):
        """The inputs of a callable."""

        kind: str  # function, class or method
        params: list[Parameter]
        sources: list[str]
        constants: list[str]
        init: list[Parameter]
        makers: list[Method]
        method: Method | None
        name_of_method: str | None
        others: list[Method]

    class Location(TypedDict):
        """See `agentbench.extensions.symbolic.analysis.FunctionLocation`."""

        paths: list[str]
        module: str | None
        name: str | None

    class Pair(TypedDict, total=False):
        """See `agentbench.extensions.symbolic.analysis.FunctionPair`."""

        left: Required[Location]
        right: Required[Location]
        errors: str
        observed: list[str]

    class Request(TypedDict, total=False):
        """See `agentbench.extensions.symbolic.analysis.ComparisonRequest`."""

        pairs: list[Pair]
        seconds: float
        examples: int
        call_seconds: float
        symbolic: bool
        path_seconds: float
        literals: list[str]
        seed: int

    class PathFindings(TypedDict, total=False):
        """The result of a search along the paths of two functions."""

        programs: list[list[str]]
        paths: int
        exhausted: bool
        why: str  # there was no search
