"""Rewards in a tar that hostile code could fill: read, bounded, never followed."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.attempt.verifier import NO_VERIFIER_OUTPUT, read_verifier_output


def tar(*members: tuple[str, bytes | None]) -> list[bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return [buffer.getvalue()]


def rewards(*members):
    facts = read_verifier_output(tar(*members)).facts
    return facts.rewards or facts.fault


@pytest.mark.parametrize(
    ("text", "number"), [(b"1", 1.0), (b"0.25\n", 0.25), (b" -3 \r\n", -3.0), (b"1e-3", 0.001)]
)
def test_reward_text_is_one_number(text, number):
    assert rewards(("./reward.txt", text)) == {"reward": number}


def test_reward_json_outranks_the_text():
    found = rewards(("reward.txt", b"0"), ("reward.json", b'{"reward": 1, "style": 0.5}'))
    assert found == {"reward": 1.0, "style": 0.5}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("reward.txt", b"", "reward.txt is '', which is not a number"),
        ("reward.txt", b"good", "reward.txt is 'good', which is not a number"),
        ("reward.txt", b"1 2", "reward.txt is '1 2', which is not a number"),
        ("reward.txt", b"nan", "reward.txt gives nan, which is not a finite number"),
        ("reward.txt", b"inf", "reward.txt gives inf, which is not a finite number"),
        ("reward.txt", b"1e999", "reward.txt gives inf, which is not a finite number"),
        ("reward.txt", b"\xff\xfe", "reward.txt is not text"),
        ("reward.txt", b"1" * 70_000, "reward.txt has 70000 bytes, more than 65536"),
        ("reward.txt", None, "reward.txt is not a regular file"),
        ("reward.json", b"{", "reward.json is '{', which is not JSON"),
        ("reward.json", b"1", "reward.json is not an object of numbers"),
        ("reward.json", b"{}", "reward.json is not an object of numbers"),
        ("reward.json", b'{"reward": "1"}', "reward.json gives reward a value that is not a"),
        ("reward.json", b'{"reward": null}', "reward.json gives reward a value that is not a"),
        ("reward.json", b'{"a": NaN}', "reward.json gives nan, which is not a finite number"),
        ("reward.json", b'{"a": 1e999}', "reward.json gives inf, which is not a finite number"),
        ("reward.json", b'{"a": 1%s}' % (b"0" * 400), "reward.json gives a a number that is too"),
        ("reward.json", b"[" * 60_000, "reward.json is '[[["),
        ("reward.json", b'{"%s": 1}' % (b"a" * 200), "reward.json names more than 100 rewards"),
    ],
)
def test_invalid_reward_names_its_fault(name, content, said):
    found = rewards((name, content))
    assert isinstance(found, str)
    assert found.startswith(said)


def test_invalid_json_is_not_replaced_by_the_text():
    assert rewards(("reward.txt", b"1"), ("reward.json", b"{")) != {"reward": 1.0}


def test_missing_reward_is_a_fault():
    left = read_verifier_output(tar(("test-stdout.txt", b"1"), ("deeper/reward.txt", b"1")))
    assert left == NO_VERIFIER_OUTPUT
    assert left.facts.fault.startswith("the verifier left no reward.txt or reward.json")


def test_common_reports_are_kept_up_to_a_size():
    left = read_verifier_output(
        tar(("ctrf.json", b"{}"), ("junit.xml", b" " * 5_000_000), ("x.json", b"1"))
    )
    assert left.reports == {"ctrf.json": b"{}"}


def test_truncated_stream_gives_no_reward():
    (whole,) = tar(("reward.txt", b"1"))
    facts = read_verifier_output([whole[:520]]).facts
    assert (facts.rewards, facts.fault[:34]) == ({}, "the verifier's files cannot be rea")


@given(st.binary(max_size=2_000))
def test_any_bytes_give_rewards_or_a_fault(content):
    for found in (
        read_verifier_output([content]),
        read_verifier_output(tar(("reward.json", content))),
    ):
        assert found.facts.rewards or found.facts.fault
