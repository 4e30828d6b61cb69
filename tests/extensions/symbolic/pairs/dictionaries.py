"""Pairs over dictionaries."""

from collections import Counter


def equal_count(words: list[str]) -> dict[str, int]:
    return dict(Counter(words))


def equal_count_other(words: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def equal_merge(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {**one, **other}


def equal_merge_other(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    merged = dict(one)
    merged.update(other)
    return merged


def equal_largest_key(scores: dict[str, int]) -> str:
    return max(scores) if scores else ""


def equal_largest_key_other(scores: dict[str, int]) -> str:
    return sorted(scores, reverse=True)[0] if scores else ""


def equal_without(items: dict[str, int], name: str) -> dict[str, int]:
    return {key: value for key, value in items.items() if key != name}


def equal_without_other(items: dict[str, int], name: str) -> dict[str, int]:
    left = dict(items)
    left.pop(name, None)
    return left


def different_add(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def different_add_other(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


def different_invert(table: dict[str, int]) -> dict[int, list[str]]:
    turned: dict[int, list[str]] = {}
    for key, value in table.items():
        turned.setdefault(value, []).append(key)
    return turned


def different_invert_other(table: dict[str, int]) -> dict[int, list[str]]:
    return {value: [key] for key, value in table.items()}


def different_get(table: dict[str, int], key: str) -> int:
    return table.get(key, 1)


def different_get_other(table: dict[str, int], key: str) -> int:
    return table.get(key) or 1


def different_leaves(table: dict[str, int]) -> int:
    return sum(value for value in table.values() if value > 0)


def different_leaves_other(table: dict[str, int]) -> int:
    for key in [key for key, value in table.items() if value <= 0]:
        del table[key]
    return sum(table.values())
