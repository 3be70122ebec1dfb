"""Requests and answers over the streams of a container: each a length and JSON, each answer with its request's secret.

The engine multiplexes both output streams of the container into one: a header of eight bytes before each piece says
which (Docker API, "attach to a container", stream format).
"""

import json
import secrets
import socket
import struct
import time
from typing import Any, Final

_STDOUT: Final = 1
_KEPT_ERRORS: Final = 2000


class Silent(Exception):
    """No whole answer came in time."""


class Closed(Exception):
    """The stream ended: the container, or the connection to the engine, is gone."""


class Forged(Exception):
    """What came is no answer to what was asked."""


class Channel:
    """The line to one worker."""

    def __init__(self, connection: socket.socket, *, most_bytes: int) -> None:
        """Take over an attached connection.

        Args:
            connection: raw, both directions.
            most_bytes: no answer may be longer; a worker that was tampered with must not fill our memory.
        """
        self._connection, self._most = connection, most_bytes
        self._raw, self._said, self.errors = b"", b"", b""

    def ask(self, request: dict[str, Any], wait_s: float) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            Silent: not within `wait_s` seconds.
            Closed: the stream ended.
            Forged: it carries another secret, is too long or no JSON.
        """
        secret = secrets.token_hex(8)
        until = time.monotonic() + wait_s
        text = json.dumps({"secret": secret, **request}).encode()
        self._send(struct.pack(">I", len(text)) + text, until)
        [length] = struct.unpack(">I", self._take(4, until))
        if length > self._most:
            raise Forged(f"an answer of {length:,} bytes")
        return _checked(self._take(length, until), secret)

    def close(self) -> None:
        """Hang up; the worker ends when it notices."""
        self._connection.close()

    def _send(self, content: bytes, until: float) -> None:
        try:
            self._connection.settimeout(max(0.001, until - time.monotonic()))
            self._connection.sendall(content)
        except TimeoutError as error:
            raise Silent("the request was not taken") from error
        except OSError as error:
            raise Closed(str(error)) from error

    def _take(self, count: int, until: float) -> bytes:
        """The next `count` bytes of the worker's standard output."""
        parts, have = [self._said], len(self._said)
        while have < count:
            piece = self._piece(until)
            parts.append(piece)
            have += len(piece)
        whole = b"".join(parts)
        self._said = whole[count:]
        return whole[:count]

    def _piece(self, until: float) -> bytes:
        """The next piece of standard output; errors are kept aside."""
        stream, length = struct.unpack(">BxxxI", self._exactly(8, until))
        content = self._exactly(length, until)
        if stream == _STDOUT:
            return content
        self.errors = (self.errors + content)[-_KEPT_ERRORS:]
        return b""

    def _exactly(self, count: int, until: float) -> bytes:
        parts, have = [self._raw], len(self._raw)
        while have < count:
            parts.append(self._receive(until))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._raw = whole[count:]
        return whole[:count]

    def _receive(self, until: float) -> bytes:
        left = until - time.monotonic()
        if left <= 0:
            raise Silent("no answer")
        try:
            self._connection.settimeout(left)
            chunk = self._connection.recv(1 << 16)
        except TimeoutError as error:
            raise Silent("no answer") from error
        except OSError as error:
            raise Closed(str(error)) from error
        if not chunk:
            raise Closed("the stream ended")
        return chunk


def _checked(text: bytes, secret: str) -> dict[str, Any]:
    """An answer, if it carries the secret of its request."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Forged(f"no JSON: {text[:80]!r}") from error
    if not isinstance(answer, dict) or answer.pop("secret", None) != secret:
        raise Forged(f"another answer: {text[:80]!r}")
    return answer
