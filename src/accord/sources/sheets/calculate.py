"""Calculate figures from a character by the rules, each with an explanation."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from accord.sources.sheets import srd
from accord.sources.sheets.model import (
    ABILITIES,
    SKILLS,
    SPELL_LISTS,
    Ability,
    Character,
    ClassLevel,
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


class Derived(msgspec.Struct, frozen=True):
    """A calculated figure: its name, value and explanation."""

    name: str
    value: Any
    how: str


class Difference(msgspec.Struct, frozen=True):
    """A given value that differs from the rules; it is kept."""

    field: str
    given: Any
    by_the_rules: Any
    how: str


class CharacterFigures:
    """The figures of one character: given ones are kept, others calculated."""

    def __init__(self, character: Character) -> None:
        self.character = character
        self.derived: dict[str, Derived] = {}
        self.differences: list[Difference] = []
        self._given = dict(_given(character))
        for step in _STEPS:
            for derived in step(self):
                self._add(derived)

    def __getitem__(self, name: str) -> Any:
        """Return a figure, the given one if there is one."""
        return self._given[name][1] if name in self._given else self.derived[name].value

    def is_given(self, name: str) -> bool:
        """True if the caller gave this figure."""
        return name in self._given

    def get(self, name: str) -> Any:
        """Return a figure, or None."""
        return self[name] if name in self._given or name in self.derived else None

    def modifier(self, ability: Ability) -> int:
        """Return the modifier of an ability."""
        value: int = self[f"{ability}_modifier"]
        return value

    @property
    def calculated(self) -> dict[str, Any]:
        """The calculated figures that the input left out."""
        return {name: each.value for name, each in self._calculated()}

    @property
    def explanations(self) -> dict[str, str]:
        """The explanations of those figures."""
        return {name: each.how for name, each in self._calculated()}

    def _calculated(self) -> Iterator[tuple[str, Derived]]:
        return ((name, each) for name, each in self.derived.items() if name not in self._given)

    def _add(self, derived: Derived) -> None:
        self.derived[derived.name] = derived
        if derived.name in self._given:
            field, given = self._given[derived.name]
            if given != derived.value:
                self.differences.append(Difference(field, given, derived.value, derived.how))


def _given(character: Character) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield the figures that the caller gave: name, path and value."""
    combat, skilled, spells = character.combat, character.proficiencies, character.spells
    figures = {
        "proficiency_bonus": ("proficiencies.proficiency_bonus", skilled.proficiency_bonus),
        "spell_save_dc": ("spells.spell_save_dc", spells.spell_save_dc),
        "spell_attack_bonus": ("spells.spell_attack_bonus", spells.spell_attack_bonus),
    }
    for name in (
        "armor_class",
        "initiative",
        "passive_perception",
        "hit_point_maximum",
        "hit_dice",
    ):
        figures[name] = (f"combat.{name}", getattr(combat, name))
    for ability, bonus in skilled.saving_throw_bonuses.items():
        figures[f"{ability}_save"] = (f"proficiencies.saving_throw_bonuses.{ability}", bonus)
    for skill, bonus in skilled.skill_bonuses.items():
        figures[f"{skill}_bonus"] = (f"proficiencies.skill_bonuses.{skill}", bonus)
    for spell_list, slots in spells.slots.items():
        figures[f"{spell_list}_slots"] = (f"spells.slots.{spell_list}.total", slots.total)
    return ((name, (field, value)) for name, (field, value) in figures.items() if value is not None)


def signed(bonus: Any) -> str:
    """Return a bonus with its sign: +3, -1, +0; text unchanged."""
    return f"{bonus:+d}" if isinstance(bonus, int) else str(bonus)


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
    for ability in ABILITIES:
        times = 1 if ability in proficient else 0
        yield _bonus(figures, f"{ability}_save", ability, times)


def _skills(figures: CharacterFigures) -> Iterator[Derived]:
    skilled = figures.character.proficiencies
    for skill in SKILLS:
        times = 2 if skill in skilled.expertise else 1 if skill in skilled.skills else 0
        yield _bonus(figures, f"{skill}_bonus", SKILL_ABILITY[skill], times)


def _bonus(figures: CharacterFigures, name: str, ability: Ability, times: int) -> Derived:
    """Return a modifier plus the proficiency bonus, 0 to 2 times."""
    modifier, bonus = figures.modifier(ability), figures["proficiency_bonus"]
    how = f"{titled(ability)} {signed(modifier)}"
    if times:
        how += f", {'expertise' if times == 2 else 'proficiency'} {signed(times * bonus)}"
    return Derived(name, modifier + times * bonus, how)


