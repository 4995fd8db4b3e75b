"""The members of a character by path, and the right place for a name that is none of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final

import msgspec
from msgspec import inspect as types

from accord.sources.sheets import model

SHORT_ABILITIES: Final = {
    **{ability[:3]: ability for ability in model.ABILITIES},
    "sleight": "sleight_of_hand",
    "animal": "animal_handling",
}
_ORDINALS: Final = ("1st", "2nd", "3rd", *(f"{n}th" for n in range(4, 10)))
ALIASES: Final[Mapping[type, Mapping[str, str]]] = {
    model.CharacterIdentity: {
        "xp": "experience_points",
        "experience": "experience_points",
        "player": "player_name",
        "species": "race",
        "archetype": "subclass",
    },
    model.Abilities: SHORT_ABILITIES,
    model.Proficiencies: {"saves": "saving_throws", "bonus": "proficiency_bonus"},
    model.Combat: {
        "ac": "armor_class",
        "hp": "hit_point_maximum",
        "hit_points": "hit_point_maximum",
        "max_hp": "hit_point_maximum",
        "hp_max": "hit_point_maximum",
        "current_hp": "current_hit_points",
        "hp_current": "current_hit_points",
        "temp_hp": "temporary_hit_points",
        "hp_temp": "temporary_hit_points",
    },
    model.Attack: {"bonus": "attack_bonus", "to_hit": "attack_bonus"},
    model.Spells: {
        "cantrip": "cantrips",
        "ability": "spellcasting_ability",
        "save_dc": "spell_save_dc",
        "attack_bonus": "spell_attack_bonus",
        **{f"level_{n}": spell_list for n, spell_list in enumerate(model.SPELL_LISTS)},
        **{f"{nth}_level": model.SPELL_LISTS[n] for n, nth in enumerate(_ORDINALS, 1)},
    },
    model.Currency: {
        "copper": "cp",
        "silver": "sp",
        "electrum": "ep",
        "gold": "gp",
        "platinum": "pp",
    },
    model.Narrative: {"personality": "personality_traits", "traits": "personality_traits"},
    model.Feature: {"text": "description"},
}
_BETWEEN_WORDS: Final = re.compile(r"[\s\-]+")
_INDEX: Final = re.compile(r"\[\d+\]")
_MAX_PLACES: Final = 3
_MIN_START: Final = 4  # letters of a name that others begin with
_MAX_NAME: Final = 60
_LIKE: Final = 0.84
"""How similar a name must be to be taken for another, from 0 to 1."""


class Member(msgspec.Struct, frozen=True):
    """A member of a character or of an object in it; `[]` in its path is any item of a list."""

    path: str
    type: types.Type
    is_required: bool
    description: str
    aliases: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2].removesuffix("[]")

    @property
    def parent(self) -> str:
        """The path of the object that has the member; empty for the character."""
        return self.path.rpartition(".")[0]


def folded(written: str) -> str:
    """Return a name in lower case, with underscores between words."""
    return _BETWEEN_WORDS.sub("_", written.strip().casefold())


@cache
def members() -> tuple[Member, ...]:
    """Return all members, each object before those in it."""
    return tuple(_members_of(types.type_info(model.Character), ""))


def _members_of(kind: types.Type, path: str) -> Iterator[Member]:
    """Yield the members of an object, of the items of a list, and of the values of a mapping."""
    kind, _ = bare(kind)
    if isinstance(kind, types.ListType):
        yield from _members_of(kind.item_type, f"{path}[]")
    elif isinstance(kind, types.DictType):
        yield from _members_of(kind.value_type, f"{path}.*")
    elif isinstance(kind, types.StructType):
        aliases = ALIASES.get(kind.cls, {})
        for field in kind.fields:
            inner = f"{path}.{field.encode_name}" if path else field.encode_name
            also = tuple(alias for alias, name in aliases.items() if name == field.encode_name)
            yield Member(inner, field.type, field.required, bare(field.type)[1], also)
            yield from _members_of(field.type, inner)


def bare(kind: types.Type) -> tuple[types.Type, str]:
    """Return a type without its description and without None, and the description."""
    description = ""
    while isinstance(kind, types.Metadata):
        description = description or str((kind.extra_json_schema or {}).get("description", ""))
        kind = kind.type
    if isinstance(kind, types.UnionType):
        kinds = [each for each in kind.types if not isinstance(each, types.NoneType)]
        if len(kinds) == 1:
            return bare(kinds[0])[0], description
    return kind, description


def right_place(path: str) -> str:
    """Return where the value of an unknown member belongs; "" if no member has a similar name.

    Its own object comes first, then members of this name, with this word, and of a similar name.
    """
    parent, _, last = path.rpartition(".")
    name, generic = folded(last), _INDEX.sub("[]", parent)
    if not 0 < len(name) <= _MAX_NAME:
        return ""
    own = [member for member in members() if member.parent == generic]
    found = _named(own, name) or _similar(own, name)
    if found:
        return f"{parent}.{found[0].name}" if parent else found[0].name
    others = [member for member in members() if "*" not in member.path]
    rules = _RULES if parent else (*_RULES, _within_words)
    found = next(filter(None, (rule(others, name) for rule in rules)), [])
    return " or ".join(member.path for member in _closest(found)[:_MAX_PLACES])


def _named(among: Sequence[Member], name: str) -> list[Member]:
    exact = [member for member in among if member.name == name]
    return exact or [member for member in among if name in member.aliases]


def _with_word(among: Sequence[Member], name: str) -> list[Member]:
    """Return members with all words of a name, or with a word that begins with it."""
    words = set(name.split("_"))
    found = [member for member in among if words <= set(member.name.split("_"))]
    return found or [
        member
        for member in among
        if len(name) >= _MIN_START and any(w.startswith(name) for w in member.name.split("_"))
    ]


def _similar(among: Sequence[Member], name: str) -> list[Member]:
    close = get_close_matches(name, {member.name for member in among}, 1, _LIKE)
    return [member for member in among if member.name in close]


def _within_words(among: Sequence[Member], name: str) -> list[Member]:
    """Return members whose words are all in a name."""
    words = set(name.split("_"))
    return [
        member
        for member in among
        if len(member.name) >= _MIN_START and set(member.name.split("_")) <= words
    ]


_RULES: Final = (_named, _with_word, _similar)


def _closest(found: Sequence[Member]) -> list[Member]:
    """Return the members that are the least deep; members of list items only if all are."""

    def depth(member: Member) -> tuple[int, int]:
        return member.path.count("[]"), member.path.count(".")

    least = min(map(depth, found), default=(0, 0))
    return [member for member in found if depth(member) == least]
