"""Records what the code under test returns and raises, for tests without expected values.

A sealed test calls `value`, `raises` and `warns` with the number of the place where its own text
had an assertion. The host, which kept the expected values, judges the recordings. Standard library
only; Python 3.6 to 3.14.
"""

import os
import sys
import threading
import traceback
import warnings
from collections import deque
from contextlib import suppress
from itertools import islice
from types import GeneratorType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from agentbench.test_runs.mounted import agentbench_canonical as canonical
    from agentbench.test_runs.mounted import agentbench_canonical_bounds as bounds
    from agentbench.test_runs.mounted import agentbench_canonical_readers as readers
    from agentbench.test_runs.mounted import agentbench_time_limits as time_limits
    from agentbench.test_runs.mounted.agentbench_launch import RecordStream
else:
    import agentbench_canonical as canonical
    import agentbench_canonical_bounds as bounds
    import agentbench_canonical_readers as readers
    import agentbench_time_limits as time_limits

__unittest = True  # hides the frames of this file from the tracebacks that unittest prints
token = readers.Token  # token(n) stands for the expected value n
_MOST_BYTES = 16 * 1024 * 1024  # the host reads no more than a little above it
# A loop of a test may record many large values. Numbers bound it, and no sizes: the number is the
# test's own, so that code with larger objects records as much as the reference solution.
_MANY = 50  # recordings of one place by one test: further ones are read less deeply
_SHARE_OF_MANY = 64
_SHORT = 100  # characters of a text that is read as often as numbers
_MOST = 1000  # further ones are not made
_SINGLE = (str, bytes, int, float)  # type: tuple[Any, ...]
_PLAIN_MODULES = ("datetime", "decimal", "fractions")
_CONTAINERS = (list, tuple, set, frozenset, deque)  # type: tuple[Any, ...]
_LIMITS = frozenset({"builtins.GeneratorExit", "unittest.case._ShouldStop"})  # never a result


class _Recorder:
    """The recordings of this process, up to a limit."""

    def __init__(self, stream: "RecordStream | None" = None) -> None:
        self._stream, self._lock = stream, threading.RLock()
        self._getpid, self._owner = os.getpid, os.getpid()
        self._left = _MOST_BYTES
        self.test = None  # type: str | None  # the node id of the running test
        self._counts = {}  # type: dict[tuple[str | None, int], int]
        # What takes the reference solution a quarter of a limit is not recorded of it, and so not
        # compared: a busy machine may not take more than four times as long for the same code.
        share = int(os.environ.get("AGENTBENCH_RECORDER_SHARE", 1))
        self._limits = time_limits.TimeLimits(share)
        # A property may run for an hour in C code, which no alarm interrupts. So an agent's code
        # is asked only for those that the reference solution has given quickly.
        self.properties = None if share > 1 else frozenset()  # type: frozenset[str] | None

    def put(
        self,
        kind: str,
        site: int,
        field: str,
        values: "list[Any] | None",
        tokens: "tuple[Any, ...]" = (),
    ) -> None:
        # What is only observed leaves room for what is compared.
        least = 0 if site > 0 else _MOST_BYTES // 2
        if self._stream is None or self._left <= least or self._getpid() != self._owner:
            return
        count = self._counts[self.test, site] = self._counts.get((self.test, site), 0) + 1
        if count > _MOST:
            return
        share = 1 if count <= _MANY else _SHARE_OF_MANY
        found = None
        if values is not None:
            found = [self._form(value, len(values), share) for value in values]
        forms = None if found is None else [form for form, _ in found]
        content = forms[0] if forms and field == "raised" else forms
        size = 100 + sum(size for _, size in found or ())
        with self._lock:
            if self._left > size:
                fields = {field: content}  # type: dict[str, Any]
                if tokens:
                    fields["values"] = [self._form(each, len(tokens), 1)[0] for each in tokens]
                size = max(size, self._stream.put(kind, test=self.test, site=site, **fields))
            elif self._left > 0:
                self._stream.put("full")
            self._left -= size

    def count_of(self, site: int) -> int:
        return self._counts.get((self.test, site), 0)

    def _form(self, value: object, values: int, share: int) -> "tuple[list[Any], int]":
        def read() -> "tuple[list[Any], int]":
            form = canonical.canonical_form(value, share, self._limits, self.properties)
            return bounds.bounded(form, values * share)

        try:
            found = self._limits.recording(read)
        except Exception:  # noqa: BLE001 - a recording never fails a test
            return ["cut"], 8
        return found if isinstance(found, tuple) else (["cut"], 8)


