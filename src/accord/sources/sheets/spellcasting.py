"""Spellcasting: the class and ability, save DC and attack bonus, and slots."""

from collections.abc import Iterator

from accord.sources.sheets import srd
from accord.sources.sheets.figures import CharacterFigures, Derived, signed
from accord.sources.sheets.model import SPELL_LISTS, Ability, Character, ClassLevel, titled


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


def save_and_attack(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate the spell save DC and the spell attack bonus, where there are spells."""
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


def slots(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate the slots of the Spellcasting feature."""
    counts = srd.spell_slots(figures.character.character.levels)
    for spell_list, count in zip(SPELL_LISTS[1:], counts, strict=False):
        yield Derived(f"{spell_list}_slots", count, f"{count} by Spellcasting")


def pact_slots(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate the slots of Pact Magic, which are apart: they all come back on a short rest."""
    count, level = srd.pact_slots(figures.character.character.levels)
    if count:
        how = f"{count} of level {level} by Pact Magic, back on a short rest"
        yield Derived("pact_slots", count, how)
        yield Derived("pact_slot_level", level, "Pact Magic: all slots are of one level")
