"""Data sets of the Hugging Face Hub: the files of one split, downloaded into the Hub's own cache.

The card of a data set lists the files of its splits. Without this list the splits follow from the
names of the files, as in `data/test-00000-of-00001.parquet`, `test.jsonl` or
`lite/test/0000.parquet`.
"""

import glob
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from logging import ERROR
from pathlib import Path, PurePosixPath

from agentbench.core.display_text import list_with_more, one_line
from agentbench.core.extras import HUB, require
from agentbench.errors import InputError, UnavailableError
from agentbench.tasks.dataset_rows import ROW_SUFFIXES, DatasetRow, Rejection, read_rows

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_SHARD = re.compile(r"-\d+-of-\d+$")
_SPLIT_WORD = re.compile(r"(?<![a-z0-9])(train|test|dev|validation|valid|val)(?![a-z0-9])")
_CARD = "README.md"
_DEFAULT_CONFIG = "default"
_DEFAULT_SPLIT = "test"
_OF_NO_SPLIT = frozenset({"dataset_infos.json", "state.json", "package.json"})
_MAX_VALUES = 12
_MAX_ERROR = 300

Splits = Mapping[str, Mapping[str, Sequence[str]]]
"""The files of each split, by the name of the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubDataset:
    """The requested part of a data set; without a value the default or only one."""

    name: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedSplit:
    """The files of a split on this machine."""

    source: str  # the data set's name and the commit that was read
    config: str
    split: str
    files: Mapping[str, Path]  # by their names in the data set

    def rows(self) -> Iterator[DatasetRow | Rejection]:
        """The entries of all files in order; an invalid entry becomes a Rejection.

        Raises:
            InputError: a file cannot be read.
            UsageError: the reader of Parquet is not installed.
        """
        return chain.from_iterable(
            read_rows(path, label=f"{self.source}/{name}") for name, path in self.files.items()
        )


def is_dataset_name(text: str) -> bool:
    """Whether a text is an owner/name of the Hub."""
    return bool(_NAME.fullmatch(text))


def download_split(dataset: HubDataset) -> DownloadedSplit:
    """Download the files of a split that the cache does not have.

    After an interruption, files that are complete are not downloaded again.

    Raises:
        InputError: the Hub has no such data set, revision, configuration or split for this user.
        UnavailableError: the Hub cannot be reached, and the cache has no complete copy.
        UsageError: the client of the Hub is not installed.
    """
    require(f"{dataset.name}: a data set of the Hugging Face Hub", HUB)
    import huggingface_hub as hub
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import disable_progress_bars

    logging.set_verbosity(ERROR)  # its warnings are in the messages below
    if not sys.stderr.isatty():
        disable_progress_bars()
    name, kind = dataset.name, "dataset"
    with _explaining_failures(dataset):
        commit = hub.HfApi().resolve_revision(name, repo_type=kind, revision=dataset.revision)
        folder = hub.snapshot_download(
            name, repo_type=kind, revision=commit, allow_patterns=[_CARD, ".gitattributes"]
        )
        listed = hub.get_cached_repo_tree(name, repo_type=kind, revision=commit.resolved)
        # Only relative paths without hidden files and `..`
        names = sorted(
            each.path
            for each in listed
            if not any(part[:1] in {".", "/"} for part in PurePosixPath(each.path).parts)
        )
        splits = splits_of_card(Path(folder, _CARD), names) or splits_by_name(names)
        if not splits:
            formats = ", ".join(ROW_SUFFIXES)
            raise InputError(f"{name}: expected a file of rows ({formats}), found none")
        config = _one_of(name, "config", dataset.config, _DEFAULT_CONFIG, sorted(splits))
        within = name if len(splits) == 1 else f"{name}, config {config}"
        known = [each for each, files in splits[config].items() if files]
        split = _one_of(within, "split", dataset.split, _DEFAULT_SPLIT, known)
        selected = splits[config][split]
        hub.snapshot_download(
            name, repo_type=kind, revision=commit, allow_patterns=[glob.escape(n) for n in selected]
        )
    return DownloadedSplit(
        source=f"{name}@{commit.resolved}",
        config=config,
        split=split,
        files={each: Path(folder, each) for each in selected},
    )


def splits_of_card(card: Path, names: Sequence[str]) -> Splits:
    """The splits that a card lists; none if the list is missing or unreadable.

    Args:
        card: The data set's README.md; it need not exist.
        names: All files of the data set.
    """
    import yaml
    from huggingface_hub.repocard import metadata_load

    try:
        header: object = metadata_load(card) if card.is_file() else None
    # The card is broken; the names of the files decide.
    except (yaml.YAMLError, ValueError):
        return {}
    configs = header.get("configs") if isinstance(header, dict) else None
    found: dict[str, dict[str, Sequence[str]]] = {}
    for entry in configs if isinstance(configs, list) else ():
        if isinstance(entry, dict):
            splits: dict[str, Sequence[str]] = {}
            for split, patterns in _listed_patterns(entry.get("data_files")):
                files = [n for n in names if any(fnmatchcase(n, each) for each in patterns)]
                splits[split] = [n for n in files if n.lower().endswith(ROW_SUFFIXES)]
            if any(splits.values()):
                found[str(entry.get("config_name", _DEFAULT_CONFIG))] = splits
    return found


def _listed_patterns(data_files: object) -> Iterator[tuple[str, list[str]]]:
    """The split and the patterns of each entry; patterns without a split belong to `train`."""
    if isinstance(data_files, str):
        yield "train", [data_files]
    elif isinstance(data_files, dict):
        for split, patterns in data_files.items():
            yield str(split), _texts(patterns)
    elif isinstance(data_files, list):
        if unnamed := [each for each in data_files if isinstance(each, str)]:
            yield "train", unnamed
        for each in data_files:
            if isinstance(each, dict) and "path" in each:
                yield str(each.get("split", "train")), _texts(each["path"])


def _texts(value: object) -> list[str]:
    return [str(each) for each in (value if isinstance(value, list) else [value])]


def splits_by_name(names: Iterable[str]) -> Splits:
    """The splits according to the names of files.

    The split is the name of the file without its shard, or a word in it such as `test`; the
    configuration is its folder.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.name in _OF_NO_SPLIT or not name.lower().endswith(ROW_SUFFIXES):
            continue
        folders = [folder for folder in path.parent.parts if folder != "data"]
        split = _SHARD.sub("", path.stem)
        if word := _SPLIT_WORD.search(split.lower()):
            split = word[1] if split == path.stem else split
        elif folders and (split.isdigit() or _SPLIT_WORD.fullmatch(folders[-1])):
            split = folders.pop()
        config = "/".join(folders) or _DEFAULT_CONFIG
        found.setdefault(config, {}).setdefault(split, []).append(name)
    for splits in found.values():
        for split, files in splits.items():
            # Files of other formats hold the same rows.
            by_format = ([f for f in files if f.lower().endswith(end)] for end in ROW_SUFFIXES)
            splits[split] = next(filter(None, by_format))
    return found


