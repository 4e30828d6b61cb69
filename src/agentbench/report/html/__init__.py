"""The HTML report: one page with pictures that needs no network and nothing beside it."""
