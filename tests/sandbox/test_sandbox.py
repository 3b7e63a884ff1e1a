"""What a command in the sandbox sees, what comes back, and what is left of it. Attacks: tests/eval/execute."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from repoformer.sandbox.limits import MIB, Limits
from repoformer.sandbox.sandbox import Job, Outcome, Sandbox, interpreter_folders

LIMITS = Limits(seconds=20, memory=256 * MIB, processes=24, disk=32 * MIB, file=8 * MIB, output=MIB)

pytestmark = pytest.mark.usefixtures("contained")


def shell(line: str, **job: object) -> Outcome:
    return Sandbox(LIMITS).run(Job(["sh", "-c", line], **job))  # type: ignore[arg-type]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "package").mkdir(parents=True)
    (folder / "package/module.py").write_text("old = 1\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("/etc/shadow")
    os.mkfifo(folder / "pipe")
    return folder


def test_the_command_works_on_a_copy(repository: Path) -> None:
    outcome = shell("rm package/module.py; touch new; ls", repository=repository)
    assert outcome.output.split() == ["link", "new", "package", "run.sh"]
    assert outcome.succeeded
    assert sorted(os.listdir(repository)) == ["link", "package", "pipe", "run.sh"]
    assert (repository / "package/module.py").read_text() == "old = 1\n"


def test_texts_take_the_place_of_files_in_the_copy(repository: Path) -> None:
    text = "new = 'ü\ud800'\r\n"
    outcome = shell("cat package/module.py > /report/seen", repository=repository, files={"package/module.py": text})
    assert outcome.output == ""
    outcome = shell("cat package/module.py", repository=repository, files={"package/module.py": "new = 'ü'\r\n"})
    assert outcome.output == "new = 'ü'\r\n"


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "package/../../outside.py"])
def test_a_text_may_not_take_a_place_outside(repository: Path, path: str) -> None:
    with pytest.raises(ValueError, match="does not lie in the repository"):
        shell("true", repository=repository, files={path: ""})


def test_a_text_does_not_follow_a_link_out_of_the_copy(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (repository / "folder").symlink_to(tmp_path / "outside")
    outcome = shell("true", repository=repository, files={"folder/x.py": "x"})
    assert outcome.state in ("broken", "ended")
    assert not list((tmp_path / "outside").iterdir())


def test_files_keep_their_execute_bit_and_links_stay_links(repository: Path) -> None:
    outcome = shell("test -x run.sh && test ! -x package/module.py && readlink link", repository=repository)
    assert outcome.output == "/etc/shadow\n"


def test_the_environment_is_the_jobs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    outcome = shell("env", environment={"MORE": "1"})
    assert "API_TOKEN" not in outcome.output
    assert "MORE=1" in outcome.output.split()


def test_only_the_folders_given_are_seen(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "hidden").mkdir()
    outcome = shell(f"ls {tmp_path}", readable={f"{tmp_path}/shown": tmp_path / "shown"})
    assert outcome.output == "shown\n"
    assert "Read-only" in shell(f"touch {tmp_path}/shown/x", readable={f"{tmp_path}/shown": tmp_path / "shown"}).output


def test_what_is_written_to_a_writable_folder_stays(tmp_path: Path) -> None:
    assert shell("echo kept > /environment/x", writable={"/environment": tmp_path}).succeeded
    assert (tmp_path / "x").read_text() == "kept\n"


def test_the_report_comes_back() -> None:
    assert shell("echo fine > /report/r.xml", report="r.xml").report == "fine\n"
    assert shell("true", report="r.xml").report is None


def test_a_large_report_comes_back_whole() -> None:
    outcome = shell("seq 1 100000 | tee /report/r.xml", report="r.xml")
    assert outcome.report == "".join(f"{number}\n" for number in range(1, 100_001))
    assert outcome.output.endswith("\n100000\n")


def test_exit_codes_and_signals_are_told_apart() -> None:
    assert shell("exit 3").code == 3
    assert shell("kill -9 $$").code == -9
    assert shell("no-such-command").code == 127


def test_the_last_of_the_output_is_kept() -> None:
    outcome = shell("seq 1 100000")
    assert outcome.output.endswith("\n99999\n100000\n")
    assert len(outcome.output) < 70_000


def test_servers_and_clients_in_one_container_find_each_other() -> None:
    code = (
        "import socket; server = socket.create_server(('127.0.0.1', 0));"
        "socket.create_connection(server.getsockname()); print('connected')"
    )
    outcome = Sandbox(LIMITS).run(Job([sys.executable, "-S", "-c", code], readable=interpreter_folders()))
    assert outcome.output == "connected\n"


def test_a_repository_that_does_not_fit_is_reported(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (40 * MIB))
    outcome = shell("true", repository=tmp_path)
    assert outcome.state == "broken"
    assert "No space left" in outcome.output


def test_a_container_ends_with_its_caller() -> None:
    mark = f"sleep 98.{os.getpid()}"
    code = f"from repoformer.sandbox.sandbox import Job, Sandbox\nSandbox().run(Job(['sh', '-c', '{mark} & {mark}']))"
    caller = subprocess.Popen([sys.executable, "-I", "-c", code])
    assert wait_for(lambda: len(running(mark)) >= 2)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    assert wait_for(lambda: not running(mark))


def running(command: str) -> list[Path]:
    """Processes of exactly this command."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if _text(path) == wanted]


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wait_for(condition: object, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


def test_waiting_has_an_end() -> None:
    limits = Limits(seconds=1.5)
    waits = Sandbox(limits).run(Job(["sleep", "60"]))
    assert waits.state == "timeout"
    assert waits.seconds >= limits.wall_clock
    assert Sandbox(limits).run(Job(["sleep", "2"])).succeeded


def test_time_is_that_of_all_processes_those_that_have_ended_too() -> None:
    burn = f"{shlex.quote(sys.executable)} -S -c 'import time\nwhile time.process_time() < 0.4: pass'"
    job = Job(["sh", "-c", f"{burn} & {burn}; wait; {burn}"], readable=interpreter_folders())
    assert 1.2 <= Sandbox(LIMITS).run(job).processor < 3
    assert Sandbox(replace(LIMITS, seconds=1.0)).run(job).state == "timeout"
