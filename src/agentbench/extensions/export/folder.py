"""The folder of a data set. It gets its name when it is complete."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentbench.core.files import DISK_FULL_ERRORS, UNFINISHED
from agentbench.errors import UsageError

CARD: Final = "README.md"
DATA: Final = "data"
MARK: Final = "<!-- written by agentbench export -->"
"""A line of each card, by which a data set is recognised before it is overwritten."""
_HEAD_BYTES = 64 * 1024


@contextmanager
def data_set_folder(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """A scratch folder that becomes the data set at the end of the block.

    With `overwrite`, only the card and the folder `data` of an earlier export are replaced.
    """
    target = target.absolute()
    _check(target, overwrite=overwrite)
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        (scratch / DATA).mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written ({error.strerror}); choose another --output"
        ) from error
    try:
        yield scratch
        if _is_empty(target):
            scratch.rename(target)
        else:
            (target / DATA).rename(scratch / "replaced")
            (scratch / DATA).rename(target / DATA)
            (scratch / CARD).replace(target / CARD)
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        raise UsageError(
            f"{target}: cannot be written ({error.strerror}); choose another --output"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check(target: Path, *, overwrite: bool) -> None:
    if _is_empty(target):
        return
    if not overwrite:
        raise UsageError(
            f"{target}: expected an empty or missing folder, found files; choose another --output, "
            "or add --overwrite to replace an earlier export"
        )
    try:
        # Nothing else is overwritten: the folder may be a clone of a repository of the Hub.
        with (target / CARD).open("rb") as card:
            is_ours = MARK.encode() in card.read(_HEAD_BYTES) and (target / DATA).is_dir()
    except OSError:
        is_ours = False
    if not is_ours:
        raise UsageError(
            f"{target}: expected an earlier export to overwrite, found other files; "
            "choose another --output"
        )


def _is_empty(target: Path) -> bool:
    try:
        return next(target.iterdir(), None) is None
    except FileNotFoundError:
        return True
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be read ({error.strerror}); choose another --output"
        ) from error
