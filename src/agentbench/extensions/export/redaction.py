"""Removes secrets from the rows of a data set: those of this machine, and texts in their form."""

import re
from collections.abc import Mapping

from agentbench.core.display_text import REMOVED, Redactor, secrets_in

_KEY_FORMS = re.compile(
    r"\bagentbench-[A-Za-z0-9_-]{43}"  # the gateway's tokens
    r"|\bsk-[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic and servers like theirs
    r"|\b(?:gh[pousr]|glpat|github_pat|hf|xox[abprs]|pypi)[_-][A-Za-z0-9_-]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,10000}-----END [A-Z ]{0,30}PRIVATE KEY-----"
)
_REMOVED = REMOVED.decode()


class RowRedactor:
    """Removes secrets from rows, and counts the rows that had some."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._known = Redactor(secrets_in(environ))
        self.rows = 0
        self._has_removed = False

    def row(self, row: dict[str, object]) -> dict[str, object]:
        """The row without secrets."""
        self._has_removed = False
        cleaned = {name: self._value(value) for name, value in row.items()}
        self.rows += self._has_removed
        return cleaned

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            # The gateway has removed its keys from the logs already; an agent may have printed
            # others.
            cleaned = _KEY_FORMS.sub(_REMOVED, self._known.text(value))
            # Whole rows cannot be compared: cleaned lists are not equal to the row's tuples.
            self._has_removed |= cleaned != value
            return cleaned
        if isinstance(value, dict):
            return {self._value(name): self._value(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(each) for each in value]
        return value
