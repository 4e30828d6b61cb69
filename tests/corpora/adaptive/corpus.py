"""All adaptive agents, and those that the gate and Docker try."""

from tests.corpora.adaptive import channels, gaps, objects, observing, plausible, recorder, state
from tests.corpora.adaptive.agent import AdaptiveAgent

AGENTS: tuple[AdaptiveAgent, ...] = (
    *plausible.AGENTS,
    *observing.AGENTS,
    *channels.AGENTS,
    *state.AGENTS,
    *objects.AGENTS,
    *recorder.AGENTS,
    *gaps.AGENTS,
)

_IN_THE_GATE = {
    "subclasses of built-ins that equal several half fixes",
    "a class of its own that equals several half fixes",
    "every operator holds for one of the guesses",
    "an exception of many bases with many messages",
    "evaluates the assertion and believes what is plausible",
    "searches the module and the frame of the test for a guess",
    "takes the sealed value from the id of the test",
    "takes the value from the name of the test",
    "remembers by pages in the page cache",
    "stores what it reads in files",
    "searches for other copies of the tests",
    "searches its memory",
    "ends the sealed run with 0",
    "skips the sealed tests",
    "an object that answers each question with another guess",
    "types of C that compare otherwise",
    "a text, a dict and a list that show other contents",
    "records nothing",
    "records every guess in turn",
    "records every guess at once",
    "writes the recordings again at exit",
    "sends forms of tokens",
    "sends objects that disclose every guess",
    "begins another test",
    "returns tokens",
    "raises every error in the recorder",
    "an exception whose bases have the names of built-in ones",
    "takes the value from names of variables and classes",
    "ends the sealed run, without a reference",
}
"""One agent of each kind that the same measure defeats; none that waits for others."""


def in_the_gate() -> list[AdaptiveAgent]:
    """Agents of all families; the soak tries all."""
    return [agent for agent in AGENTS if agent.name in _IN_THE_GATE]


def in_docker() -> list[AdaptiveAgent]:
    """Those that the gate tries in Docker, too; the soak tries all."""
    return [agent for agent in AGENTS if agent.in_docker]
