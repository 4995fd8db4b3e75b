"""Where sign-ins are kept: the file, the keyring, and several processes at once."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import keyring.core
import keyring.errors
import pytest

from accord.auth.sign_in.grant import Grant, Registration, Tokens
from accord.auth.sign_in.store import UserStore, state_folder
from accord.errors import SignInError
from commands import TESTS

ISSUER = "https://as.example"
CLIENT = Registration(ISSUER, "me", "s3cret-client", "client_secret_post")


def grant(server: str = "https://h/mcp", token: str = "s3cret-access") -> Grant:
    tokens = Tokens(token, "s3cret-refresh", 5.5, ("a",))
    return Grant(server, ISSUER, f"{ISSUER}/token", CLIENT, tokens)


class FakeKeyring(keyring.backend.KeyringBackend):
    """A keyring in memory, which can be locked."""

    priority = 9

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._require_open()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._require_open()
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._require_open()
        if (service, username) not in self.entries:
            raise keyring.errors.PasswordDeleteError
        del self.entries[service, username]

    def _require_open(self) -> None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("s3cret words")


@pytest.fixture
def backend() -> Iterator[FakeKeyring]:
    before, fake = keyring.get_keyring(), FakeKeyring()
    keyring.set_keyring(fake)
    yield fake
    keyring.set_keyring(before)


@pytest.fixture
def store(tmp_path: Path) -> UserStore:
    return UserStore(tmp_path / "state" / "accord")


def test_without_a_keyring_a_sign_in_is_in_a_file_for_its_owner(store: UserStore) -> None:
    before = os.umask(0)
    try:
        asyncio.run(store.keep(grant()))
        asyncio.run(store.keep_registration(CLIENT))
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in store.folder.iterdir()} == {0o600}
    assert asyncio.run(UserStore(store.folder).grant("https://h/mcp")) == grant()
    assert asyncio.run(UserStore(store.folder).registration(ISSUER)) == CLIENT
    assert store.place("https://h/mcp") == str(store.file)
    assert store.servers() == ["https://h/mcp"]


def test_with_a_keyring_the_file_has_no_secret(store: UserStore, backend: FakeKeyring) -> None:
    asyncio.run(store.keep(grant()))
    asyncio.run(store.keep_registration(CLIENT))
    assert "s3cret" not in store.file.read_text()
    assert "s3cret-access" in backend.entries["accord", "servers https://h/mcp"]
    assert asyncio.run(store.grant("https://h/mcp")) == grant()
    assert asyncio.run(store.registration(ISSUER)) == CLIENT
    assert store.place("https://h/mcp") == "the keyring"
    asyncio.run(store.forget("https://h/mcp"))
    asyncio.run(store.forget_registration(ISSUER))
    assert backend.entries == {}
    assert store.servers() == []


def test_a_keyring_that_cannot_be_used_is_replaced_by_the_file(
    store: UserStore, backend: FakeKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    backend.is_locked = True
    asyncio.run(store.keep(grant()))
    assert asyncio.run(store.grant("https://h/mcp")) == grant()
    assert caplog.messages == ["the keyring cannot be used (KeyringLocked); using a file"]


def test_a_keyring_that_is_configured_but_missing_is_replaced_by_the_file(
    store: UserStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "missing.Keyring")
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)
    asyncio.run(store.keep(grant()))
    assert asyncio.run(store.grant("https://h/mcp")) == grant()
    assert caplog.messages == ["the keyring cannot be used (ModuleNotFoundError); using a file"]


def test_a_sign_in_that_a_locked_keyring_keeps_stays_listed(
    store: UserStore, backend: FakeKeyring
) -> None:
    asyncio.run(store.keep(grant()))
    backend.is_locked = True
    with pytest.raises(SignInError, match="could not delete the entry in the keyring"):
        asyncio.run(store.forget("https://h/mcp"))
    backend.is_locked = False
    assert store.servers() == ["https://h/mcp"]
    asyncio.run(store.forget("https://h/mcp"))
    assert (store.servers(), backend.entries) == ([], {})


def test_an_entry_that_the_keyring_does_not_give_is_an_error(
    store: UserStore, backend: FakeKeyring
) -> None:
    asyncio.run(store.keep(grant()))
    backend.is_locked = True
    with pytest.raises(SignInError, match="could not read the entry in the keyring: KeyringLocked"):
        asyncio.run(store.grant("https://h/mcp"))
    backend.is_locked = False
    backend.entries["accord", "servers https://h/mcp"] = "s3cret{"
    with pytest.raises(SignInError, match="is damaged") as caught:
        asyncio.run(store.grant("https://h/mcp"))
    assert "s3cret" not in str(caught.value)
    backend.entries.clear()
    assert asyncio.run(store.grant("https://h/mcp")) is None
    asyncio.run(store.forget("https://h/mcp"))
    assert store.servers() == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[]", b'{"servers": 5}', b'{"version": "1"}', b"[" * 100_000,
     b'{"servers": {"https://h/mcp": {"server": "s3cret-access"'],
)  # fmt: skip
def test_a_damaged_file_is_an_error_and_never_overwritten(store: UserStore, content: bytes) -> None:
    store.folder.mkdir(parents=True)
    store.file.write_bytes(content)
    for action in (
        store.grant("https://h/mcp"),
        store.keep(grant()),
        store.forget("https://h/mcp"),
    ):
        with pytest.raises(SignInError, match=r"is damaged .*repair it, or delete it") as caught:
            asyncio.run(action)
        assert "s3cret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert store.file.read_bytes() == content


@pytest.mark.parametrize("entry", [{"server": "https://h/mcp"}, [], 5, "elsewhere"])
def test_a_damaged_entry_is_an_error_that_signing_out_mends(store: UserStore, entry: Any) -> None:
    store.folder.mkdir(parents=True)
    store.file.write_text(json.dumps({"version": 1, "servers": {"https://h/mcp": entry}}))
    with pytest.raises(SignInError, match=r"the entry of https://h/mcp in .* is damaged"):
        asyncio.run(store.grant("https://h/mcp"))
    asyncio.run(store.forget("https://h/mcp"))
    assert asyncio.run(store.grant("https://h/mcp")) is None


def test_a_file_of_a_later_version_is_left_alone(store: UserStore) -> None:
    store.folder.mkdir(parents=True)
    store.file.write_text('{"version": 2}')
    with pytest.raises(SignInError, match="of another version"):
        asyncio.run(store.keep(grant()))
    assert store.file.read_text() == '{"version": 2}'


def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = UserStore(tmp_path / "file" / "accord")
    with pytest.raises(SignInError, match="could not"):
        asyncio.run(store.keep(grant()))


def test_a_write_that_fails_leaves_the_file_as_it_was(
    store: UserStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(store.keep(grant()))
    before = store.file.read_bytes()

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SignInError, match="No space left"):
        asyncio.run(store.keep(grant(token="other")))
    assert store.file.read_bytes() == before
    assert [each.name for each in store.folder.iterdir() if each.suffix == ".tmp"] == []
    assert len([each for each in store.folder.iterdir() if "sign-ins.json" in each.name]) == 1


def test_processes_that_write_at_once_lose_nothing(store: UserStore) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from accord.auth.sign_in.store import UserStore\n"
        "from auth.sign_in.test_store import grant\n"
        "for number in range(10):\n"
        "    store = UserStore(Path(sys.argv[1]))\n"
        "    asyncio.run(store.keep(grant(f'https://{sys.argv[2]}/{number}')))\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(store.folder), str(number)], cwd=TESTS)
        for number in range(3)
    ]
    assert [each.wait(30) for each in children] == [0, 0, 0]
    assert len(store.servers()) == 30


def test_one_at_a_time_renews(store: UserStore) -> None:
    inside: list[int] = []

    async def renew() -> None:
        async with UserStore(store.folder).lock("https://h/mcp"):
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0.02)
            inside.pop()

    async def main() -> None:
        await asyncio.gather(*(renew() for _ in range(5)))
        async with store.lock("https://h/mcp"), store.lock("https://other/mcp"):
            pass

    asyncio.run(main())


def test_the_folder_is_the_one_for_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "accord"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    assert state_folder() == Path.home() / ".local/state/accord"
    for ignored in ("", "state", "../state"):
        monkeypatch.setenv("XDG_STATE_HOME", ignored)
        assert state_folder() == Path.home() / ".local/state/accord"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_folder() == Path.home() / "Library/Application Support/accord"
