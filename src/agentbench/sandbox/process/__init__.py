"""The back end of last resort: plain processes of this machine on copied folders."""
