"""Pairs over objects of a class of one's own."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Point:
    """A place."""

    x: int
    y: int


@dataclass
class Account:
    """Money and what became of it."""

    owner: str
    balance: int = 0
    history: list[int] = field(default_factory=list)


def equal_mirror(point: Point) -> Point:
    return Point(point.y, point.x)


def equal_mirror_other(point: Point) -> Point:
    return replace(point, x=point.y, y=point.x)


def equal_distance(one: Point, other: Point) -> int:
    return abs(one.x - other.x) + abs(one.y - other.y)


def equal_distance_other(one: Point, other: Point) -> int:
    return max(one.x, other.x) - min(one.x, other.x) + abs(other.y - one.y)


def equal_inside(points: list[Point], limit: int) -> list[Point]:
    return [point for point in points if point.x < limit and point.y < limit]


def equal_inside_other(points: list[Point], limit: int) -> list[Point]:
    return list(filter(lambda point: max(point.x, point.y) < limit, points))


def equal_deposit(account: Account, amount: int) -> int:
    if amount > 0:
        account.balance += amount
        account.history.append(amount)
    return account.balance


def equal_deposit_other(account: Account, amount: int) -> int:
    if amount <= 0:
        return account.balance
    account.history = [*account.history, amount]
    account.balance = account.balance + amount
    return account.balance


def different_quadrant(point: Point) -> int:
    if point.x >= 0:
        return 1 if point.y >= 0 else 4
    return 2 if point.y >= 0 else 3


def different_quadrant_other(point: Point) -> int:
    if point.x > 0:
        return 1 if point.y >= 0 else 4
    return 2 if point.y >= 0 else 3


def different_highest(points: list[Point]) -> Point | None:
    return max(points, key=lambda point: (point.y, point.x), default=None)


def different_highest_other(points: list[Point]) -> Point | None:
    return max(points, key=lambda point: point.y, default=None)


def different_withdraw(account: Account, amount: int) -> bool:
    if amount > account.balance:
        return False
    account.balance -= amount
    return True


def different_withdraw_other(account: Account, amount: int) -> bool:
    if amount >= account.balance:
        return False
    account.balance -= amount
    return True


def different_label(account: Account) -> str:
    return f"{account.owner}: {account.balance}" if account.owner else "nobody"


def different_label_other(account: Account) -> str:
    return f"{account.owner}: {account.balance}" if account.balance else "nobody"
