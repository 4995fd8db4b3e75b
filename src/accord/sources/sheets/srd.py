"""Facts of the System Reference Document, for rules and calculations."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

from accord.sources.sheets.model import Ability, ClassLevel

HIGHEST_LEVEL: Final = 20
_WORD: Final = re.compile(r"[^\W\d_]+")
_DATA: Final = Path(__file__).parent / "data"

Casting = Literal["none", "full", "half", "third", "pact"]
_SHARE: Final[dict[Casting, int]] = {"full": 1, "half": 2, "third": 3}
"""Class levels per caster level."""


class CharacterClass(msgspec.Struct, frozen=True):
    """One of the twelve classes; `multiclass` needs 13 in one ability of each group."""

    hit_die: int
    saves: tuple[Ability, ...]
    multiclass: tuple[tuple[Ability, ...], ...]
    casts: Casting = "none"
    ability: Ability | None = None
    unarmored: Ability | None = None
    armor: tuple[str, ...] = ()
    weapons: tuple[str, ...] = ()
    multiclass_armor: tuple[str, ...] = ()
    """Armor proficiencies of a class that is not the first one."""
    multiclass_weapons: tuple[str, ...] = ()


class Weapon(msgspec.Struct, frozen=True, array_like=True):
    """A weapon's dice, damage type, use (melee, ranged or finesse) and category."""

    dice: str
    kind: str
    use: Literal["melee", "ranged", "finesse"]
    category: Literal["simple", "martial"]


class SpellAttack(msgspec.Struct, frozen=True, array_like=True):
    """The dice and damage type of a spell with an attack roll."""

    dice: str
    kind: str


class _RaceFacts(msgspec.Struct, frozen=True, array_like=True):
    speed: int
    weapons: tuple[str, ...]


class Race(msgspec.Struct, frozen=True):
    """A race's name, speed in feet, and the weapons that it is proficient with."""

    name: str
    speed: int
    weapons: tuple[str, ...]


class Armor(msgspec.Struct, frozen=True, array_like=True):
    """Armor's base armor class, and the maximum Dexterity modifier."""

    base: int
    max_dexterity: int | None


class _Facts(msgspec.Struct, frozen=True):
    classes: dict[str, CharacterClass]
    third_casters: dict[str, Ability]
    experience: tuple[int, ...]
    slots: tuple[tuple[int, ...], ...]
    pact_slots: tuple[tuple[int, int], ...]
    mystic_arcanum: dict[int, int]
    armor: dict[str, Armor]
    weapons: dict[str, Weapon]
    spell_attacks: dict[str, SpellAttack]
    races: dict[str, _RaceFacts]


class _SpellFacts(msgspec.Struct, frozen=True):
    classes: dict[str, str]
    levels: tuple[dict[str, str], ...]


class SpellFact(msgspec.Struct, frozen=True):
    """A spell's name and level, and the classes that have it on their lists."""

    name: str
    level: int
    classes: tuple[str, ...]


@cache
def facts() -> _Facts:
    """Return the tables of classes, slots and equipment."""
    return msgspec.json.decode((_DATA / "classes.json").read_bytes(), type=_Facts)


@cache
def spells() -> dict[str, SpellFact]:
    """Return every spell by its folded name."""
    read = msgspec.json.decode((_DATA / "spells.json").read_bytes(), type=_SpellFacts)
    return {
        fold(name): SpellFact(name, level, tuple(read.classes[letter] for letter in letters))
        for level, named in enumerate(read.levels)
        for name, letters in named.items()
    }


def fold(name: str) -> str:
    """Return a name without case, spaces and punctuation, for lookups."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def find_spell(name: str) -> SpellFact | None:
    """Return a spell by name; a wizard's name before it is ignored, as in the SRD."""
    found = spells().get(fold(name))
    owner, possessive, remainder = name.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").partition(
        "'s "
    )
    if found is None and possessive and " " not in owner:
        found = spells().get(fold(remainder))
    return found


T = TypeVar("T")


def _folded(table: dict[str, T]) -> dict[str, T]:
    return {fold(name): value for name, value in table.items()}


@cache
def _class_names() -> dict[str, str]:
    return {fold(name): name for name in facts().classes}


@cache
def _armor() -> dict[str, Armor]:
    return _folded(facts().armor)


@cache
def _weapons() -> dict[str, Weapon]:
    return _folded(facts().weapons)


