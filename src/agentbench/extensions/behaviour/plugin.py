"""`agentbench behaviour`, and what other commands tell about the work of agents."""

from collections.abc import Mapping

from agentbench.core.extensions import Offer, Slot


def _command() -> object:
    from agentbench.extensions.behaviour.command import behaviour

    return behaviour


def _story() -> object:
    from agentbench.extensions.behaviour.story import work_of

    return work_of


def _reader() -> object:
    from agentbench.extensions.behaviour.rules import behaviour_of_attempts

    return behaviour_of_attempts


def _tags() -> object:
    from agentbench.extensions.behaviour.counts import tags_of_attempts

    return tags_of_attempts


def _table() -> object:
    from agentbench.extensions.behaviour.counts import count_by_run

    return count_by_run


def _comparison() -> object:
    from agentbench.extensions.behaviour.counts import compare_tags

    return compare_tags


def _counts() -> object:
    from agentbench.extensions.behaviour.command import print_counts_of

    return print_counts_of


def _differences() -> object:
    from agentbench.extensions.behaviour.command import print_differences_of

    return print_differences_of


def _words() -> Mapping[str, str]:
    from agentbench.extensions.behaviour.tags import MEANINGS

    return {
        tag.value: f"(behaviour, {meaning.group}) {meaning.rule}\n{meaning.not_said}"
        for tag, meaning in MEANINGS.items()
    }


OFFERS = {
    Slot.COMMAND: {
        "behaviour": Offer("Tell what agents did: tags, with the steps that show them.", _command)
    },
    Slot.BEHAVIOUR: {
        "story": Offer("The story of an attempt.", _story),
        "reader": Offer("The tags of attempts.", _reader),
        "tags": Offer("The tags of attempts, without their evidence.", _tags),
        "table": Offer("How often runs have each tag, by the tags of their attempts.", _table),
        "comparison": Offer("Which tags differ, by the tags of attempts.", _comparison),
        "counts": Offer("Prints how often a run has each tag.", _counts),
        "differences": Offer("Prints which tags differ between two runs.", _differences),
    },
    Slot.WORDS: {"behaviour": Offer("The tags.", _words)},
}
