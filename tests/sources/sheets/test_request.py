"""The tool's input: its schema, normalized names, strict types."""

import json
from typing import Any

import jsonschema_rs
import pytest

from accord.model.answer import Problem
from accord.sources.sheets.members import members, right_place
from accord.sources.sheets.request import SheetRequest, bind, schema
from sources.sheets.characters import FIGHTER, MULTICLASS, Given, everything, thorin


def read(character: Any, **arguments: Any) -> SheetRequest:
    request: SheetRequest = bind(
        json.dumps({"character_data": character, **arguments}).encode()
    ).arguments
    return request


def refused(raw: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        bind(raw)
    return caught.value


# The schema


def test_the_schema_is_valid_and_has_no_references() -> None:
    jsonschema_rs.validator_for(schema())
    assert "$ref" not in json.dumps(schema())
    assert "$defs" not in json.dumps(schema())


@pytest.mark.parametrize("character", [FIGHTER, everything()], ids=["a fighter", "everything"])
def test_a_normalized_character_fits_the_schema(character: Given) -> None:
    tidy = json.loads(json.dumps(character))
    tidy.get("equipment", {})["items"] = [{"name": "Torch"}]
    jsonschema_rs.validator_for(schema()).validate({"character_data": tidy})


def test_the_schema_names_every_part_of_a_character() -> None:
    parts = schema()["properties"]["character_data"]["properties"]
    assert list(parts) == [
        *("character", "abilities", "proficiencies", "combat", "attacks"),
        *("spells", "equipment", "narrative", "features"),
    ]
    assert {"cantrips", "first_level", "ninth_level"} <= parts["spells"]["properties"].keys()
    spell = parts["spells"]["properties"]["first_level"]["items"]
    assert {"name", "level", "prepared"} == spell["properties"].keys()


def test_optional_parts_are_not_required() -> None:
    assert schema()["required"] == ["character_data"]
    parts = schema()["properties"]["character_data"]
    assert parts["required"] == ["character", "abilities"]
    assert parts["properties"]["character"]["required"] == ["name", "class", "level"]


# Lenient where people are


@pytest.mark.parametrize(
    ("written", "path", "meant"),
    [
        ({"abilities": {"STR": 9}}, "abilities.strength", 16),  # the proper name is there, too
        ({"character": {"class": "FIGHTER"}}, "character.class_", "Fighter"),
        ({"character": {"class": " fighter "}}, "character.class_", "Fighter"),
        ({"character": {"class": "fighter (Champion)"}}, "character.subclass", "Champion"),
        ({"character": {"level": 3.0}}, "character.level", 3),
        ({"character": {"xp": 900}}, "character.experience_points", 900),
        ({"proficiencies": {"saving_throws": ["STR", "Con"]}}, "proficiencies.saving_throws", ["strength", "constitution"]),
        ({"proficiencies": {"skills": ["Sleight of Hand"]}}, "proficiencies.skills", ["sleight_of_hand"]),
        ({"proficiencies": {"skills": "Stealth, Animal Handling"}}, "proficiencies.skills", ["stealth", "animal_handling"]),
        ({"proficiencies": ["Stealth"]}, "proficiencies.skills", ["stealth"]),
        ({"proficiencies": {"skill_bonuses": {"Sleight of Hand": 9}}}, "proficiencies.skill_bonuses", {"sleight_of_hand": 9}),
        ({"proficiencies": {"languages": "Common, Elvish"}}, "proficiencies.languages", ["Common", "Elvish"]),
        ({"combat": {"AC": 15}}, "combat.armor_class", 15),
        ({"combat": {"Hit Points": 15}}, "combat.hit_point_maximum", 15),
        ({"combat": {"speed": "30 ft."}}, "combat.speed", "30 ft."),
        ({"attacks": ["Longsword"]}, "attacks.0.name", "Longsword"),
        ({"spells": {"cantrips": ["Light"]}}, "spells.cantrips.0.name", "Light"),
        ({"spells": {"1st level": ["Shield"]}}, "spells.first_level.0.name", "Shield"),
        ({"spells": {"level_9": ["Wish"]}}, "spells.ninth_level.0.name", "Wish"),
        ({"spells": {"spellcasting_ability": "CHA"}}, "spells.spellcasting_ability", "charisma"),
        ({"character": {"spellcasting_ability": "wis"}}, "spells.spellcasting_ability", "wisdom"),
        ({"equipment": ["Rope"]}, "equipment.items.0.name", "Rope"),
        ({"equipment": {"currency": {"Gold": 5}}}, "equipment.currency.gp", 5),
        ({"narrative": {"personality": "Calm."}}, "narrative.personality_traits", "Calm."),
        ({"features": ["Darkvision"]}, "features.0.name", "Darkvision"),
        ({"combat": None}, "combat.armor_class", None),
    ],
)  # fmt: skip
def test_aliases_and_short_forms_are_normalized(written: Given, path: str, meant: Any) -> None:
    value: Any = read(thorin(**written)).character_data
    for step in path.split("."):
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    assert value == meant


def test_a_short_ability_name_is_normalized() -> None:
    short = {name[:3].upper(): score for name, score in thorin()["abilities"].items()}
    assert read({**thorin(), "abilities": short}) == read(thorin())


@pytest.mark.parametrize(
    ("who", "levels", "total"),
    [
        ({"class": "Paladin 6 / Sorcerer 4"}, [("Paladin", 6), ("Sorcerer", 4)], 10),
        ({"class": "paladin 6, sorcerer 4"}, [("Paladin", 6), ("Sorcerer", 4)], 10),
        ({"class": "Rogue (Thief) 2/Wizard 1"}, [("Rogue", 2), ("Wizard", 1)], 3),
        ({"classes": [{"name": "Bard", "level": 2}, {"name": "Monk", "level": 3}]}, [("Bard", 2), ("Monk", 3)], 5),
        ({"class": "Fighter", "level": 7}, [("Fighter", 7)], 7),
    ],
)  # fmt: skip
def test_several_classes_are_written_in_one_line_or_as_a_list(
    who: Given, levels: list[tuple[str, int]], total: int
) -> None:
    character = {**thorin(), "character": {"name": "Someone", **who}}
    found = read(character).character_data.character
    assert [(each.name, each.level) for each in found.levels] == levels
    assert found.level == total


def test_a_subclass_in_that_line_is_found() -> None:
    who = {"name": "Someone", "class": "Fighter (Eldritch Knight) 3 / Wizard 1"}
    found = read({**thorin(), "character": who}).character_data.character
    assert found.levels[0].subclass == "Eldritch Knight"


# Strict where rules and types are


WRONG: dict[str, tuple[Given, list[tuple[str, str]]]] = {
    "a word for a number": (
        thorin(abilities={"strength": "16"}),
        [("abilities.strength", "must be an integer, not a string")],
    ),
    "half a level": (
        thorin(character={"level": 2.5}),
        [("character.level", "must be an integer, not a number")],
    ),
    "a name left out": (
        {**thorin(), "character": {"class": "Fighter", "level": 3}},
        [("character.name", "is required")],
    ),
    "an empty name": (
        thorin(character={"name": ""}),
        [("character.name", "must have at least 1 characters")],
    ),
    "two abilities left out": (
        {**thorin(), "abilities": {"str": 1, "dex": 1, "con": 1, "int": 1}},
        [("abilities.wisdom", "is required"), ("abilities.charisma", "is required")],
    ),
    "a number for a spell": (
        thorin(spells={"first_level": ["Shield", 5]}),
        [("spells.first_level[1]", "must be an object, not an integer")],
    ),
    "a level of many digits in the class": (
        thorin(character={"class": "Fighter " + "9" * 5_000}),
        [("character.class", "must have at most 500 characters")],
    ),
    "a class that is mostly blanks": (  # which patterns could read for hours
        thorin(character={"class": "Fighter" + " " * 20_000 + "(x"}),
        [("character.class", "must have at most 500 characters")],
    ),
    "coins below nothing": (
        thorin(equipment={"currency": {"gp": -1}}),
        [("equipment.currency.gp", "must be at least 0")],
    ),
    "four death saves": (
        thorin(combat={"death_saves": {"failures": 4}}),
        [("combat.death_saves.failures", "must be at most 3")],
    ),
    "a list for the whole": ([], [("character_data", "must be an object, not an array")]),  # type: ignore[dict-item]
    "a bonus of an unknown skill": (
        thorin(proficiencies={"skill_bonuses": {"juggling": 3}}),
        [("proficiencies.skill_bonuses", "does not fit the schema")],
    ),
}


@pytest.mark.parametrize(("character", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_types_are_field_errors(character: Given, expected: list[tuple[str, str]]) -> None:
    problem = refused(json.dumps({"character_data": character}).encode())
    assert problem.message == "Invalid character data"
    assert [(each.field, each.error) for each in problem.fields] == expected


def test_an_unknown_skill_lists_the_known_ones() -> None:
    problem = refused(
        json.dumps({"character_data": thorin(proficiencies={"skills": ["juggling"]})}).encode()
    )
    (error,) = problem.fields
    assert error.field == "proficiencies.skills[0]"
    assert "one of acrobatics, animal_handling" in error.error


def test_wrong_types_fail_even_where_violations_are_allowed() -> None:
    character = thorin(abilities={"strength": "strong"})
    request = {"character_data": character, "allow_rule_violations": True}
    assert refused(json.dumps(request).encode()).message == "Invalid character data"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"output_path": 5}, "output_path must be a string, not an integer"),
        ({"allow": "all"}, "allow must be an array, not a string"),
        ({"explain": "yes"}, "explain must be a boolean, not a string"),
    ],
)
def test_errors_of_other_arguments_have_their_name(arguments: Given, words: str) -> None:
    problem = refused(json.dumps({"character_data": thorin(), **arguments}).encode())
    assert problem.message == f"Invalid arguments for fill_dnd_character_sheet: {words}"


