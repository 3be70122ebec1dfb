"""The solution of a Harbor task as one call of the shell: what an agent with these tools could have typed."""

import base64
import hashlib
import shlex
from collections.abc import Mapping
from typing import Final

from environments.formats.harbor_needs import Unusable
from environments.task import Call
from environments.worlds.harbor.tools import HarborTools

_LOG: Final = "/tmp/solve.log"


def gold_call(solution: Mapping[str, bytes], environment: Mapping[str, str]) -> Call:
    """The call that puts the solution where it expects to lie and runs it.

    Its output is shown only where it fails: what a build prints differs from run to run, and the same calls must read
    the same again.

    Raises:
        Unusable: it is too long for one command.
    """
    lines, scripts = ["mkdir -p /solution"], ["/solution/solve.sh"]
    for path, content in sorted(solution.items()):
        place = shlex.quote(f"/solution/{path}")
        lines += [f"mkdir -p {shlex.quote(parent)}"] if (parent := f"/solution/{path}".rpartition("/")[0]) else []
        lines.append(_written(place, content))
        scripts += [place] if content.startswith(b"#!") or path.endswith(".sh") else []
    given = "".join(f"export {name}={shlex.quote(value)}; " for name, value in sorted(environment.items()))
    lines += [
        f"chmod 755 {' '.join(dict.fromkeys(scripts))}",
        f"( {given}exec /solution/solve.sh ) >{_LOG} 2>&1; status=$?",
        f"[ $status -eq 0 ] || tail -n 20 {_LOG}",
        "exit $status",
    ]
    command = "\n".join(lines)
    if len(command) > HarborTools.longest:
        raise Unusable(
            "long_solution",
            f"its files make a command of {len(command):,} characters, and one may have {HarborTools.longest:,}",
        )
    return Call(name="run", arguments={"command": command})


def _written(place: str, content: bytes) -> str:
    """Writes one file: as it reads where it is text, else as Base64."""
    end = "EOF_" + hashlib.blake2b(content, digest_size=4).hexdigest()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if text.endswith("\n") and "\0" not in text and "\r" not in text:
        return f"cat > {place} <<'{end}'\n{text}{end}"
    return f"base64 -d > {place} <<'{end}'\n{base64.b64encode(content).decode()}\n{end}"
