"""The sheet document's conversation with the real filler, over a real pipe."""

import base64
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import wire
from golden.rule import differences
from sources.sheets.characters import THORIN, thorin
from sources.sheets.fill_sheets import values
from stdio_peer import StdioPeer

requirement = pytest.mark.requirement
ACCORD = str(Path(sys.executable).with_name("accord"))
DOCUMENT = json.loads((Path(__file__).parents[2] / "golden/seed_002.json").read_text())
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
TOOL = "fill_dnd_character_sheet"
FURTHER = [
    *("result.content", "result.structuredContent", "result._meta"),
    *("result.pages", "result.fields_written", "result.differences"),
]
Call = Callable[..., Any]


class SheetServer:
    """A filler that serves one client, and the folder that it writes to."""

    def __init__(self, peer: StdioPeer, folder: Path, revision: str) -> None:
        self.folder = folder
        self.revision = revision
        self.peer = peer
        self._ask = peer.modern if revision == wire.STATELESS else peer.request

    def call(self, character: Any, **arguments: Any) -> Any:
        params = {"name": TOOL, "arguments": {"character_data": character, **arguments}}
        return self._ask("tools/call", params)

    def result(self, character: Any, **arguments: Any) -> Any:
        return self.call(character, **arguments)["result"]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())


def serving(folder: Path, *words: str) -> StdioPeer:
    return StdioPeer([ACCORD, "serve", "sheets", "--out", str(folder), *words])


@pytest.fixture(scope="module", params=[*HANDSHAKE, wire.STATELESS])
def sheets(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SheetServer]:
    folder = tmp_path_factory.mktemp("out")
    with serving(folder) as peer:
        if request.param != wire.STATELESS:
            peer.initialize(request.param)
        yield SheetServer(peer, folder, request.param)


@pytest.fixture(scope="module", params=HANDSHAKE)
def replies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """The replies to the document's requests, sent as they stand."""
    folder, sent = tmp_path_factory.mktemp("out"), {}
    with serving(folder) as peer:
        for name, exchange in json.loads(json.dumps(DOCUMENT)).items():
            if name == "initialize":
                exchange["request"]["params"]["protocolVersion"] = request.param
            peer.send(exchange["request"])
            sent[name] = peer.receive()
    return sent, folder


def shown(name: str) -> Any:
    return json.loads(json.dumps(DOCUMENT[name]["reply"]))


@requirement("002.sheet.initialize")
def test_the_server_has_the_name_of_the_document(replies: tuple[dict[str, Any], Path]) -> None:
    sent, _ = replies
    assert (
        list(differences(shown("initialize"), sent["initialize"], ["result.protocolVersion"])) == []
    )


@requirement("002.sheet.tools-list")
def test_the_tool_of_the_document_is_listed_with_a_detailed_input_schema(
    replies: tuple[dict[str, Any], Path],
) -> None:
    sent, _ = replies
    schema = "result.tools[].inputSchema.properties"
    further = [
        "result.tools[].outputSchema",
        *(f"{schema}.{name}" for name in ("allow", "explain", "return_pdf")),
        *(f"{schema}.character_data.{name}" for name in ("properties", "required")),
    ]
    assert list(differences(shown("tools list"), sent["tools list"], further)) == []


@requirement("002.sheet.fills", "002.sheet.modifiers", "002.sheet.spells", "002.sheet.organized")
def test_the_documents_request_fills_a_sheet(replies: tuple[dict[str, Any], Path]) -> None:
    """All as shown; the figures for spells are Intelligence's, which the rules give a fighter."""
    sent, folder = replies
    expected = shown("call succeeds")
    expected["result"]["calculated_fields"] |= {"spell_attack_bonus": 2, "spell_save_dc": 10}
    result = sent["call succeeds"]["result"]
    more = [f"result.calculated_fields.{name}" for name in result["calculated_fields"]]
    assert list(differences(expected, sent["call succeeds"], [*FURTHER, *more])) == []
    held = values((folder / "thorin_character.pdf").read_bytes())
    assert held["character.name"] == "Thorin Ironforge"
    assert held["modifiers.strength"] == "+3"
    assert held["spells.cantrips[0].name"] == "Mage Hand"
    assert held["spells.first_level[0].prepared"] is True
    assert sorted(result["fields_written"]) == sorted(held)


@requirement("002.sheet.scores", "002.sheet.spell-levels")
def test_the_documents_violations_are_its_error(replies: tuple[dict[str, Any], Path]) -> None:
    sent, _ = replies
    further = ["error.data.dev.accord-mcp/answer"]
    assert list(differences(shown("validation fails"), sent["validation fails"], further)) == []


@requirement("002.sheet.override")
def test_the_documents_override_fills_the_sheet_with_warnings(
    replies: tuple[dict[str, Any], Path],
) -> None:
    sent, folder = replies
    further = ["result.calculated_fields", "result.spells_organized", *FURTHER]
    assert list(differences(shown("rules overridden"), sent["rules overridden"], further)) == []
    assert values((folder / "custom_character.pdf").read_bytes())["abilities.strength"] == "25"


