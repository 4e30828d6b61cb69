"""Code that nobody should hand in, and what is told of it."""

from dataclasses import dataclass, field

CANARY = "canary-7f3a91"
"""Stands where no code that is handed in may look, and in no answer."""

VARIABLE = "AGENTBENCH_TEST_SECRET"

_ANY = ("verified", "counterexample", "error", "timeout")
_NOTHING = "it sees nothing"
_TOLD = f"""
def f(x: int):
    raise ValueError("it sees " + ("it" if {CANARY[:6]!r} + {CANARY[6:]!r} in SEEN else "nothing"))
"""


@dataclass(frozen=True)
class Hostile:
    """One text, what is asked about it, and what may be answered."""

    name: str
    code: str
    status: tuple[str, ...] = _ANY
    error_type: str | None = None  # of an error, where it has to be this one
    message: str = ""  # a part of it
    tool: str = "symbolic_check"
    arguments: dict = field(default_factory=dict)

    @property
    def call(self):
        """Its arguments."""
        return {"code": self.code, "function_name": "f", **self.arguments}

    @property
    def may_run_out_of_time(self):
        """Whether that is an answer, and no sign of a busy machine."""
        return "timeout" in self.status or self.error_type == "TimeoutError"


def _error(name, code, error_type, message="", **more):
    return Hostile(name, code, ("error",), error_type, message, **more)


def _seen(name, expression):
    """Looks for the canary somewhere on the host when loaded, and tells in an exception."""
    looks = f"def look():\n    try:\n        return {expression}\n    except Exception as e:\n"
    code = f"import os, glob\n{looks}        return e\nSEEN = repr(look()){_TOLD}"
    return Hostile(name, code, ("counterexample",), message=_NOTHING)


ENDLESS = [
    Hostile("loop in the function", "def f(x: int):\n while True: pass\n", ("timeout",)),
    _error(
        "loop for a path",
        "def f(x: int):\n while True: pass\n",
        "TimeoutError",
        tool="find_path_to_exception",
        arguments={"exception_type": "ValueError"},
    ),
    Hostile("loop when loaded", "while True: pass\ndef f(): pass\n", ("timeout",)),
    Hostile(
        "loop that swallows all",
        "def f(x: int):\n while True:\n  try:\n   while True: pass\n  except BaseException: pass\n",
        ("timeout",),
    ),
    Hostile("loop in C", "def f(x: int):\n return 10 ** 10 ** 9\n"),
    Hostile("generator without end", "def f(x: int):\n return sum(iter(int, 1))\n", ("timeout",)),
    Hostile("sleep", "import time\ndef f(x: int):\n time.sleep(6000)\n"),  # modelled
    Hostile("regex", "import re\ndef f(x: int):\n re.match('(a+)+$', 'a' * 64 + 'b')\n"),
    Hostile(
        "decorator that loops",
        "def d(g):\n while True: pass\n@d\ndef f(): pass\n",
        ("timeout",),
    ),
]

TOO_MUCH = [
    Hostile("recursion", "def f(x: int):\n return f(x)\n", ("counterexample", "error", "timeout")),
    _error("recursion when loaded", "def f(x: int): return f(x)\nf(1)\n", "RuntimeError"),
    _error("memory when loaded", "x = 'a' * 10 ** 10\ndef f(): pass\n", "RuntimeError", "1024 MiB"),
    Hostile("memory", "def f(x: int):\n a = []\n while True: a.append(bytearray(10 ** 7))\n"),
    Hostile("giant literal", f"x = {'9' * 4000}\ndef f(x: int): return x\n", ("verified",)),
    _error("too many digits", f"x = {'9' * 50_000}\ndef f(x: int): return x\n", "SyntaxError"),
    _error("parentheses", f"{'(' * 50_000}\ndef f(): pass\n", "SyntaxError", "line 1"),
    Hostile("nested lists", f"x = {'[' * 90}{']' * 90}\ndef f(x: int): return x\n", ("verified",)),
    _error("nested minus", f"x = {'-' * 200_000}1\ndef f(): pass\n", None),
    _error("nested attributes", f"x = a{'.a' * 100_000}\ndef f(): pass\n", None),
    Hostile("a megabyte", f"x = '{'a' * 990_000}'\ndef f(x: int): return x\n", ("verified",)),
    _error("more than a megabyte", f"x = '{'a' * 1_000_000}'\n", "ValueError", "bytes long"),
    _error("deep blocks", "".join(f"{' ' * n}if 1:\n" for n in range(150)), "SyntaxError"),
    Hostile(
        "prints megabytes",
        "import sys\nfor n in range(20):\n"
        " print('x' * 10 ** 6, file=(sys.stdout, sys.stderr)[n % 2])\n"
        "def f(x: int): return x\n",
        ("verified",),
    ),
]

