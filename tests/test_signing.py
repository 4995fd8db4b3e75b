"""Sealed tokens: what we closed opens, and nothing else does."""

import re
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.errors import ContractError, PeerError
from accord.signing import BadSignature, Signer

SIGNER = Signer(b"k" * 16)
ALPHABET = string.ascii_letters + string.digits + "-_"
purposes = st.text()
payloads = st.binary(max_size=64)


def refuses(signer: Signer, purpose: str, token: str) -> bool:
    with pytest.raises(BadSignature):
        signer.verify(purpose, token)
    return True


@given(purposes, payloads)
def test_what_was_closed_opens(purpose: str, payload: bytes) -> None:
    assert SIGNER.verify(purpose, SIGNER.sign(purpose, payload)) == payload


@given(payloads)
def test_a_token_is_url_safe_and_begins_with_its_version(payload: bytes) -> None:
    assert re.fullmatch(r"1[A-Za-z0-9_-]+", SIGNER.sign("list", payload))


@given(payloads, st.data())
def test_any_other_character_breaks_the_seal(payload: bytes, data: st.DataObject) -> None:
    token = SIGNER.sign("list", payload)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(ALPHABET + "+/=. é").filter(lambda c: c != token[at]))
    assert refuses(SIGNER, "list", token[:at] + other + token[at + 1 :])


@given(payloads, st.data())
def test_a_token_cut_short_or_made_longer_is_refused(payload: bytes, data: st.DataObject) -> None:
    token = SIGNER.sign("list", payload)
    assert refuses(SIGNER, "list", token[: data.draw(st.integers(0, len(token) - 1))])
    assert refuses(SIGNER, "list", token + data.draw(st.text(ALPHABET + "=", min_size=1)))


@given(purposes, purposes, payloads)
def test_a_token_opens_for_its_own_purpose_alone(one: str, other: str, payload: bytes) -> None:
    assume(one != other)
    assert refuses(SIGNER, other, SIGNER.sign(one, payload))


@given(st.binary(min_size=16, max_size=64), payloads)
def test_a_token_opens_under_its_own_key_alone(key: bytes, payload: bytes) -> None:
    token = Signer(key).sign("list", payload)
    assert Signer(key).verify("list", token) == payload
    assert refuses(Signer(b"another key of 24 bytes."), "list", token)


@given(st.text(st.characters(), max_size=80))
def test_whatever_else_a_peer_sends_is_refused(token: str) -> None:
    assert refuses(SIGNER, "list", token)


def test_a_token_of_another_version_is_refused() -> None:
    assert refuses(SIGNER, "list", "2" + SIGNER.sign("list", b"7")[1:])


def test_without_a_key_each_seal_makes_its_own() -> None:
    assert refuses(Signer(), "list", Signer().sign("list", b"7"))


@pytest.mark.parametrize("length", [0, 15, 65])
def test_a_key_too_short_or_too_long_is_our_own_fault(length: int) -> None:
    with pytest.raises(ContractError, match="16 to 64 bytes"):
        Signer(b"k" * length)


@pytest.mark.parametrize("length", [16, 64])
def test_keys_at_the_limits_are_taken(length: int) -> None:
    assert Signer(b"k" * length).sign("list", b"")


def test_a_broken_seal_is_the_peers_fault() -> None:
    assert issubclass(BadSignature, PeerError)
