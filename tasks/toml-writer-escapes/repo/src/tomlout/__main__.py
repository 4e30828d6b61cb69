"""``python -m tomlout FILE.json``: the same settings as TOML."""

import json
import sys
from pathlib import Path

from tomlout import TomlWriteError, dumps


def main(arguments: list[str]) -> int:
    """Print a JSON file as TOML; return 0, 1 where TOML cannot say it, or 2 on wrong usage."""
    if len(arguments) != 1:
        print("usage: python -m tomlout FILE.json", file=sys.stderr)
        return 2
    document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    try:
        sys.stdout.write(dumps(document))
    except TomlWriteError as error:
        print(f"tomlout: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
