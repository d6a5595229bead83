"""Work on the parts of a file on several processors, with results in the order of the parts.

Threads suffice, since NumPy and Arrow let other threads run while they compute. Each part is worked
on alone, so the result is the same for any number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

MAX_THREADS = 8
"""Largest number of threads that work on parts of a file.

Each thread holds a part in memory, and more threads would mostly wait for the interpreter.
"""


def thread_count() -> int:
    """Return how many threads to use: as many as Arrow uses, but at most MAX_THREADS.

    Sandboxes lower Arrow's number.
    """
    import pyarrow as pa

    return min(int(pa.cpu_count()), MAX_THREADS)


def in_order(tasks: Iterable[Callable[[], T]], threads: int | None = None) -> Iterator[T]:
    """Run tasks on several threads, and yield their results in the order of the tasks.

    The calling thread reads `tasks`; it is ahead of the yielded results by at most one task more
    than there are threads. By default, there are `thread_count()` threads. An error of a task is
    raised in place of its result.
    """
    threads = thread_count() if threads is None else threads
    if threads == 1:
        for task in tasks:
            yield task()
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
