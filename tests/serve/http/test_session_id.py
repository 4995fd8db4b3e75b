"""Sealed session ids: what is in them, and that no other id is taken."""

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.model.context import ClientInfo
from accord.profiles import PROFILES, asking_for, profile_asked
from accord.revisions import REVISIONS
from accord.serve.http.session_id import MAX_LENGTH, SessionIds
from accord.signing import Key

KEY = b"k" * 32
LIFETIME = 1_000.0
HANDSHAKE = [date for date, revision in REVISIONS.items() if not revision.stateless]
TYPICAL = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
}
NAMES = {"name": "desktop", "title": "The Desktop", "version": "1.2.3"}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=50),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5)
    ),
)
objects = st.dictionaries(
    st.sampled_from(["elicitation", "roots", "sampling", "extensions", "experimental", "name"])
    | st.text(max_size=20),
    json_values,
    max_size=8,
)
principals = st.none() | st.binary(max_size=200)


class Clock:
    """A time that goes on when told to."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def ids(key: bytes = KEY, audience: str = "shop", clock: Clock | None = None) -> SessionIds:
    return SessionIds(key, audience, seconds=LIFETIME, clock=clock or Clock())


def client(
    capabilities: dict[str, Any] | None = None,
    info: dict[str, Any] | None = None,
    revision: str = "2025-11-25",
) -> ClientInfo:
    return ClientInfo(REVISIONS[revision], capabilities or {}, info or {})


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("principal", [None, b"", b"Bearer a"])
def test_another_process_with_the_key_reads_what_one_has_issued(
    revision: str, principal: bytes | None
) -> None:
    issued = ids().issue(client(TYPICAL, NAMES, revision), principal)
    other = ids()
    found = other.read(issued.text)
    assert found == issued
    assert found is not None
    assert found.client == client(TYPICAL, NAMES, revision)
    assert other.is_of(found, principal)
    assert not other.is_of(found, b"Bearer b")


def test_ids_are_unique_and_have_no_common_beginning() -> None:
    issued = [ids().issue(client(TYPICAL), None).text for _ in range(100)]
    assert len({text[:8] for text in issued}) == 100


def test_the_identity_of_the_client_is_not_in_the_id() -> None:
    issued = ids().issue(client(TYPICAL, NAMES), b"Bearer secret-4711")
    content = base64.urlsafe_b64decode(issued.text[1:] + "=" * (-len(issued.text[1:]) % 4))
    assert b"desktop" in content, "it is readable"
    assert b"4711" not in content
    other = ids(b"j" * 32).issue(client(TYPICAL, NAMES), b"Bearer secret-4711")
    assert other.principal != issued.principal, "needs the key"


def test_ids_of_an_older_key_are_valid_until_it_is_removed() -> None:
    old, new = b"o" * 32, b"n" * 32
    issued = ids(old).issue(client(TYPICAL), b"Bearer a")
    rotated = ids(Key.of([new, old]))
    found = rotated.read(issued.text)
    assert found is not None
    assert rotated.is_of(found, b"Bearer a")
    assert not rotated.is_of(found, b"Bearer b")
    assert not rotated.is_foreign(issued.text)
    assert ids(new).read(rotated.issue(client(TYPICAL), None).text), "the first key signs"
    assert ids(new).read(issued.text) is None


REFUSED = {
    "another key": ids(b"j" * 32),
    "another server": ids(audience="shop2"),
    "a server without a name": ids(audience=""),
}


@pytest.mark.parametrize("other", REFUSED.values(), ids=REFUSED)
def test_an_id_of_another_server_is_refused(other: SessionIds) -> None:
    assert other.read(ids().issue(client(), None).text) is None
    assert ids().read(other.issue(client(), None).text) is None


@pytest.mark.parametrize("other", REFUSED.values(), ids=REFUSED)
def test_an_id_of_another_server_is_told_from_other_text(other: SessionIds) -> None:
    issued = ids().issue(client(TYPICAL), b"Bearer a").text
    assert other.is_foreign(issued)
    assert not ids().is_foreign(issued)
    for text in ("", "1", "x", "A" * 32, "A" * 8_000, "é", issued[:-4], "1" * 200):
        assert not other.is_foreign(text), text


def test_an_id_expires() -> None:
    clock = Clock()
    issued = ids(clock=clock).issue(client(), None)
    reader = ids(clock=clock)
    clock.now += LIFETIME
    assert reader.read(issued.text) is not None
    clock.now += 61
    assert reader.read(issued.text) is None


@pytest.mark.parametrize(("skew", "is_read"), [(-59, True), (59, True), (-3_600, False)])
def test_clocks_may_differ_by_a_minute(skew: float, is_read: bool) -> None:
    clock, other = Clock(), Clock()
    issued = ids(clock=clock).issue(client(), None)
    other.now += skew
    assert (ids(clock=other).read(issued.text) is not None) is is_read


HUGE = {
    "an unknown capability": client({**TYPICAL, "x": {"y": "z" * 1_000_000}}, NAMES),
    "a known capability": client({**TYPICAL, "roots": {"listChanged": True, "z": "z" * 9_999}}),
    "a member": client({"elicitation": {"form": {"x": "y" * 9_999}, "url": {}}}),
    "not an object": client({"elicitation": ["x" * 9_999], "roots": "x" * 9_999}),
    "a name": client(TYPICAL, {"name": "n" * 1_000_000, "version": "1"}),
    "icons": client(TYPICAL, {**NAMES, "icons": [{"src": "data:" + "x" * 99_999}]}),
    "control characters": client(TYPICAL, dict.fromkeys(NAMES, "\x01" * 9_999)),
    "many": client({str(number): {} for number in range(100_000)}, {"name": "many"}),
}


@pytest.mark.parametrize("given", HUGE.values(), ids=HUGE)
def test_whatever_a_client_declares_its_id_is_short(given: ClientInfo) -> None:
    issued = ids().issue(given, b"Bearer a")
    assert len(issued.text) <= MAX_LENGTH
    assert ids().read(issued.text) == issued
    assert set(issued.client.capabilities) == set(given.capabilities) & set(TYPICAL)


def test_of_a_huge_declaration_the_essential_is_kept() -> None:
    given = client(
        {**TYPICAL, **asking_for("envelope"), "x": "y" * 9_999}, {**NAMES, "icons": ["x" * 9_999]}
    )
    found = ids().issue(given, None).client
    assert found.capabilities == {**TYPICAL, **asking_for("envelope")}
    assert found.info == NAMES


@given(objects, objects, principals, st.sampled_from(HANDSHAKE))
def test_every_declaration_makes_a_valid_id(
    capabilities: dict[str, Any], info: dict[str, Any], principal: bytes | None, revision: str
) -> None:
    given = client(capabilities, info, revision)
    issued = ids().issue(given, principal)
    assert len(issued.text) <= MAX_LENGTH
    assert all("\x21" <= character <= "\x7e" for character in issued.text)
    found = ids().read(issued.text)
    assert found == issued
    assert profile_asked(issued.client.capabilities) == profile_asked(capabilities)
    for name in set(TYPICAL) & set(capabilities):
        assert name in issued.client.capabilities


@given(st.data())
def test_a_changed_id_is_refused(data: st.DataObject) -> None:
    text = ids().issue(client(TYPICAL, NAMES), b"Bearer a").text
    at = data.draw(st.integers(0, len(text) - 1))
    how = data.draw(st.sampled_from(["replace", "insert", "delete", "cut", "swap"]))
    letter = data.draw(st.characters(min_codepoint=0, max_codepoint=0xFF))
    changed = {
        "replace": text[:at] + letter + text[at + 1 :],
        "insert": text[:at] + letter + text[at:],
        "delete": text[:at] + text[at + 1 :],
        "cut": text[:at],
        "swap": text[at:] + text[:at],
    }[how]
    assert (ids().read(changed) is not None) is (changed == text)


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0xFF), max_size=2_000))
def test_text_that_was_never_issued_is_refused(text: str) -> None:
    assert ids().read(text) is None


UNFIT: list[Any] = [
    *([], {}, 1, "x", None, [1], [0, "2025-11-25", {}, {}, None]),
    [2_000_000_000, "2026-07-28", {}, {}, None, "n"],
    [1_700_000_100, "1999-01-01", {}, {}, None, "n"],
    [10**400, "2025-11-25", {}, {}, None, "n"],
    [1_700_000_000 + 10 * LIFETIME, "2025-11-25", {}, {}, None, "n"],
    [1_700_000_100, "2025-11-25", [], {}, None, "n"],
]


@pytest.mark.parametrize("content", UNFIT, ids=range(len(UNFIT)))
def test_signed_content_that_is_not_a_session_is_refused(content: Any) -> None:
    issuer = ids()
    text = issuer._issuers[0].sign(msgspec.json.encode(content, enc_hook=str))
    assert issuer.read(text) is None


def test_every_profile_survives_a_huge_declaration() -> None:
    for name in PROFILES:
        given = client({**asking_for(name), "x": "y" * 9_999})
        assert profile_asked(ids().issue(given, None).client.capabilities) is PROFILES[name]
