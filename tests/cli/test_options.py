from agentbench.cli.options import SandboxName
from agentbench.core.choices import ControlLevel
from agentbench.sandbox.registry import BACK_ENDS_BY_NAME


def test_every_back_end_can_be_asked_for_and_auto(cli):
    assert list(SandboxName) == ["auto", *BACK_ENDS_BY_NAME]
    assert "<auto|docker|bubblewrap|process>" in cli("run", "--help").stdout


def test_controls_are_off_a_sample_or_full(cli):
    assert list(ControlLevel) == ["off", "sample", "full"]
    assert "<off|sample|full>" in cli("run", "--help").stdout
