"""Figures calculated by the rules, their explanations, and given figures that differ."""

import json
from typing import Any

import pytest

from accord.sources.sheets import srd
from accord.sources.sheets.calculate import calculate
from accord.sources.sheets.figures import CharacterFigures
from accord.sources.sheets.model import ClassLevel
from accord.sources.sheets.request import bind
from sources.sheets.characters import MULTICLASS, Given, thorin


def figures(character: Given) -> CharacterFigures:
    return calculate(
        bind(json.dumps({"character_data": character}).encode()).arguments.character_data
    )


def slots(*levels: tuple[str, int] | tuple[str, int, str]) -> dict[str, int]:
    classes = [dict(zip(("name", "level", "subclass"), level, strict=False)) for level in levels]
    scores = dict.fromkeys(thorin()["abilities"], 14)
    made = figures({"character": {"name": "-", "classes": classes}, "abilities": scores})
    return {
        str(place): made[f"{name}_slots"]
        for place, name in enumerate(
            ["first_level", "second_level", "third_level", "fourth_level", "fifth_level",
             "sixth_level", "seventh_level", "eighth_level", "ninth_level"], 1)
        if made.get(f"{name}_slots")
    }  # fmt: skip


def as_row(*counts: int) -> dict[str, int]:
    return {str(level): count for level, count in enumerate(counts, 1) if count}


@pytest.mark.parametrize(
    ("score", "modifier"),
    [(1, -5), (8, -1), (9, -1), (10, 0), (11, 0), (12, 1), (15, 2), (20, 5), (25, 7)],
)
def test_a_modifier_is_rounded_down(score: int, modifier: int) -> None:
    assert figures(thorin(abilities={"strength": score})).modifier("strength") == modifier


@pytest.mark.parametrize(
    ("level", "bonus"), [(1, 2), (4, 2), (5, 3), (8, 3), (9, 4), (12, 4), (13, 5), (17, 6), (20, 6)]
)
def test_proficiency_goes_by_level(level: int, bonus: int) -> None:
    assert figures(thorin(character={"level": level}))["proficiency_bonus"] == bonus


CASES: dict[str, tuple[Given, str, Any]] = {
    "a save of the class": (thorin(), "strength_save", 5),
    "a save that is not": (thorin(), "wisdom_save", 1),
    "a save that was named": (thorin(proficiencies={"saving_throws": ["wisdom"]}), "wisdom_save", 3),
    "no saves at all": (thorin(proficiencies={"saving_throws": []}), "strength_save", 3),
    "a skill": (thorin(proficiencies={"skills": ["stealth"]}), "stealth_bonus", 3),
    "a skill with expertise": (
        thorin(proficiencies={"skills": ["stealth"], "expertise": ["stealth"]}),
        "stealth_bonus",
        5,
    ),
    "perception of the passive": (
        thorin(proficiencies={"skills": ["perception"]}),
        "passive_perception",
        13,
    ),
    "initiative": (thorin(), "initiative", 1),
    "no armor": (thorin(), "armor_class", 11),
    "leather": (thorin(equipment={"armor": "leather armor"}), "armor_class", 12),
    "medium armor": (
        thorin(abilities={"dexterity": 18}, equipment={"armor": "Half plate"}),
        "armor_class",
        17,
    ),
    "heavy armor and shield": (
        thorin(abilities={"dexterity": 3}, equipment={"armor": "plate", "shield": True}),
        "armor_class",
        20,
    ),
    "a barbarian's skin": (thorin(character={"class": "Barbarian"}), "armor_class", 13),
    "a monk's": (thorin(character={"class": "Monk"}), "armor_class", 12),
    "a monk's behind a shield": (
        thorin(character={"class": "Monk"}, equipment={"shield": True}),
        "armor_class",
        13,
    ),
    "hit points": (thorin(), "hit_point_maximum", 28),
    "hit points of the weak": (
        thorin(character={"class": "Wizard", "level": 20}, abilities={"constitution": 1}),
        "hit_point_maximum",
        20,
    ),
    "hit dice": (thorin(), "hit_dice", "3d10"),
    "hit dice of two classes": (MULTICLASS, "hit_dice", "6d10 + 4d6"),
    "hit points of two classes": (MULTICLASS, "hit_point_maximum", 76),
    "a caster's save": (thorin(character={"class": "Cleric"}), "spell_save_dc", 11),
    "a caster's attack": (thorin(character={"class": "Bard"}), "spell_attack_bonus", 1),
    "spells of one who casts none": (thorin(spells={"cantrips": ["Light"]}), "spell_save_dc", 10),
    "spells by another ability": (
        thorin(spells={"cantrips": ["Light"], "spellcasting_ability": "constitution"}),
        "spell_attack_bonus",
        4,
    ),
    "a third caster's": (thorin(character={"subclass": "eldritch knight"}), "spell_save_dc", 10),
    "a weapon": (thorin(attacks=["Longsword"]), "attacks[0].attack_bonus", 5),
    "what it does": (thorin(attacks=["Longsword"]), "attacks[0].damage", "1d8+3 slashing"),
    "a weapon from afar": (thorin(attacks=["Crossbow, light"]), "attacks[0].attack_bonus", 3),
    "the better hand": (thorin(attacks=["Rapier"]), "attacks[0].damage", "1d8+3 piercing"),
}  # fmt: skip


