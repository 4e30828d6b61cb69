def slug(title: str) -> str:
    """Return the title in lower case, its words joined by single hyphens."""
    return title.replace(" ", "-")
