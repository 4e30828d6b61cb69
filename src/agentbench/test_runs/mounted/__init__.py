"""Programs that run inside sandboxes by file name, Python 3.6 to 3.14; some on the host, too."""
