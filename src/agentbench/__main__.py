"""`agentbench` and `python -m agentbench`: the program, with its exit codes."""

import atexit
import os
import sys
from types import TracebackType

from agentbench.core.memory_tuning import relax
from agentbench.errors import AgentbenchError, RunCancelled

_BUG = 70
_INTERRUPTED = 130
_CLOSED_PIPE = 141


def program() -> None:
    """Run `main`, then end the process at once.

    The interpreter would spend a tenth of a second on destroying every object. Before that, the
    program ends properly: threads end, exit functions run, and buffers are flushed.
    """
    from agentbench.cli.process_setup import guard_output

    guard_output()
    relax()
    # Other installed packages must not change the checks of records. This also saves their search.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    codes: list[int] = []
    atexit.register(_end_at_once, codes)  # registered first, so it is called last
    try:
        main()
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            codes.append(ending.code or 0)
        raise


def _end_at_once(codes: list[int]) -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as ending:  # nobody reads on; the code of a failed check takes precedence
        own = ending.code if isinstance(ending.code, int) else _CLOSED_PIPE
        os._exit(next(filter(None, codes), own))
    except (OSError, ValueError):
        return  # the interpreter reports it, with its own exit code
    if codes:
        os._exit(codes[0])


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
