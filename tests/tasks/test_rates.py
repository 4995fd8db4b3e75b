"""Rates of calls hold for all processes of a store together; no call waits for the store."""

import asyncio
import http.client
import itertools
import json
import os
import random
import signal
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import Server
from accord import middleware as ready
from accord.errors import StoreError
from accord.server.rates import RateLimit
from accord.tasks.store import TaskStore
from commands import ACCORD, ENVIRONMENT, SAMPLES
from http_peer import HttpServer
from redis_server import RedisServer, needs_redis
from stdio_peer import modern_params
from tasks.stores import KINDS, SHARED, run, stores_of

EXCHANGE = 0.25


class Processes:
    """Several processes with one limit, on a clock of their own."""

    def __init__(self, count: int, calls: int, seconds: float) -> None:
        self.now = 0.0
        self.limits = [RateLimit(calls, seconds, lambda: self.now) for _ in range(count)]
        self.exchange()

    def exchange(self) -> None:
        """What `RateSync` does: each process hears of the demand that the others have measured."""
        for limit in self.limits:
            limit.measure(EXCHANGE)
            others = [each for each in self.limits if each is not limit]
            keys = limit.told
            demand = {key: sum(each.demand.get(key, 0) for each in others) for key in keys}
            limit.set_shares(len(self.limits), demand)

    def admitted(self, seconds: float, rates: Sequence[float], key: Hashable = "c") -> int:
        """The number of calls that are admitted if each process is asked at its rate."""
        end, step = self.now + seconds, 0.01
        owed, count, next_exchange = [0.0] * len(rates), 0, self.now + EXCHANGE
        while self.now < end - step / 2:
            self.now += step
            for number, rate in enumerate(rates):
                owed[number] += rate * step
                while owed[number] >= 1:
                    owed[number] -= 1
                    count += not self.limits[number].excess(key)
            if self.now >= next_exchange - step / 2:
                next_exchange += EXCHANGE
                self.exchange()
        return count


@given(
    st.sampled_from([(100, 1.0), (10, 1.0), (60, 60.0), (600, 60.0)]),
    st.lists(st.floats(0, 1), min_size=1, max_size=5).filter(lambda each: sum(each) > 0.1),
)
def test_however_demand_is_spread_the_rate_holds(
    limit: tuple[int, float], spread: list[float]
) -> None:
    calls, per = limit
    rate = calls / per
    demand = [4 * rate * each / sum(spread) for each in spread]
    processes = Processes(len(spread), calls, per)
    first = processes.admitted(2 * per, demand)
    assert first <= calls + 2 * calls * 1.1 + len(spread)
    later = processes.admitted(10 * per, demand)
    assert 0.9 * 10 * calls - len(spread) <= later <= 1.1 * 10 * calls + len(spread)


@given(st.integers(0, 2**32))
def test_a_caller_that_moves_gains_little(seed: int) -> None:
    choose = random.Random(seed)
    processes, calls = Processes(2, 100, 1.0), 0
    for _ in range(20):
        rates = choose.choice([(400.0, 0.0), (0.0, 400.0), (200.0, 200.0)])
        calls += processes.admitted(1.0, rates)
    assert calls <= 100 + 2000 * 1.35


@pytest.mark.parametrize("rates", [(80.0, 0.0, 0.0), (30.0, 30.0, 30.0), (5.0, 10.0, 65.0)])
def test_a_caller_below_the_rate_is_hardly_refused(rates: tuple[float, ...]) -> None:
    processes = Processes(3, 100, 1.0)
    assert processes.admitted(5, rates) >= 0.95 * 5 * sum(rates)
    assert processes.admitted(5, rates) >= 5 * sum(rates) - 3
    moved = processes.admitted(5, rates[::-1])
    assert moved >= 0.8 * 5 * sum(rates)


def test_keys_have_rates_of_their_own() -> None:
    processes = Processes(2, 10, 1.0)
    for key in ("a", "b"):
        assert processes.admitted(5, (20.0, 20.0), key) >= 50


def test_a_single_process_counts_as_before() -> None:
    now = 0.0
    limit = RateLimit(2, 10, lambda: now)
    assert [limit.excess("a") for _ in range(3)] == [0, 0, 5]
    assert limit.excess("b") == 0
    now = 5.0
    assert [limit.excess("a") for _ in range(2)] == [0, 5]


def test_what_is_not_used_is_forgotten() -> None:
    processes = Processes(2, 100, 1.0)
    for number in range(2000):
        processes.limits[0].excess(number)
    processes.exchange()
    assert len(processes.limits[0].demand) <= 500
    processes.admitted(10, (0.0, 0.0))
    assert not processes.limits[0].demand


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_processes_are_seen_by_all_until_they_expire(kind: str, tmp_path: Path) -> None:
    async def test(*stores: TaskStore) -> None:
        first, second = stores
        await first.exchange("a", b"\x00\xff", 0.3)
        found = await second.exchange("b", b"", 30)
        assert found == ({"b": b""} if kind == "memory" else {"a": b"\x00\xff", "b": b""})
        assert (await first.exchange("a", b"2", 0.3))["a"] == b"2"
        while "a" in await second.exchange("b", b"", 30):  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    with stores_of(kind, tmp_path) as stores:
        run(stores, test, 2)


# Real processes

_IDS = itertools.count(1)


def serving(*words: str, target: str = "long_running:server") -> HttpServer:
    """Start a replica."""
    command = [ACCORD, "serve", target, "--http", "127.0.0.1:0", "--no-page", *words]
    return HttpServer(command, cwd=SAMPLES, env={**ENVIRONMENT, "LEASE": "600"})


