"""The figures of one character: those that the caller gave, and those that steps calculate."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from accord.sources.sheets import srd
from accord.sources.sheets.model import SPELL_LISTS, Ability, Character, Slots


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

    def __init__(self, character: Character, steps: "Sequence[Step]") -> None:
        self.character = character
        self.derived: dict[str, Derived] = {}
        self.differences: list[Difference] = []
        self._given = dict(_given(character))
        for step in steps:
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
        "speed",
        "passive_perception",
        "hit_point_maximum",
        "hit_dice",
    ):
        figures[name] = (f"combat.{name}", getattr(combat, name))
    for ability, bonus in skilled.saving_throw_bonuses.items():
        figures[f"{ability}_save"] = (f"proficiencies.saving_throw_bonuses.{ability}", bonus)
    for skill, bonus in skilled.skill_bonuses.items():
        figures[f"{skill}_bonus"] = (f"proficiencies.skill_bonuses.{skill}", bonus)
    pact_list, pact_slots = given_pact_slots(character)
    for spell_list, slots in spells.slots.items():
        figures[f"{spell_list}_slots"] = (f"spells.slots.{spell_list}.total", slots.total)
    figures.pop(f"{pact_list}_slots", None)
    path = f"spells.slots.{pact_list}" if pact_list else "spells.pact_slots"
    figures["pact_slots"] = (f"{path}.total", pact_slots.total)
    return ((name, (field, value)) for name, (field, value) in figures.items() if value is not None)


def given_pact_slots(character: Character) -> tuple[str, Slots]:
    """Return the given slots of Pact Magic, and the list that they were given for, if any.

    Slots of the pact's level are the pact's, if the character has no other slots of that level.
    """
    spells, levels = character.spells, character.character.levels
    count, level = srd.pact_slots(levels) if spells.slots else (0, 0)
    pact_list = SPELL_LISTS[level]
    is_alone = count and level > len(srd.spell_slots(levels)) and pact_list in spells.slots
    if is_alone and spells.pact_slots == Slots():
        return pact_list, spells.slots[pact_list]
    return "", spells.pact_slots


Step = Callable[[CharacterFigures], Iterator[Derived]]
"""Yields figures that are calculated from the character and from earlier figures."""


def signed(bonus: Any) -> str:
    """Return a bonus with its sign: +3, -1, +0; text unchanged."""
    return f"{bonus:+d}" if isinstance(bonus, int) else str(bonus)
