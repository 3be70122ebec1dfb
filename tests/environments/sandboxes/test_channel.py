"""What may come over the line to a worker."""

import json
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.sandboxes.channel import Channel, Closed, Forged, Silent


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield Channel(ours, most_bytes=10_000), theirs
    ours.close()
    theirs.close()


def piece(content: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxI", stream, len(content)) + content


def framed(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def request_of(theirs: socket.socket) -> dict[str, str]:
    [length] = struct.unpack(">I", theirs.recv(4))
    found: dict[str, str] = json.loads(theirs.recv(length))
    return found


@given(cuts=st.lists(st.integers(1, 60), max_size=30), bytes_at_once=st.integers(1, 50), noise=st.binary(max_size=40))
def test_an_answer_arrives_however_it_is_cut_and_whatever_goes_to_the_errors(
    cuts: list[int], bytes_at_once: int, noise: bytes
) -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours, most_bytes=10_000)

    def answer() -> None:
        text = json.dumps({"secret": request_of(theirs)["secret"], "value": "x" * 300}).encode()
        left, sent = framed(text), b""
        for cut in [*cuts, len(left)]:
            part, left = left[:cut], left[cut:]
            sent += (piece(part) if part else b"") + piece(noise, stream=2)
        for start in range(0, len(sent), bytes_at_once):
            theirs.sendall(sent[start : start + bytes_at_once])

    thread = threading.Thread(target=answer)
    thread.start()
    assert channel.ask({"op": "read"}, 10) == {"value": "x" * 300}
    thread.join()
    theirs.close()
    ours.close()


@pytest.mark.parametrize(
    "said",
    [
        framed(b'{"secret": "guessed", "value": 1}'),
        framed(b"[1]"),
        framed(b"no json"),
        framed(b"[" * 9000),
        struct.pack(">I", 10_001),
    ],
    ids=["another secret", "no object", "no json", "deep", "too long"],
)
def test_what_is_no_answer_to_the_question_is_forged(ends: tuple[Channel, socket.socket], said: bytes) -> None:
    channel, theirs = ends
    theirs.sendall(piece(said))
    with pytest.raises(Forged):
        channel.ask({"op": "read"}, 5)


def test_silence_and_an_end_are_told_apart(ends: tuple[Channel, socket.socket]) -> None:
    channel, theirs = ends
    theirs.sendall(piece(b"half")[:6])
    with pytest.raises(Silent):
        channel.ask({"op": "read"}, 0.05)
    theirs.close()
    with pytest.raises(Closed):
        channel.ask({"op": "read"}, 5)
