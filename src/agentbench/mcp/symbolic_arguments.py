"""What the symbolic tools take."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from agentbench.pytest_results.tool_calls.arguments import Arguments

MOST_CODE = 1_000_000
"""Bytes of code that are read."""

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def _readable(code: str) -> str:
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which no file can") from None
    if size > MOST_CODE:
        raise ValueError(f"is {size} bytes long, of which {MOST_CODE} are read at most")
    return code


def _named(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("is no name of Python's, such as parse or Parser.parse")
    return name


Code = Annotated[
    str,
    AfterValidator(_readable),
    Field(
        description="A whole module's text; it is run in a sandbox without a network.",
        examples=["def f(x: int) -> int:\n    return 10 // (x - 77)\n"],
    ),
]
Name = Annotated[str, Field(max_length=200), AfterValidator(_named)]
Function = Annotated[
    Name, Field(description="A function of the code, or Class.method.", examples=["f"])
]
Timeout = Annotated[
    float,
    Field(
        default=30.0,
        ge=0.5,
        le=600,
        allow_inf_nan=False,
        description="Seconds the search may take.",
        examples=[30],
    ),
]


class CheckArguments(Arguments):
    """What `symbolic_check` takes."""

    code: Code
    function_name: Function
    timeout_seconds: Timeout


class FindPathArguments(Arguments):
    """What `find_path_to_exception` takes."""

    code: Code
    function_name: Function
    exception_type: Name = Field(
        description="A builtin exception, or one that the code has.", examples=["ValueError"]
    )
    timeout_seconds: Timeout


class CompareArguments(Arguments):
    """What `compare_functions` takes."""

    code: Code
    function_a: Function
    function_b: Function
    timeout_seconds: Timeout


class BranchesArguments(Arguments):
    """What `analyze_branches` takes."""

    code: Code
    function_name: Function
    timeout_seconds: Timeout


class HealthArguments(Arguments):
    """What `health_check` takes: nothing."""
