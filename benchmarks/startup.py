"""Start-up: how long help, tab completion and `import agentbench.scoring` take.

Whole processes, in turns with the interpreter alone. Milliseconds are the processor's: on an idle
machine they are those of the clock, and on a busy one they are still the program's own. Of what is
promised the clock's are told, too. Run: python benchmarks/startup.py
"""

import sys
from collections.abc import Sequence

from measuring import Child, Measure, arguments, child, compared, show

from agentbench.cli.app import SHORT_HELP

_BARE = "python -c pass"
_HELP = "agentbench --help"
_SCORING = "import agentbench.scoring"
_PROGRAM = (sys.executable, "-m", "agentbench")
_COMMANDS: dict[str, Sequence[str]] = {
    _BARE: (sys.executable, "-c", "pass"),
    _HELP: (*_PROGRAM, "--help"),
    _SCORING: (sys.executable, "-c", "import agentbench.scoring"),
    **{f"agentbench {name} --help": (*_PROGRAM, name, "--help") for name in SHORT_HELP},
}
_TYPED = {"agentbench re": 1, "agentbench run --sa": 2}  # and Tab


def main() -> None:
    """Run every command in turns."""
    options = arguments(__doc__, rounds=15).parse_args()
    for argv in _COMMANDS.values():
        child(argv)  # writes its byte-code
    taken: dict[str, list[Child]] = {}
    for _ in range(options.rounds):
        for name, argv in _COMMANDS.items():
            taken.setdefault(name, []).append(child(argv))
        for line, word in _TYPED.items():
            taken.setdefault(f"{line}<Tab>", []).append(_completed(line, word))
    bare = [each.processor_s for each in taken[_BARE]]
    measures = [
        _measure(name, [each.processor_s for each in children], bare)
        for name, children in taken.items()
    ]
    net = [each.processor_s - own for each, own in zip(taken[_SCORING], bare, strict=True)]
    clock = {name: [each.seconds for each in taken[name]] for name in (_BARE, _HELP, _SCORING)}
    bare_clock = clock[_BARE]
    measures += [
        _measure(f"{_SCORING}, without the interpreter", net, bare),
        *(_measure(f"{name}, by the clock", own, bare_clock) for name, own in clock.items()),
    ]
    show("startup", measures, options)


def _completed(line: str, word: int) -> Child:
    """What a shell asks for when Tab is pressed at the end of a line."""
    asked = {"_AGENTBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    return child(_PROGRAM, env=asked)


def _measure(name: str, seconds: Sequence[float], bare: Sequence[float]) -> Measure:
    own, base = ([1000 * value for value in values] for values in (seconds, bare))
    return compared(name, own, base, unit="ms", against=_BARE)


if __name__ == "__main__":
    main()