def test_a_missing_character_is_an_error() -> None:
    (error,) = refused(b"{}").fields
    assert (error.field, error.error) == ("character_data", "is required")


def test_arguments_too_deep_to_read_are_an_error() -> None:
    deep = b'{"character_data": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    assert refused(deep).kind == "validation"


def test_an_incomplete_character_is_an_error() -> None:
    request = json.dumps({"character_data": thorin(character={"name": "a\ud800b"})})
    assert refused(request.encode()).kind == "validation"


def test_unknown_fields_are_ignored_with_a_warning() -> None:
    character = thorin(combat={"luck": 7})
    bound = bind(json.dumps({"character_data": character, "colour": "x"}).encode())
    assert [notice.message for notice in bound.warnings] == [
        "Unknown argument 'colour' was ignored",
        "Unknown argument 'combat.luck' was ignored",
    ]


def test_a_null_path_is_the_default() -> None:
    assert read(MULTICLASS, output_path=None) == read(MULTICLASS)


PLACES = {
    "personality": "narrative.personality_traits",
    "race": "character.race",
    "STR": "abilities.strength",
    "gold": "equipment.currency.gp",
    "languages": "proficiencies.languages",
    "feat": "features",
    "armour_class": "combat.armor_class",
    "hair colour": "narrative.appearance.hair",
    "combat.armour_class": "combat.armor_class",
    "narrative.height": "narrative.appearance.height",
    "equipment.GP": "equipment.currency.gp",
    "attacks[1].damge": "attacks[1].damage",
    "class_level": "character.class or character.level",
}


