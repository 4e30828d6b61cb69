import json

import pytest

from agentbench.agents.predictions import read_predictions
from agentbench.errors import InputError, UsageError

FIRST = {"instance_id": "A__b-1", "model_name_or_path": "m", "model_patch": "mended"}
EMPTY = {"instance_id": "A__b-2", "model_name_or_path": "m", "model_patch": ""}
NONE = {"instance_id": "A__b-3", "model_name_or_path": "m", "model_patch": None}
OTHER = {**FIRST, "model_name_or_path": "other"}
PATCHES = {"a__b-1": b"mended\n", "a__b-2": None, "a__b-3": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("preds.json", json.dumps([FIRST, EMPTY, NONE])),
        ("preds.json", json.dumps({each["instance_id"]: each for each in (FIRST, EMPTY, NONE)})),
        ("preds.jsonl", "\r\n".join(map(json.dumps, (FIRST, EMPTY, NONE)))),
    ],
)
def test_each_form_of_swe_bench_s_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_predictions(tmp_path / name)
    assert dict(found) == PATCHES


@pytest.fixture
def write(tmp_path):
    def write(*entries):
        path = tmp_path / "preds.jsonl"
        lines = (each if isinstance(each, str) else json.dumps(each) for each in entries)
        path.write_text("\n".join(lines))
        return path

    return write


def test_what_else_an_entry_has_is_passed_over(write):
    found = read_predictions(write({**FIRST, "full_output": "...", "cost": 1}))
    assert found == {"a__b-1": b"mended\n"}


def test_a_model_without_a_name_is_called_as_swe_bench_calls_it(write):
    path = write({"instance_id": "a", "model_patch": "x"})
    assert read_predictions(path, model="None") == read_predictions(path)


def test_of_several_models_one_must_be_named(write):
    path = write(FIRST, OTHER)
    with pytest.raises(UsageError) as told:
        read_predictions(path)
    assert str(told.value) == (
        f"{path}: has predictions of 2 models; name one as predictions:{path}#MODEL: 'm', 'other'"
    )
    assert read_predictions(path, model="other")
    with pytest.raises(UsageError, match="has no predictions of 'third', only of: 'm', 'other'"):
        read_predictions(path, model="third")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"model_patch": "x"}, "instance_id: is missing"),
        ({**FIRST, "instance_id": 3}, "instance_id: 3 is not a string"),
        ({"instance_id": "A__b-9"}, "A__b-9: model_patch: is missing"),
        ({**OTHER, "model_patch": 5}, "A__b-1: model_patch: 5 is not a string"),
        ({**OTHER, "model_patch": "\ud800"}, "A__b-1: model_patch: "),
        ({**FIRST, "model_name_or_path": []}, "A__b-1: model_name_or_path: [] is not a string"),
        ("{", "is not JSON: "),
        ("\ufeff{}", "begins with a byte order mark"),
        ("[]", "expected an object, found list"),
    ],
)
def test_a_wrong_entry_is_refused_with_line_instance_and_field(write, entry, what):
    path = write(NONE, entry)
    with pytest.raises(InputError) as told:
        read_predictions(path)
    (fault,) = told.value.faults
    assert fault.startswith(f"{path}:2: {what}")


@pytest.mark.parametrize("instance_id", ["A__b-1", "a__B-1"])
def test_two_answers_of_one_model_to_one_instance_are_refused(write, instance_id):
    path = write(FIRST, {**FIRST, "instance_id": instance_id})
    with pytest.raises(InputError) as told:
        read_predictions(path)
    assert str(told.value).startswith(f"{path}:2: {instance_id}: instance_id: occurs twice")


def test_of_very_many_faults_the_first_are_shown_and_the_rest_counted(write):
    path = write(*["{"] * 50)
    with pytest.raises(InputError) as told:
        read_predictions(path)
    assert len(told.value.faults) == 21
    assert told.value.faults[-1] == f"{path}: 30 more faults"


def test_an_empty_file_has_no_predictions(write):
    assert read_predictions(write()) == {}
