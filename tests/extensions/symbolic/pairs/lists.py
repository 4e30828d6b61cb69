"""Pairs over lists."""

import itertools


def equal_total(numbers: list[int]) -> int:
    return sum(numbers)


def equal_total_other(numbers: list[int]) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


def equal_distinct(items: list[int]) -> list[int]:
    return list(dict.fromkeys(items))


def equal_distinct_other(items: list[int]) -> list[int]:
    seen: set[int] = set()
    return [item for item in items if not (item in seen or seen.add(item))]


def equal_pairs(items: list[int]) -> list[tuple[int, int]]:
    return list(itertools.pairwise(items))


def equal_pairs_other(items: list[int]) -> list[tuple[int, int]]:
    return [(items[at], items[at + 1]) for at in range(len(items) - 1)]


def equal_chunks(items: list[int], size: int) -> list[list[int]]:
    if size < 1:
        raise ValueError("size")
    return [items[at : at + size] for at in range(0, len(items), size)]


def equal_chunks_other(items: list[int], size: int) -> list[list[int]]:
    if size <= 0:
        raise ValueError("a chunk holds something")
    chunks: list[list[int]] = []
    for at, item in enumerate(items):
        if at % size == 0:
            chunks.append([])
        chunks[-1].append(item)
    return chunks


def different_largest(numbers: list[int]) -> int | None:
    return max(numbers, default=None)


def different_largest_other(numbers: list[int]) -> int | None:
    best = 0
    for number in numbers:
        best = max(best, number)
    return best if numbers else None


def different_middle(numbers: list[int]) -> list[int]:
    return sorted(numbers)[1:-1]


def different_middle_other(numbers: list[int]) -> list[int]:
    return sorted(set(numbers))[1:-1]


def different_argument(numbers: list[int]) -> int:
    return len(sorted(numbers))


def different_argument_other(numbers: list[int]) -> int:
    numbers.sort()
    return len(numbers)


def different_rotate(items: list[int], by: int) -> list[int]:
    by = by % len(items) if items else 0
    return items[by:] + items[:by]


def different_rotate_other(items: list[int], by: int) -> list[int]:
    return items[by:] + items[:by]