_recorder = _Recorder()


def open_recordings(stream: "RecordStream") -> None:
    """Record to a stream from now on; without one, nothing is recorded."""
    global _recorder
    _recorder = _Recorder(stream)


def begin(node_id: str) -> None:
    """Attribute what follows to a test."""
    _recorder.test = node_id


def read_properties(*digests: str) -> None:
    """Read the properties of further names from now on, which code under test must not learn."""
    if _recorder.properties is not None:
        _recorder.properties |= frozenset(digests)


def value(site: int, *operands: object) -> None:
    """Record the values of a comparison's operands."""
    _recorder.put("value", site, "values", list(operands))


def observe(number: int, found: "Any") -> "Any":
    """Record what an expression of a test gives, in its observing form, and return it.

    Of what cannot be read in full, a recording without values tells.
    """
    # No code of the project may run here: it could change what the test does.
    with suppress(Exception):
        is_small = type(found).__module__ in _PLAIN_MODULES or (
            type(found) in _SINGLE and len(str(found)) <= _SHORT
        )
        is_over = _recorder.count_of(-number) >= (_MOST - 1 if is_small else _MANY)  # in a loop
        if isinstance(found, GeneratorType) or (
            is_over and (is_small or isinstance(found, (dict, *_SINGLE, *_CONTAINERS)))
        ):
            _recorder.put("value", -number, "values", [])
        if is_over or isinstance(found, GeneratorType):
            return found
        lost = []  # type: list[Any]
        plain = _plain(found, lost)
        if plain is not None:
            _recorder.put("value", -number, "values", [] if lost else [plain])
            return found
        state = object.__getattribute__(found, "__dict__")
        if type(state) is dict:
            read = [_plain(value, lost) for value in state.values()]
            parts = [part for part in read if part is not None]
            _recorder.put("value", -number, "values", [parts, None])
    return found


def _plain(found: "Any", lost: "list[Any]", depth: int = 6) -> "Any":
    # None: an object, not a built-in value. `lost` gets the containers that are not read to their
    # end.
    module = type(found).__module__
    if type(found) in _SINGLE or module in _PLAIN_MODULES:
        return found
    if module == "numpy" and hasattr(found, "tolist"):
        return _plain(found.tolist(), lost, depth)
    if isinstance(found, (bytearray, memoryview)):
        return bytes(found)
    for base in _SINGLE:
        if isinstance(found, base):
            return base.__new__(base, base.__getnewargs__(found)[0])
    for container in (dict, *_CONTAINERS):
        if isinstance(found, container) and (not depth or container.__len__(found) > _MOST):
            lost.append(found)
    if depth and isinstance(found, dict):
        pairs = islice(dict.items(found), _MOST)
        return {_plain(key, lost, 0): _plain(value, lost, depth - 1) for key, value in pairs}
    for container in _CONTAINERS:
        if depth and isinstance(found, container):
            items = islice(container.__iter__(found), _MOST)
            return [_plain(item, lost, depth - 1) for item in items]
    return None


class count(int):  # noqa: N801 - called like the functions
    """Stands for an expected number of queries: a number that is compared with it is recorded."""

    def __new__(cls, site: int) -> "count":
        made = super().__new__(cls)
        made._site = site
        return made

    _site = 0

    def __eq__(self, other: object) -> bool:
        _recorder.put("value", self._site, "values", [other])
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def raises(site: int, *args: "Any", **kwargs: "Any") -> "_Raises":
    """Record the exception of a block, or of a call if there is a function; the test goes on."""
    caught = _Raises(site, kwargs.pop("sealed", ()))
    if args:
        function, *rest = args
        with caught:
            function(*rest, **kwargs)
    return caught


def warns(site: int, *args: "Any", **kwargs: "Any") -> "Any":
    """Record the warnings of a block; of a call if there is a function, whose result it returns."""
    caught = _Warns(site, kwargs.pop("sealed", ()))
    if not args:
        return caught
    function, *rest = args
    with caught:
        return function(*rest, **kwargs)


