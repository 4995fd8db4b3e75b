"""The rules of SRD 5.1 that a character can violate, as an ordered table.

Each rule yields the path of a violation and a sentence. Spells outside the list of a class, and
spells of a class that casts none, are not violations: subclasses, feats and races give them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from accord.model.answer import FieldError
from accord.sources.sheets import srd
from accord.sources.sheets.model import ABILITIES, SPELL_LISTS, Character, titled

_LOWEST_SCORE: Final = 1
_HIGHEST_SCORE: Final = 20
_MULTICLASS_SCORE: Final = 13
_INNATE_SECOND: Final = 5
"""The level at which a race gives a spell of the second level, such as a tiefling's Darkness."""


class Violation(NamedTuple):
    """A violated rule: the field's path and a message."""

    field: str
    error: str


Rule = Callable[[Character], Iterator[Violation]]


def violations(character: Character) -> list[Violation]:
    """Return all violations of a character, in the order of the rules."""
    return [found for rule in RULES.values() for found in rule(character)]


def _bounds(field: str, what: str, value: int, least: int, most: int) -> Iterator[Violation]:
    if value > most:
        yield Violation(field, f"{what} {value} exceeds maximum of {most}")
    elif value < least:
        yield Violation(field, f"{what} {value} is below minimum of {least}")


def _scores(character: Character) -> Iterator[Violation]:
    for ability in ABILITIES:
        what = f"{ability.capitalize()} score"
        score = character.abilities[ability]
        yield from _bounds(f"abilities.{ability}", what, score, _LOWEST_SCORE, _HIGHEST_SCORE)


def _level(character: Character) -> Iterator[Violation]:
    yield from _bounds("character.level", "Level", character.character.level, 1, srd.HIGHEST_LEVEL)
    for index, each in enumerate(character.character.classes):
        field = f"character.classes[{index}].level"
        yield from _bounds(field, f"{each.name} level", each.level, 1, srd.HIGHEST_LEVEL)


def _level_of_classes(character: Character) -> Iterator[Violation]:
    identity = character.character
    total = sum(each.level for each in identity.classes)
    if identity.classes and total != identity.level:
        sentence = f"Level {identity.level} differs from the {total} levels of the classes together"
        yield Violation("character.level", sentence)


def _known_classes(character: Character) -> Iterator[Violation]:
    identity = character.character
    for index, each in enumerate(identity.levels):
        if srd.find_class(each.name) is None:
            field = f"character.classes[{index}].name" if identity.classes else "character.class"
            known = ", ".join(srd.facts().classes)
            yield Violation(field, f"Class {each.name!r} is not known; there are {known}")


def _repeated_classes(character: Character) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, each in enumerate(character.character.classes):
        if srd.fold(each.name) in seen:
            yield Violation(
                f"character.classes[{index}].name", f"Class {each.name!r} is named twice"
            )
        seen.add(srd.fold(each.name))


def _multiclass_scores(character: Character) -> Iterator[Violation]:
    identity = character.character
    if len(identity.classes) < 2:
        return
    for index, each in enumerate(identity.classes):
        known = srd.find_class(each.name)
        for group in known.multiclass if known else ():
            if all(character.abilities[ability] < _MULTICLASS_SCORE for ability in group):
                needed = " or ".join(ability.capitalize() for ability in group)
                sentence = f"Multiclass {each.name} needs {needed} {_MULTICLASS_SCORE}"
                yield Violation(f"character.classes[{index}]", sentence)


def _experience(character: Character) -> Iterator[Violation]:
    identity = character.character
    points = identity.experience_points
    if points is None or not 1 <= identity.level <= srd.HIGHEST_LEVEL:
        return
    level = srd.level_for(points)
    if level != identity.level:
        sentence = f"Experience points {points} are those of level {level}, not {identity.level}"
        yield Violation("character.experience_points", sentence)


def _expertise(character: Character) -> Iterator[Violation]:
    proficient = character.proficiencies.skills
    for index, skill in enumerate(character.proficiencies.expertise):
        if skill not in proficient:
            sentence = f"Expertise in {titled(skill)} needs proficiency in it"
            yield Violation(f"proficiencies.expertise[{index}]", sentence)


def _spell_levels(character: Character) -> Iterator[Violation]:
    """A spell's level must match its list and the SRD."""
    for spell_list, level, index, spell in character.spells:
        field = f"spells.{spell_list}[{index}].level"
        fact = srd.find_spell(spell.name)
        given = spell.level if spell.level is not None else fact.level if fact else level
        if given != level:
            sentence = (
                f"Spell '{spell.name}' has level {given} but was placed in {spell_list} array"
            )
            yield Violation(field, sentence)
        elif fact is not None and fact.level != level:
            sentence = f"Spell '{spell.name}' is of level {fact.level}, not {level}"
            yield Violation(field, sentence)


def _spells_within_reach(character: Character) -> Iterator[Violation]:
    """A spell's level must not exceed what the character's classes or race give."""
    levels = character.character.levels
    reach = [srd.highest_spell(each) for each in levels]
    if not any(reach) or any(srd.find_class(each.name) is None for each in levels):
        return
    innate = 2 if character.character.level >= _INNATE_SECOND else 1
    highest, classes = (
        max(innate, *reach),
        " / ".join(f"{each.name} {each.level}" for each in levels),
    )
    for spell_list, level, index, spell in character.spells:
        if level > highest:
            sentence = (
                f"Spell '{spell.name}' has level {level}"
                f" but the highest that {classes} learns is {highest}"
            )
            yield Violation(f"spells.{spell_list}[{index}]", sentence)


def _slot_names(character: Character) -> Iterator[Violation]:
    for name in character.spells.slots:
        if name not in SPELL_LISTS[1:]:
            sentence = f"Slots of {name!r} are not known; there are {', '.join(SPELL_LISTS[1:])}"
            yield Violation(f"spells.slots.{name}", sentence)


RULES: Final[Mapping[str, Rule]] = {
    "ability-scores": _scores,
    "level": _level,
    "level-of-classes": _level_of_classes,
    "known-classes": _known_classes,
    "repeated-classes": _repeated_classes,
    "multiclass-scores": _multiclass_scores,
    "experience": _experience,
    "expertise": _expertise,
    "spell-levels": _spell_levels,
    "spells-within-reach": _spells_within_reach,
    "slot-names": _slot_names,
}


def to_field_errors(
    found: Sequence[Violation], *, allow_all: bool, allow: Sequence[str]
) -> list[FieldError]:
    """Return violations as field errors: warnings if they are allowed, else errors."""
    return [
        FieldError(
            each.field,
            each.error,
            "warning" if allow_all or any(_covers(path, each.field) for path in allow) else "error",
        )
        for each in found
    ]


def _covers(path: str, field: str) -> bool:
    """True if a path is the field or one of its parents."""
    return field == path or field.startswith((f"{path}.", f"{path}["))
