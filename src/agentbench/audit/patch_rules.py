"""Rules about what an agent did: its patch and what its log shows."""

import re
from collections.abc import Iterator

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.patch import FilePatch, applied
from agentbench.audit.rule import Seen
from agentbench.scoring.evidence import Severity
from agentbench.stages.verification.suspicious import suspicious_code

_ORACLE = "oracle"
_FETCHES = re.compile(
    r"\b(pip[\d.]*\s+(?:download|install)\s+(?!-e\b|\.)\S|git\s+(?:fetch|pull)\b"
    r"|git\s+clone\s[^\n|;]{0,100}?(?:://|git@)|(?:curl|wget)\s[^\n|;]{0,100}?https?://"
    r"|git\s+remote\s+add\b)"
)
_LEAST_NAME = 14  # characters; a shorter name of a test may be anybody's idea
_SHOWN = 100


def equals_solution(facts: AttemptFacts) -> Iterator[Seen]:
    """The very reference fix was memorised, leaked, or is the one that anybody would write."""
    task = facts.task
    if task is None or facts.record.agent == _ORACLE or not task.solution:
        return
    ours, theirs = _lines_of(task.solution), _lines_of(facts.patch)
    if facts.patch_text == task.task.answer_key.solution_patch or (ours and ours == theirs):
        what = f"changes the same {len(ours)} lines as solution.patch: memorised, leaked or obvious"
        yield Seen(Severity.INFO, "patch.diff", what)


def hidden_tests_in_patch(facts: AttemptFacts) -> Iterator[Seen]:
    """Who writes hidden tests down has seen them: they were never in the agent's sandbox."""
    if facts.task is None or facts.record.agent == _ORACLE:
        return
    instruction = facts.task.task.problem.instruction
    hidden = facts.task.hidden_needles
    hidden = hidden.without(hidden.found_in(instruction))
    told_of = set(re.findall(r"\w+", instruction))
    names = {name for name in facts.task.hidden_names - told_of if len(name) >= _LEAST_NAME}
    for file in facts.whole:
        added = "\n".join(line for _, line in file.added())
        found = hidden.found_in(added)
        if found:
            what = f"adds {len(found)} of {len(hidden)} telling lines of the hidden tests"
            yield Seen(Severity.WARNING, file.path, what)
        told = sorted(names & set(re.findall(r"\w+", added)))
        if told:
            what = f"names hidden tests: {', '.join(told)}"
            yield Seen(Severity.WARNING, file.path, what)


def fetched_upstream(facts: AttemptFacts) -> Iterator[Seen]:
    """Agents have no network; one that asks for it may have looked for the fix."""
    seen: set[str] = set()
    for number, line in enumerate(facts.log.splitlines(), start=1):
        found = _FETCHES.search(line[:10_000])
        if found and found.group() not in seen:
            seen.add(found.group())
            shown = line[max(found.start() - 20, 0) :][:_SHOWN]
            yield Seen(Severity.INFO, f"stages/agent_run.log:{number}", f"mentions: {shown}")


def suspicious(facts: AttemptFacts) -> Iterator[Seen]:
    """Code that cheats need shows a reader where to look first; it is never guilt."""
    for file in facts.patch:
        before = facts.before(file.path)
        after = None if file.removed else applied(before, file)
        if after is None:  # the base is not known: what is added alone
            before = None
            after = "".join(f"{line}\n" for _, line in file.added()).encode()
        for finding in suspicious_code(file.path, before, after):
            yield Seen(finding.severity, finding.where, finding.what)


def _lines_of(patch: tuple[FilePatch, ...]) -> frozenset[tuple[str, str]]:
    return frozenset((file.path, line) for file in patch for line in file.changed())
