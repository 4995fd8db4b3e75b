"""Calculate figures from a character by the rules, each with an explanation."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from accord.sources.sheets import attacks, spellcasting, srd
from accord.sources.sheets.figures import CharacterFigures, Derived, Step, signed
from accord.sources.sheets.model import (
    ABILITIES,
    SKILLS,
    Ability,
    Character,
    Skill,
    titled,
)

SKILL_ABILITY: Final[Mapping[Skill, Ability]] = {
    "acrobatics": "dexterity",
    "animal_handling": "wisdom",
    "arcana": "intelligence",
    "athletics": "strength",
    "deception": "charisma",
    "history": "intelligence",
    "insight": "wisdom",
    "intimidation": "charisma",
    "investigation": "intelligence",
    "medicine": "wisdom",
    "nature": "intelligence",
    "perception": "wisdom",
    "performance": "charisma",
    "persuasion": "charisma",
    "religion": "intelligence",
    "sleight_of_hand": "dexterity",
    "stealth": "dexterity",
    "survival": "wisdom",
}
_AURA_LEVEL: Final = 6  # of a paladin
_JACK_LEVEL: Final = 2  # of a bard
_FAST_LEVEL: Final = 5  # of a barbarian
_GIVEN_SPEED: Final = re.compile(r"\s*(\d{1,9})(?!\d)")
_UNARMORED_LEVELS: Final = (2, 6, 10, 14, 18)
"""Levels of a monk at which the speed without armor grows: by 10, then by 5 each."""


def _modifiers(figures: CharacterFigures) -> Iterator[Derived]:
    for ability in ABILITIES:
        score = figures.character.abilities[ability]
        how = f"({score} - 10) / 2, rounded down"
        yield Derived(f"{ability}_modifier", (score - 10) // 2, how)


def _proficiency(figures: CharacterFigures) -> Iterator[Derived]:
    level = figures.character.character.level
    yield Derived("proficiency_bonus", srd.proficiency_bonus(level), f"level {level}")


def saving_throws(character: Character) -> tuple[Ability, ...]:
    """Return the proficient saves: as given, else those of the first class."""
    given = character.proficiencies.saving_throws
    if given is not None:
        return tuple(given)
    first = srd.find_class(character.character.levels[0].name)
    return first.saves if first else ()


def _saves(figures: CharacterFigures) -> Iterator[Derived]:
    proficient = saving_throws(figures.character)
    aura = _aura_of_protection(figures)
    for ability in ABILITIES:
        times = 1 if ability in proficient else 0
        bonus = _bonus(figures, f"{ability}_save", ability, times)
        if aura:
            how = f"{bonus.how}, Aura of Protection {signed(aura)}"
            bonus = Derived(bonus.name, bonus.value + aura, how)
        yield bonus


def _aura_of_protection(figures: CharacterFigures) -> int:
    """Return a paladin's bonus to all saves; 0 without the aura."""
    has_aura = srd.class_level(figures.character.character.levels, "Paladin") >= _AURA_LEVEL
    return max(figures.modifier("charisma"), 1) if has_aura else 0


def _skills(figures: CharacterFigures) -> Iterator[Derived]:
    skilled = figures.character.proficiencies
    for skill in SKILLS:
        ability = SKILL_ABILITY[skill]
        times = 2 if skill in skilled.expertise else 1 if skill in skilled.skills else 0
        if times:
            yield _bonus(figures, f"{skill}_bonus", ability, times)
        else:
            yield _check(figures, f"{skill}_bonus", ability)


def _bonus(figures: CharacterFigures, name: str, ability: Ability, times: int) -> Derived:
    """Return a modifier plus the proficiency bonus, 0 to 2 times."""
    modifier, bonus = figures.modifier(ability), figures["proficiency_bonus"]
    how = f"{titled(ability)} {signed(modifier)}"
    if times:
        how += f", {'expertise' if times == 2 else 'proficiency'} {signed(times * bonus)}"
    return Derived(name, modifier + times * bonus, how)


def _check(figures: CharacterFigures, name: str, ability: Ability) -> Derived:
    """Return the bonus of an ability check without proficiency; bards add half of theirs."""
    modifier = figures.modifier(ability)
    how = f"{titled(ability)} {signed(modifier)}"
    levels = figures.character.character.levels
    half = figures["proficiency_bonus"] // 2
    if srd.class_level(levels, "Bard") >= _JACK_LEVEL and half > 0:
        return Derived(name, modifier + half, f"{how}, Jack of All Trades {signed(half)}")
    return Derived(name, modifier, how)


def _initiative(figures: CharacterFigures) -> Iterator[Derived]:
    yield _check(figures, "initiative", "dexterity")


def _passive_perception(figures: CharacterFigures) -> Iterator[Derived]:
    bonus = figures["perception_bonus"]
    yield Derived("passive_perception", 10 + bonus, f"10, Perception {signed(bonus)}")


