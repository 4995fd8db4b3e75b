"""The character as a caller gives it; the tool's input schema is derived from it.

Docstrings of these classes are descriptions in that schema.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta

Ability = Literal["strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma"]
ABILITIES: Final[tuple[Ability, ...]] = get_args(Ability)

Skill = Literal[
    "acrobatics",
    "animal_handling",
    "arcana",
    "athletics",
    "deception",
    "history",
    "insight",
    "intimidation",
    "investigation",
    "medicine",
    "nature",
    "perception",
    "performance",
    "persuasion",
    "religion",
    "sleight_of_hand",
    "stealth",
    "survival",
]
SKILLS: Final[tuple[Skill, ...]] = get_args(Skill)

SPELL_LISTS: Final = (
    "cantrips",
    "first_level",
    "second_level",
    "third_level",
    "fourth_level",
    "fifth_level",
    "sixth_level",
    "seventh_level",
    "eighth_level",
    "ninth_level",
)
"""The lists of spells, by level."""

ShortText = Annotated[str, Meta(max_length=500)]
LongText = Annotated[str, Meta(max_length=50_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Number = Annotated[int, Meta(ge=-1_000, le=1_000_000)]
ShortTexts = Annotated[list[ShortText], Meta(max_length=500)]


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a character; what is left out is derived, or stays blank."""


class ClassLevel(_Part, frozen=True, kw_only=True):
    """One class of a character with several, and its level in it."""

    name: ShortText
    level: Number
    subclass: ShortText | None = None


class CharacterIdentity(_Part, frozen=True, kw_only=True, rename={"class_": "class"}):
    """Who the character is."""

    name: Annotated[ShortText, Meta(min_length=1, description="Name of the character")]
    class_: Annotated[
        ShortText, Meta(description="Class, such as Fighter; of several: Paladin 5 / Sorcerer 3")
    ]
    level: Annotated[Number, Meta(description="Level in all classes together, 1 to 20")]
    race: ShortText = ""
    subclass: Annotated[ShortText | None, Meta(description="Eldritch Knight, Life Domain, …")] = (
        None
    )
    classes: Annotated[
        list[ClassLevel],
        Meta(max_length=20, description="Each class with its level, of a multiclass character"),
    ] = []
    background: ShortText = ""
    alignment: ShortText = ""
    experience_points: Count | None = None
    player_name: ShortText = ""
    inspiration: bool = False

    @property
    def levels(self) -> tuple[ClassLevel, ...]:
        """The classes, the first one first."""
        if self.classes:
            return tuple(self.classes)
        return (ClassLevel(name=self.class_, level=self.level, subclass=self.subclass),)


class Abilities(_Part, frozen=True, kw_only=True):
    """The six scores, 1 to 20 by the rules."""

    strength: Number
    dexterity: Number
    constitution: Number
    intelligence: Number
    wisdom: Number
    charisma: Number

    def __getitem__(self, ability: Ability) -> int:
        score: int = getattr(self, ability)
        return score


class Proficiencies(_Part, frozen=True, kw_only=True):
    """What the character is proficient in."""

    saving_throws: Annotated[
        list[Ability] | None, Meta(description="Left out: those of the first class")
    ] = None
    skills: list[Skill] = []
    expertise: Annotated[
        list[Skill], Meta(description="Skills whose proficiency bonus counts twice")
    ] = []
    languages: ShortTexts = []
    tools: ShortTexts = []
    weapons: Annotated[ShortTexts, Meta(description="Left out: those of the classes")] = []
    armor: Annotated[ShortTexts, Meta(description="Left out: that of the classes")] = []
    proficiency_bonus: Number | None = None
    saving_throw_bonuses: Annotated[
        dict[Ability, Number],
        Meta(
            description="Bonuses that differ from the rules",
            extra_json_schema={"propertyNames": {"enum": list(ABILITIES)}},
        ),
    ] = {}
    skill_bonuses: Annotated[
        dict[Skill, Number],
        Meta(
            description="Bonuses that differ from the rules",
            extra_json_schema={"propertyNames": {"enum": list(SKILLS)}},
        ),
    ] = {}


class DeathSaves(_Part, frozen=True, kw_only=True):
    """Death saving throws, 0 to 3 of each."""

    successes: Annotated[int, Meta(ge=0, le=3)] = 0
    failures: Annotated[int, Meta(ge=0, le=3)] = 0


class Combat(_Part, frozen=True, kw_only=True):
    """Figures for a fight; those left out are calculated."""

    armor_class: Number | None = None
    initiative: Number | None = None
    speed: Annotated[
        int | ShortText | None, Meta(description="In feet, such as 30; left out: that of the race")
    ] = None
    hit_point_maximum: Count | None = None
    current_hit_points: Number | None = None
    temporary_hit_points: Count | None = None
    hit_dice: Annotated[ShortText | None, Meta(description="All of them, such as 3d10")] = None
    hit_dice_remaining: ShortText | None = None
    passive_perception: Number | None = None
    death_saves: DeathSaves = DeathSaves()


