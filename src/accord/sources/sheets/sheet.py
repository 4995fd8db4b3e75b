"""The values of a sheet by key, and the overflow that the form has no rows for.

Keys are paths as in the input: `abilities.strength`, `spells.first_level[0].name`. A form maps its
field names to them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from accord.sources.sheets.attacks import all_attacks
from accord.sources.sheets.calculate import calculate, saving_throws
from accord.sources.sheets.figures import CharacterFigures, given_pact_slots, signed
from accord.sources.sheets.model import (
    ABILITIES,
    SKILLS,
    SPELL_LISTS,
    Attack,
    Character,
    Feature,
    Item,
    Spell,
    titled,
)
from accord.sources.sheets.spellcasting import spellcasting_ability, spellcasting_class

Value = str | bool
Pairs = Iterator[tuple[str, Value]]
Rows = Callable[[str], int]
"""Returns the number of rows that a form has for a list such as `attacks`."""

_OPTIONAL: Final = frozenset({"character.class", "character.level", "character.subclass"})
"""Keys that `character.class_and_level` includes: a form needs no field for them."""


_ROW_FIELDS: Final = frozenset({"attack_bonus", "damage"})
"""Row fields whose label needs the name of the row."""
_KINDS: Final = {"modifiers": " modifier", "saves": " save"}
"""Label suffixes of the values of an ability."""


class Overflow(msgspec.Struct, frozen=True):
    """A text for an added page, with its key and label."""

    key: str
    label: str
    text: str


class Sheet(msgspec.Struct, frozen=True):
    """All values by key, and the overflow for added pages."""

    values: Mapping[str, Value]
    overflow: tuple[Overflow, ...]


def make_sheet(figures: CharacterFigures, has: Callable[[str], bool], rows: Rows) -> Sheet:
    """Return the sheet of a character, for a form with these keys and rows."""
    character = figures.character
    values = {key: value for part in _PARTS for key, value in part(figures)}
    if not has("spells.pact_slots"):
        values |= _pact_slots_by_level(figures, values)
    overflow = [*_further_attacks(figures, rows("attacks")), *_further_spells(character, rows)]
    placed = {each.key: each.text for each in overflow if has(each.key)}
    return Sheet(
        {**values, **placed},
        tuple(each for each in overflow if each.key not in placed),
    )


def label(key: str) -> str:
    """Return the label of a value, from the last significant part of its key."""
    *parents, name = key.split(".")
    if name in ("text", "more", "name", "bonus", "items", "other") and parents:
        name = parents[-1]
    if name in _ROW_FIELDS:
        return f"{label(parents[-1])}: {titled(name)}"
    words, _, index = name.rstrip("]").partition("[")
    kind = _KINDS.get(key.partition(".")[0], "")
    return f"{titled(words)} {int(index) + 1}" if index else f"{titled(words)}{kind}"


def needs_field(key: str, value: Value) -> bool:
    """True if a value must go to an added page when the form has no field for it."""
    return isinstance(value, str) and bool(value) and key not in _OPTIONAL


def _identity(figures: CharacterFigures) -> Pairs:
    who = figures.character.character
    for name in ("name", "race", "background", "alignment", "player_name"):
        yield f"character.{name}", getattr(who, name)
    yield "character.class", " / ".join(each.name for each in who.levels)
    yield "character.level", str(who.level)
    yield "character.subclass", " / ".join(each.subclass for each in who.levels if each.subclass)
    yield "character.class_and_level", " / ".join(_class_level(figures))
    points = who.experience_points
    yield "character.experience_points", "" if points is None else str(points)
    yield "character.inspiration", "✓" if who.inspiration else ""


def _class_level(figures: CharacterFigures) -> Iterator[str]:
    for each in figures.character.character.levels:
        subclass = f" ({each.subclass})" if each.subclass else ""
        yield f"{each.name}{subclass} {each.level}"


def _abilities(figures: CharacterFigures) -> Pairs:
    proficient = saving_throws(figures.character)
    for ability in ABILITIES:
        yield f"abilities.{ability}", str(figures.character.abilities[ability])
        yield f"modifiers.{ability}", signed(figures.modifier(ability))
        yield f"saves.{ability}.bonus", signed(figures[f"{ability}_save"])
        yield f"saves.{ability}.proficient", ability in proficient


def _skills(figures: CharacterFigures) -> Pairs:
    skilled = figures.character.proficiencies
    for skill in SKILLS:
        yield f"skills.{skill}.bonus", signed(figures[f"{skill}_bonus"])
        yield f"skills.{skill}.proficient", skill in skilled.skills or skill in skilled.expertise
        yield f"skills.{skill}.expertise", skill in skilled.expertise
    yield "proficiency_bonus", signed(figures["proficiency_bonus"])
    yield "passive_perception", str(figures["passive_perception"])
    yield "proficiencies.other", "\n".join(_other_proficiencies(figures))


def _other_proficiencies(figures: CharacterFigures) -> Iterator[str]:
    skilled = figures.character.proficiencies
    calculated = {"armor": "armor_proficiencies", "weapons": "weapon_proficiencies"}
    for name in ("languages", "armor", "weapons", "tools"):
        given: list[str] = getattr(skilled, name)
        listed = ", ".join(given) or figures.get(calculated.get(name, ""))
        if listed:
            yield f"{name.capitalize()}: {listed}"


def _combat(figures: CharacterFigures) -> Pairs:
    combat = figures.character.combat
    yield "combat.armor_class", _shown(figures.get("armor_class"))
    yield "combat.initiative", signed(figures["initiative"])
    yield "combat.speed", _shown(figures.get("speed"))
    yield "combat.hit_point_maximum", _shown(figures.get("hit_point_maximum"))
    yield "combat.current_hit_points", _shown(combat.current_hit_points)
    yield "combat.temporary_hit_points", _shown(combat.temporary_hit_points)
    yield "combat.hit_dice", _shown(figures.get("hit_dice"))
    yield "combat.hit_dice_remaining", _shown(combat.hit_dice_remaining)
    for index in range(3):
        yield f"combat.death_saves.successes[{index}]", index < combat.death_saves.successes
        yield f"combat.death_saves.failures[{index}]", index < combat.death_saves.failures


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _attacks(figures: CharacterFigures) -> Pairs:
    for index, attack in enumerate(all_attacks(figures.character)):
        bonus, damage = _attack_figures(figures, index, attack)
        yield f"attacks[{index}].name", attack.name
        yield f"attacks[{index}].attack_bonus", bonus
        yield f"attacks[{index}].damage", damage


def _attack_figures(figures: CharacterFigures, index: int, attack: Attack) -> tuple[str, str]:
    bonus = attack.attack_bonus
    if bonus is None:
        bonus = figures.get(f"attacks[{index}].attack_bonus")
    damage = attack.damage or figures.get(f"attacks[{index}].damage")
    return "" if bonus is None else signed(bonus), damage or ""


def _further_attacks(figures: CharacterFigures, rows: int) -> Iterator[Overflow]:
    further = list(enumerate(all_attacks(figures.character)))[rows:]
    lines = []
    for index, attack in further:
        bonus, damage = _attack_figures(figures, index, attack)
        lines.append(", ".join(part for part in (f"{attack.name} {bonus}".strip(), damage) if part))
    if lines:
        yield Overflow("attacks.more", "Further attacks", "\n".join(lines))


def _spellcasting(figures: CharacterFigures) -> Pairs:
    character = figures.character
    ability = spellcasting_ability(character)
    if ability is None or figures.get("spell_save_dc") is None:
        return
    caster = spellcasting_class(character)
    named = character.spells.spellcasting_class or (caster.name if caster else "")
    yield "spells.spellcasting_class", named or character.character.class_
    yield "spells.spellcasting_ability", titled(ability)
    yield "spells.spell_save_dc", str(figures["spell_save_dc"])
    yield "spells.spell_attack_bonus", signed(figures["spell_attack_bonus"])


def _spells(figures: CharacterFigures) -> Pairs:
    spells = figures.character.spells
    pact_list, _ = given_pact_slots(figures.character)
    for spell_list, _, index, spell in spells:
        yield f"spells.{spell_list}[{index}].name", spell.name
        yield f"spells.{spell_list}[{index}].prepared", spell.prepared
    for spell_list in SPELL_LISTS[1:]:
        yield f"spells.{spell_list}.slots_total", _shown(figures.get(f"{spell_list}_slots"))
        slots = None if spell_list == pact_list else spells.slots.get(spell_list)
        yield f"spells.{spell_list}.slots_expended", _shown(slots.expended if slots else None)


def _pact_slots(figures: CharacterFigures) -> Pairs:
    count, level = figures.get("pact_slots"), figures.get("pact_slot_level")
    of = f" of level {level}" if level else ""
    yield "spells.pact_slots", "" if count is None else f"{count}{of}"
    _, given = given_pact_slots(figures.character)
    yield "spells.pact_slots_expended", _shown(given.expended)


def _pact_slots_by_level(
    figures: CharacterFigures, values: Mapping[str, Value]
) -> Mapping[str, Value]:
    """Return the values of a form without fields for pact slots: those stand with their level."""
    level = figures.get("pact_slot_level")
    if not level:
        return {}
    of_level = f"spells.{SPELL_LISTS[level]}"
    _, given = given_pact_slots(figures.character)
    counts = {"slots_total": figures["pact_slots"], "slots_expended": given.expended}
    together = {
        f"{of_level}.{name}": f"{ordinary} + {count} pact" if ordinary else f"{count} pact"
        for name, count in counts.items()
        if count is not None
        for ordinary in [values[f"{of_level}.{name}"]]
    }
    return {**together, "spells.pact_slots": "", "spells.pact_slots_expended": ""}


def _further_spells(character: Character, rows: Rows) -> Iterator[Overflow]:
    for spell_list in SPELL_LISTS:
        further = character.spells[spell_list][rows(f"spells.{spell_list}") :]
        if further:
            text = "\n".join(map(_spell_line, further))
            yield Overflow(
                f"spells.{spell_list}.more", f"Further spells: {titled(spell_list)}", text
            )


def _spell_line(spell: Spell) -> str:
    return f"{spell.name} (prepared)" if spell.prepared else spell.name


def _equipment(figures: CharacterFigures) -> Pairs:
    equipment = figures.character.equipment
    worn = [Item(name=f"{equipment.armor} (worn)")] if equipment.armor else []
    worn += [Item(name="Shield (worn)")] if equipment.shield else []
    listed = [*worn, *equipment.items]
    yield "equipment.items", "\n".join(map(_item_line, listed))
    for coin in ("cp", "sp", "ep", "gp", "pp"):
        yield f"equipment.currency.{coin}", _shown(getattr(equipment.currency, coin))


def _item_line(item: Item) -> str:
    return (
        item.name if item.quantity == 1 else f"{item.quantity}\N{MULTIPLICATION SIGN} {item.name}"
    )


def _narrative(figures: CharacterFigures) -> Pairs:
    story = figures.character.narrative
    for name in ("personality_traits", "ideals", "bonds", "flaws", "backstory", "allies"):
        yield f"narrative.{name}", getattr(story, name)
    yield "narrative.faction", story.faction
    yield "narrative.treasure", story.treasure
    for name in ("age", "height", "weight", "eyes", "skin", "hair"):
        yield f"narrative.appearance.{name}", getattr(story.appearance, name)
    yield "features.text", "\n".join(map(_feature_line, figures.character.features))


def _feature_line(feature: Feature) -> str:
    return (
        f"• {feature.name}. {feature.description}" if feature.description else f"• {feature.name}"
    )


_PARTS: Final[tuple[Callable[[CharacterFigures], Pairs], ...]] = (
    _identity,
    _abilities,
    _skills,
    _combat,
    _attacks,
    _spellcasting,
    _spells,
    _pact_slots,
    _equipment,
    _narrative,
)


def is_key(key: str) -> bool:
    """True if a sheet can have a value with this key."""
    return key in _FIXED_KEYS or _ROW_KEY.fullmatch(key) is not None


def _fixed_keys() -> Iterator[str]:
    blank = msgspec.convert(
        {
            "character": {"name": "-", "class": "Wizard", "level": 1},
            "abilities": dict.fromkeys(ABILITIES, 10),
        },
        Character,
    )
    figures = calculate(blank)
    for part in _PARTS:
        yield from (key for key, _ in part(figures))
    yield from ("attacks.more", "features.more", "equipment.more")
    yield from (f"spells.{spell_list}.more" for spell_list in SPELL_LISTS)


_FIXED_KEYS: Final = frozenset(_fixed_keys())
_ROW_KEY: Final = re.compile(
    r"attacks\[\d{1,3}\]\.(?:name|attack_bonus|damage)"
    rf"|spells\.(?:{'|'.join(SPELL_LISTS)})\[\d{{1,3}}\]\.(?:name|prepared)"
)
