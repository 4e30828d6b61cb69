"""A JSON report as Python objects; words that its tests repeat are kept once.

Nearly half of what a large report's objects take are such words: outcomes, keywords, and node ids
that its collectors tell a second time.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from agentbench.pytest_results import untrusted
from agentbench.pytest_results.model import JsonObject

_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ANY: Final = msgspec.json.Decoder()
_STAGES = ("setup", "call", "teardown")


def parse_report(source: str) -> JsonObject | None:
    """What `untrusted.json_object` makes of a text, in less memory where it is a report's."""
    try:
        return _in_parts(source)
    except (ValueError, RecursionError):
        return untrusted.json_object(source)


def _in_parts(source: str) -> JsonObject:
    """Decode test by test, so that no word that is told again outlives its test."""
    shared = _Shared()
    sharing = {"tests": shared.in_test, "collectors": shared.in_collector}
    report: JsonObject = {}
    for name, part in _PARTS.decode(source).items():
        share = sharing.get(name)
        report[name] = _ANY.decode(part) if share is None else _elements(part, share)
    return report


def _elements(part: msgspec.Raw, share: Callable[[JsonObject], None]) -> object:
    try:
        left = _LIST.decode(part)
    except msgspec.ValidationError:  # no list: some other tool's report
        return _ANY.decode(part)
    decode = _ANY.decode
    elements = []
    left.reverse()
    while left:
        element = decode(left.pop())
        if type(element) is dict:
            share(element)
        elements.append(element)
    return elements


class _Shared:
    """Words of which one object is enough."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._keywords: list[object] = []  # of the test before: most of the next one's are the same

    def in_test(self, test: JsonObject) -> None:
        """Share a test's words."""
        self._word(test, "nodeid")
        self._word(test, "outcome")
        for name in _STAGES:
            stage = test.get(name)
            if type(stage) is dict:
                self._word(stage, "outcome")
        keywords = test.get("keywords")
        if type(keywords) is list and set(map(type, keywords)) == {str}:  # 1 is True, too
            before = self._keywords
            if len(before) == len(keywords):
                keywords[:] = [
                    old if old == new else new for old, new in zip(before, keywords, strict=True)
                ]
            self._keywords = keywords

    def in_collector(self, collector: JsonObject) -> None:
        """Share the words of a collector and of what it found."""
        self._word(collector, "nodeid")
        self._word(collector, "outcome")
        for found in untrusted.objects(collector.get("result")):
            self._word(found, "nodeid")
            self._word(found, "type")

    def _word(self, values: JsonObject, name: str) -> None:
        word = values.get(name)
        if type(word) is str:
            values[name] = self._words.setdefault(word, word)
