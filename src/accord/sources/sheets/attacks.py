"""Proficiencies with weapons and armor, and the attacks by weapons and spells."""

from collections.abc import Iterator

from accord.sources.sheets import srd
from accord.sources.sheets.figures import CharacterFigures, Derived, signed
from accord.sources.sheets.model import Ability, Attack, Character, titled
from accord.sources.sheets.spellcasting import spellcasting_ability


def proficiencies(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate proficiencies of the classes and the race, where the input names none."""
    skilled = figures.character.proficiencies
    for name, figure, given in (
        ("armor", "armor_proficiencies", skilled.armor),
        ("weapons", "weapon_proficiencies", skilled.weapons),
    ):
        granted = _granted(figures.character, name)
        if granted and not given:
            how = "; ".join(f"{source}: {', '.join(names)}" for source, names in granted)
            names = dict.fromkeys(each for _, listed in granted for each in listed)
            yield Derived(figure, ", ".join(names), how)


def _granted(character: Character, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return what the race and each class grant, without what an earlier one grants."""
    sources: list[tuple[str, tuple[str, ...]]] = []
    for index, level in enumerate(character.character.levels):
        known = srd.find_class(level.name)
        if known is not None:
            prefix = "multiclass_" if index else ""
            sources.append((level.name, getattr(known, prefix + name)))
    race = srd.find_race(character.character.race)
    if race is not None and name == "weapons":
        sources.append((race.name, race.weapons))
    seen: set[str] = set()
    granted = []
    for source, names in sources:
        new = tuple(each for each in names if each not in seen and _category(each) not in seen)
        seen.update(new)
        if new:
            granted.append((source, new))
    return granted


def _category(name: str) -> str:
    """Return the proficiency that includes a weapon: "martial weapons" for "warhammers"."""
    weapon = srd.find_weapon(name.removesuffix("s"))
    return f"{weapon.category} weapons" if weapon else ""


def _is_proficient(character: Character, weapon: srd.Weapon, name: str) -> bool:
    """True if the input, a class or the race grants a weapon; unknown classes grant all."""
    if any(srd.find_class(each.name) is None for each in character.character.levels):
        return True
    granted = [each for _, names in _granted(character, "weapons") for each in names]
    return any(
        _includes(text, weapon, name) for text in (*character.proficiencies.weapons, *granted)
    )


def _includes(text: str, weapon: srd.Weapon, name: str) -> bool:
    """True if a proficiency such as "simple weapons" or "longswords" includes a weapon."""
    words = set(text.casefold().replace(",", " ").split())
    if weapon.category in words or words <= {"all", "weapons"}:
        return True
    return srd.fold(name) in srd.fold(text) or srd.find_weapon(text) is weapon


def weapon_attacks(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate bonus and damage of SRD weapons, if left out."""
    for index, attack in enumerate(figures.character.attacks):
        weapon = srd.find_weapon(attack.name)
        if weapon is None:
            continue
        ability = _attack_ability(figures, weapon)
        modifier, bonus = figures.modifier(ability), figures["proficiency_bonus"]
        how = f"{titled(ability)} {signed(modifier)}"
        if attack.attack_bonus is None:
            is_proficient = _is_proficient(figures.character, weapon, attack.name)
            both = f"{how}, proficiency {signed(bonus)}"
            yield Derived(
                f"attacks[{index}].attack_bonus",
                modifier + bonus if is_proficient else modifier,
                both if is_proficient else f"{how}, no proficiency with {weapon.category} weapons",
            )
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


def all_attacks(character: Character) -> list[Attack]:
    """Return the given attacks, then the known cantrips with a spell attack."""
    named = {srd.fold(attack.name) for attack in character.attacks}
    cantrips = [
        Attack(name=spell.name)
        for spell in character.spells.cantrips
        if srd.find_spell_attack(spell.name) and srd.fold(spell.name) not in named
    ]
    return [*character.attacks, *cantrips]


def spell_attacks(figures: CharacterFigures) -> Iterator[Derived]:
    """Calculate name, bonus and damage of attacks by SRD spells, if left out."""
    given = len(figures.character.attacks)
    for index, attack in enumerate(all_attacks(figures.character)):
        spell = srd.find_spell_attack(attack.name)
        if spell is None or figures.get("spell_attack_bonus") is None:
            continue
        if index >= given:
            yield Derived(f"attacks[{index}].name", attack.name, "a cantrip with a spell attack")
        if attack.attack_bonus is None:
            bonus, how = _spell_bonus(figures, attack.name)
            yield Derived(f"attacks[{index}].attack_bonus", bonus, how)
        if attack.damage is None:
            damage, how = _spell_damage(figures, attack.name, spell)
            yield Derived(f"attacks[{index}].damage", damage, how)


def _spell_bonus(figures: CharacterFigures, name: str) -> tuple[int, str]:
    """Return the attack bonus of a spell: by the class that has it, else as on the sheet."""
    character, bonus = figures.character, figures["spell_attack_bonus"]
    fact = srd.find_spell(name)
    own = [
        ability
        for level in character.character.levels
        if fact is not None and srd.class_name(level.name) in fact.classes
        for ability in [srd.casting_ability(level)]
        if ability is not None
    ]
    is_chosen = character.spells.spellcasting_ability or figures.is_given("spell_attack_bonus")
    if is_chosen or not own or spellcasting_ability(character) in own:
        return bonus, f"spell attack bonus {signed(bonus)}"
    ability = max(own, key=figures.modifier)
    modifier, proficiency = figures.modifier(ability), figures["proficiency_bonus"]
    how = f"{titled(ability)} {signed(modifier)}, proficiency {signed(proficiency)}"
    return modifier + proficiency, how


def _spell_damage(figures: CharacterFigures, name: str, spell: srd.SpellAttack) -> tuple[str, str]:
    """Return the damage of a spell; that of cantrips grows at levels 5, 11 and 17."""
    fact = srd.find_spell(name)
    level = figures.character.character.level
    if fact is None or fact.level:
        return f"{spell.dice} {spell.kind}", f"{spell.dice}, cast at its own level"
    times = 1 + sum(1 for grows in (5, 11, 17) if level >= grows)
    count, _, die = spell.dice.partition("d")
    if srd.fold(name) == "eldritchblast":
        beams = f" ({times} beams)" if times > 1 else ""
        return f"{spell.dice} {spell.kind}{beams}", f"{spell.dice} a beam at level {level}"
    dice = f"{int(count) * times}d{die}"
    return f"{dice} {spell.kind}", f"{dice} at level {level}"
