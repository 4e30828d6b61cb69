"""Harbor's `${NAME}` and `${NAME:-default}` in values of env, where no host's variable may go."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class Substituted:
    """Variables with what stands for them, and which could not be had."""

    env: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Keys whose value would be taken from the host."""
    defaulted: list[str] = field(default_factory=list)
    """Keys whose value is the default that the template gives."""


def substituted(env: Mapping[str, str], where: str) -> Substituted:
    """The values as they are without anything of the host's: it may be a secret.

    Args:
        env: As the file has it.
        where: The table that it is in, for the keys.
    """
    done = Substituted()
    for key, value, template in _matched(env):
        if template is None:
            done.env[key] = value
        elif template[2] is None:
            done.asked.append(f"{where}.{key}")
        else:
            done.env[key] = template[2]
            done.defaulted.append(f"{where}.{key}")
    return done


def _matched(env: Mapping[str, str]) -> Iterator[tuple[str, str, re.Match[str] | None]]:
    for key, value in env.items():
        yield key, value, _TEMPLATE.fullmatch(value)
