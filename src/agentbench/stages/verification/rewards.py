"""The rewards in what a verifier left: a tar stream that the tested code could write to.

Nothing of it is unpacked or followed. `reward.json` outranks `reward.txt`, as in Harbor.
"""

import json
import math
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from agentbench.scoring.reward import RewardFacts
from agentbench.stages.verification.tree import member_path, open_stream

_REWARD_BYTES = 64 * 1024
_REPORT_BYTES = 4 * 1024 * 1024
_STREAM_BYTES = 256 * 1024 * 1024
_MEMBERS = 10_000
_NAMES = 100
_NAME_LENGTH = 100
_JSON, _TEXT = "reward.json", "reward.txt"
_REPORTS = frozenset({"ctrf.json", "junit.xml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftByVerifier:
    """What a verifier left, as far as it is kept."""

    facts: RewardFacts
    reports: Mapping[str, bytes] = field(default_factory=dict)  # of tests, in usual formats


class _WrongRewardError(ValueError):
    """A file of rewards that holds something else; the text says what."""


NOTHING = LeftByVerifier(
    facts=RewardFacts(fault=f"the verifier left no {_TEXT} or {_JSON} in /logs/verifier")
)
"""Where the verifier's folder is not even there."""


def read_left(chunks: Iterable[bytes]) -> LeftByVerifier:
    """Read the rewards and the reports from the tar of the verifier's folder."""
    files: dict[str, bytes] = {}
    faults: dict[str, str] = {}
    try:
        with open_stream(_bounded(chunks)) as archive:
            for number, member in enumerate(archive):
                if number == _MEMBERS:
                    break
                _take(archive, member, files, faults)
    except tarfile.TarError as error:
        faults[""] = f"what the verifier left cannot be read: {str(error)[:100]}"
    reports = {name: files[name] for name in sorted(_REPORTS & files.keys())}
    return LeftByVerifier(facts=_facts(files, faults), reports=reports)


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    taken = 0
    for chunk in chunks:
        taken += len(chunk)
        if taken > _STREAM_BYTES:
            raise tarfile.TarError(f"more than {_STREAM_BYTES} bytes")
        yield chunk


def _take(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    files: dict[str, bytes],
    faults: dict[str, str],
) -> None:
    path = member_path(member)
    if path is None or len(path.parts) != 1 or path.name not in {_JSON, _TEXT, *_REPORTS}:
        return
    most = _REPORT_BYTES if path.name in _REPORTS else _REWARD_BYTES
    if not member.isreg():
        faults[path.name] = f"{path.name} is no regular file"
    elif member.size > most:
        faults[path.name] = f"{path.name} has {member.size} bytes, more than {most}"
    else:
        source = archive.extractfile(member)
        files[path.name] = source.read() if source is not None else b""


def _facts(files: Mapping[str, bytes], faults: Mapping[str, str]) -> RewardFacts:
    if "" in faults:
        return RewardFacts(fault=faults[""])
    for name, parse in ((_JSON, _parsed_json), (_TEXT, _parsed_text)):
        if name in faults:
            return RewardFacts(fault=faults[name])
        if name in files:
            try:
                return RewardFacts(rewards=parse(files[name]))
            except _WrongRewardError as error:
                return RewardFacts(fault=f"{name} {error}")
    return NOTHING.facts


def _parsed_text(content: bytes) -> dict[str, float]:
    try:
        return {"reward": _finite(float(content.decode("utf-8")))}
    except UnicodeDecodeError:
        raise _WrongRewardError("is no text") from None
    except ValueError as error:
        if isinstance(error, _WrongRewardError):
            raise
        raise _WrongRewardError(f"is {_shown(content)}, which is no number") from None


def _parsed_json(content: bytes) -> dict[str, float]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _WrongRewardError(f"is {_shown(content)}, which is no JSON") from None
    if not isinstance(found, dict) or not found:
        raise _WrongRewardError("is no object of numbers")
    if len(found) > _NAMES or any(len(name) > _NAME_LENGTH for name in found):
        raise _WrongRewardError(f"names more than {_NAMES} rewards, or one at too great a length")
    return {name: _number(name, value) for name, value in found.items()}


def _number(name: str, value: object) -> float:
    if not isinstance(value, (int, float)):
        raise _WrongRewardError(f"gives {name} no number")
    try:
        return _finite(float(value))
    except OverflowError:
        raise _WrongRewardError(f"gives {name} a number beyond all bounds") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise _WrongRewardError(f"gives {number}, which is no finite number")
    return number


def _shown(content: bytes) -> str:
    return ascii(content[:40].decode("utf-8", "replace"))