def _speed(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate from race and class; without a known race a given speed is not checked.

    A given text that begins with the speed, such as "25 ft., climb 20 ft.", is not a difference.
    """
    race = srd.find_race(figures.character.character.race)
    if race is None:
        return
    speed, how = race.speed, f"{race.name} {race.speed}"
    for more, reason in _more_speed(figures.character):
        speed, how = speed + more, f"{how}, {reason} {signed(more)}"
    given = figures.get("speed")
    starts = isinstance(given, str) and _GIVEN_SPEED.match(given)
    yield Derived("speed", given if starts and int(starts[1]) == speed else speed, how)


def _more_speed(character: Character) -> Iterator[tuple[int, str]]:
    """Yield what classes add to the speed, with the reason.

    A character without `equipment.armor` wears none.
    """
    levels, equipment = character.character.levels, character.equipment
    armor = srd.find_armor(equipment.armor) if equipment.armor else None
    is_known = armor is not None or not equipment.armor
    is_heavy = armor is not None and armor.max_dexterity == 0
    if srd.class_level(levels, "Barbarian") >= _FAST_LEVEL and is_known and not is_heavy:
        yield 10, "Fast Movement without heavy armor"
    monk = srd.class_level(levels, "Monk")
    if monk >= _UNARMORED_LEVELS[0] and not (equipment.armor or equipment.shield):
        tens = 1 + sum(1 for level in _UNARMORED_LEVELS[1:] if monk >= level)
        yield 5 * (tens + 1), "Unarmored Movement without armor"


def _armor_class(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate from armor; without known armor a given figure is not checked."""
    equipment = figures.character.equipment
    dexterity = figures.modifier("dexterity")
    armor = srd.find_armor(equipment.armor) if equipment.armor else None
    if armor is None and (equipment.armor or figures.is_given("armor_class")):
        return
    if armor is None:
        value, how = _unarmored(figures, has_shield=equipment.shield)
    else:
        most = armor.max_dexterity
        counted = dexterity if most is None else min(dexterity, most) if most else 0
        value, how = armor.base + counted, f"{equipment.armor} {armor.base}"
        how += f", Dexterity {signed(counted)}" if most != 0 else ""
    if equipment.shield:
        value, how = value + 2, f"{how}, shield +2"
    yield Derived("armor_class", value, how)


def _unarmored(figures: CharacterFigures, *, has_shield: bool) -> tuple[int, str]:
    """Return 10 plus Dexterity; barbarians, and monks without a shield, add an ability."""
    dexterity = figures.modifier("dexterity")
    value, how = 10 + dexterity, f"10, Dexterity {signed(dexterity)}"
    for each in figures.character.character.levels:
        known = srd.find_class(each.name)
        if known is None or known.unarmored is None:
            continue
        more = figures.modifier(known.unarmored)
        if more > 0 and not (has_shield and known.unarmored == "wisdom"):
            return value + more, f"{how}, {titled(known.unarmored)} {signed(more)}"
    return value, how


def _hit_points(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate a full die at the first level, and half a die plus one for each level after.

    A given value within the range of rolled dice is not a difference.
    """
    dice = _hit_dice(figures.character)
    if dice is None:
        return
    first, count = dice[0][0], sum(many for _, many in dice)
    modifier = figures.modifier("constitution")
    total = first + sum(many * (die // 2 + 1) for die, many in dice) - (first // 2 + 1)
    points = max(total + modifier * count, count)
    most = max(sum(many * die for die, many in dice) + modifier * count, count)
    given = figures.get("hit_point_maximum")
    is_rolled = given is not None and max(first + modifier, 1) <= given <= most
    each = f"Constitution {signed(modifier)} each"
    how = f"{first} at first level, half a die + 1 each level after, {each}"
    yield Derived("hit_point_maximum", given if is_rolled else points, how)


def _hit_dice(character: Character) -> list[tuple[int, int]] | None:
    """Return the die and count of each class; None if a class is unknown."""
    dice = []
    for each in character.character.levels:
        known = srd.find_class(each.name)
        if known is None or each.level < 1:
            return None
        dice.append((known.hit_die, each.level))
    return dice


def _all_hit_dice(figures: CharacterFigures) -> Iterator[Derived]:
    by_die: dict[int, int] = {}
    for die, many in _hit_dice(figures.character) or ():
        by_die[die] = by_die.get(die, 0) + many
    if by_die:
        text = " + ".join(f"{many}d{die}" for die, many in by_die.items())
        levels = figures.character.character.levels
        yield Derived("hit_dice", text, ", ".join(f"{each.name} {each.level}" for each in levels))


STEPS: Final[tuple[Step, ...]] = (
    _modifiers,
    _proficiency,
    _saves,
    _skills,
    _initiative,
    _passive_perception,
    _speed,
    _armor_class,
    _hit_points,
    _all_hit_dice,
    spellcasting.save_and_attack,
    spellcasting.slots,
    spellcasting.pact_slots,
    attacks.proficiencies,
    attacks.weapon_attacks,
    attacks.spell_attacks,
)


def calculate(character: Character) -> CharacterFigures:
    """Return the figures of a character by the rules."""
    return CharacterFigures(character, STEPS)
