"""What the maintainers of each grader say about agents that cheat, by the name of its package."""

from collections.abc import Mapping

_ISSUES = "https://github.com/SWE-bench/SWE-bench"

SAYINGS: Mapping[str, str] = {
    "swebench": f"""\
The harness is for honest predictions: a patch is applied as it is. Version 5.0 restores files that
the hidden tests add ([#538]({_ISSUES}/issues/538), [#542]({_ISSUES}/pull/542)), and compares the
printed lines with pytest's exit code ([#601]({_ISSUES}/issues/601), [#620]({_ISSUES}/pull/620)). A
proposal to refuse patches that change tests was closed ([#606]({_ISSUES}/pull/606)), and so was the
report that a single `conftest.py` is resolved ([#631]({_ISSUES}/issues/631)). For its
[leaderboard](https://www.swebench.com/submit.html), people hand in logs and the agent's traces.""",
}
"""Markdown, with links to the sources."""
