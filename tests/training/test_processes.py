"""Workers that use one thread each, and whoever starts them: nothing changes for that one."""

import json
import os
import subprocess
import sys
from pathlib import Path

from training.processes import THREADS

PROGRAM = """
import json, os, subprocess, sys
import polars
polars.DataFrame({"x": [1]}).group_by("x").len()  # which starts its threads
from training.processes import THREADS, one_thread_each

def begin(number):
    os.environ["GIVEN"] = str(number)

def there():
    return os.environ["GIVEN"], polars.thread_pool_size(), sorted({os.environ.get(name) for name in THREADS})

def beside():
    asked = "import os; print(sorted(os.environ))"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout

if __name__ == "__main__":
    before, named = dict(os.environ), beside()
    with one_thread_each(1, begin, 7) as pool:
        said = pool.submit(there).result()
        print(json.dumps([said, before == dict(os.environ), beside() == named]))
"""


def test_a_worker_has_one_thread_whatever_its_main_module_loads_and_its_parent_is_left_as_it_was(
    tmp_path: Path,
) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    place = {name: value for name, value in os.environ.items() if name not in THREADS}
    place |= {"PYTHONPATH": str(Path(__file__).parents[2]), "POLARS_MAX_THREADS": "2"}
    done = subprocess.run([sys.executable, "-W", "error", file], capture_output=True, text=True, check=False, env=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["7", 1, ["1"]], True, True]
