"""The web page over a folder of runs."""