@pytest.mark.parametrize(("character", "name", "value"), CASES.values(), ids=CASES)
def test_a_figure_is_calculated_by_the_rules(character: Given, name: str, value: Any) -> None:
    assert figures(character)[name] == value


def test_the_documents_figures_are_those_of_one_who_casts_by_constitution() -> None:
    made = figures(thorin(spells={"cantrips": ["Mage Hand"], "spellcasting_ability": "con"}))
    assert (made["spell_attack_bonus"], made["spell_save_dc"]) == (4, 12)


@pytest.mark.parametrize("armor", ["Dragon hide", "robes"])
def test_unknown_armor_gives_no_armor_class(armor: str) -> None:
    assert figures(thorin(equipment={"armor": armor})).get("armor_class") is None


def test_a_character_without_spells_has_no_spell_figures() -> None:
    made = figures(thorin()).calculated
    assert not [name for name in made if "spell" in name or "slots" in name]


# Spell slots


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([("Wizard", 1)], as_row(2)),
        ([("Cleric", 5)], as_row(4, 3, 2)),
        ([("Druid", 20)], as_row(4, 3, 3, 3, 3, 2, 2, 1, 1)),
        ([("Paladin", 1)], {}),
        ([("Paladin", 2)], as_row(2)),
        ([("Ranger", 5)], as_row(4, 2)),
        ([("Paladin", 20)], as_row(4, 3, 3, 3, 2)),
        ([("Fighter", 20)], {}),
        ([("Fighter", 2, "Eldritch Knight")], {}),
        ([("Fighter", 3, "Eldritch Knight")], as_row(2)),
        ([("Rogue", 13, "Arcane Trickster")], as_row(4, 3, 2)),
        ([("Rogue", 20, "Arcane Trickster")], as_row(4, 3, 3, 1)),
        ([("Warlock", 1)], {}),
        ([("Warlock", 5)], {}),
        ([("Warlock", 17)], {}),
        ([("Paladin", 6), ("Sorcerer", 4)], as_row(4, 3, 3, 1)),
        ([("Paladin", 3), ("Ranger", 3)], as_row(3)),
        ([("Ranger", 3), ("Paladin", 1)], as_row(3)),
        ([("Wizard", 3), ("Paladin", 1)], as_row(4, 2)),
        ([("Ranger", 5), ("Fighter", 2, "Eldritch Knight")], as_row(4, 2)),
        ([("Wizard", 3), ("Fighter", 4)], as_row(4, 2)),
        ([("Paladin", 3), ("Fighter", 4)], as_row(3)),
        ([("Wizard", 3), ("Fighter", 7, "Eldritch Knight")], as_row(4, 3, 2)),
        ([("Wizard", 3), ("Warlock", 3)], as_row(4, 2)),
        ([("Bard", 1), ("Warlock", 1)], as_row(2)),
    ],
)
def test_slots_go_by_class_and_level(levels: list[Any], expected: dict[str, int]) -> None:
    assert slots(*levels) == expected


