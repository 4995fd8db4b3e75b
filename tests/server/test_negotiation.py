"""Which profile an answer has: the client's wish, the tool's own, the server's, in this order."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import wire
from accord import Answer, ContractError, Server, render
from accord.model import schemas
from accord.server import combine
from accord.sources.functions import Options
from cli.command import ACCORD, ENVIRONMENT, accord, assert_one_line_of_misuse, write
from http_peer import HttpPeer, HttpServer
from peer import ASKED_BY, Peer, asking
from stdio_peer import CLIENT_INFO, META, StdioPeer

V1, V2, V3, V4, V5 = wire.REVISIONS
PROFILES = ("plain", "envelope", "bare", "prose", "generic")
ALL_NAMES = ", ".join(PROFILES)
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
each_era = pytest.mark.parametrize("revision", [V4, V5])
each_profile = pytest.mark.parametrize("profile", PROFILES)

Json = Any


def get() -> Answer[list[int]]:
    return Answer([1], message="Found:")


def serving(profile: str = "prose", *, own: str | None = None) -> Server:
    """A server in one profile, whose tool may have its own."""
    server = Server("shop", version="1.0", profile=profile)
    options: Options = {} if own is None else {"profile": own}
    server.tool(**options)(get)
    return server


def worded_in(result: Any) -> str:
    """The profile that words the answer of `get` like this."""
    words = result["content"][0]["text"]
    if words == "[1]":
        return "bare" if "result" in result else "plain"
    if words == "Found:\n[\n  1\n]":
        return "prose"
    shape = json.loads(words)
    return "envelope" if shape.get("success") else "generic" if "toolName" in shape else words


def answered(server: Server, revision: str, capabilities: Any) -> str:
    return worded_in(Peer(server, revision, capabilities).call("get")["result"])


# What a client asks for


def wish(value: Any, place: str = "extensions") -> Json:
    return {place: {ASKED_BY: value}}


V2_WISH: Json = {"experimental": {"response_contract_v2": {}}}


@each_revision
@each_profile
@pytest.mark.parametrize("place", ["extensions", "experimental"])
def test_a_client_gets_the_profile_it_asks_for(place: str, profile: str, revision: str) -> None:
    server = serving("plain" if profile != "plain" else "prose", own="generic")
    assert answered(server, revision, wish({"name": profile}, place)) == profile


@each_revision
def test_the_older_name_of_the_contract_asks_for_the_envelope(revision: str) -> None:
    assert answered(serving(own="bare"), revision, V2_WISH) == "envelope"


@each_revision
@each_profile
def test_a_tool_has_its_own_profile_where_the_client_asks_for_none(
    profile: str, revision: str
) -> None:
    server = serving("plain" if profile != "plain" else "prose", own=profile)
    assert answered(server, revision, {}) == profile


@each_revision
@each_profile
def test_a_server_has_a_profile_where_neither_client_nor_tool_has_one(
    profile: str, revision: str
) -> None:
    assert answered(serving(profile), revision, {}) == profile


@each_revision
def test_functions_are_plain_where_nobody_says_anything(revision: str) -> None:
    server = Server("shop")
    server.tool(get)
    assert answered(server, revision, {}) == "plain"


FIRST: dict[str, tuple[Json, str]] = {
    "a profile in extensions, before the older name": (wish({"name": "bare"}) | V2_WISH, "bare"),
    "a profile in experimental, before the older name": (
        {"experimental": {ASKED_BY: {"name": "generic"}, "response_contract_v2": {}}},
        "generic",
    ),
    "plain, before the older name": (wish({"name": "plain"}) | V2_WISH, "plain"),
    "the older name, where the profile is unknown": (wish({"name": "new"}) | V2_WISH, "envelope"),
    "extensions, before experimental": (
        wish({"name": "bare"}) | wish({"name": "generic"}, "experimental"),
        "bare",
    ),
    "a profile with members that nobody knows": (wish({"name": "bare", "level": 2}), "bare"),
    "a profile among other wishes": (
        {"roots": {}, "extensions": {"a/b": [], ASKED_BY: {"name": "bare"}}},
        "bare",
    ),
    "the older name with members": (
        {"experimental": {"response_contract_v2": {"since": 1}}},
        "envelope",
    ),
}


@each_era
@pytest.mark.parametrize(("capabilities", "profile"), FIRST.values(), ids=list(FIRST))
def test_the_first_match_counts(capabilities: Json, profile: str, revision: str) -> None:
    assert answered(serving(), revision, capabilities) == profile
    assert (
        answered(serving(own="generic" if profile == "bare" else "bare"), revision, capabilities)
        == profile
    )


ODD: dict[str, Json] = {
    "an unknown name": wish({"name": "new"}),
    "an unknown name in experimental": wish({"name": "new"}, "experimental"),
    "the name of a schema": wish({"name": "response-v2"}),
    "a name in capitals": wish({"name": "Envelope"}),
    "an empty name": wish({"name": ""}),
    "a name that is null": wish({"name": None}),
    "a name that is a number": wish({"name": 1}),
    "a name that is a list": wish({"name": ["envelope"]}),
    "a name that is an object": wish({"name": {"envelope": {}}}),
    "no name": wish({}),
    "a wish that is a string": wish("envelope"),
    "a wish that is a list": wish(["envelope"]),
    "a wish that is null": wish(None),
    "a wish that is true": wish(True),
    "extensions that are a list": {"extensions": [ASKED_BY]},
    "extensions that are null": {"extensions": None},
    "extensions that are a string": {"extensions": ASKED_BY},
    "experimental that is a list": {"experimental": [ASKED_BY, "response_contract_v2"]},
    "experimental that is null": {"experimental": None},
    "experimental that is a string": {"experimental": "response_contract_v2"},
    "the older name that is null": {"experimental": {"response_contract_v2": None}},
    "the older name that is a list": {"experimental": {"response_contract_v2": []}},
    "the older name in extensions": {"extensions": {"response_contract_v2": {}}},
    "a wish at the root": {ASKED_BY: {"name": "envelope"}, "response_contract_v2": {}},
}


@each_era
@pytest.mark.parametrize("capabilities", ODD.values(), ids=list(ODD))
def test_what_names_no_profile_keeps_the_default(capabilities: Json, revision: str) -> None:
    assert answered(serving(), revision, capabilities) == "prose"
    assert answered(serving(own="bare"), revision, capabilities) == "bare"


def test_an_odd_place_does_not_hide_a_good_one() -> None:
    capabilities = {"extensions": [], **wish({"name": "bare"}, "experimental")}
    assert answered(serving(), V4, capabilities) == "bare"


def test_a_stateless_client_may_ask_otherwise_each_time() -> None:
    peer = Peer(serving(), V5)
    for profile in (*PROFILES, *reversed(PROFILES)):
        peer.capabilities = asking(profile)
        assert worded_in(peer.call("get")["result"]) == profile
    peer.capabilities = {}
    assert worded_in(peer.call("get")["result"]) == "prose"


def test_a_second_handshake_changes_the_profile() -> None:
    peer = Peer(serving(), V4, asking("bare"))
    assert worded_in(peer.call("get")["result"]) == "bare"
    peer.capabilities = asking("generic")
    peer.initialize(V3)
    assert worded_in(peer.call("get")["result"]) == "generic"


# What tools/list says

INTEGERS = {"type": "array", "items": {"type": "integer"}}
WRAPPED = {
    "type": "object",
    "properties": {
        "result": INTEGERS,
        "page": {"type": "object"},
        "warnings": {"type": "array"},
    },
    "required": ["result"],
}
EITHER = {"anyOf": [INTEGERS, WRAPPED]}


def published(name: str) -> Json:
    schema = schemas.load(name)
    del schema["$schema"], schema["$id"]
    return schema


def output_schema(profile: str, revision: str) -> Json:
    if revision in (V1, V2):
        return None
    own = {"envelope": "response-v2", "generic": "generic"}
    if profile in own:
        return published(own[profile])
    return EITHER if revision == V5 else WRAPPED


def listed_schemas(peer: Peer) -> dict[str, Json]:
    tools = peer.ask("tools/list")["result"]["tools"]
    return {tool["name"]: tool.get("outputSchema") for tool in tools}


@each_revision
def test_each_client_is_shown_the_schema_of_its_profile_again_and_again(revision: str) -> None:
    server = serving("plain")
    for profile in (None, *PROFILES, *reversed(PROFILES), None):
        expected = {"get": output_schema(profile or "plain", revision)}
        assert listed_schemas(Peer(server, revision, asking(profile))) == expected


@each_revision
@each_profile
def test_a_tools_own_profile_shows_in_its_schema_alone(profile: str, revision: str) -> None:
    server = serving("plain", own=profile)
    server.tool(name="other")(get)
    assert listed_schemas(Peer(server, revision)) == {
        "get": output_schema(profile, revision),
        "other": output_schema("plain", revision),
    }
    asked = Peer(server, revision, asking("generic"))
    schema = output_schema("generic", revision)
    assert listed_schemas(asked) == {"get": schema, "other": schema}


def test_a_list_that_was_shown_is_not_shown_to_another_profile_or_revision() -> None:
    server = serving("plain")
    for revision in (*wire.REVISIONS, *reversed(wire.REVISIONS)):
        for profile in PROFILES:
            peer = Peer(server, revision, asking(profile))
            assert listed_schemas(peer) == {"get": output_schema(profile, revision)}


def test_the_pages_of_a_list_have_the_schema_of_the_profile() -> None:
    server = Server("shop", page_size=1)
    server.tool(name="one")(get)
    server.tool(name="two")(get)
    for profile in ("envelope", "plain", "generic"):
        peer = Peer(server, V4, asking(profile))
        first = peer.ask("tools/list")["result"]
        second = peer.ask("tools/list", {"cursor": first["nextCursor"]})["result"]
        schema = output_schema(profile, V4)
        assert [tool["outputSchema"] for tool in first["tools"] + second["tools"]] == [schema] * 2


def test_a_tool_that_comes_later_is_shown_to_every_profile() -> None:
    server = serving("plain")
    peers = [Peer(server, V4, asking(profile)) for profile in PROFILES]
    assert all(listed_schemas(peer).keys() == {"get"} for peer in peers)
    server.tool(name="late")(get)
    assert all(listed_schemas(peer).keys() == {"get", "late"} for peer in peers)


def test_another_profile_of_the_server_shows_at_once() -> None:
    server = serving("plain")
    peer = Peer(server, V4)
    assert listed_schemas(peer) == {"get": WRAPPED}
    server.configure(profile="envelope")
    assert listed_schemas(peer) == {"get": published("response-v2")}
    assert worded_in(peer.call("get")["result"]) == "envelope"


@pytest.mark.parametrize("profile", [None, *PROFILES])
def test_a_list_is_for_one_client_alone(profile: str | None) -> None:
    result = Peer(serving(), V5, asking(profile)).ask("tools/list")["result"]
    assert result["cacheScope"] == "private"


# Two clients at once


@each_era
def test_calls_of_two_clients_at_once_keep_their_profiles(revision: str) -> None:
    server = serving()
    peers = [Peer(server, revision, asking(profile)) for profile in PROFILES]
    params = {"name": "get", "arguments": {}}
    for peer in peers:
        assert peer.receive(peer.worded("tools/call", params, 1)) == []
    found = [worded_in(peer.finish(peer.open[0])["result"]) for peer in reversed(peers)]
    assert found == list(reversed(PROFILES))


SHOP = """
from accord import Answer, Server

