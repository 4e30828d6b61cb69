"""The users of a sandbox's commands, in a module that starts quickly."""

from typing import Final

UserName = str
"""The user of a sandbox's commands: one of the two below, or a name or number in the image."""
AGENT_USER: Final = "agent"
"""The user without privileges that every sandbox has."""
ROOT_USER: Final = "root"
"""Root of the container."""
