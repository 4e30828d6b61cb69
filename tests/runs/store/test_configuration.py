import json

import pytest

from agentbench.errors import InputError
from agentbench.runs.store.configuration import refuse_newer


def test_a_document_of_a_newer_version_is_refused():
    with pytest.raises(InputError, match="x: schema_version 9 is of a newer agentbench"):
        refuse_newer("x", json.dumps({"schema_version": 9}).encode())
    for other in (b"", b"[]", b'{"schema_version": 1}', b'{"schema_version": "9"}', b"[" * 100_000):
        refuse_newer("x", other)
