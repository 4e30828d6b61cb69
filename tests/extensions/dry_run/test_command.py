from agentbench.agents.preset import shipped_presets
from tests.cli.test_completion import complete


def test_presets_are_completed():
    names = complete("agentbench agents test ")
    assert names == [preset.name for preset in shipped_presets()]
