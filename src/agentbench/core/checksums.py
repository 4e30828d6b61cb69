"""Checksums of JSON documents and of folders, which reveal damage on disk.

The last field of a document is its checksum. The checksum covers the bytes before that field, not
the values, so it can still be checked after a later version formats the values differently.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Set
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, LiteralString, Self

from pydantic import GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from agentbench.core.schema import Schema

# Documents are written on one line or indented; only these two forms count as a checksum.
_CHECKSUM = re.compile(
    rb'"digest":(?P<indented> )?"sha256:(?P<digest>[0-9a-f]{64})"(?(indented)\n)\}\n?\Z'
)
_REFORMATTED_CHECKSUM = re.compile(rb'"digest"\s*:\s*"sha256:[^"]*"\s*\}\s*\Z')
DAMAGED: Final = "digest"
"""The type of the validation error for a checksum that does not match."""

_MAX_CHECKSUM_BYTES = 100  # of the field, including its name
_DIGITS_IN_MESSAGE = 12  # digits of a digest in a message
_FIELD_SCHEMA = {
    "type": "string",
    "pattern": "^sha256:[0-9a-f]{64}$",
    "description": "Of every byte of the file, or line, before this field's name; the last field. "
    "Missing in files from before there were digests.",
}
_CHUNK = 1 << 20
_DIGEST_BYTES = 32
# Only agentbench changes cached trees, so each process reads a tree once. A second thread waits for
# the first one's result instead of reading the same files.
_verified: set[tuple[Path, str]] = set()
_verifying = Lock()


class ChecksummedDocument(Schema):
    """A schema whose documents are written with a checksum, and checked when they are read."""

    def json_with_checksum(self, *, indent: int | None = None) -> str:
        """The value as JSON with its checksum, without a line feed at the end."""
        text = self.model_dump_json(indent=indent)
        head = f"{text[:-1]}," if indent is None else f"{text[:-2]},\n{' ' * indent}"
        digest = hashlib.sha256(head.encode()).hexdigest()
        colon, end = (":", "}") if indent is None else (": ", "\n}")
        return f'{head}"digest"{colon}"sha256:{digest}"{end}'

    @classmethod
    def model_validate_json(
        cls,
        json_data: str | bytes | bytearray,
        **options: Any,  # noqa: ANN401 - whatever pydantic takes
    ) -> Self:
        """Read a document; one without a checksum is accepted.

        Raises:
            ValidationError: the document is damaged or does not fit the schema.
        """
        content = json_data.encode() if isinstance(json_data, str) else bytes(json_data)
        found = _CHECKSUM.search(content, max(0, len(content) - _MAX_CHECKSUM_BYTES))
        if found is None:
            # Files from before there were checksums have none. A checksum in another form is not
            # taken for "none": an editor that reformats a file would switch the check off.
            tail = max(0, len(content) - 2 * _MAX_CHECKSUM_BYTES)
            if _REFORMATTED_CHECKSUM.search(content, tail):
                what = "is not written the way agentbench writes it: damaged, or reformatted"
                raise cls._validation_error("digest_form", what)
            return super().model_validate_json(content, **options)
        says = found["digest"].decode()
        head = content[: found.start()]
        is_now = hashlib.sha256(head).hexdigest()
        if says != is_now:
            raise cls._validation_error(
                DAMAGED,
                f"says sha256:{says[:_DIGITS_IN_MESSAGE]}…, but the content has sha256:"
                f"{is_now[:_DIGITS_IN_MESSAGE]}…: the file was damaged or changed",
            )
        document = head.rstrip().removesuffix(b",") + b"}"
        return super().model_validate_json(document, **options)

    @classmethod
    def _validation_error(cls, kind: LiteralString, what: str) -> ValidationError:
        fault = PydanticCustomError(kind, "{what}", {"what": what})
        details = InitErrorDetails(type=fault, loc=("digest",), input=None)
        return ValidationError.from_exception_data(cls.__name__, [details], "json")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["properties"]["digest"] = dict(_FIELD_SCHEMA)
        return schema


def has_valid_checksum(content: bytes) -> bool:
    """Whether a document ends in a checksum that matches."""
    found = _CHECKSUM.search(content, max(0, len(content) - _MAX_CHECKSUM_BYTES))
    if found is None:
        return False
    digest = hashlib.sha256(memoryview(content)[: found.start()])
    return digest.hexdigest().encode() == found["digest"]


def has_checksum(content: bytes) -> bool:
    """Whether a document ends in a checksum, right or wrong."""
    return _CHECKSUM.search(content, max(0, len(content) - _MAX_CHECKSUM_BYTES)) is not None


def tree_checksum(root: Path, *, without: Set[str] = frozenset()) -> str:
    """The checksum of a folder: the type, mode, owner, link target and bytes of every entry.

    It takes about 40 ms for 2,500 files of 25 MB in all. Times are left out: no verdict depends
    on them.

    Args:
        root: The folder. Its content need not be trusted: no link in it is followed.
        without: Names directly in the folder that are left out.

    Raises:
        OSError: an entry cannot be read.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    with _open_unlocked(str(root), os.O_RDONLY | os.O_DIRECTORY, None) as folder:
        facts = os.fstat(folder)
        digest.update(b"%o %d %d\n" % (facts.st_mode, facts.st_uid, facts.st_gid))
        _add_folder(digest, folder, b"", without)
    return f"blake2b:{digest.hexdigest()}"


