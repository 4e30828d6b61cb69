"""Pairs over texts."""


def equal_reverse(text: str) -> str:
    return text[::-1]


def equal_reverse_other(text: str) -> str:
    return "".join(reversed(text))


def equal_vowels(text: str) -> int:
    return sum(letter in "aeiou" for letter in text)


def equal_vowels_other(text: str) -> int:
    count = 0
    for vowel in "aeiou":
        count += text.count(vowel)
    return count


def equal_first_word(text: str) -> str:
    words = text.split()
    return words[0] if words else ""


def equal_first_word_other(text: str) -> str:
    for word in text.split():
        return word
    return ""


def equal_starts(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


def equal_starts_other(text: str, prefix: str) -> bool:
    return text[: len(prefix)] == prefix


def different_split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else [text]


def different_split_other(text: str, separator: str) -> list[str]:
    return text.split(separator, 2) if separator else [text]


def different_strip(text: str) -> str:
    return text.strip()


def different_strip_other(text: str) -> str:
    return text.rstrip()


def different_slug(title: str) -> str:
    return "-".join(title.lower().split())


def different_slug_other(title: str) -> str:
    return title.lower().strip().replace(" ", "-")


def different_magic(word: str) -> bool:
    return word == "open sesame"


def different_magic_other(word: str) -> bool:
    return word in ("open sesame", "let me in")
