import re

import pytest

from agentbench.cli.options import SandboxName
from agentbench.sandbox.registry import BACK_ENDS_BY_NAME
from agentbench.tasks.control_level import ControlLevel


def test_every_back_end_can_be_asked_for_and_auto(cli):
    assert list(SandboxName) == ["auto", *BACK_ENDS_BY_NAME]
    assert "<auto|docker|bubblewrap|process>" in cli("run", "--help").stdout


def test_controls_are_off_a_sample_or_full(cli):
    assert list(ControlLevel) == ["off", "sample", "full"]
    assert "<off|sample|full>" in cli("run", "--help").stdout


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        (
            "run",
            [
                "Arguments", "Tasks", "Agent and model", "Attempts", "Sandbox and preparation",
                "Limits", "Results and output", "Options",
            ],
        ),
        ("resume", ["Arguments", "Attempts", "Results and output", "Options"]),
        (
            "validate",
            [
                "Arguments", "Tasks", "Validation", "Sandbox and preparation", "Limits", "Attempts",
                "Results and output", "Options",
            ],
        ),
        ("report", ["Arguments", "Results and output", "Options"]),
    ],
)  # fmt: skip
def test_help_is_in_groups_and_only_general_options_have_none(cli, command, groups):
    lines = cli(command, "--help").stdout.splitlines()
    assert [line[:-1] for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)] == groups
    rest = lines[lines.index("Options:") + 1 :]
    assert [line.split()[0] for line in rest if line.startswith("  -")] == ["--debug", "-h,"]


def test_durations_have_one_form_and_old_ones_are_accepted(cli, tmp_path):
    for text in ("90s", "2h", "90", "1.5"):
        said = cli("run", tmp_path, "--attempt-timeout", text, "--max-outage", text)
        assert said.code == 65, said.stderr  # no task is there, and the option was fine


def test_rates_have_one_form_and_old_ones_are_accepted(cli, tmp_path):
    for option, texts in (("--fail-under", ("80%", "0.8")), ("--min-strength", ("90%", "90"))):
        for text in texts:
            command = "run" if option == "--fail-under" else "validate"
            assert cli(command, tmp_path, option, text).code == 65
