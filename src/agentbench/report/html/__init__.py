"""The HTML report: one self-contained page with pictures that needs no network."""
