"""The rules by which a web server process accepts connections."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from io import BytesIO
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest

from dpgeo.config.worker import LARGEST_BUFFERED, SharingWorker

THREADS = 2


def make_worker() -> Any:
    """Return a worker that accepts connections; its threads never finish their requests."""
    worker: Any = SharingWorker.__new__(SharingWorker)
    worker.cfg = SimpleNamespace(threads=THREADS)
    worker.tpool = SimpleNamespace(submit=lambda *_: Future())
    worker.sockets, worker.nr_conns, worker._accepting = [], 0, True
    worker.worker_connections, worker._counting = 100, Lock()
    worker.method_queue = SimpleNamespace(defer=lambda call: call())
    return worker


def computing(worker: Any) -> None:
    """Accept a connection with a request that occupies a thread of the pool."""
    worker._count(1)
    worker.enqueue_req(SimpleNamespace())


def answered(worker: Any) -> None:
    """Tell the worker that one request is answered and its connection is to be closed."""
    worker._count(-1)
    done: Future[bool] = Future()
    done.set_result(False)
    worker.finish_request(SimpleNamespace(close=lambda graceful=False: None), done)
    worker.set_accept_enabled(True)  # gunicorn calls this after every event


def test_it_accepts_while_a_thread_is_free() -> None:
    worker = make_worker()
    computing(worker)
    assert worker._accepting
    computing(worker)
    assert not worker._accepting
    worker.set_accept_enabled(True)
    assert not worker._accepting


def test_it_accepts_one_connection_for_each_answer_when_many_wait() -> None:
    worker = make_worker()
    for _ in range(THREADS + 3):
        computing(worker)
    answered(worker)
    assert worker._accepting
    computing(worker)
    assert not worker._accepting


def test_it_accepts_while_connections_only_wait() -> None:
    worker = make_worker()
    for _ in range(10 * THREADS):
        worker.enqueue_req(SimpleNamespace())
    assert worker._accepting


@pytest.mark.parametrize(
    ("length", "path", "pool"),
    [
        (0, "/", "readers"),
        (100, "/api/v1/plan", "readers"),
        (LARGEST_BUFFERED + 1, "/", "uploads"),
        (0, "/desk/uploads/5/columns/", "uploads"),
        (0, "/api/v1/uploads/5/preview", "uploads"),
        (100, "/desk/datasets/walks/upload/", "uploads"),
        (0, "/desk/datasets/walks/", "readers"),
    ],
)
def test_uploads_and_looks_into_them_have_threads_of_their_own(
    length: int, path: str, pool: str
) -> None:
    worker, asked = make_worker(), []

    def submit(name: str, *_: Any) -> Future[list[bytes]]:
        asked.append(name)
        done: Future[list[bytes]] = Future()
        done.set_result([])
        return done

    for name in ("readers", "uploads"):
        setattr(worker, f"_{name}", SimpleNamespace(submit=partial(submit, name)))
    worker._application = None
    environ = {"CONTENT_LENGTH": str(length), "PATH_INFO": path, "wsgi.input": BytesIO(b"x" * 100)}
    worker._answer({**environ, "gunicorn.socket": SimpleNamespace(expect_body=print)}, None)
    assert asked == [pool]
