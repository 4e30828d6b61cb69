"""JSON documents that bear a digest of themselves, so that one flipped bit anywhere is seen.

The digest is the last field. It is over the bytes before it as they were written, not over values:
it stays checkable however a later version prints the same values.
"""

import hashlib
import re
from typing import Any, Final, LiteralString, Self

from pydantic import GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from agentbench.schema import Schema

# One line, or indented: nothing else is written, so nothing else is taken for a seal.
_SEAL = re.compile(
    rb'"digest":(?:"sha256:(?P<line>[0-9a-f]{64})"\}| "sha256:(?P<page>[0-9a-f]{64})"\n\})\n?\Z'
)
_ALIKE = re.compile(rb'"digest"\s*:\s*"sha256:[^"]*"\s*\}\s*\Z')
DAMAGED: Final = "digest"
"""The type of the error where the digest is another one than that of the bytes before it."""

_LONGEST = 100  # bytes of a seal
_SHOWN = 12  # digits of a digest in a message
_DESCRIBED = {
    "type": "string",
    "pattern": "^sha256:[0-9a-f]{64}$",
    "description": "Of every byte of the file, or line, before this field's name; the last field. "
    "Missing in files from before there were digests.",
}


class Sealed(Schema):
    """A schema whose documents are written with their digest, and checked by it when read."""

    def sealed_json(self, *, indent: int | None = None) -> str:
        """The value as JSON with its digest; without a line feed at the end."""
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
        """Read a document; one without a digest is read too.

        Raises:
            ValidationError: it is damaged, or does not fit the schema.
        """
        content = json_data.encode() if isinstance(json_data, str) else bytes(json_data)
        return super().model_validate_json(cls._opened(content), **options)

    @classmethod
    def _opened(cls, content: bytes) -> bytes:
        """The document without its digest, which is right."""
        found = _SEAL.search(content, max(0, len(content) - _LONGEST))
        if found is None:
            if _ALIKE.search(content, max(0, len(content) - 2 * _LONGEST)):
                what = "is not written as agentbench writes it: damaged, or formatted anew"
                raise cls._refused("digest_form", what)
            return content
        says = (found["line"] or found["page"]).decode()
        head = content[: found.start()]
        is_now = hashlib.sha256(head).hexdigest()
        if says != is_now:
            raise cls._refused(
                DAMAGED,
                f"says sha256:{says[:_SHOWN]}…, and what is before it has sha256:"
                f"{is_now[:_SHOWN]}…: it was damaged or changed",
            )
        return head.rstrip().removesuffix(b",") + b"}"

    @classmethod
    def _refused(cls, kind: LiteralString, what: str) -> ValidationError:
        fault = PydanticCustomError(kind, "{what}", {"what": what})
        details = InitErrorDetails(type=fault, loc=("digest",), input=None)
        return ValidationError.from_exception_data(cls.__name__, [details], "json")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of what is written: with the digest."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["properties"]["digest"] = dict(_DESCRIBED)
        return schema


def holds(content: bytes) -> bool:
    """Whether a document ends in a digest, and it is the right one."""
    found = _SEAL.search(content, max(0, len(content) - _LONGEST))
    if found is None:
        return False
    says = found["line"] or found["page"]
    digest = hashlib.sha256(memoryview(content)[: found.start()])
    return digest.hexdigest().encode() == says


def is_sealed(content: bytes) -> bool:
    """Whether a document ends in a digest, right or wrong."""
    return _SEAL.search(content, max(0, len(content) - _LONGEST)) is not None
