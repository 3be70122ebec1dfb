"""A stand-in for a model server, as its own process: answers by a rule, misbehaves as told, and writes down everything.

    python tests/environments/stand_in.py '{"port": 0, "log": "...", "faults": {"timeout": 0.03}}'

Faults are drawn per prompt and attempt, so a run can be repeated. The log is the judge of what was asked and billed: a
line per request, written before the answer leaves.
"""

import hashlib
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.environments.stand_in_rule import answer_to

SETTINGS: dict[str, Any] = {
    "port": 0, "log": "", "rule": "echo", "faults": {}, "seed": 0, "retry_after": "0", "stall_s": 3.0, "delay_s": 0.0,
    "refuses_schema": False, "status": 0, "key": "", "no_usage": False, "finish": "stop",
}  # fmt: skip
SEEN: Counter[str] = Counter()
OPEN = {"now": 0, "most": 0}
LOCK = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        """Answer or misbehave."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with LOCK:
            OPEN["now"] += 1
            OPEN["most"] = max(OPEN.values())
        try:
            self._answer(json.loads(raw))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with LOCK:
                OPEN["now"] -= 1

    def _answer(self, body: dict[str, Any]) -> None:
        prompt = json.dumps([body["model"], body["messages"]], ensure_ascii=False)
        name = hashlib.blake2b(prompt.encode(), digest_size=12).hexdigest()
        with LOCK:
            SEEN[name] += 1
            attempt = SEEN[name]
        fault = drawn(name, attempt)
        if SETTINGS["key"] and self.headers.get("Authorization") != f"Bearer {SETTINGS['key']}":
            return self._refuse(401, name, "wrong key")
        if SETTINGS["status"]:
            return self._refuse(SETTINGS["status"], name, "as told")
        if SETTINGS["refuses_schema"] and "response_format" in body:
            return self._refuse(400, name, "response_format is not supported")
        if fault == "busy":
            return self._refuse(429, name, "too many")
        text = answer_to(SETTINGS["rule"], body["messages"], broken=fault == "broken", wrong=fault == "wrong")
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": min(len(text) // 4 + 1, body["max_tokens"])}
        noted = {"prompt": name, "fault": fault, "asked": body["messages"], **usage}
        note({**noted, "outcome": fault if fault in ("timeout", "cut") else "answered"})
        time.sleep(SETTINGS["stall_s"] if fault == "timeout" else SETTINGS["delay_s"])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": SETTINGS["finish"]}
        made = {"object": "chat.completion", "model": body["model"], "choices": [choice]}
        self._send(json.dumps(made if SETTINGS["no_usage"] else made | {"usage": usage}).encode(), cut=fault == "cut")

    def _send(self, content: bytes, *, cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))

    def _refuse(self, status: int, name: str, message: str) -> None:
        note({"prompt": name, "outcome": str(status), "prompt_tokens": 0, "completion_tokens": 0})
        content = json.dumps({"error": {"message": message}}).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", SETTINGS["retry_after"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def drawn(name: str, attempt: int) -> str:
    """The fault of one attempt at one prompt, or an empty text."""
    at = int.from_bytes(hashlib.blake2b(f"{SETTINGS['seed']} {name} {attempt}".encode(), digest_size=6).digest(), "big")
    left = at / 2**48
    for fault, share in SETTINGS["faults"].items():
        if left < share:
            return str(fault)
        left -= share
    return ""


def note(line: dict[str, Any]) -> None:
    """Write down one request, with how many were open at most."""
    with LOCK, Path(SETTINGS["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({**line, "at": time.time(), "most_open": OPEN["most"]}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    SETTINGS |= json.loads(sys.argv[1])
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", SETTINGS["port"]), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()
