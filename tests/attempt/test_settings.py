import json
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from agentbench.attempt.settings import RunSettings
from agentbench.runs.options import RunOptions
from agentbench.tasks.control_level import ControlLevel
from tests.runs.records import configuration

CHANGED = {
    "timeout_scale": 2.0,
    "max_outage": timedelta(minutes=3),
    "attempt_timeout": timedelta(hours=1),
    "integrity_controls": ControlLevel.OFF,
    "prices": Path("/prices.json"),
}


def test_json_has_seconds_and_the_keys_of_run_json():
    document = json.loads(RunSettings(**CHANGED).model_dump_json())
    assert (document["max_outage_s"], document["attempt_timeout_s"]) == (180.0, 3600.0)
    assert document["prices"] == "/prices.json"
    assert document.keys() <= json.loads(configuration().model_dump_json()).keys()
    assert RunSettings.model_validate(document) == RunSettings(**CHANGED)


def test_options_and_configurations_have_the_same_settings():
    options = RunOptions(agent="noop", **CHANGED)
    assert type(options.settings()) is RunSettings
    assert options.settings() == configuration(**CHANGED).settings() == RunSettings(**CHANGED)


def test_a_change_makes_a_copy_and_an_unknown_one_is_refused():
    options = RunOptions(jobs=3)
    changed = options.replace(attempts=5)
    assert (options.attempts, changed.attempts, changed.jobs) == (1, 5, 3)
    with pytest.raises(ValidationError, match="atempts"):
        options.replace(atempts=5)


def test_times_are_scaled():
    assert RunSettings(timeout_scale=1.5).scaled(10) == timedelta(seconds=15)
