"""`agentbench` and `python -m agentbench`: the program, with its exit codes."""

import os
import sys
from types import TracebackType

from agentbench.errors import AgentbenchError, RunCancelled

_BUG = 70
_INTERRUPTED = 130


def program() -> None:
    """Run `main`, and end with its exit code, or with that of output that cannot be written."""
    from agentbench.cli.process_setup import guard_output

    guard_output()
    # Other installed packages must not change the checks of records. This also saves their search.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    code: int | str | None = None
    try:
        main()
    except SystemExit as ending:
        code = ending.code
    finally:
        unwritten = _flush_output()
    sys.exit(code or unwritten)  # the code of a failed check takes precedence


def _flush_output() -> int | str | None:
    code = None
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed at the start
        try:
            stream.flush()
        except SystemExit as ending:  # of `guard_output`: nobody reads on, or the disk is full
            code = code or ending.code
            # Otherwise the interpreter's own flush would fail, too, and set the exit code to 120.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def main() -> None:
    """Run the command line; an AgentbenchError becomes one line and its exit code."""
    sys.excepthook = _report_bug
    from agentbench.cli.app import app

    try:
        app(prog_name="agentbench")
    except AgentbenchError as error:
        if "--debug" in sys.argv:
            import traceback

            traceback.print_exc()
        _say(f"agentbench: {error}")
        sys.exit(error.exit_code)
    except RunCancelled as cancelled:
        sys.exit(cancelled.exit_code)


def _report_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Report a bug of agentbench, and where its traceback is."""
    if issubclass(kind, KeyboardInterrupt):  # before the command line could catch it
        raise SystemExit(_INTERRUPTED)
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(kind, error, trace))
    with tempfile.NamedTemporaryFile(
        "w", prefix="agentbench-bug-", suffix=".txt", delete=False, encoding="utf-8"
    ) as target:
        target.write(text)
    if "--debug" in sys.argv:
        _say(text)
    _say(
        f"agentbench: a bug in agentbench: {kind.__name__}: {error}\n"
        f"The traceback is in {target.name}; please report it."
    )
    raise SystemExit(_BUG)  # if the hook returned, the interpreter would exit with 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    program()
