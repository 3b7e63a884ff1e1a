"""Completions that mean harm: each is contained and reported, and the run goes on to the one that does not.

A body is called as ``double(number)`` and returns the right answer only if it got what it was after, so a verdict of
``passed`` would mean that the sandbox has a hole.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Blank
from repoformer.eval.execute import runner

SECRET = "a-secret-of-the-caller"
MARK = "hostile-survivor"
LIMITS = {"seconds": 2, "memory_mib": 128, "processes": 24, "disk_mib": 48, "file_mib": 16, "output_mib": 1}

HOSTILE: dict[str, tuple[str, set[str]]] = {
    "fork bomb": ("while True:\n    try: os.fork()\n    except OSError: pass", {"timeout"}),
    "thread bomb": ("while True: threading.Thread(target=time.sleep, args=(99,)).start()", {"failed", "timeout"}),
    "infinite loop": ("while True: pass", {"timeout"}),
    "sleep that ignores signals": (
        "for one in set(signal.Signals) - {9, 19}: signal.signal(one, signal.SIG_IGN)\ntime.sleep(99)",
        {"timeout"},
    ),
    "memory bomb": ("held = []\nwhile True: held.append(b'x' * (1 << 22))", {"memory"}),
    "memory bomb of many processes": (
        "children = [os.fork() for _ in range(3)]\nheld = b'x' * (48 << 20)\ntime.sleep(99)",
        {"memory"},
    ),
    "memory that belongs to no process": ("return os.memfd_create('x') and 2 * number", {"failed"}),
    "output without end": ("while True: print('x' * 1000)", {"output"}),
    "file without end": (
        "with open('/tmp/x', 'wb') as file:\n    while True: file.write(b'x' * (1 << 20))",
        {"failed"},
    ),
    "files without end": (
        "for place in range(99): open(f'/dev/shm/{place}', 'wb').write(b'x' * (4 << 20))\nreturn 2 * number",
        {"failed"},
    ),
    "open files without end": ("held = []\nwhile True: held.append(open('/dev/null'))", {"failed"}),
    "network call": ("socket.create_connection(('1.1.1.1', 80), timeout=2)\nreturn 2 * number", {"failed"}),
    "name look-up": ("socket.getaddrinfo('pypi.org', 443)\nreturn 2 * number", {"failed"}),
    "unix socket of the host": (
        "paths = [f'/{d}/{s}' for d in ('run', 'var/run') for s in ('docker.sock', 'systemd/private')]\n"
        "return 2 * number if any(map(os.path.exists, paths)) else None",
        {"failed"},
    ),
    "writing outside": (
        "for place in ('/', '/usr', '/etc', '/usr/local/bin', '/dev', sys.base_prefix):\n"
        "    try: open(place + '/hostile', 'w')\n"
        "    except OSError: continue\n"
        "    return 2 * number",
        {"failed"},
    ),
    "writing to a file of the host": ("open(CANARY, 'r+').write('gone')\nreturn 2 * number", {"failed"}),
    "reading a file of the host": ("return SECRET in open(CANARY).read() and 2 * number", {"failed"}),
    "reading what only root may": ("return open('/etc/shadow').read() and 2 * number", {"failed"}),
    "reading the environment": (
        "texts = [repr(dict(os.environ)), open('/proc/self/environ').read()]\n"
        "try: texts.append(open('/proc/1/environ').read())\n"
        "except OSError: pass\n"
        "return 2 * number if SECRET in ''.join(texts) else None",
        {"failed"},
    ),
    "memory of the first process": ("return open('/proc/1/mem', 'r+b') and 2 * number", {"failed"}),
    "root of the first process": ("return os.listdir('/proc/1/root/') and 2 * number", {"failed"}),
    "killing the parent": ("os.kill(os.getppid(), 9)\nreturn 2 * number", {"failed"}),
    "killing the first process": ("os.kill(1, 9)\nreturn 2 * number", {"failed"}),
    "killing everything": ("os.kill(-1, 9)\nreturn 2 * number", {"failed"}),
    "killing its own group": ("os.killpg(0, 9)", {"failed"}),
    "deleting the repository": ("shutil.rmtree('/workspace')\nreturn 2 * number", {"failed"}),
    "deleting everything": (
        "for name in os.listdir('/'): shutil.rmtree('/' + name, ignore_errors=True)\nos._exit(0)",
        {"failed", "timeout"},
    ),
    "a link in place of the report": ("os.symlink('/etc/passwd', '/report/report.xml')\nos._exit(0)", {"failed"}),
    "a pipe in place of the report": ("os.mkfifo('/report/report.xml')\nos._exit(0)", {"failed"}),
    "a folder in place of the report": ("os.mkdir('/report/report.xml')\nos._exit(0)", {"failed"}),
    "a report that explodes": (
        "lol = ''.join(f'<!ENTITY l{n + 1} \"{f\"&l{n};\" * 10}\">' for n in range(9))\n"
        "text = f'<!DOCTYPE x [<!ENTITY l0 \"lol\">{lol}]><x>&l9;</x>'\n"
        "open('/report/report.xml', 'w').write(text)\nos._exit(0)",
        {"failed"},
    ),
    "a link that leads out of the copy": (
        "os.symlink('/usr', 'out')\nopen('out/hostile', 'w').close()\nreturn 2 * number",
        {"failed"},
    ),
    "leaving before the tests end": ("os._exit(0)", {"failed"}),
    "becoming root": ("os.setuid(0)\nreturn 2 * number", {"failed"}),
    "raising its limits": (
        "resource.setrlimit(resource.RLIMIT_NPROC, (999, 999))\nreturn 2 * number",
        {"failed"},
    ),
    "a container of its own": (
        "libc = ctypes.CDLL(None)\n"
        "return 2 * number if libc.unshare(0x10000000) == 0 or libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0 else None",
        {"failed"},
    ),
    "making a device": ("os.mknod('/tmp/disk', 0o60666, os.makedev(254, 0))\nreturn 2 * number", {"failed"}),
    "a crash": ("ctypes.string_at(0)", {"failed"}),
    "waiting for input": ("return input() and 2 * number", {"failed"}),
    "a process that stays": (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: os.execv(sys.executable, [MARK, '-S', '-c', 'import time; time.sleep(99)'])\n"
        "    os._exit(0)\n"
        "return 2 * number",
        {"passed"},  # it harms nobody, provided that it does not stay
    ),
}
IMPORTS = "import ctypes, os, resource, shutil, signal, socket, sys, threading, time\n"


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host") / "canary"
    path.write_text(SECRET)
    path.chmod(0o666)
    return path


def body(code: str, canary: Path) -> str:
    names = f"CANARY, SECRET, MARK = {str(canary)!r}, {SECRET!r}, {MARK!r}\n"
    return textwrap.indent(IMPORTS + names + code, "    ")


@pytest.fixture(scope="module")
def verdicts(
    evaluations: Callable[[Path], Any],
    canary: Path,
    blanks: dict[str, Blank],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """All of them in one run, each as the completion of a model of its own, and the true body behind them."""
    double = blanks["double"]
    write = evaluations(tmp_path_factory.mktemp("evaluation"))
    bodies = {name: body(code, canary) for name, (code, _) in HOSTILE.items()} | {"tame": double.target}
    for number, text in enumerate(bodies.values()):
        recipe = write([(double, text, text)], model=f"model{number:02d}", limits=LIMITS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET", SECRET)
        summary = runner.run(recipe, workers=2)
    found = [next(iter(model["verdicts"]["without"])) for model in summary["models"].values()]
    return dict(zip(bodies, found, strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_contained_and_reported(name: str, verdicts: dict[str, str]) -> None:
    assert verdicts[name] in HOSTILE[name][1]


def test_the_run_goes_on(verdicts: dict[str, str]) -> None:
    assert verdicts["tame"] == "passed"


@pytest.mark.usefixtures("verdicts")
def test_nothing_of_the_host_changed(checkout: Path, canary: Path) -> None:
    assert canary.read_text() == SECRET
    assert (checkout / "package/numbers.py").exists()
    assert not list(Path("/usr").glob("hostile"))


@pytest.mark.usefixtures("verdicts")
def test_no_process_stays() -> None:
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not [command for command in commands if command.startswith(MARK.encode())]
