"""Futures engine: tasks of a fit -> tasks of an executor of `concurrent.futures`; a second engine, in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import partial
from typing import Any, Self

from hedgerow.cluster.limits import rows_from
from hedgerow.fit.distributed import Engine, Handle, Worker, failure


class FuturesEngine(Engine):
    """Handles are futures, partitions the arguments of `rows_from`; results wait in this process."""

    name = "futures"

    def __init__(self, executor: Executor, n_workers: int) -> None:
        self.executor, self.n_workers = executor, n_workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.executor.shutdown(cancel_futures=True)

    def workers(self) -> list[Worker]:
        return [Worker(0, 1)] * self.n_workers

    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        return self.each(name, partial(_of_rows, function), partitions, *columns)

    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        return [self._submit(function, arguments) for arguments in zip(*columns, strict=True)]

    def first_finished(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        done = wait(waiting, return_when=FIRST_COMPLETED).done
        for future in done:
            if reason := future.exception():
                raise failure(waiting[future], reason) from reason
        return list(done)

    def result(self, handle: Handle, info: str) -> Any:
        return handle.result()

    def forget(self, handles: Sequence[Handle]) -> None:
        pass

    def _submit(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Handle:
        """A task whose argument has failed has failed as well."""
        for each in arguments:
            if isinstance(each, Future) and each.exception():
                return each
        known = [each.result() if isinstance(each, Future) else each for each in arguments]
        return self.executor.submit(function, *known)


def _of_rows(function: Callable[..., Any], partition: Any, *arguments: Any) -> Any:
    return function(rows_from(*partition), *arguments)
