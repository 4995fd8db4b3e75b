"""Rule violations: each with path and message, all in one reply."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.model.answer import Problem
from accord.sources.sheets.calculate import SKILL_ABILITY, calculate
from accord.sources.sheets.model import ABILITIES, SPELL_LISTS
from accord.sources.sheets.request import bind
from accord.sources.sheets.rules import RULES, violations
from accord.sources.sheets.srd import facts, spells
from laws import examples
from sources.sheets.characters import Given, thorin
from sources.sheets.fill_sheets import draw

CLASSES = list(facts().classes)


def broken(character: Given) -> list[tuple[str, str]]:
    request = bind(json.dumps({"character_data": character}).encode()).arguments
    return [(each.field, each.error) for each in violations(request.character_data)]


def multiclass(*levels: tuple[str, int], level: int | None = None, **scores: int) -> Given:
    classes = [{"name": name, "level": count} for name, count in levels]
    total = sum(count for _, count in levels) if level is None else level
    high = dict.fromkeys(ABILITIES, 14) | scores
    return thorin(
        character={"class": levels[0][0], "classes": classes, "level": total}, abilities=high
    )


KEPT: dict[str, Given] = {
    "the document's own request": thorin(
        spells={
            "cantrips": [{"name": "Mage Hand", "level": 0, "prepared": True}],
            "first_level": [{"name": "Magic Missile", "level": 1, "prepared": True}],
        }
    ),
    "the lowest scores": thorin(abilities=dict.fromkeys(ABILITIES, 1)),
    "the highest scores": thorin(abilities=dict.fromkeys(ABILITIES, 20)),
    "the first points of a level": thorin(character={"experience_points": 900}),
    "the last points of a level": thorin(character={"experience_points": 2699}),
    "many points at the last level": thorin(character={"level": 20, "experience_points": 900_000}),
    "a spell of another class": thorin(
        character={"class": "Cleric", "level": 5}, spells={"third_level": ["Fireball"]}
    ),
    "a spell that the SRD does not have": thorin(spells={"second_level": ["Own Spell"]}),
    "a spell by its wizard's name": thorin(
        character={"class": "Wizard"}, spells={"first_level": ["Tenser's Floating Disk"]}
    ),
    "the highest spells of a full caster": thorin(
        character={"class": "Wizard", "level": 17}, spells={"ninth_level": ["Wish"]}
    ),
    "the highest spells of a half caster": thorin(
        character={"class": "Paladin", "level": 17}, spells={"fifth_level": ["Geas"]}
    ),
    "the highest spells of a third caster": thorin(
        character={"subclass": "Eldritch Knight", "level": 19},
        spells={"fourth_level": ["Ice Storm"]},
    ),
    "a warlock's arcanum": thorin(
        character={"class": "Warlock", "level": 11}, spells={"sixth_level": ["Eyebite"]}
    ),
    "a race's spell of the second level": thorin(
        character={"subclass": "Eldritch Knight", "level": 5, "race": "Tiefling"},
        spells={"second_level": ["Darkness"]},
    ),
    "expertise": thorin(proficiencies={"skills": ["stealth"], "expertise": ["stealth"]}),
    "several classes": multiclass(("Fighter", 2), ("Wizard", 3)),
}
BROKEN: dict[str, tuple[Given, list[tuple[str, str]]]] = {
    "a score too high": (
        thorin(abilities={"strength": 25}),
        [("abilities.strength", "Strength score 25 exceeds maximum of 20")],
    ),
    "a score too low": (
        thorin(abilities={"wisdom": 0}),
        [("abilities.wisdom", "Wisdom score 0 is below minimum of 1")],
    ),
    "a level too high": (
        thorin(character={"level": 21}),
        [("character.level", "Level 21 exceeds maximum of 20")],
    ),
    "a level too low": (
        thorin(character={"level": 0}),
        [("character.level", "Level 0 is below minimum of 1")],
    ),
    "points of another level": (
        thorin(character={"experience_points": 2700}),
        [("character.experience_points", "Experience points 2700 are those of level 4, not 3")],
    ),
    "an unknown class": (
        thorin(character={"class": "Juggler"}),
        [
            (
                "character.class",
                f"Class 'Juggler' is not known; there are {', '.join(CLASSES)}",
            )
        ],
    ),
    "a spell in another list": (
        thorin(spells={"first_level": [{"name": "Fireball", "level": 3, "prepared": True}]}),
        [
            (
                "spells.first_level[0].level",
                "Spell 'Fireball' has level 3 but was placed in first_level array",
            )
        ],
    ),
    "the same without its level": (
        thorin(spells={"first_level": ["Shield", "Fireball"]}),
        [
            (
                "spells.first_level[1].level",
                "Spell 'Fireball' has level 3 but was placed in first_level array",
            )
        ],
    ),
    "a cantrip that is none": (
        thorin(spells={"cantrips": [{"name": "Mage Hand", "level": 1}]}),
        [
            (
                "spells.cantrips[0].level",
                "Spell 'Mage Hand' has level 1 but was placed in cantrips array",
            )
        ],
    ),
    "a spell of a level that is not its own": (
        thorin(spells={"first_level": [{"name": "Fireball", "level": 1}]}),
        [("spells.first_level[0].level", "Spell 'Fireball' is of level 3, not 1")],
    ),
    "a spell above the slots": (
        thorin(character={"class": "Wizard"}, spells={"third_level": ["Fly"]}),
        [
            (
                "spells.third_level[0]",
                "Spell 'Fly' has level 3 but the highest that Wizard 3 learns is 2",
            )
        ],
    ),
    "a spell above the slots, and no race gives it yet": (
        thorin(
            character={"subclass": "Eldritch Knight", "level": 4},
            spells={"second_level": ["Darkness"]},
        ),
        [
            (
                "spells.second_level[0]",
                "Spell 'Darkness' has level 2 but the highest that Fighter 4 learns is 1",
            )
        ],
    ),
    "expertise without proficiency": (
        thorin(proficiencies={"skills": ["arcana"], "expertise": ["sleight_of_hand"]}),
        [("proficiencies.expertise[0]", "Expertise in Sleight of Hand needs proficiency in it")],
    ),
    "classes that are not the level": (
        multiclass(("Fighter", 2), ("Wizard", 3), level=6),
        [("character.level", "Level 6 differs from the 5 levels of the classes together")],
    ),
    "a class below its score": (
        multiclass(("Fighter", 2), ("Paladin", 3), strength=14, charisma=12),
        [("character.classes[1]", "Multiclass Paladin needs Charisma 13")],
    ),
    "a class below both its scores": (
        multiclass(("Fighter", 2), ("Wizard", 3), strength=12, dexterity=12),
        [("character.classes[0]", "Multiclass Fighter needs Strength or Dexterity 13")],
    ),
    "a class twice": (
        multiclass(("Rogue", 2), ("rogue", 3)),
        [("character.classes[1].name", "Class 'rogue' is named twice")],
    ),
    "slots of a level that there is not": (
        thorin(spells={"slots": {"tenth_level": {"total": 1}}}),
        [
            (
                "spells.slots.tenth_level",
                f"Slots of 'tenth_level' are not known; there are {', '.join(SPELL_LISTS[1:])}",
            )
        ],
    ),
}


@pytest.mark.parametrize("character", KEPT.values(), ids=KEPT)
def test_a_valid_character_has_no_violations(character: Given) -> None:
    assert broken(character) == []


@pytest.mark.parametrize(("character", "expected"), BROKEN.values(), ids=BROKEN)
def test_a_violation_has_its_path_and_message(
    character: Given, expected: list[tuple[str, str]]
) -> None:
    assert broken(character) == expected


def test_every_rule_has_a_violating_row() -> None:
    """A rule that no row breaks is a rule that no test knows."""
    rows = [row[0] for row in BROKEN.values()]
    requests = [bind(json.dumps({"character_data": row}).encode()).arguments for row in rows]
    silent = [
        name
        for name, rule in RULES.items()
        if not any(list(rule(request.character_data)) for request in requests)
    ]
    assert silent == []


EVIL = thorin(
    abilities={"strength": 25, "charisma": 0},
    character={"level": 30, "class": "Juggler"},
    spells={"first_level": ["Fireball"]},
)
FIELDS = [
    "abilities.strength",
    "abilities.charisma",
    "character.level",
    "character.class",
    "spells.first_level[0].level",
]


def test_all_violations_come_in_one_problem() -> None:
    with pytest.raises(Problem) as caught:
        draw(EVIL)
    assert caught.value.message == "Invalid character data"
    assert [each.field for each in caught.value.fields] == FIELDS
    assert {each.severity for each in caught.value.fields} == {"error"}


def test_allowed_violations_are_warnings_and_the_sheet_is_filled() -> None:
    report = draw(EVIL, allow_rule_violations=True).report
    assert [each.field for each in report.validation_errors] == FIELDS
    assert {each.severity for each in report.validation_errors} == {"warning"}
    assert report.rule_violations_overridden is True


def test_without_violations_nothing_is_overridden() -> None:
    report = draw(thorin(), allow_rule_violations=True).report
    assert not report.validation_errors
    assert not report.rule_violations_overridden


@pytest.mark.parametrize(
    ("allow", "left"),
    [
        (["abilities.strength"], FIELDS[1:]),
        (["abilities"], FIELDS[2:]),
        (["abilities", "character", "spells.first_level[0]"], []),
        (["abilities", "character", "spells.first_level"], []),
        (["abilities.str", "nothing", ""], FIELDS),
    ],
)
def test_single_violations_can_be_allowed_by_path(allow: list[str], left: list[str]) -> None:
    if not left:
        report = draw(EVIL, allow=allow).report
        assert [each.severity for each in report.validation_errors] == ["warning"] * len(FIELDS)
        return
    with pytest.raises(Problem) as caught:
        draw(EVIL, allow=allow)
    assert [each.field for each in caught.value.fields if each.severity == "error"] == left
    assert len(caught.value.fields) == len(FIELDS)


@st.composite
def lawful(draw_from: Any) -> Given:
    """Characters that keep the rules."""
    level = draw_from(st.integers(1, 20))
    name = draw_from(st.sampled_from(CLASSES))
    known = draw_from(st.lists(st.sampled_from(sorted(spells())), max_size=4, unique=True))
    lists: dict[str, list[str]] = {}
    reach = {"full": (level + 1) // 2, "none": 9}.get(facts().classes[name].casts, 1)
    for each in (spells()[key] for key in known):
        if each.level <= min(reach, 9 if level > 1 else 1):
            lists.setdefault(SPELL_LISTS[each.level], []).append(each.name)
    scores = {ability: draw_from(st.integers(1, 20)) for ability in ABILITIES}
    return thorin(character={"class": name, "level": level}, abilities=scores, spells=lists)


@settings(max_examples=examples(200))
@given(lawful(), st.data())
def test_rules_and_figures_agree_with_themselves(character: Given, data: st.DataObject) -> None:
    """For every character, bonuses include modifiers, and one wrong score is one error."""
    made = bind(json.dumps({"character_data": character}).encode()).arguments.character_data
    casts = facts().classes[character["character"]["class"]].casts
    if casts in ("full", "none"):
        assert violations(made) == []
    figures = calculate(made)
    bonus = figures["proficiency_bonus"]
    assert 2 <= bonus <= 6
    name, level = made.character.class_, made.character.level
    jack = bonus // 2 if name == "Bard" and level >= 2 else 0
    aura = max(figures.modifier("charisma"), 1) if name == "Paladin" and level >= 6 else 0
    for ability in ABILITIES:
        modifier = figures.modifier(ability)
        assert -5 <= modifier <= 5
        assert figures[f"{ability}_save"] - modifier - aura in (0, bonus)
    for skill, ability in SKILL_ABILITY.items():
        assert figures[f"{skill}_bonus"] == figures.modifier(ability) + jack
    assert figures["passive_perception"] == 10 + figures["perception_bonus"]
    assert figures["initiative"] == figures.modifier("dexterity") + jack
    assert figures["hit_point_maximum"] >= made.character.level
    if made.spells:
        assert figures["spell_save_dc"] == figures["spell_attack_bonus"] + 8
    assert set(figures.explanations) == set(figures.calculated)

    ability = data.draw(st.sampled_from(ABILITIES))
    score = data.draw(st.integers(21, 40) | st.integers(-5, 0))
    worse = {**character, "abilities": {**character["abilities"], ability: score}}
    assert [field for field, _ in broken(worse) if field.startswith("abilities")] == [
        f"abilities.{ability}"
    ]
