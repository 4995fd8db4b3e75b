"""Encryption of what stores keep: what a store has shows nothing, and changed values are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.signing import BadSignature, Key
from accord.tasks.opening import store_named
from accord.tasks.sealing import Sealer
from accord.tasks.store import TaskStore
from redis_server import RedisServer, needs_redis
from tasks.stores import run, task

KEY, OTHER = b"k" * 32, b"o" * 32
SECRET = b"4711-secret"


@given(st.binary(max_size=100), st.text(max_size=20))
def test_a_value_is_what_was_sealed(value: bytes, purpose: str) -> None:
    sealed = Sealer(KEY).seal(purpose, value)
    assert Sealer(KEY).open(purpose, sealed) == value
    assert len(sealed) == len(value) + 29


@given(st.binary(max_size=40), st.data())
def test_a_changed_value_is_refused(value: bytes, data: st.DataObject) -> None:
    sealed = bytearray(Sealer(KEY).seal("a", value))
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadSignature):
        Sealer(KEY).open("a", bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"1", b"1" * 12, b"1" * 13, b"1" * 28, b"2" * 40])
def test_what_is_not_a_sealed_value_is_refused(sealed: bytes) -> None:
    with pytest.raises(BadSignature):
        Sealer(KEY).open("a", sealed)


def test_a_value_is_for_one_purpose_and_key() -> None:
    sealed = Sealer(KEY).seal("a", b"x")
    with pytest.raises(BadSignature):
        Sealer(KEY).open("b", sealed)
    with pytest.raises(BadSignature):
        Sealer(OTHER).open("a", sealed)
    assert Sealer(Key.of([OTHER, KEY])).open("a", sealed) == b"x"
    with pytest.raises(BadSignature):
        Sealer(KEY).open("a", Sealer(Key.of([OTHER, KEY])).seal("a", b"x"))


async def _keep(store: TaskStore) -> None:
    new = task(result=SECRET)
    await store.create(new, 10)
    found = await store.read("t")
    assert found is not None
    assert found.task == new
    assert await store.update(new, 1)


def test_a_file_shows_nothing_of_its_tasks(tmp_path: Path) -> None:
    name = f"sqlite:{tmp_path}/tasks.db"
    run(lambda: store_named(name, "shop", KEY), _keep)
    assert all(SECRET not in file.read_bytes() for file in tmp_path.iterdir())
    _is_unreadable_elsewhere(name)


@needs_redis
def test_redis_shows_nothing_of_its_tasks() -> None:
    with RedisServer() as server:
        run(lambda: store_named(server.url, "shop", KEY), _keep)
        found = server.command("XRANGE", "accord:shop:task:{t}", "-", "+")
        assert b"2-0" in found
        assert SECRET not in found
        _is_unreadable_elsewhere(server.url)


def _is_unreadable_elsewhere(name: str) -> None:
    async def is_unknown(store: TaskStore) -> None:
        assert await store.read("t") is None

    async def is_known(store: TaskStore) -> None:
        assert await store.read("t") is not None

    run(lambda: store_named(name, "shop", OTHER), is_unknown)
    run(lambda: store_named(name, "shop"), is_unknown)
    run(lambda: store_named(name, "shop", Key.of([OTHER, KEY])), is_known)