def test_content_and_structure_equal_the_root(sheets: SheetServer) -> None:
    result = sheets.result(THORIN, output_path="same.pdf")
    said = json.loads(result["content"][0]["text"])
    assert said == {name: result[name] for name in said}
    assert result.get("structuredContent", said) == said


def test_structure_fits_the_output_schema(sheets: SheetServer) -> None:
    listed = sheets._ask("tools/list")["result"]["tools"][0]
    result = sheets.result(
        thorin(abilities={"wisdom": 30}), allow_rule_violations=True, explain=True
    )
    if sheets.revision >= wire.STRUCTURE:
        jsonschema_rs.validator_for(listed["outputSchema"]).validate(result["structuredContent"])
    else:
        assert "outputSchema" not in listed


def test_the_file_is_linked(sheets: SheetServer) -> None:
    link = sheets.result(THORIN, output_path="linked.pdf")["content"][1]
    uri = (sheets.folder / "linked.pdf").as_uri()
    if sheets.revision >= "2025-06-18":
        assert (link["type"], link["uri"], link["mimeType"]) == (
            "resource_link",
            uri,
            "application/pdf",
        )
        assert link["name"] == "linked.pdf"
    else:
        assert link == {"type": "text", "text": uri}


def test_the_file_is_embedded_on_request(sheets: SheetServer) -> None:
    result = sheets.result(THORIN, output_path="sent.pdf", return_pdf=True)
    resource = result["content"][2]["resource"]
    assert resource["mimeType"] == "application/pdf"
    assert base64.b64decode(resource["blob"]) == (sheets.folder / "sent.pdf").read_bytes()


def test_without_a_path_the_file_is_named_after_the_character_and_replaced(
    sheets: SheetServer,
) -> None:
    for race in ("Dwarf", "Elf"):
        result = sheets.result(thorin(character={"race": race}))
        assert result["output_file"] == "thorin_ironforge.pdf"
        held = values((sheets.folder / "thorin_ironforge.pdf").read_bytes())
        assert held["character.race"] == race


def test_explanations_are_returned_on_request(sheets: SheetServer) -> None:
    assert "explanations" not in sheets.result(THORIN)
    said = sheets.result(THORIN, explain=True)
    assert said["explanations"].keys() == said["calculated_fields"].keys()
    assert said["explanations"]["strength_modifier"] == "(16 - 10) / 2, rounded down"


@pytest.mark.parametrize("path", ["../out.pdf", "/tmp/out.pdf", "a/../../out.pdf", "\0.pdf"])
def test_a_path_outside_is_rejected_and_nothing_is_written(sheets: SheetServer, path: str) -> None:
    before = sheets.files()
    error = sheets.call(THORIN, output_path=path)["error"]
    assert error["code"] == -32602
    assert [each["field"] for each in error["data"]["validation_errors"]] == ["output_path"]
    assert sheets.files() == before


def test_wrong_types_are_invalid_params_in_every_revision(sheets: SheetServer) -> None:
    error = sheets.call(thorin(abilities={"strength": "much"}))["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid character data")
    assert error["data"]["validation_errors"] == [
        {
            "field": "abilities.strength",
            "error": "must be an integer, not a string",
            "severity": "error",
        }
    ]


def test_unknown_fields_are_a_warning(sheets: SheetServer) -> None:
    result = sheets.result(thorin(luck=7), colour="red")
    beside = json.loads(result["content"][0]["text"])["_accord"]
    assert [each["code"] for each in beside["warnings"]] == ["UNKNOWN_ARGUMENT"] * 2
    assert result["success"] is True


def test_many_calls_at_once_each_get_their_own_sheet(tmp_path: Path) -> None:
    with serving(tmp_path) as peer:
        peer.initialize("2025-06-18")
        for number in range(24):
            character = thorin(character={"name": f"Clone {number}"})
            params = {"name": TOOL, "arguments": {"character_data": character}}
            peer.send(
                {"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": params}
            )
        sent = [peer.receive() for _ in range(24)]
    assert all("result" in each for each in sent)
    assert len(list(tmp_path.iterdir())) == 24
    for number in range(24):
        held = values((tmp_path / f"clone_{number}.pdf").read_bytes())
        assert held["character.name"] == f"Clone {number}"


def test_another_profile_can_be_requested(tmp_path: Path) -> None:
    with serving(tmp_path, "--profile", "prose") as peer:
        params = {"name": TOOL, "arguments": {"character_data": THORIN}}
        text = peer.modern("tools/call", params)["result"]["content"][0]["text"]
    assert text.startswith("Character sheet written to thorin_ironforge.pdf\n{")


def test_a_form_that_cannot_be_used_ends_the_server_with_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_text("no PDF")
    with serving(tmp_path, "--template", str(broken)) as peer:
        assert peer.wait() == 2
    assert peer.stderr == "accord serve: broken.pdf is not a readable PDF\n"
