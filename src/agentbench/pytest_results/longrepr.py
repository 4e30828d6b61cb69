"""Takes the one telling line out of what pytest prints about a failure or a skip."""

from agentbench import syntax


def error_line(longrepr: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line.strip() for line in longrepr.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (marked or lines or [""])[-1]


def skip_reason(longrepr: str) -> str:
    """The reason in a printed tuple `('path', 3, 'Skipped: reason')`, or the text itself."""
    try:
        printed = syntax.literal(longrepr)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return longrepr
    if not isinstance(printed, tuple) or len(printed) != 3:
        return longrepr
    return str(printed[2]).removeprefix("Skipped: ")
