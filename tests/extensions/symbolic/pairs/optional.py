"""Pairs that take or give nothing at times."""


def equal_or_zero(value: int | None) -> int:
    return 0 if value is None else value


def equal_or_zero_other(value: int | None) -> int:
    return value or 0


def equal_find(items: list[str], prefix: str) -> str | None:
    return next((item for item in items if item.startswith(prefix)), None)


def equal_find_other(items: list[str], prefix: str) -> str | None:
    for item in items:
        if item.startswith(prefix):
            return item
    return None


def equal_both(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    return left + right


def equal_both_other(left: int | None, right: int | None) -> int | None:
    return None if None in (left, right) else left + right


def equal_greet(name: str | None = None) -> str:
    return f"Hello, {name or 'you'}"


def equal_greet_other(name: str | None = None) -> str:
    return "Hello, " + (name if name else "you")


def different_default(value: int | None) -> int:
    return 10 if value is None else value


def different_default_other(value: int | None) -> int:
    return value or 10


def different_first(items: list[int]) -> int | None:
    return items[0] if items else None


def different_first_other(items: list[int]) -> int | None:
    return items[0] if items and items[0] else None


def different_limit(items: list[int], limit: int | None = None) -> list[int]:
    return items[: max(limit, 0)] if limit is not None else items


def different_limit_other(items: list[int], limit: int | None = None) -> list[int]:
    return items[: max(limit, 0)] if limit else items


def different_name(first: str | None, last: str | None) -> str:
    return " ".join(part for part in (first, last) if part)


def different_name_other(first: str | None, last: str | None) -> str:
    return f"{first or ''} {last or ''}".strip() if first or not last else f" {last}"
