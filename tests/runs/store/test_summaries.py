import json
import sys

from hypothesis import HealthCheck, given, settings

from agentbench.attempt.record import UsageRecord
from agentbench.integrity.records import ControlKind
from agentbench.runs.store.summaries import AttemptSummary, SummaryReader, attempt_key, by_attempt
from agentbench.taxonomy import Fault
from tests.runs.records import controls_of, failed, interrupted, lost, records, resolved, sealed_as


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_a_sealed_line_has_the_headline_of_its_record(record):
    assert SummaryReader().of_sealed(
        record.json_with_checksum().encode() + b"\n"
    ) == AttemptSummary.of(record)


def test_only_a_line_whose_digest_holds_is_read_without_its_record():
    line = failed().json_with_checksum().encode()
    assert SummaryReader().of_sealed(line) is not None
    for at in range(0, len(line) - 1, 7):
        damaged = line[:at] + bytes([line[at] ^ 4]) + line[at + 1 :]
        assert SummaryReader().of_sealed(damaged) is None
    assert SummaryReader().of_sealed(failed().model_dump_json().encode()) is None
    assert SummaryReader().of_sealed(b"") is None


def test_a_line_of_another_version_or_with_a_field_of_another_type_is_left_to_the_record():
    for odd in ({"schema_version": 2}, {"attempt": "1"}, {"resolved": 1}, {"fault": "nobody"}):
        assert SummaryReader().of_sealed(sealed_as(resolved(), **odd)) is None
    assert SummaryReader().of_sealed(sealed_as(resolved())) == AttemptSummary.of(resolved())


def test_what_headlines_say_alike_is_kept_once():
    summaries = SummaryReader()
    first, second = (
        summaries.of_sealed(resolved(attempt=n).json_with_checksum().encode()) for n in (1, 2)
    )
    assert first.task_id is second.task_id
    assert first.counts is second.counts
    other = AttemptSummary.of(json_copy(resolved(attempt=3)))
    assert summaries.share(other).task_id is first.task_id
    assert other == AttemptSummary.of(resolved(attempt=3))


def test_the_tests_to_fix_are_counted_by_how_they_are_controlled():
    kinds = (ControlKind.SEALED, ControlKind.WEAK, ControlKind.SEALED)
    line = resolved(controls=controls_of(*kinds)).json_with_checksum().encode()
    summaries = SummaryReader()
    first, second = summaries.of_sealed(line), summaries.of_sealed(line)
    assert first.controls == (2, 0, 1)
    assert first.controls is second.controls


def json_copy(record):
    return type(record).model_validate(json.loads(record.model_dump_json()))


def test_tokens_are_those_in_and_out_and_unknown_where_no_model_was_used():
    usage = UsageRecord(input_tokens=100, output_tokens=20, cached_tokens=50)
    record = resolved(usage=usage, model="m", task_digest="sha256:1")
    for told in (
        AttemptSummary.of(record),
        SummaryReader().of_sealed(record.json_with_checksum().encode()),
    ):
        assert (told.tokens, told.model, told.task_digest) == (120, "m", "sha256:1")
    assert AttemptSummary.of(resolved()).tokens is None
    assert AttemptSummary.of(resolved()).model is None


def test_a_headline_takes_no_more_room_than_it_says():
    summaries = SummaryReader()
    usage = UsageRecord(input_tokens=100_000, output_tokens=20, cost_usd=0.5)
    lines = [
        failed(attempt=n, usage=usage, model="m", task_digest="d" * 71)
        .json_with_checksum()
        .encode()
        for n in range(1000, 1100)
    ]
    told = [summaries.of_sealed(line) for line in lines]
    own = ("attempt", "detail", "total_s", "cost_usd", "tokens")
    for each in told:
        room = sys.getsizeof(each) + sum(sys.getsizeof(getattr(each, name)) for name in own)
        assert room < 400
    for name in ("run_id", "task_id", "agent", "model", "task_digest", "counts"):
        assert len({id(getattr(each, name)) for each in told}) == 1


def test_an_interrupt_is_told_from_other_faults_of_the_infrastructure():
    assert AttemptSummary.of(interrupted()).was_interrupted
    assert AttemptSummary.of(lost()).fault is Fault.INFRASTRUCTURE
    assert not AttemptSummary.of(lost()).was_interrupted


def test_an_attempt_is_named_by_its_folder():
    assert AttemptSummary.of(failed()).folder_name == "one/1"
    assert AttemptSummary.of(failed(attempt=3, retry_of=2)).folder_name == "one/3.retry-2"


def test_attempts_are_ordered_by_task_and_number_and_their_tries_stay_in_order():
    given = [("b", 1), ("a", 10), ("a", 2), ("b", 1)]
    summaries = [AttemptSummary.of(failed(task_id=task, attempt=number)) for task, number in given]
    assert by_attempt(summaries) == [2, 1, 0, 3]
    assert attempt_key(summaries[0]) == ("b", 1)
