"""Characters to fill sheets with: plain JSON values, as a caller sends them."""

from copy import deepcopy
from typing import Any

from accord.sources.sheets.model import ABILITIES, SKILLS, SPELL_LISTS
from accord.sources.sheets.srd import spells

Given = dict[str, Any]

SCORES = {
    "strength": 16,
    "dexterity": 12,
    "constitution": 15,
    "intelligence": 10,
    "wisdom": 13,
    "charisma": 8,
}
THORIN: Given = {
    "character": {"name": "Thorin Ironforge", "class": "Fighter", "level": 3, "race": "Dwarf"},
    "abilities": SCORES,
}


def thorin(**changes: Any) -> Given:
    """Thorin with other parts: `spells={…}`, or `character={"level": 4}` on top of his own."""
    made = deepcopy(THORIN)
    for part, value in changes.items():
        own = made.get(part)
        made[part] = (
            {**own, **value} if isinstance(own, dict) and isinstance(value, dict) else value
        )
    return made


def spells_of(caster: str, level: int, count: int) -> list[Given]:
    """Spells from the list of a class, every other one prepared."""
    names = [s.name for s in spells().values() if s.level == level and caster in s.classes]
    return [{"name": name, "prepared": i % 2 == 0} for i, name in enumerate(names[:count])]


FIGHTER = thorin(
    character={
        "race": "Mountain dwarf",
        "subclass": "Champion",
        "background": "Soldier",
        "alignment": "Lawful good",
        "experience_points": 900,
        "player_name": "Ada",
        "inspiration": True,
    },
    proficiencies={
        "skills": ["athletics", "intimidation", "perception", "survival"],
        "languages": ["Common", "Dwarvish"],
        "armor": ["all armor", "shields"],
        "weapons": ["simple", "martial"],
        "tools": ["smith's tools", "playing cards"],
    },
    combat={"speed": 25, "current_hit_points": 24, "death_saves": {"successes": 1, "failures": 2}},
    attacks=[{"name": "Warhammer"}, {"name": "Handaxe"}, {"name": "Light Crossbow"}],
    equipment={
        "armor": "Chain Mail",
        "shield": True,
        "items": ["Explorer's pack", {"name": "Torch", "quantity": 10}, "Rope (50 feet)"],
        "currency": {"gp": 42, "sp": 7, "cp": 13},
    },
    narrative={
        "personality_traits": "I face problems head-on.",
        "ideals": "Greater good.",
        "bonds": "I fight for those who cannot.",
        "flaws": "I made a terrible mistake in battle.",
        "backstory": "Born beneath the Ironforge, Thorin learned the hammer before he could read. "
        * 6,
        "allies": "The Iron Guard of the lower halls.",
        "faction": "Iron Guard",
        "treasure": "A silver locket.",
        "appearance": {"age": "61", "height": "4'5\"", "eyes": "grey", "hair": "black"},
    },
    features=[
        {"name": "Second wind", "description": "Regain 1d10 + 3 hit points, once a rest."},
        {"name": "Action surge", "description": "One more action on your turn, once a rest."},
    ],
)
LINES = {"cantrips": 8, "first_level": 14, "second_level": 14, "third_level": 14}
LINES |= {"fourth_level": 12, "fifth_level": 10, "sixth_level": 9, "seventh_level": 9}
LINES |= {"eighth_level": 8, "ninth_level": 8}
"""The lines for spells of our own form."""
WIZARD: Given = {
    "character": {
        "name": "Zoë Łabędź",
        "class": "wizard",
        "level": 20,
        "race": "High elf",
        "subclass": "School of Evocation",
        "experience_points": 355_000,
    },
    "abilities": {"STR": 8, "DEX": 14, "CON": 14, "INT": 20, "WIS": 12, "CHA": 10},
    "proficiencies": {"skills": ["Arcana", "History", "Investigation", "Insight"]},
    "attacks": [{"name": "Dagger"}],
    "spells": {
        place: spells_of("Wizard", level, LINES[place]) for level, place in enumerate(SPELL_LISTS)
    },
    "equipment": {"items": ["Spellbook"], "currency": {"platinum": 120, "gold": 3410}},
}
MULTICLASS: Given = {
    "character": {"name": "Sera Dawnblade", "class": "Paladin 6 / Sorcerer 4", "level": 10},
    "abilities": {
        "strength": 16,
        "dexterity": 10,
        "constitution": 14,
        "intelligence": 8,
        "wisdom": 12,
        "charisma": 18,
    },
    "proficiencies": {"skills": ["Persuasion", "Athletics"], "expertise": ["Persuasion"]},
    "attacks": ["Longsword"],
    "spells": {
        "cantrips": ["Fire Bolt", "Light", "Mage Hand"],
        "first_level": spells_of("Paladin", 1, 8),
        "second_level": spells_of("Sorcerer", 2, 5),
    },
}
HOMEBREW = thorin(
    character={"name": "Грим Δράκων 李小龙 سلام", "class": "Blood Hunter", "level": 5},
    abilities={"strength": 25},
    combat={"armor_class": 21, "initiative": 9},
    spells={"first_level": [{"name": "Fireball", "level": 3, "prepared": True}]},
)


def everything(attacks: int = 5, lines: dict[str, int] = LINES) -> Given:
    """A character that fills every field of a form with so many lines."""
    narrative = {
        name: f"{name}."
        for name in ("personality_traits", "ideals", "bonds", "flaws", "backstory", "allies")
    }
    looks = ("age", "height", "weight", "eyes", "skin", "hair")
    return {
        "character": {
            "name": "Everyone",
            "class": "Wizard",
            "subclass": "School of Evocation",
            "level": 20,
            "race": "Human",
            "background": "Sage",
            "alignment": "True neutral",
            "experience_points": 400_000,
            "player_name": "Grace",
            "inspiration": True,
        },
        "abilities": {ability: 15 + i for i, ability in enumerate(ABILITIES)},
        "proficiencies": {
            "saving_throws": list(ABILITIES),
            "skills": list(SKILLS),
            "expertise": list(SKILLS),
            "languages": ["Common"],
        },
        "combat": {
            "speed": 30,
            "armor_class": 15,
            "current_hit_points": 60,
            "temporary_hit_points": 5,
            "hit_dice_remaining": "12d6",
            "death_saves": {"successes": 3, "failures": 3},
        },
        "attacks": [
            {"name": f"Attack {i}", "attack_bonus": i, "damage": f"{i + 1}d6"}
            for i in range(attacks + 2)
        ],
        "spells": {
            "slots": {place: {"expended": 1} for place in SPELL_LISTS[1:]},
            # Only our own form has fields for them.
            **({"pact_slots": {"total": 2, "expended": 1}} if lines is LINES else {}),
            **{
                place: [
                    {"name": f"{place} spell {i}", "prepared": True} for i in range(lines[place])
                ]
                for place in SPELL_LISTS
            },
        },
        "equipment": {
            "items": ["Backpack"],
            "currency": {"cp": 1, "sp": 2, "ep": 3, "gp": 4, "pp": 5},
        },
        "narrative": {
            **narrative,
            "faction": "Everybody",
            "treasure": "Everything.",
            "appearance": {name: f"some {name}" for name in looks},
        },
        "features": [
            {"name": f"Feature {i}", "description": "It does what it does, once a day. " * 4}
            for i in range(16)
        ],
    }