def _initiative(figures: CharacterFigures) -> Iterator[Derived]:
    modifier = figures.modifier("dexterity")
    yield Derived("initiative", modifier, f"Dexterity {signed(modifier)}")


def _passive_perception(figures: CharacterFigures) -> Iterator[Derived]:
    bonus = figures["perception_bonus"]
    yield Derived("passive_perception", 10 + bonus, f"10, Perception {signed(bonus)}")


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


def spellcasting_class(character: Character) -> ClassLevel | None:
    """Return the spellcasting class: as given, else that with most of the spells."""
    casters = [each for each in character.character.levels if srd.casting_ability(each) is not None]
    named = character.spells.spellcasting_class
    chosen = [each for each in casters if named and srd.fold(each.name) == srd.fold(named)]
    if chosen or not casters:
        return chosen[0] if chosen else None
    known = [srd.find_spell(spell.name) for _, _, _, spell in character.spells]

    def weight(level: ClassLevel) -> tuple[int, int]:
        name = srd.class_name(level.name)
        return sum(1 for fact in known if fact and name in fact.classes), level.level

    return max(casters, key=weight)


def spellcasting_ability(character: Character) -> Ability | None:
    """Return the spellcasting ability: given, of the class, or Intelligence if there are spells."""
    caster = spellcasting_class(character)
    by_class = None if caster is None else srd.casting_ability(caster)
    fallback: Ability | None = "intelligence" if character.spells else None
    return character.spells.spellcasting_ability or by_class or fallback


def _spellcasting(figures: CharacterFigures) -> Iterator[Derived]:
    ability = spellcasting_ability(figures.character)
    if ability is None or not (figures.character.spells or _casts(figures.character)):
        return
    modifier, bonus = figures.modifier(ability), figures["proficiency_bonus"]
    how = f"{titled(ability)} {signed(modifier)}, proficiency {signed(bonus)}"
    yield Derived("spell_attack_bonus", modifier + bonus, how)
    yield Derived("spell_save_dc", 8 + modifier + bonus, f"8, {how}")


def _casts(character: Character) -> bool:
    levels = character.character.levels
    return bool(srd.spell_slots(levels)) or srd.pact_slots(levels) != (0, 0)


def _slots(figures: CharacterFigures) -> Iterator[Derived]:
    levels = figures.character.character.levels
    slots, (pact, pact_level) = srd.spell_slots(levels), srd.pact_slots(levels)
    for level, spell_list in enumerate(SPELL_LISTS[1:], 1):
        ordinary = slots[level - 1] if level <= len(slots) else 0
        by_pact = pact if level == pact_level else 0
        if ordinary or by_pact:
            parts = [f"{ordinary} by Spellcasting"] if ordinary else []
            parts += [f"{by_pact} by Pact Magic"] if by_pact else []
            yield Derived(f"{spell_list}_slots", ordinary + by_pact, ", ".join(parts))


def _attacks(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate bonus and damage of SRD weapons, if left out."""
    for index, attack in enumerate(figures.character.attacks):
        weapon = srd.find_weapon(attack.name)
        if weapon is None:
            continue
        ability = _attack_ability(figures, weapon)
        modifier, bonus = figures.modifier(ability), figures["proficiency_bonus"]
        how = f"{titled(ability)} {signed(modifier)}"
        if attack.attack_bonus is None:
            both = f"{how}, proficiency {signed(bonus)}"
            yield Derived(f"attacks[{index}].attack_bonus", modifier + bonus, both)
        if attack.damage is None:
            dice = f"{weapon.dice}{signed(modifier) if modifier else ''} {weapon.kind}"
            yield Derived(f"attacks[{index}].damage", dice, f"{weapon.dice}, {how}")


def _attack_ability(figures: CharacterFigures, weapon: srd.Weapon) -> Ability:
    match weapon.use:
        case "melee":
            return "strength"
        case "ranged":
            return "dexterity"
    stronger = figures.modifier("strength") > figures.modifier("dexterity")
    return "strength" if stronger else "dexterity"


_STEPS: Final[tuple[Callable[[CharacterFigures], Iterator[Derived]], ...]] = (
    _modifiers,
    _proficiency,
    _saves,
    _skills,
    _initiative,
    _passive_perception,
    _armor_class,
    _hit_points,
    _all_hit_dice,
    _spellcasting,
    _slots,
    _attacks,
)
