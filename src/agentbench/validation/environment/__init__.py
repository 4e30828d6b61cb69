"""How the tests of a source tree run: read from its files as proposals, and tried in a sandbox."""
