"""Harbor task folders as another tool writes them."""

from collections.abc import Mapping
from pathlib import Path

TOML = """\
version = "1.0"
[metadata]
difficulty = "easy"
category = "files"
[agent]
timeout_sec = 60.0
[verifier]
timeout_sec = 20.0
[environment]
cpus = 1
memory_mb = 256
storage_mb = 16
env = { MODE = "x" }
"""
TEST = """\
#!/bin/sh
if [ "$(cat /app/hello.txt)" = "hello x" ] && [ "$(python3 /app/count.py)" = 6 ]
then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt
fi
"""
SOLVE = """\
#!/bin/sh
cd /app
echo "hello $MODE" > hello.txt
printf 'print(sum(map(int, open("numbers"))))\\n' > count.py
"""
FILES: Mapping[str, str] = {
    "instruction.md": "Write hello.txt with `hello $MODE`, and count.py, which prints the sum of numbers.\n",
    "environment/Dockerfile": "FROM BASE\nWORKDIR /app\nCOPY numbers .\n",
    "environment/numbers": "1\n2\n3\n",
    "tests/test.sh": TEST,
    "solution/solve.sh": "#!/bin/sh\n/solution/hello.sh\n",
    "solution/hello.sh": SOLVE,
}


def folder_of(folder: Path, changed: Mapping[str, str | None] = {}, *, base: str = "base:1") -> Path:
    """Write a task folder, with some files other than they usually are, or missing."""
    toml = TOML.replace('version = "1.0"\n', f'version = "1.0"\n[task]\nname = "others/{folder.name}"\n')
    for path, text in {"task.toml": toml, **FILES, **changed}.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("BASE", base), encoding="utf-8")
    for script in folder.glob("solution/*.sh"):
        script.chmod(0o755)
    return folder
