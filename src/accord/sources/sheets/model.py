"""What a character is made of, as a caller gives it: the source of the tool's input schema."""

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
"""The lists of spells, each at the place of its level."""

Line = Annotated[str, Meta(max_length=500)]
Text = Annotated[str, Meta(max_length=50_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Figure = Annotated[int, Meta(ge=-1_000, le=1_000_000)]
Lines = Annotated[list[Line], Meta(max_length=500)]


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a character; what is left out is derived, or stays blank."""


class ClassLevel(_Part, frozen=True, kw_only=True):
    """One class of a character with several, and its level in it."""

    name: Line
    level: Figure
    subclass: Line | None = None


class Identity(_Part, frozen=True, kw_only=True, rename={"class_": "class"}):
    """Who the character is."""

    name: Annotated[Line, Meta(min_length=1, description="Name of the character")]
    class_: Annotated[
        Line, Meta(description="Class, such as Fighter; of several: Paladin 5 / Sorcerer 3")
    ]
    level: Annotated[Figure, Meta(description="Level in all classes together, 1 to 20")]
    race: Line = ""
    subclass: Annotated[Line | None, Meta(description="Eldritch Knight, Life Domain, …")] = None
    classes: Annotated[
        list[ClassLevel],
        Meta(max_length=20, description="Each class with its level, of a multiclass character"),
    ] = []
    background: Line = ""
    alignment: Line = ""
    experience_points: Count | None = None
    player_name: Line = ""
    inspiration: bool = False

    @property
    def levels(self) -> tuple[ClassLevel, ...]:
        """The classes, the one that the character began with first."""
        if self.classes:
            return tuple(self.classes)
        return (ClassLevel(name=self.class_, level=self.level, subclass=self.subclass),)


class Abilities(_Part, frozen=True, kw_only=True):
    """The six scores, 1 to 20 by the rules."""

    strength: Figure
    dexterity: Figure
    constitution: Figure
    intelligence: Figure
    wisdom: Figure
    charisma: Figure

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
    languages: Lines = []
    tools: Lines = []
    weapons: Lines = []
    armor: Lines = []
    proficiency_bonus: Figure | None = None
    saving_throw_bonuses: Annotated[
        dict[Ability, Figure],
        Meta(
            description="Bonuses that differ from the rules",
            extra_json_schema={"propertyNames": {"enum": list(ABILITIES)}},
        ),
    ] = {}
    skill_bonuses: Annotated[
        dict[Skill, Figure],
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

    armor_class: Figure | None = None
    initiative: Figure | None = None
    speed: Annotated[int | Line | None, Meta(description="In feet, such as 30")] = None
    hit_point_maximum: Count | None = None
    current_hit_points: Figure | None = None
    temporary_hit_points: Count | None = None
    hit_dice: Annotated[Line | None, Meta(description="All of them, such as 3d10")] = None
    hit_dice_remaining: Line | None = None
    passive_perception: Figure | None = None
    death_saves: DeathSaves = DeathSaves()


class Attack(_Part, frozen=True, kw_only=True):
    """One attack; bonus and damage of a weapon of the SRD are calculated if left out."""

    name: Line
    attack_bonus: int | Line | None = None
    damage: Annotated[Line | None, Meta(description="Dice and type: 1d8+3 slashing")] = None


class Spell(_Part, frozen=True, kw_only=True):
    """One spell."""

    name: Annotated[Line, Meta(min_length=1)]
    level: Annotated[Figure | None, Meta(description="0 for a cantrip, else 1 to 9")] = None
    prepared: bool = False


SpellList = Annotated[list[Spell], Meta(max_length=500)]


class Slots(_Part, frozen=True, kw_only=True):
    """Spell slots of one level."""

    total: Count | None = None
    expended: Count | None = None


class Spells(_Part, frozen=True, kw_only=True):
    """The spells, each in the list of its level."""

    spellcasting_class: Line | None = None
    spellcasting_ability: Annotated[
        Ability | None, Meta(description="Left out: that of the class, else intelligence")
    ] = None
    spell_save_dc: Figure | None = None
    spell_attack_bonus: Figure | None = None
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

    def __getitem__(self, place: str) -> list[Spell]:
        spells: list[Spell] = getattr(self, place)
        return spells

    def __iter__(self) -> Iterator[tuple[str, int, int, Spell]]:
        """Each spell with its list, the level of that list, and its place in it."""
        for level, place in enumerate(SPELL_LISTS):
            for index, spell in enumerate(self[place]):
                yield place, level, index, spell

    def __bool__(self) -> bool:
        return any(self[place] for place in SPELL_LISTS)


class Currency(_Part, frozen=True, kw_only=True):
    """Coins."""

    cp: Count | None = None
    sp: Count | None = None
    ep: Count | None = None
    gp: Count | None = None
    pp: Count | None = None


class Item(_Part, frozen=True, kw_only=True):
    """A thing that the character carries."""

    name: Line
    quantity: Count = 1


class Equipment(_Part, frozen=True, kw_only=True):
    """What the character carries and wears."""

    items: Annotated[list[Item], Meta(max_length=500)] = []
    armor: Annotated[Line | None, Meta(description="Armor worn, such as Chain Mail")] = None
    shield: bool = False
    currency: Currency = Currency()


class Appearance(_Part, frozen=True, kw_only=True):
    """How the character looks."""

    age: Line = ""
    height: Line = ""
    weight: Line = ""
    eyes: Line = ""
    skin: Line = ""
    hair: Line = ""


class Narrative(_Part, frozen=True, kw_only=True):
    """The character's story."""

    personality_traits: Text = ""
    ideals: Text = ""
    bonds: Text = ""
    flaws: Text = ""
    backstory: Text = ""
    allies: Text = ""
    faction: Line = ""
    treasure: Text = ""
    appearance: Appearance = Appearance()


class Feature(_Part, frozen=True, kw_only=True):
    """A feature or trait of class, race or background."""

    name: Line
    description: Text = ""


class Character(_Part, frozen=True, kw_only=True):
    """Everything that a sheet can hold."""

    character: Identity
    abilities: Annotated[Abilities, Meta(description="The six scores, 1 to 20")]
    proficiencies: Proficiencies = Proficiencies()
    combat: Combat = Combat()
    attacks: Annotated[list[Attack], Meta(max_length=200)] = []
    spells: Spells = Spells()
    equipment: Equipment = Equipment()
    narrative: Narrative = Narrative()
    features: Annotated[list[Feature], Meta(max_length=500)] = []


def titled(name: str) -> str:
    """A name as it is read: `sleight_of_hand` is Sleight of Hand."""
    words = name.replace("_", " ").split()
    return " ".join(word if word == "of" else word.capitalize() for word in words)
