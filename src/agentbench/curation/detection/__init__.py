"""Finding out how the tests of a repository are run that nobody has described."""
