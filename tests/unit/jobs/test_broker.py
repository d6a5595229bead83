"""A message queue made of files in a folder."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from dpgeo.jobs.broker import Channel, Transport

MESSAGES = 150


def open_channel(folder: Path) -> Channel:
    options = {
        "data_folder_in": str(folder),
        "data_folder_out": str(folder),
        "control_folder": str(folder / "control"),
    }
    connection = Connection(transport=Transport, transport_options=options)
    channel = connection.default_channel
    assert isinstance(channel, Channel)
    return channel


def test_concurrent_readers_get_every_message_once_and_complete(tmp_path: Path) -> None:
    writers_left = threading.Semaphore(0)
    received: list[str] = []
    broken: list[Exception] = []

    def write(name: str) -> None:
        channel = open_channel(tmp_path)
        for number in range(MESSAGES):
            channel._put("work", {"body": f"{name}{number}" + "x" * 5000})
        writers_left.release()

    def read() -> None:
        channel = open_channel(tmp_path)
        try:
            while len(received) < 2 * MESSAGES:
                try:
                    received.append(channel._get("work")["body"].rstrip("x"))
                except Empty:
                    continue
        except Exception as error:
            broken.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    threads += [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not broken
    assert sorted(received) == sorted(f"{name}{n}" for name in "ab" for n in range(MESSAGES))
    assert not list(tmp_path.glob("*.msg"))


def test_it_separates_queues_and_keeps_their_order(tmp_path: Path) -> None:
    channel = open_channel(tmp_path)
    for number in range(3):
        channel._put("work", number)
    channel._put("other", "elsewhere")
    assert [channel._get("work") for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Empty):
        channel._get("work")
    assert channel._get("other") == "elsewhere"


def test_an_incomplete_message_is_never_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = open_channel(tmp_path)
    seen: list[int] = []
    real = Path.write_text

    def write_and_look(path: Path, text: str) -> int:
        written = real(path, text)
        seen.append(channel._size("work"))
        return written

    monkeypatch.setattr(Path, "write_text", write_and_look)
    channel._put("work", "complete")
    assert seen == [0]
    assert channel._size("work") == 1
