"""What the maintainers of each grader say about agents that cheat, by the name of its package."""

from collections.abc import Mapping

_ISSUES = "https://github.com/SWE-bench/SWE-bench"
_INSPECT = "https://github.com/UKGovernmentBEIS/inspect_ai"
_EVALS = "https://github.com/UKGovernmentBEIS/inspect_evals"
_VERIFIERS = "https://github.com/PrimeIntellect-ai/verifiers"
_OPENENV = "https://github.com/huggingface/OpenEnv"
_HARBOR = "https://www.harborframework.com"
_TBENCH = "https://github.com/harbor-framework/terminal-bench-website/blob/main/content/blog"

SAYINGS: Mapping[str, str] = {
    "swebench": f"""\
Version 5 compares the lines that the tests print with pytest's exit code, since a patch could print
its own ([#601]({_ISSUES}/issues/601), [#620]({_ISSUES}/pull/620)). Where hidden tests only add
files, its data sets remove an agent's files of the same names first
([#538]({_ISSUES}/issues/538), [#542]({_ISSUES}/pull/542)). A proposal to refuse patches that change
tests was closed without a merge ([#606]({_ISSUES}/pull/606)). The report that a patch with nothing
but a `conftest.py` is resolved is closed, too ([#631]({_ISSUES}/issues/631)). For its
[leaderboard](https://www.swebench.com/submit.html), people hand in logs and the agent's traces.""",
    "harbor": f"""\
The separate verifier is meant as a boundary between the agent and what judges it: only declared
artifacts cross it ([announcement]({_HARBOR}/news/separate-verifier-sandboxes)). A task that says
nothing is judged in the agent's container ([documents]({_HARBOR}/docs/tasks)), while `harbor init`
0.26 writes a separate one. Others reported that 0.22 paid a reward file that was written early, and
that its separate mode gave an honest agent nothing when its work was no declared artifact
([valbaudo/dawn#14](https://github.com/valbaudo/dawn/issues/14)); 0.26 deletes such files before it
judges. Its rubrics `check` and `analyze` let a model look for reward hacking afterwards.""",
    "terminal-bench": f"""\
For 2.0 its maintainers confirmed cheating in submissions; they ask for the trajectories of passing
trials, have an agent review them, and take submissions down
([leaderboard](https://www.tbench.ai/news/leaderboard-integrity-update)). In 3.0 the containers of
agent and verifier are separate, which they say prevents many ways of reward hacking
([release]({_TBENCH}/terminal-bench-3-0.mdx)). The table has 0.2.18, the newest version of the
package.""",
    "inspect-evals": f"""\
Inspect lets scorers run commands in the agent's sandbox
([documents]({_INSPECT}/blob/main/docs/multiple-scorers.qmd)), and offers scanners of transcripts
that look for reward hacking ([scanners]({_INSPECT}/blob/main/docs/scanners.qmd)). A change stopped
its own commands from running programs that the agent put on PATH
([#5359]({_INSPECT}/pull/5359)), and another says that hiding tools as root is no boundary against
an agent that is root ([#4945]({_INSPECT}/pull/4945)). The page of its
[SWE-bench]({_EVALS}/tree/main/src/inspect_evals/swe_bench) warns of images whose history has the
fixes, and says nothing of changed tests.""",
    "verifiers": f"""\
[Its documents]({_VERIFIERS}/blob/main/docs/v1/harbor.md) describe the separate verifier as a
container that the agent never touched, and a task that asks for one is not judged in the agent's
without a word ([#2152]({_VERIFIERS}/pull/2152)). Planted reward files are removed before it
judges.""",
    "openenv": f"""\
[Its invariants]({_OPENENV}/blob/main/.claude/docs/INVARIANTS.md) keep rewards inside the
environment. Of its Terminal-Bench environment, tests and solutions that the agent could read were
called a way of reward hacking and withheld ([#972]({_OPENENV}/pull/972)). A report that five
environments take the reward from a file that the agent can write
([#1199]({_OPENENV}/issues/1199)) was open when we looked.""",
}
"""Markdown, with links to the sources."""
