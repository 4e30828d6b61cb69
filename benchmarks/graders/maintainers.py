"""What the maintainers of each grader say about agents that cheat, by the name of its package."""

from collections.abc import Mapping

_ISSUES = "https://github.com/SWE-bench/SWE-bench"

SAYINGS: Mapping[str, str] = {
    "swebench": f"""\
Version 5 compares the lines that the tests print with pytest's exit code, since a patch could print
its own ([#601]({_ISSUES}/issues/601), [#620]({_ISSUES}/pull/620)). Where hidden tests only add
files, its data sets remove an agent's files of the same names first
([#538]({_ISSUES}/issues/538), [#542]({_ISSUES}/pull/542)). A proposal to refuse patches that change
tests was closed without a merge ([#606]({_ISSUES}/pull/606)). The report that a patch with nothing
but a `conftest.py` is resolved is closed, too ([#631]({_ISSUES}/issues/631)). For its
[leaderboard](https://www.swebench.com/submit.html), people hand in logs and the agent's traces.""",
}
"""Markdown, with links to the sources."""