def page(response: "Any") -> "tuple[int, str]":
    """The status and the content of a response, as Django's assertContains reads them."""
    if callable(getattr(response, "render", None)) and not response.is_rendered:
        response.render()
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, content.decode(response.charset)


class _Raises:
    """What pytest.raises and assertRaises bind: the exception, once it is caught."""

    def __init__(self, site: int, tokens: "tuple[Any, ...]") -> None:
        self._site, self._tokens = site, tokens
        self._caught = None  # type: tuple[type, BaseException, TracebackType] | None

    def __enter__(self) -> "_Raises":
        return self

    def __exit__(self, kind: "Any", error: "BaseException | None", trace: "Any") -> bool:
        __tracebackhide__ = True
        if error is None:
            _recorder.put("raises", self._site, "raised", None, self._tokens)
            raise AssertionError("nothing was raised")
        if not _LIMITS.isdisjoint(readers.names_of_classes(type(error))):
            return False
        self._caught = type(error), error, trace
        _recorder.put("raises", self._site, "raised", [error], self._tokens)
        return True

    def _get(self) -> "tuple[type, BaseException, TracebackType]":
        if self._caught is None:
            raise AssertionError("no exception was caught yet")
        return self._caught

    @property
    def value(self) -> BaseException:
        return self._get()[1]

    exception = value  # as unittest calls it

    @property
    def type(self) -> "Any":
        return self._get()[0]

    @property
    def tb(self) -> "TracebackType":
        return self._get()[2]

    @property
    def typename(self) -> str:
        return str(self.type.__name__)

    def match(self, _pattern: object = None, *_args: object) -> bool:
        # The host matches the text.
        return True

    def exconly(self, tryshort: bool = False) -> str:  # noqa: FBT001, FBT002 - pytest's signature
        if "_pytest._code.code" in sys.modules:
            return str(self._excinfo().exconly(tryshort))
        return "".join(traceback.format_exception_only(self.type, self.value)).rstrip()

    def __str__(self) -> str:
        with_pytest = self._caught is not None and "_pytest._code.code" in sys.modules
        return str(self._excinfo()) if with_pytest else object.__repr__(self)

    __repr__ = __str__

    def __getattr__(self, name: str) -> "Any":
        if name.startswith("__") or "_pytest._code.code" not in sys.modules:
            raise AttributeError(name)
        return getattr(self._excinfo(), name)

    def _excinfo(self) -> "Any":
        # No version of pytest lets others make its object directly.
        info = sys.modules["_pytest._code.code"].ExceptionInfo.for_later()
        info._excinfo = self._get()
        return info


class _Warns:
    """What pytest.warns and assertWarns bind: the warnings of a block."""

    def __init__(self, site: int, tokens: "tuple[Any, ...]") -> None:
        self._site, self._tokens = site, tokens
        self._catcher = warnings.catch_warnings(record=True)
        self.list = []  # type: Any

    def __enter__(self) -> "_Warns":
        self.list = self._catcher.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *details: "Any") -> None:
        __tracebackhide__ = True
        self._catcher.__exit__(*details)
        if details[0] is None:
            messages = [each.message for each in self.list]
            _recorder.put("warns", self._site, "warned", messages, self._tokens)
            if not self.list:
                raise AssertionError("nothing was warned")

    @property
    def warnings(self) -> "Any":
        return self.list

    @property
    def warning(self) -> "Any":
        return self.list[0].message

    @property
    def filename(self) -> str:
        return str(self.list[0].filename)

    @property
    def lineno(self) -> int:
        return int(self.list[0].lineno)

    def pop(self, cls: type = Warning) -> "Any":
        for place, each in enumerate(self.list):
            if issubclass(each.category, cls):
                del self.list[place]
                return each
        raise AssertionError("there is no such warning")

    def clear(self) -> None:
        del self.list[:]

    def __len__(self) -> int:
        return len(self.list)

    def __iter__(self) -> "Iterator[Any]":
        return iter(self.list)

    def __getitem__(self, place: int) -> "Any":
        return self.list[place]
