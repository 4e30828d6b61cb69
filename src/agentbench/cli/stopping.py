"""How a server of ours is told to stop: Ctrl-C, and SIGTERM as if it were that."""

import signal
from types import FrameType


def stop_on_signals() -> None:
    """From here on both raise KeyboardInterrupt, or what an event loop makes of it.

    Also where a shell started the program in the background, with Ctrl-C ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_ctrl_c)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Event loops end cleanly on Ctrl-C, and so do sandboxes."""
    del number, frame
    signal.raise_signal(signal.SIGINT)
