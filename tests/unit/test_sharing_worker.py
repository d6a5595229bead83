"""Rules by which a process of the web server accepts connections."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock
from types import SimpleNamespace
from typing import Any

from dpgeo.config.worker import SharingWorker

THREADS = 2


def make_worker() -> Any:
    """Make a worker that accepts, whose threads never finish."""
    worker: Any = SharingWorker.__new__(SharingWorker)
    worker.cfg = SimpleNamespace(threads=THREADS)
    worker.tpool = SimpleNamespace(submit=lambda *_: Future())
    worker.sockets, worker.nr_conns, worker._accepting = [], 0, True
    worker.worker_connections, worker._counting = 100, Lock()
    worker.method_queue = SimpleNamespace(defer=lambda call: call())
    return worker


def computing(worker: Any) -> None:
    """Accept a connection whose request a thread of the pool computes."""
    worker._count(1)
    worker.enqueue_req(SimpleNamespace())


def answered(worker: Any) -> None:
    """Answer one request and close its connection."""
    worker._count(-1)
    done: Future[bool] = Future()
    done.set_result(False)
    worker.finish_request(SimpleNamespace(close=lambda graceful=False: None), done)
    worker.set_accept_enabled(True)  # as gunicorn does after every event


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