@cache
def sources_checksum(*folders: Path) -> str:
    """The checksum of the names and contents of the Python files in folders."""
    digest = hashlib.sha256()
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def is_undamaged(root: Path, seal: str, *, without: Set[str] = frozenset()) -> bool:
    """Whether a folder still has a checksum; each process checks once and remembers.

    Args:
        root: The folder.
        seal: Its checksum.
        without: Names directly in the folder that are left out.
    """
    with _verifying:
        if (root, seal) in _verified:
            return True
        try:
            whole = tree_checksum(root, without=without) == seal
        except OSError:
            return False
        if whole:
            _verified.add((root, seal))
        return whole


# Each entry is opened relative to its open folder: no name can be replaced by a link meanwhile.
def _add_folder(digest: hashlib.blake2b, folder: int, prefix: bytes, without: Set[str]) -> None:
    with os.scandir(folder) as entries:
        included = (entry for entry in entries if entry.name not in without)
        found = sorted(included, key=attrgetter("name"))
    for entry in found:
        facts = entry.stat(follow_symlinks=False)
        name = prefix + os.fsencode(entry.name)
        size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
        owned = (facts.st_mode, facts.st_uid, facts.st_gid, size)
        digest.update(b"%b\0%o %d %d %d\n" % (name, *owned))
        if stat.S_ISREG(facts.st_mode):
            with _open_unlocked(entry.name, os.O_RDONLY, folder) as descriptor:
                while chunk := os.read(descriptor, _CHUNK):
                    digest.update(chunk)
        elif stat.S_ISDIR(facts.st_mode):
            with _open_unlocked(entry.name, os.O_RDONLY | os.O_DIRECTORY, folder) as descriptor:
                _add_folder(digest, descriptor, name + b"/", frozenset())
        elif stat.S_ISLNK(facts.st_mode):
            digest.update(os.fsencode(os.readlink(entry.name, dir_fd=folder)) + b"\0")


@contextmanager
def _open_unlocked(name: str, flags: int, folder: int | None) -> Iterator[int]:
    # A cached tree contains what tests and installers made, also folders without permissions. Its
    # mode is part of the checksum, so it is restored.
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        os.chmod(name, mode | 0o500, dir_fd=folder)
        try:
            descriptor = os.open(name, flags, dir_fd=folder)
        finally:
            os.chmod(name, mode, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