def test_the_casting_class_is_found_by_its_spells() -> None:
    who = {"name": "-", "class": "Wizard 2 / Cleric 3"}
    spells = {"first_level": ["Shield", "Magic Missile"], "cantrips": ["Fire Bolt"]}
    scores = dict.fromkeys(thorin()["abilities"], 10) | {"intelligence": 18, "wisdom": 13}
    made = figures({"character": who, "abilities": scores, "spells": spells})
    assert made["spell_attack_bonus"] == 4 + 3
    spells = {"first_level": ["Bless", "Sanctuary"]}
    made = figures({"character": who, "abilities": scores, "spells": spells})
    assert made["spell_attack_bonus"] == 1 + 3


@pytest.mark.parametrize(
    ("levels", "count", "level"),
    [
        ([("Warlock", 1)], 1, 1),
        ([("Warlock", 5)], 2, 3),
        ([("Warlock", 17)], 4, 5),
        ([("Wizard", 3), ("Warlock", 3)], 2, 2),
        ([("Bard", 1), ("Warlock", 1)], 1, 1),
        ([("Wizard", 5)], None, None),
    ],
)
def test_pact_slots_are_apart_from_other_slots(
    levels: list[Any], count: int | None, level: int | None
) -> None:
    classes = [{"name": name, "level": own} for name, own in levels]
    scores = dict.fromkeys(thorin()["abilities"], 14)
    made = figures({"character": {"name": "-", "classes": classes}, "abilities": scores})
    assert (made.get("pact_slots"), made.get("pact_slot_level")) == (count, level)
    if count:
        how = f"{count} of level {level} by Pact Magic, back on a short rest"
        assert made.explanations["pact_slots"] == how


@pytest.mark.parametrize(
    ("spells", "field"),
    [
        ({"pact_slots": {"total": 3}}, "spells.pact_slots.total"),
        ({"slots": {"third_level": {"total": 3}}}, "spells.slots.third_level.total"),
    ],
    ids=["by name", "by level"],
)
def test_given_pact_slots_are_kept_and_the_difference_reported(spells: Given, field: str) -> None:
    made = figures(thorin(character={"class": "Warlock", "level": 5}, spells=spells))
    assert made["pact_slots"] == 3
    assert made.get("third_level_slots") is None
    assert [(each.field, each.by_the_rules) for each in made.differences] == [(field, 2)]


# Features of classes and races


def who(name: str, level: int, race: str = "", **parts: Any) -> Given:
    scores = {"strength": 10, "dexterity": 14, "constitution": 10}
    scores |= {"intelligence": 12, "wisdom": 16, "charisma": 16}
    character = {"class": name, "level": level, "race": race}
    return thorin(character=character, abilities=scores, **parts)