@cache
def _third_casters() -> dict[str, Ability]:
    return _folded(facts().third_casters)


def class_name(name: str) -> str | None:
    """Return the name of a class as the SRD spells it; None if it has none."""
    return _class_names().get(fold(name))


def find_class(name: str) -> CharacterClass | None:
    """Return a class by name, in any case."""
    known = class_name(name)
    return None if known is None else facts().classes[known]


def find_armor(name: str) -> Armor | None:
    """Return armor by name, with or without the word "armor"."""
    folded = fold(name)
    return _armor().get(folded) or _armor().get(folded.removesuffix("armor"))


def find_weapon(name: str) -> Weapon | None:
    """Return a weapon by name; `Crossbow, Light` is accepted too."""
    noun, comma, kind = name.partition(",")
    return _weapons().get(fold(kind + noun if comma else name))


@cache
def _spell_attacks() -> dict[str, SpellAttack]:
    return _folded(facts().spell_attacks)


def find_spell_attack(name: str) -> SpellAttack | None:
    """Return the attack of a spell by name; None if it has no attack roll."""
    fact = find_spell(name)
    return _spell_attacks().get(fold(fact.name)) if fact else None


def find_race(name: str) -> Race | None:
    """Return a race by name; a name in it is enough, such as dwarf in `Dwarf (Mountain)`."""
    words = set(_WORD.findall(name.casefold()))
    found = [each for each in facts().races if words.issuperset(each.casefold().split())]
    if not found:
        return None
    closest = max(found, key=lambda each: len(each.split()))
    return Race(closest, facts().races[closest].speed, facts().races[closest].weapons)


def class_level(levels: Sequence[ClassLevel], name: str) -> int:
    """Return the level in a class; 0 without it."""
    return sum(level.level for level in levels if class_name(level.name) == name)


def casting_of(level: ClassLevel) -> Casting:
    """Return how a class casts; some subclasses cast although their class does not."""
    known = find_class(level.name)
    if known is not None and known.casts != "none":
        return known.casts
    return "none" if _third_caster(level) is None else "third"


def casting_ability(level: ClassLevel) -> Ability | None:
    """Return the spellcasting ability of a class."""
    known = find_class(level.name)
    return (known.ability if known else None) or _third_caster(level)


def _third_caster(level: ClassLevel) -> Ability | None:
    return _third_casters().get(fold(level.subclass or ""))


def proficiency_bonus(level: int) -> int:
    """Return the proficiency bonus of a character level."""
    return 2 + (max(level, 1) - 1) // 4


def experience_for(level: int) -> int:
    """Return the experience points at which a level begins."""
    return facts().experience[level - 1]


def level_for(points: int) -> int:
    """Return the level of so many experience points."""
    return sum(1 for least in facts().experience if points >= least)


def spell_slots(levels: Sequence[ClassLevel]) -> tuple[int, ...]:
    """Return the slots of the Spellcasting feature, by spell level."""
    casters = [level for level in levels if _has_spellcasting(level)]
    if len(casters) == 1:
        return _single_class_slots(casters[0])
    caster_level = sum(level.level // _SHARE[casting_of(level)] for level in casters)
    return _row(caster_level)


def _has_spellcasting(level: ClassLevel) -> bool:
    """True if the class has Spellcasting at this level: a half caster has it from level 2."""
    share = _SHARE.get(casting_of(level))
    return share is not None and level.level >= share


def _single_class_slots(level: ClassLevel) -> tuple[int, ...]:
    """Return the slots of a single class, whose caster level is rounded up."""
    return _row(-(-level.level // _SHARE[casting_of(level)]))


def _row(caster_level: int) -> tuple[int, ...]:
    if caster_level < 1:
        return ()
    return facts().slots[min(caster_level, HIGHEST_LEVEL) - 1]


def pact_slots(levels: Sequence[ClassLevel]) -> tuple[int, int]:
    """Return the number and level of Pact Magic slots; (0, 0) without."""
    level = sum(each.level for each in levels if casting_of(each) == "pact")
    return facts().pact_slots[min(level, HIGHEST_LEVEL) - 1] if level > 0 else (0, 0)


def highest_spell(level: ClassLevel) -> int:
    """Return the highest spell level that a class learns at this level; 0 if none."""
    if casting_of(level) == "pact":
        arcana = (spell for spell, at in facts().mystic_arcanum.items() if level.level >= at)
        return max([pact_slots([level])[1], *arcana])
    return len(spell_slots([level]))
