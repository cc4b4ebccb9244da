"""A Dask cluster of processes on this machine, behind a relay that delays and counts what they say."""

import asyncio
import logging
import multiprocessing
import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, ClassVar

import numpy as np
import psutil
import xarray as xr

from firstlight.study.engines import Cluster
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Nap:
    """A trial that sleeps."""

    value: int
    seconds: float = 0.0

    theory: ClassVar[str] = "benchmark"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()

    def simulate(self, rng: Any = None) -> xr.Dataset:
        if self.seconds:
            time.sleep(self.seconds)
        return xr.Dataset({"value": float(self.value)})

    predict = simulate

    def assumptions(self) -> tuple[()]:
        return ()


def study(points: int, seconds: float = 0.0) -> Study:
    """Return a study of so many points, one trial each."""
    arms = {"nap": Arm("simulate")}
    return Study("benchmark/nap", "sleep", Nap, {"value": range(points)}, {"seconds": seconds}, arms, 1)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses now, below those that systems give to connections."""
    ports: list[int] = []
    for port in random.sample(range(15_000, 32_000), 17_000):
        with suppress(OSError):
            socket.create_server((HOST, port)).close()
            ports.append(port)
        if len(ports) == count:
            break
    return ports


def relay(line: Connection, ports: dict[int, int], delay: float) -> None:
    """Pass on what comes to some ports to others, later; tell the bytes so far whenever asked."""
    moved = 0

    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        nonlocal moved
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while (item := await held.get())[1]:
                await asyncio.sleep(max(0.0, item[0] - time.monotonic()))
                sink.write(item[1])
            sink.close()

        delivering = asyncio.create_task(deliver())
        while data := await source.read(1 << 16):
            moved += len(data)
            held.put_nowait((time.monotonic() + delay, data))
        held.put_nowait((0.0, b""))
        await delivering

    def to(port: int) -> Callable[..., Any]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                try:
                    far_reader, far_writer = await asyncio.open_connection(HOST, port)
                    break
                except OSError:  # it is only starting
                    await asyncio.sleep(0.1)
            both = pass_on(reader, far_writer), pass_on(far_reader, writer)
            await asyncio.gather(*both, return_exceptions=True)

        return accept

    async def serve() -> None:
        for near, far in ports.items():
            await asyncio.start_server(to(far), HOST, near)
        asyncio.get_running_loop().add_reader(line.fileno(), lambda: line.send((line.recv(), moved)[1]))
        line.send(0)
        await asyncio.Event().wait()

    asyncio.run(serve())


def scheduler(port: int) -> None:
    """Be the scheduler."""
    from distributed import Scheduler

    logging.disable()

    async def serve() -> None:
        async with Scheduler(host=HOST, port=port, dashboard_address=":0") as served:
            await served.finished()

    asyncio.run(serve())


def worker(address: str, port: int, contact: int, folder: str) -> None:
    """Be a worker that others reach through the relay."""
    from distributed import Worker

    logging.disable()

    async def serve() -> None:
        reached = f"tcp://{HOST}:{contact}"
        options = {"nthreads": 1, "dashboard": False, "contact_address": reached, "local_directory": folder}
        async with Worker(address, host=HOST, port=port, **options) as served:
            await served.finished()

    asyncio.run(serve())


class Slow:
    """A cluster of so many workers behind a relay, to be used as a context manager."""

    def __init__(self, workers: int, delay: float, folder: str) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["firstlight.study.run", "benchmarks._cluster", "distributed"])
        near, far = np.reshape(free_ports(2 * (workers + 1)), (2, -1)).tolist()
        self.address, self.workers = f"tcp://{HOST}:{near[0]}", workers
        self.line, other = self.context.Pipe()
        self.parts = {"relay": self._start(relay, other, dict(zip(near, far, strict=True)), delay)}
        self.line.recv()
        self.parts["scheduler"] = self._start(scheduler, far[0])
        for i in range(1, workers + 1):
            self.parts[f"worker {i}"] = self._start(worker, self.address, far[i], near[i], folder)

    def _start(self, job: Callable[..., None], *arguments: Any) -> Any:
        process = self.context.Process(target=job, args=arguments)
        process.start()
        return process

    def moved(self) -> int:
        """Return the bytes that have passed the relay."""
        self.line.send(None)
        return int(self.line.recv())

    def seconds(self, part: str) -> float:
        """Return the CPU time of all parts whose names begin so."""
        some = [process.pid for name, process in self.parts.items() if name.startswith(part)]
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in some)

    def engine(self) -> Cluster:
        """Return the engine, once all workers are there."""
        from distributed import Client

        with Client(self.address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(self.workers, timeout=300)
        return Cluster(self.address)

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self.parts.values():
            process.kill()
            process.join()