FEATURES: dict[str, tuple[Given, str, Any, str]] = {
    "an aura": (who("Paladin", 6), "dexterity_save", 5, "Dexterity +2, Aura of Protection +3"),
    "a level too early": (who("Paladin", 5), "dexterity_save", 2, "Dexterity +2"),
    "at least one": (
        thorin(character={"class": "Paladin", "level": 6}),
        "intelligence_save",
        1,
        "Intelligence +0, Aura of Protection +1",
    ),
    "an aura with proficiency": (
        who("Paladin", 6),
        "charisma_save",
        9,
        "Charisma +3, proficiency +3, Aura of Protection +3",
    ),
    "Jack of All Trades": (
        who("Bard", 9),
        "arcana_bonus",
        3,
        "Intelligence +1, Jack of All Trades +2",
    ),
    "no jack of the first level": (who("Bard", 1), "arcana_bonus", 1, "Intelligence +1"),
    "a jack with proficiency": (
        who("Bard", 9, proficiencies={"skills": ["arcana"]}),
        "arcana_bonus",
        5,
        "Intelligence +1, proficiency +4",
    ),
    "a jack's initiative": (
        who("Bard", 2),
        "initiative",
        3,
        "Dexterity +2, Jack of All Trades +1",
    ),
    "a jack's perception": (who("Bard", 2), "passive_perception", 14, "10, Perception +4"),
    "no jack in saves": (who("Bard", 9), "wisdom_save", 3, "Wisdom +3"),
    "a dwarf": (who("Fighter", 1, "Mountain Dwarf"), "speed", 25, "Dwarf 25"),
    "a gnome": (who("Fighter", 1, "Gnome (Forest)"), "speed", 25, "Gnome 25"),
    "a halfling": (who("Fighter", 1, "lightfoot halfling"), "speed", 25, "Halfling 25"),
    "a wood elf": (who("Fighter", 1, "Wood Elf"), "speed", 35, "Wood Elf 35"),
    "a high elf": (who("Fighter", 1, "High elf"), "speed", 30, "Elf 30"),
    "half an elf": (who("Fighter", 1, "Half-Elf"), "speed", 30, "Half Elf 30"),
    "a monk": (
        who("Monk", 6, "Human"),
        "speed",
        45,
        "Human 30, Unarmored Movement without armor +15",
    ),
    "a monk of the last level": (who("Monk", 20, "Human"), "speed", 60, "Human 30, Unarmored Movement without armor +30"),
    "a monk with a shield": (
        who("Monk", 6, "Human", equipment={"shield": True}),
        "speed",
        30,
        "Human 30",
    ),
    "a barbarian in half plate": (
        who("Barbarian", 5, "Half-orc", equipment={"armor": "Half plate"}),
        "speed",
        40,
        "Half Orc 30, Fast Movement without heavy armor +10",
    ),
    "a barbarian in plate": (
        who("Barbarian", 5, "Half-orc", equipment={"armor": "Plate"}),
        "speed",
        30,
        "Half Orc 30",
    ),
    "weapons of a class": (
        who("Monk", 1),
        "weapon_proficiencies",
        "simple weapons, shortswords",
        "Monk: simple weapons, shortswords",
    ),
    "weapons of a race": (
        who("Wizard", 1, "Dwarf"),
        "weapon_proficiencies",
        "daggers, darts, slings, quarterstaffs, light crossbows, battleaxes, handaxes, light hammers, warhammers",
        "Wizard: daggers, darts, slings, quarterstaffs, light crossbows; Dwarf: battleaxes, handaxes, light hammers, warhammers",
    ),
    "weapons of a race that the class includes": (
        who("Fighter", 1, "Dwarf"),
        "weapon_proficiencies",
        "simple weapons, martial weapons",
        "Fighter: simple weapons, martial weapons",
    ),
    "weapons of a drow": (
        who("Cleric", 1, "Elf (Drow)"),
        "weapon_proficiencies",
        "simple weapons",
        "Cleric: simple weapons",
    ),
    "armor of a class": (
        who("Cleric", 1),
        "armor_proficiencies",
        "light armor, medium armor, shields",
        "Cleric: light armor, medium armor, shields",
    ),
    "armor of a second class": (
        who("Wizard 1 / Fighter 1", 2),
        "armor_proficiencies",
        "light armor, medium armor, shields",
        "Fighter: light armor, medium armor, shields",
    ),
    "a known weapon": (
        who("Rogue", 1, attacks=["Rapier"]),
        "attacks[0].attack_bonus",
        4,
        "Dexterity +2, proficiency +2",
    ),
    "an unknown weapon": (
        who("Wizard", 1, attacks=["Rapier"]),
        "attacks[0].attack_bonus",
        2,
        "Dexterity +2, no proficiency with martial weapons",
    ),
    "a weapon of the race": (
        who("Wizard", 1, "High Elf", attacks=["Longbow"]),
        "attacks[0].attack_bonus",
        4,
        "Dexterity +2, proficiency +2",
    ),
    "a weapon that was named": (
        who("Wizard", 1, proficiencies={"weapons": ["Crossbow, hand"]}, attacks=["Hand Crossbow"]),
        "attacks[0].attack_bonus",
        4,
        "Dexterity +2, proficiency +2",
    ),
    "all weapons": (
        who("Wizard", 1, proficiencies={"weapons": ["all weapons"]}, attacks=["Longbow"]),
        "attacks[0].attack_bonus",
        4,
        "Dexterity +2, proficiency +2",
    ),
    "a spell attack": (
        who("Cleric", 3, attacks=["Guiding Bolt"]),
        "attacks[0].attack_bonus",
        5,
        "spell attack bonus +5",
    ),
    "what it does": (
        who("Cleric", 3, attacks=["Guiding Bolt"]),
        "attacks[0].damage",
        "4d6 radiant",
        "4d6, cast at its own level",
    ),
    "a cantrip": (
        who("Wizard", 5, spells={"cantrips": ["Light", "Fire Bolt"]}),
        "attacks[0].damage",
        "2d10 fire",
        "2d10 at level 5",
    ),
    "a cantrip after the attacks": (
        who("Wizard", 5, attacks=["Dagger"], spells={"cantrips": ["Fire Bolt"]}),
        "attacks[1].name",
        "Fire Bolt",
        "a cantrip with a spell attack",
    ),
    "a cantrip of the second class": (
        thorin(
            character={"class": "Wizard 3 / Warlock 2", "level": 5},
            abilities={"intelligence": 18, "charisma": 14},
            spells={"cantrips": ["Fire Bolt", "Light", "Eldritch Blast"]},
        ),
        "attacks[1].attack_bonus",
        5,
        "Charisma +2, proficiency +3",
    ),
    "beams": (
        who("Warlock", 11, spells={"cantrips": ["Eldritch Blast"]}),
        "attacks[0].damage",
        "1d10 force (3 beams)",
        "1d10 a beam at level 11",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("character", "name", "value", "how"), FEATURES.values(), ids=FEATURES)
def test_features_of_classes_and_races_count_and_are_explained(
    character: Given, name: str, value: Any, how: str
) -> None:
    made = figures(character)
    assert (made[name], made.explanations[name]) == (value, how)


def test_a_cantrip_that_is_among_the_attacks_is_not_added() -> None:
    character = who("Wizard", 5, attacks=[{"name": "fire bolt", "damage": "fire"}])
    character["spells"] = {"cantrips": ["Fire Bolt"]}
    made = figures(character)
    assert "attacks[1].name" not in made.calculated
    assert "attacks[0].damage" not in made.calculated


def test_given_proficiencies_are_not_calculated() -> None:
    made = figures(who("Fighter", 1, proficiencies={"armor": ["shields"], "weapons": ["club"]}))
    assert not [name for name in made.calculated if name.endswith("_proficiencies")]


@pytest.mark.parametrize(
    ("race", "speed", "expected"),
    [
        ("Dwarf", 25, []),
        ("Dwarf", "25 ft., climb 20 ft.", []),
        ("Dwarf", 30, [30]),
        ("Dwarf", "250 ft.", ["250 ft."]),
        ("Warforged", 30, []),
        ("", "40", []),
    ],
)
def test_a_given_speed_is_kept_and_compared(race: str, speed: Any, expected: list[Any]) -> None:
    made = figures(who("Fighter", 1, race, combat={"speed": speed}))
    assert made["speed"] == speed
    assert [each.given for each in made.differences] == expected


def test_an_unknown_race_has_no_calculated_speed() -> None:
    assert figures(who("Fighter", 1, "Warforged")).get("speed") is None


# What the caller says


GIVEN: dict[str, tuple[Given, str, Any, Any]] = {
    "initiative": (thorin(combat={"initiative": 6}), "combat.initiative", 6, 1),
    "hit dice": (thorin(combat={"hit_dice": "3d8"}), "combat.hit_dice", "3d8", "3d10"),
    "passive perception": (
        thorin(combat={"passive_perception": 16}),
        "combat.passive_perception",
        16,
        11,
    ),
    "proficiency": (
        thorin(proficiencies={"proficiency_bonus": 4}),
        "proficiencies.proficiency_bonus",
        4,
        2,
    ),
    "a skill": (
        thorin(proficiencies={"skill_bonuses": {"stealth": 9}}),
        "proficiencies.skill_bonuses.stealth",
        9,
        1,
    ),
    "a save": (
        thorin(proficiencies={"saving_throw_bonuses": {"wisdom": 4}}),
        "proficiencies.saving_throw_bonuses.wisdom",
        4,
        1,
    ),
    "armor": (
        thorin(combat={"armor_class": 19}, equipment={"armor": "Chain mail"}),
        "combat.armor_class",
        19,
        16,
    ),
    "slots": (
        thorin(character={"class": "Wizard"}, spells={"slots": {"first_level": {"total": 5}}}),
        "spells.slots.first_level.total",
        5,
        4,
    ),
    "more hit points than dice can give": (
        thorin(combat={"hit_point_maximum": 99}),
        "combat.hit_point_maximum",
        99,
        28,
    ),
}


@pytest.mark.parametrize(("character", "field", "given", "expected"), GIVEN.values(), ids=GIVEN)
def test_given_figures_are_kept_and_differences_reported(
    character: Given, field: str, given: Any, expected: Any
) -> None:
    made = figures(character)
    (difference,) = made.differences
    assert (difference.field, difference.given, difference.by_the_rules) == (field, given, expected)
    assert difference.how


@pytest.mark.parametrize(
    "character",
    [
        thorin(combat={"initiative": 1}),
        thorin(combat={"armor_class": 18}),
        thorin(combat={"hit_point_maximum": 30}),
        thorin(character={"class": "Wizard"}, spells={"slots": {"first_level": {"total": 4}}}),
    ],
    ids=["the same", "no armor given", "rolled hit points", "the same slots"],
)
def test_a_figure_within_the_rules_is_not_a_difference(character: Given) -> None:
    assert figures(character).differences == []


def test_a_given_figure_is_not_calculated_and_others_build_on_it() -> None:
    made = figures(thorin(proficiencies={"proficiency_bonus": 4}))
    assert "proficiency_bonus" not in made.calculated
    assert made["strength_save"] == 3 + 4


def test_every_calculated_figure_has_an_explanation() -> None:
    made = figures(MULTICLASS)
    assert made.explanations.keys() == made.calculated.keys()
    assert made.explanations["strength_modifier"] == "(16 - 10) / 2, rounded down"
    assert made.explanations["persuasion_bonus"] == "Charisma +4, expertise +8"
    assert made.explanations["third_level_slots"] == "3 by Spellcasting"
    assert made.explanations["wisdom_save"] == "Wisdom +1, proficiency +4, Aura of Protection +4"


# The facts


def test_there_are_twelve_classes_and_319_spells() -> None:
    assert len(srd.facts().classes) == 12
    counts = [24, 49, 54, 42, 31, 37, 31, 20, 16, 15]
    found = [sum(1 for s in srd.spells().values() if s.level == level) for level in range(10)]
    assert found == counts
    assert len(srd.spells()) == 319


@pytest.mark.parametrize(
    ("name", "level", "classes"),
    [
        ("Fireball", 3, ("Sorcerer", "Wizard")),
        ("eldritch blast", 0, ("Warlock",)),
        ("Hunter’s Mark", 1, ("Ranger",)),
        ("Cure Wounds", 1, ("Bard", "Cleric", "Druid", "Paladin", "Ranger")),
        ("Melf's Acid Arrow", 2, ("Wizard",)),
        ("wish", 9, ("Sorcerer", "Wizard")),
    ],
)
def test_a_spell_is_found_with_its_level_and_classes(
    name: str, level: int, classes: tuple[str, ...]
) -> None:
    fact = srd.find_spell(name)
    assert fact is not None
    assert (fact.level, fact.classes) == (level, classes)


def test_the_facts_name_their_licence() -> None:
    for name in ("classes.json", "spells.json"):
        said = json.loads((srd._DATA / name).read_text())["attribution"]
        assert "System Reference Document 5.1" in said
        assert "Creative Commons Attribution 4.0" in said


def test_a_level_begins_with_its_points() -> None:
    for level in range(1, 21):
        assert srd.level_for(srd.experience_for(level)) == level
    assert srd.level_for(srd.experience_for(5) - 1) == 4


def test_the_highest_spell_grows_with_the_level() -> None:
    for name in srd.facts().classes:
        reach = [srd.highest_spell(ClassLevel(name=name, level=level)) for level in range(1, 21)]
        assert reach == sorted(reach)
    assert srd.highest_spell(ClassLevel(name="Warlock", level=17)) == 9