def _one_of(where: str, kind: str, wanted: str | None, default: str, known: Sequence[str]) -> str:
    """The requested value, or the default, or the only one."""
    values = list_with_more(known, _MAX_VALUES)
    if wanted is None:
        if default in known or len(known) == 1:
            return default if default in known else known[0]
        raise InputError(
            f"{where}: has several {kind}s; `tasks import swebench --{kind}` selects one: {values}"
        )
    if wanted in known:
        return wanted
    raise InputError(f"{where}: has no {kind} {wanted!r}; its {kind}s: {values}")


@contextmanager
def _explaining_failures(dataset: HubDataset) -> Iterator[None]:
    """Turn the client's exceptions into one line that says what to do."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except (
        errors.HFValidationError,
        errors.RevisionResolutionError,
        errors.CachedRepoTreeNotFoundError,
        errors.XetDownloadError,
        # A proxy answers.
        json.JSONDecodeError,
        # And the Hub's own answers.
        httpx2.HTTPError,
        # Also files that are not in the cache.
        OSError,
    ) as error:
        what = _refusal(error, dataset)
        if what is not None:
            raise InputError(f"{dataset.name}: {what}") from None
        raise UnavailableError(f"{dataset.name}: {_outage(error)}") from None


def _refusal(error: Exception, dataset: HubDataset) -> str | None:
    """What is wrong with the request; None: the Hub or this machine failed."""
    from huggingface_hub import constants, errors

    host = constants.ENDPOINT
    match error:
        case errors.GatedRepoError():
            return (
                f"access is restricted; accept its conditions at {host}/datasets/{dataset.name}, "
                "and set HF_TOKEN to a token of that account"
            )
        case errors.RepositoryNotFoundError():
            return (
                f"{host} has no data set of this name, or it is private; check the name, or set "
                "HF_TOKEN"
            )
        case errors.RevisionNotFoundError():
            return f"has no revision {dataset.revision!r}"
        case errors.HfHubHTTPError() if error.response.status_code in {401, 403}:
            return f"{host} refuses access ({error.response.status_code}); check HF_TOKEN"
        case errors.HFValidationError():
            return _text_of(error)
        case _:
            return None


def _outage(error: Exception) -> str:
    """Why the files are not available now, and what to do."""
    from huggingface_hub import constants, errors

    if constants.is_offline_mode():
        return (
            "HF_HUB_OFFLINE is set, and the cache has no complete copy; import it once without "
            "HF_HUB_OFFLINE"
        )
    if isinstance(error, OSError) and error.errno is not None:  # of a file, not of the Hub
        return f"cannot be written to the cache {constants.HF_HUB_CACHE}: {error.strerror}"
    if isinstance(error, errors.CachedRepoTreeNotFoundError):  # it could not be written
        return f"cannot be read from the cache {constants.HF_HUB_CACHE}; check that it is writable"
    return (
        f"cannot be read from {constants.ENDPOINT} ({_text_of(error.__cause__ or error)}); check "
        "the network, or HF_ENDPOINT for a mirror, and import again; complete files are kept"
    )


def _text_of(cause: BaseException) -> str:
    text = re.sub(r"\[Errno -?\d+\] ", "", str(cause))
    return one_line(text or type(cause).__name__, limit=_MAX_ERROR)
