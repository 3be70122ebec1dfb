"""A teacher that is killed, and two at once on one store: what is on disk is not paid again."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.environments.servers import ROOT, answered, served
from tests.labels.teaching import taught


def test_what_was_answered_before_a_kill_is_not_paid_again(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher", delay_s=0.05) as server:
        command = [sys.executable, "-m", "tests.labels.teaching", server.url, str(tmp_path), "60"]
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
        deadline = time.monotonic() + 60
        while len(server.lines) < 60:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.3)  # what is under way in the server is answered to nobody
        before = answered(server)
        kept = sqlite3.connect(tmp_path / "answers.db").execute("SELECT COUNT(*) FROM answer").fetchone()[0]
        again = taught(server.url, tmp_path, 60)
        twice = {prompt: n for prompt, n in Counter(answered(server)).items() if n > 1}
    concurrency = 8
    assert len(before) - kept <= concurrency, "only calls under way are not on disk"
    assert len(twice) == len(before) - kept, "and only those are asked again"
    assert set(twice.values()) <= {2}
    assert len(again.labels) + len(again.quarantine) == 60
    assert again.usage.known > 0


def test_two_processes_on_one_store_end_with_the_same_labels(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        command = [sys.executable, "-m", "tests.labels.teaching", server.url, str(tmp_path), "24"]
        both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=60)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert said[0] == said[1]
        calls = len(server.lines)
        taught(server.url, tmp_path, 24)
        assert len(server.lines) == calls
