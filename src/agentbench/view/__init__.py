"""The web page over a folder of runs: it reads, shows, and changes nothing."""
