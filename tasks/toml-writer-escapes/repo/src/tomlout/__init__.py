"""Write TOML 1.0 that people can read and every parser reads back."""

from tomlout.errors import TomlWriteError
from tomlout.layout import Style
from tomlout.writer import dump, dumps

__all__ = ["Style", "TomlWriteError", "dump", "dumps"]