{name} = Server("{name}", version="1.0", profile="{profile}")

@{name}.tool{options}
def {tool}() -> Answer[list[int]]:
    return Answer([1], message="Found:")
"""


def module(
    name: str = "server", profile: str = "plain", tool: str = "get", options: str = ""
) -> str:
    return SHOP.format(name=name, profile=profile, tool=tool, options=options)


def begun(peer: HttpPeer, capabilities: Mapping[str, Any]) -> HttpPeer:
    """The peer with a session in which it has said what it can do."""
    params = {
        "protocolVersion": peer.revision,
        "capabilities": capabilities,
        "clientInfo": CLIENT_INFO,
    }
    begin = peer.request("initialize", params)
    response = peer.post(begin, headers={"MCP-Protocol-Version": None})
    peer.session = response.headers["Mcp-Session-Id"]
    return peer


def test_over_http_each_session_and_each_request_has_its_own_profile(tmp_path: Path) -> None:
    write(tmp_path, shop=module(profile="prose"))
    command = [ACCORD, "serve", "shop", "--http", "127.0.0.1:0"]
    with HttpServer(command, cwd=tmp_path, env=ENVIRONMENT) as server:
        sessions = {
            profile: begun(HttpPeer(server.port, V4, begin=False), asking(profile))
            for profile in (*PROFILES, None)
        }
        for _ in range(2):
            for profile, peer in sessions.items():
                result = peer.post(peer.calling("get")).message["result"]
                assert worded_in(result) == (profile or "prose")
        with HttpPeer(server.port, V5) as peer:
            for profile, said in [(p, asking(p)) for p in PROFILES] + [("prose", {})]:
                meta = {f"{META}/clientCapabilities": said}
                params = {"name": "get", "arguments": {}, "_meta": meta}
                result = peer.ask("tools/call", params).message["result"]
                assert worded_in(result) == profile
        with HttpPeer(server.port, V3, begin=False) as peer:
            result = peer.post(peer.calling("get")).message["result"]
            assert worded_in(result) == "prose", "without a session there is nobody who asked"
        for peer in sessions.values():
            peer.close()


# Unknown profiles


def make_server() -> object:
    return Server("shop", profile="fancy")


def make_tool() -> object:
    return serving(own="fancy")


def configure() -> None:
    serving().configure(profile="fancy")


def render_it() -> object:
    return render(5, profile="fancy")


@pytest.mark.parametrize("misuse", [make_server, make_tool, configure, render_it])
def test_an_unknown_profile_is_refused_in_one_line_that_has_all_names(misuse: Any) -> None:
    with pytest.raises(ContractError) as refused:
        misuse()
    message = str(refused.value).removesuffix(f" ({refused.value.location})")
    assert message == f"no profile 'fancy'; there are {ALL_NAMES}"


@pytest.mark.parametrize("words", [["serve", "shop"], ["call", "shop", "add", "{}"]], ids=str)
def test_the_command_line_refuses_an_unknown_profile_in_one_line(words: list[str]) -> None:
    assert_one_line_of_misuse(accord(*words, "--profile", "fancy"), "--profile", *PROFILES)


# Several servers as one


def test_servers_that_are_combined_keep_their_profiles() -> None:
    servers = {}
    for profile in PROFILES:
        server = Server(profile, profile=profile)
        server.tool(name=profile)(get)
        server.tool(name=f"{profile}_own", profile="generic")(get)
        servers[profile] = server
    combined = combine(servers)
    for revision in (V4, V5):
        peer = Peer(combined, revision)
        for profile in PROFILES:
            assert worded_in(peer.call(profile)["result"]) == profile
            assert worded_in(peer.call(f"{profile}_own")["result"]) == "generic"
            assert listed_schemas(peer)[profile] == output_schema(profile, revision)
        asked = Peer(combined, revision, asking("bare"))
        assert all(worded_in(asked.call(profile)["result"]) == "bare" for profile in PROFILES)


# The command line


OPTIONS: dict[str, tuple[list[str], str, str]] = {
    # words, what a plain server's tool says, what an envelope server's says
    "nothing": ([], "plain", "envelope"),
    "v1": (["--contract", "v1"], "plain", "plain"),
    "v2": (["--contract", "v2"], "envelope", "envelope"),
    "a profile": (["--profile", "generic"], "generic", "generic"),
}


@pytest.mark.parametrize(("words", "plain", "envelope"), OPTIONS.values(), ids=list(OPTIONS))
def test_a_server_is_told_its_profile(
    words: list[str], plain: str, envelope: str, tmp_path: Path
) -> None:
    write(
        tmp_path,
        one=module(tool="one"),
        two=module(profile="envelope", tool="two"),
        three=module(tool="three", options='(profile="bare")'),
    )
    command = [ACCORD, "serve", "one", "two", "three", *words]
    with StdioPeer(command, cwd=tmp_path, env=ENVIRONMENT) as peer:
        peer.initialize(V4)
        found = {
            name: worded_in(peer.request("tools/call", {"name": name})["result"])
            for name in ("one", "two", "three")
        }
        assert found == {"one": plain, "two": envelope, "three": "bare"}
        asked = peer.modern("tools/call", {"name": "two"}, capabilities=asking("prose"))
        assert worded_in(asked["result"]) == "prose"


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--contract", "v3"], ["--contract", "v1", "v2"]),
        (["--contract", "v1", "--profile", "bare"], ["--contract", "--profile"]),
    ],
    ids=["an unknown contract", "a contract and a profile"],
)
def test_a_contract_that_makes_no_sense_is_refused(words: list[str], fragments: list[str]) -> None:
    assert_one_line_of_misuse(accord("serve", "shop", *words), *fragments)