class Caller(ExitStack):
    """Calls `add`, on one connection to each of some servers."""

    def __init__(self, *ports: int) -> None:
        super().__init__()
        self._connections = [
            http.client.HTTPConnection("127.0.0.1", port, timeout=10) for port in ports
        ]
        for each in self._connections:
            self.callback(each.close)

    def call(self, number: int) -> bool:
        """True if a call at this server, by turns, is admitted; False if it is over the rate."""
        connection = self._connections[number % len(self._connections)]
        params = modern_params({"name": "add", "arguments": {"a": 1, "b": 2}}, capabilities={})
        message = {"jsonrpc": "2.0", "id": next(_IDS), "method": "tools/call", "params": params}
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "add",
        }
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        response.read()
        assert response.status in (200, 429)
        return response.status == 200

    def admitted(self, seconds: float, rate: float) -> int:
        """The number of calls that are admitted, of so many a second, by turns."""
        begun, count = monotonic(), 0
        for number in range(int(seconds * rate)):
            delay = begun + number / rate - monotonic()
            if delay > 0:
                sleep(delay)
            count += self.call(number)
        return count


@pytest.fixture(params=SHARED)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'tasks.db'}"
        return
    with RedisServer() as server:
        yield server.url


def test_a_hundred_a_second_holds_over_two_replicas(store: str) -> None:
    key = ["--rate", "100/s", "--store", store]
    with serving(*key) as first, serving(*key) as second:
        with Caller(first.port, second.port) as caller:
            caller.admitted(2, 400)  # all calls of a second may come at once, first
            begun = monotonic()
            admitted = caller.admitted(6, 400)
        rate = admitted / (monotonic() - begun)
        assert 90 <= rate <= 110, rate


def test_workers_share_a_rate_without_a_store_of_ones_own() -> None:
    with serving("--rate", "100/s", "--workers", "2") as server:
        end, counts = monotonic() + 7, [0] * 8

        def drive(number: int) -> None:
            with Caller(server.port) as caller:
                while (now := monotonic()) < end:
                    counts[number] += caller.call(0) and now > end - 5
                    sleep(0.01)

        threads = [threading.Thread(target=drive, args=(each,)) for each in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert 450 <= sum(counts) <= 550, counts


@needs_redis
def test_no_call_waits_for_the_store() -> None:
    with (
        RedisServer() as redis,
        serving("--rate", "1000/s", "--store", redis.url) as server,
        Caller(server.port) as caller,
    ):
        caller.call(0)
        redis.command("CONFIG", "RESETSTAT")
        begun = monotonic()
        for number in range(600):
            assert caller.call(number)
        exchanges = (monotonic() - begun) / EXCHANGE + 1
        calls = redis.calls()
        assert calls.get("hset", 0) <= 2 * exchanges, calls
        assert sum(calls.values()) <= 12 * exchanges + 20 < 600, "in the background, not by call"
        os.kill(redis.pid, signal.SIGSTOP)
        try:
            begun = monotonic()
            for number in range(600):
                caller.call(number)
            assert monotonic() - begun < 10
        finally:
            os.kill(redis.pid, signal.SIGCONT)


@needs_redis
def test_the_last_shares_hold_while_redis_is_away_and_flushed() -> None:
    with RedisServer() as redis, ExitStack() as stack:
        words = ["--rate", "100/s", "--store", redis.url]
        replicas = [stack.enter_context(serving(*words)) for _ in range(2)]
        caller = stack.enter_context(Caller(*[each.port for each in replicas]))
        caller.admitted(2, 300)
        redis.stop()
        away = rate_of(caller)
        redis.start()  # empty
        back = rate_of(caller)
        redis.command("FLUSHALL")
        flushed = rate_of(caller)
        assert 60 <= away <= 125, "the last shares, measured in a short time"
        assert 90 <= back <= 115, (away, back, flushed)
        assert 90 <= flushed <= 110, (away, back, flushed)


def rate_of(caller: Caller) -> float:
    """Return how many calls a second are admitted."""
    begun = monotonic()
    admitted = caller.admitted(4, 300)
    return admitted / (monotonic() - begun)


def test_middleware_shares_its_rate_too(tmp_path: Path) -> None:
    def replica() -> Server:
        server = Server("shop", key=b"k" * 32)
        server.tasks(store=f"sqlite:{tmp_path / 'shop.db'}")
        server.middleware(ready.rate_limit(10, per=1000, key=lambda call: call.name))

        @server.tool
        async def add(a: int, b: int) -> int:
            return a + b

        return server

    async def main() -> None:
        servers = [replica(), replica()]
        apps = [each.asgi() for each in servers]
        async with apps[0].lifespan(), apps[1].lifespan():
            await _until(lambda: _shares(servers[0]) == 0.5)
            admitted = 0
            for number in range(40):
                admitted += not (await servers[number % 2].call("add", {"a": 1, "b": 2})).is_failure
            assert admitted == 10
        servers = [replica()]
        async with servers[0].asgi().lifespan():
            await _until(lambda: _shares(servers[0]) == 1)

    asyncio.run(main())


def _shares(server: Server) -> float:
    (function,) = server.registry.scope.middleware
    return float(function.rate.default_share)  # type: ignore[attr-defined]


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - it changes with time
            await asyncio.sleep(0.02)


def test_a_store_that_is_away_ends_the_start() -> None:
    pytest.importorskip("redis")
    server = Server("shop")
    server.tasks(store="redis://127.0.0.1:1/0")
    server.middleware(ready.rate_limit(10))

    async def main() -> None:
        with pytest.raises(StoreError, match="cannot be reached"):
            await server.asgi().start()

    asyncio.run(main())