class Attack(_Part, frozen=True, kw_only=True):
    """One attack; bonus and damage of a weapon of the SRD are calculated if left out."""

    name: ShortText
    attack_bonus: int | ShortText | None = None
    damage: Annotated[ShortText | None, Meta(description="Dice and type: 1d8+3 slashing")] = None


class Spell(_Part, frozen=True, kw_only=True):
    """One spell."""

    name: Annotated[ShortText, Meta(min_length=1)]
    level: Annotated[Number | None, Meta(description="0 for a cantrip, else 1 to 9")] = None
    prepared: bool = False


SpellList = Annotated[list[Spell], Meta(max_length=500)]


class Slots(_Part, frozen=True, kw_only=True):
    """Spell slots of one level."""

    total: Count | None = None
    expended: Count | None = None


class Spells(_Part, frozen=True, kw_only=True):
    """The spells, each in the list of its level."""

    spellcasting_class: ShortText | None = None
    spellcasting_ability: Annotated[
        Ability | None, Meta(description="Left out: that of the class, else intelligence")
    ] = None
    spell_save_dc: Number | None = None
    spell_attack_bonus: Number | None = None
    cantrips: SpellList = []
    first_level: SpellList = []
    second_level: SpellList = []
    third_level: SpellList = []
    fourth_level: SpellList = []
    fifth_level: SpellList = []
    sixth_level: SpellList = []
    seventh_level: SpellList = []
    eighth_level: SpellList = []
    ninth_level: SpellList = []
    slots: Annotated[
        dict[str, Slots],
        Meta(description="Slots by list (first_level …), where they differ from the rules"),
    ] = {}
    pact_slots: Annotated[
        Slots, Meta(description="Slots of a warlock's Pact Magic, which come back on a short rest")
    ] = Slots()

    def __getitem__(self, spell_list: str) -> list[Spell]:
        spells: list[Spell] = getattr(self, spell_list)
        return spells

    def __iter__(self) -> Iterator[tuple[str, int, int, Spell]]:
        """Yield each spell with its list, the list's level, and its index."""
        for level, spell_list in enumerate(SPELL_LISTS):
            for index, spell in enumerate(self[spell_list]):
                yield spell_list, level, index, spell

    def __bool__(self) -> bool:
        return any(self[spell_list] for spell_list in SPELL_LISTS)


class Currency(_Part, frozen=True, kw_only=True):
    """Coins."""

    cp: Count | None = None
    sp: Count | None = None
    ep: Count | None = None
    gp: Count | None = None
    pp: Count | None = None


class Item(_Part, frozen=True, kw_only=True):
    """A thing that the character carries."""

    name: ShortText
    quantity: Count = 1


class Equipment(_Part, frozen=True, kw_only=True):
    """What the character carries and wears."""

    items: Annotated[list[Item], Meta(max_length=500)] = []
    armor: Annotated[ShortText | None, Meta(description="Armor worn, such as Chain Mail")] = None
    shield: bool = False
    currency: Currency = Currency()


class Appearance(_Part, frozen=True, kw_only=True):
    """How the character looks."""

    age: ShortText = ""
    height: ShortText = ""
    weight: ShortText = ""
    eyes: ShortText = ""
    skin: ShortText = ""
    hair: ShortText = ""


class Narrative(_Part, frozen=True, kw_only=True):
    """The character's story."""

    personality_traits: LongText = ""
    ideals: LongText = ""
    bonds: LongText = ""
    flaws: LongText = ""
    backstory: LongText = ""
    allies: LongText = ""
    faction: ShortText = ""
    treasure: LongText = ""
    appearance: Appearance = Appearance()


class Feature(_Part, frozen=True, kw_only=True):
    """A feature or trait of class, race or background."""

    name: ShortText
    description: LongText = ""


class Character(_Part, frozen=True, kw_only=True):
    """Everything that a sheet can hold."""

    character: CharacterIdentity
    abilities: Annotated[Abilities, Meta(description="The six scores, 1 to 20")]
    proficiencies: Proficiencies = Proficiencies()
    combat: Combat = Combat()
    attacks: Annotated[list[Attack], Meta(max_length=200)] = []
    spells: Spells = Spells()
    equipment: Equipment = Equipment()
    narrative: Narrative = Narrative()
    features: Annotated[list[Feature], Meta(max_length=500)] = []


def titled(name: str) -> str:
    """Return a name in title case: `sleight_of_hand` is Sleight of Hand."""
    words = name.replace("_", " ").split()
    return " ".join(word if word == "of" else word.capitalize() for word in words)