@pytest.mark.parametrize(("path", "place"), PLACES.items())
def test_an_unknown_member_is_answered_with_the_right_place(path: str, place: str) -> None:
    assert right_place(path) == place


@pytest.mark.parametrize(
    "path", ["luck", "combat.luck", "spells.tenth_level", "x", "", "a" * 10**6]
)
def test_a_name_like_no_member_has_no_place(path: str) -> None:
    assert right_place(path) == ""


def test_every_member_but_those_of_lists_has_its_own_place() -> None:
    """Whatever the name of a member is, beside the character it has a place with this name."""
    for member in members():
        if not {"[]", "*"} & set(member.path) and "." in member.path:
            places = right_place(member.name).split(" or ")
            assert {place.rpartition(".")[2] for place in places} == {member.name}, member.path


def test_the_warning_for_an_unknown_member_names_its_place() -> None:
    request = {"character_data": {**thorin(), "personality": "Calm."}}
    (notice,) = bind(json.dumps(request).encode()).warnings
    assert notice.code == "UNKNOWN_ARGUMENT"
    assert notice.message == (
        "Unknown argument 'personality' was ignored; the right place is narrative.personality_traits"
    )


def test_a_flat_character_is_told_where_its_members_belong() -> None:
    flat = {"name": "Lia", "class": "Monk", "level": 2, "strength": 9}
    problem = refused(json.dumps({"character_data": flat}).encode())
    errors = [each.field for each in problem.fields if each.severity == "error"]
    assert errors == ["character", "abilities"]
    assert [each.error.rpartition(" ")[2] for each in problem.fields[2:]] == [
        "character.name",
        "character.class",
        "character.level",
        "abilities.strength",
    ]


def test_a_great_many_unknown_members_are_answered_soon() -> None:
    request = {"character_data": {**thorin(), **{f"personality{i}": 1 for i in range(20_000)}}}
    assert len(bind(json.dumps(request).encode()).warnings) == 20_000