LEAVING = [
    _error("os._exit", "import os\nos._exit(7)\ndef f(): pass\n", "RuntimeError", "exit code 7"),
    _error("os._exit in the function", "import os\ndef f(x: int): os._exit(0)\n", "RuntimeError"),
    _error("sys.exit", "import sys\nsys.exit(0)\ndef f(): pass\n", "RuntimeError", "SystemExit"),
    _error(
        "kills its parent",
        "import os\nos.kill(os.getppid(), 9)\ndef f(): pass\n",
        "ValidationError",
        "Blocked operation: os.kill",
    ),
    Hostile(
        "kills all others, past the wall",
        "import ctypes\nctypes.CDLL(None).kill(-1, 9)\ndef f(): pass\n",
        ("verified", "error"),
    ),
    _error(
        "segmentation fault",
        "import ctypes\nctypes.string_at(0)\ndef f(): pass\n",
        "RuntimeError",
        "signal",
    ),
    _error("fork", "import os\ndef f(x: int): os.fork()\n", "ValidationError", "os.fork"),
    Hostile(
        "fork bomb, past the wall",
        "import ctypes\nc = ctypes.CDLL(None)\nwhile True: c.fork()\ndef f(): pass\n",
        ("timeout", "error"),
    ),
    Hostile(
        "threads without end",
        "import threading\nwhile True: threading.Thread(target=iter(int, 1).__next__).start()\n",
        ("timeout", "error"),
    ),
    _error(
        "a shell",
        "import subprocess\ndef f(x: int): subprocess.run(['sh', '-c', 'id'])\n",
        "ValidationError",
        "Blocked operation: subprocess.Popen",
    ),
    _error(
        "os.system", "import os\nos.system('id')\ndef f(): pass\n", "ValidationError", "os.system"
    ),
    _error(
        "network",
        "import socket\ndef f(x: int): socket.create_connection(('192.0.2.1', 80))\n",
        "ValidationError",
        "Blocked operation: socket.",
    ),
    _error(
        "a fetch when loaded",
        "import urllib.request\nurllib.request.urlopen('http://192.0.2.1')\ndef f(): pass\n",
        "ValidationError",
        "Blocked operation: urllib.Request",
    ),
    _error(
        "deletes",
        "import shutil\nshutil.rmtree('/')\ndef f(): pass\n",
        "ValidationError",
        "Blocked operation: shutil.rmtree",
    ),
    Hostile(
        "signals off",
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "def f(x: int):\n while True: pass\n",
        ("timeout",),
    ),
]

MADE_CODE = [
    _error("eval", "def f(x): return eval(x)\n", "ValidationError", "Blocked function call: eval"),
    _error(
        "__import__",
        "def f(x: int): return __import__('os').getpid()\n",
        "ValidationError",
        "Blocked function call: __import__",
    ),
    _error(
        "exec", "exec('x = 1')\ndef f(): pass\n", "ValidationError", "Blocked function call: exec"
    ),
    _error("a module that is not there", "import requests_x\ndef f(): pass\n", "ImportError"),
    _error("syntax", "def f(x: int):\n    return (\n", "SyntaxError", "line 2"),
    _error("NUL", "def f(x: int):\n    return '\0'\n", "SyntaxError", "null bytes"),
    _error("a wrong name", "def g(): pass\n", "ValueError", "Function 'f' not found in code"),
    _error(
        "no name at all",
        "def f(): pass\n",
        "ValueError",
        "is not a Python name",
        arguments={"function_name": "f\x00; import os"},
    ),
    _error("a class", "class f: pass\n", "ValueError", "Function 'f' not found in code"),
    _error("an exception of its own", "class E(BaseException): pass\nraise E()\n", "RuntimeError"),
    _error("broken repr", "class E(Exception):\n __str__ = 0\nraise E\n", "RuntimeError", "E"),
    Hostile(
        "a forged answer",
        'import os\nfor n in range(3, 20):\n try: os.write(n, b\'{"found": {"paths": -1}}\\n\')\n'
        " except OSError: pass\ndef f(x: int): return x\n",
        ("verified", "error"),
    ),
]

LOOKING = [
    _seen("its environment", "dict(os.environ)"),
    _seen("its parent's environment", "open(f'/proc/{os.getppid()}/environ').read()"),
    _seen("every environment", "[open(p).read() for p in glob.glob('/proc/[0-9]*/environ')]"),
    _seen("every command", "[open(p).read() for p in glob.glob('/proc/[0-9]*/cmdline')]"),
    _seen("homes", "[os.listdir(p) for p in ('/root', '/home', os.path.expanduser('~'))]"),
    _seen("the planted file", "open(PLANTED).read()"),
    _seen("the planted folder", "os.listdir(os.path.dirname(PLANTED))"),
    _seen("all it can write to", "[open(p).read() for p in glob.glob('/tmp/**', recursive=True)]"),
    _error(
        "writes the planted file",
        "def f(x: int): open(PLANTED, 'w').write('changed')\n",
        "ValidationError",
        "Blocked operation: open",
    ),
    Hostile(
        "writes it, past the wall",
        "import ctypes\nc = ctypes.CDLL(None)\nn = c.open(PLANTED.encode(), 1)\n"
        "c.write(n, b'changed', 7)\nc.unlink(PLANTED.encode())\ndef f(x: int): return x\n",
    ),
]

HOSTILE = [*ENDLESS, *TOO_MUCH, *LEAVING, *MADE_CODE, *LOOKING]


def code_for(hostile, planted):
    """The text, with the path of the file that is planted for it."""
    return hostile.code.replace("PLANTED", repr(str(planted)))
