"""A character as people write it, into the form that the schema describes.

Names may have another case or a short form (`STR`, `Sleight of Hand`, `gold`), a name may stand
where an object with a name is meant, a list where its object is. What is wrong stays as it is, for
the schema to say so.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import inspect as types

from accord.model.arguments import path_of
from accord.sources.sheets import model
from accord.sources.sheets.srd import class_name

Steps = tuple[str | int, ...]

_SHORT: Final = {
    **{ability[:3]: ability for ability in model.ABILITIES},
    "sleight": "sleight_of_hand",
    "animal": "animal_handling",
}
_ORDINALS: Final = ("1st", "2nd", "3rd", *(f"{n}th" for n in range(4, 10)))
_ALIASES: Final[Mapping[type, Mapping[str, str]]] = {
    model.Identity: {
        "xp": "experience_points",
        "experience": "experience_points",
        "player": "player_name",
        "species": "race",
        "archetype": "subclass",
    },
    model.Abilities: _SHORT,
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
        **{f"level_{n}": place for n, place in enumerate(model.SPELL_LISTS)},
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
_MAIN_LIST: Final[Mapping[type, str]] = {
    model.Equipment: "items",
    model.Proficiencies: "skills",
}
_BETWEEN_ITEMS: Final = re.compile(r"[,;\n]")
_BETWEEN_CLASSES: Final = re.compile("[/,;]")
_BETWEEN_WORDS: Final = re.compile(r"[\s\-]+")
_CLASS_WITH_LEVEL: Final = re.compile(
    r"(?P<name>[^\d(]+?) ?(?:\((?P<sub>[^)]*)\))? ?(?P<level>\d{1,9})"
)
_CLASS_WITH_SUBCLASS: Final = re.compile(r"(?P<name>[^(]+?) ?\((?P<sub>[^)]*)\)")
_LONGEST_CLASS: Final = 500


_CHARACTER: Final = types.type_info(model.Character)


class Tidy:
    """One reading of what somebody wrote; `unknown` are the paths that mean nothing to us."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def character(self, given: Any) -> Any:
        """A whole character."""
        return self._value(_moved(given), _CHARACTER, ())

    def _value(self, value: Any, kind: types.Type, path: Steps) -> Any:
        while isinstance(kind, types.Metadata):
            kind = kind.type
        reader = _READERS.get(type(kind))
        return value if reader is None else reader(self, value, kind, path)

    def _struct(self, value: Any, kind: types.StructType, path: Steps) -> Any:
        if isinstance(value, str) and _takes_name(kind):
            value = {"name": value}
        if isinstance(value, list) and kind.cls in _MAIN_LIST:
            value = {_MAIN_LIST[kind.cls]: value}
        if not isinstance(value, dict):
            return value
        fields = {field.encode_name: field.type for field in kind.fields}
        aliases = _ALIASES.get(kind.cls, {})
        tidy: dict[str, Any] = {}
        for name, each in sorted(value.items(), key=lambda pair: pair[0] not in fields):
            known = _known(name, fields, aliases)
            if known is None or known in tidy:  # its own name comes first, and only one counts
                self.unknown.append(path_of([*path, name]))
            elif each is not None:
                tidy[known] = self._value(each, fields[known], (*path, known))
        return _with_classes(tidy) if kind.cls is model.Identity else tidy

    def _list(self, value: Any, kind: types.ListType, path: Steps) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in _BETWEEN_ITEMS.split(value) if part.strip()]
        if not isinstance(value, list):
            return value
        return [self._value(each, kind.item_type, (*path, i)) for i, each in enumerate(value)]

    def _dict(self, value: Any, kind: types.DictType, path: Steps) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            self._value(name, kind.key_type, path): self._value(
                each, kind.value_type, (*path, name)
            )
            for name, each in value.items()
        }

    def _literal(self, value: Any, kind: types.LiteralType, path: Steps) -> Any:
        if not isinstance(value, str):
            return value
        name = _name(value)
        name = _SHORT.get(name, name)
        return name if name in kind.values else value

    def _union(self, value: Any, kind: types.UnionType, path: Steps) -> Any:
        for each in kind.types:
            value = self._value(value, each, path)
        return value

    def _int(self, value: Any, kind: types.IntType, path: Steps) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


_READERS: Final[Mapping[type, Callable[..., Any]]] = {
    types.StructType: Tidy._struct,
    types.ListType: Tidy._list,
    types.DictType: Tidy._dict,
    types.LiteralType: Tidy._literal,
    types.UnionType: Tidy._union,
    types.IntType: Tidy._int,
}


def _takes_name(kind: types.StructType) -> bool:
    return any(field.name == "name" for field in kind.fields) and kind.cls is not model.Identity


def _name(written: str) -> str:
    return _BETWEEN_WORDS.sub("_", written.strip().casefold())


def _known(name: str, fields: Mapping[str, Any], aliases: Mapping[str, str]) -> str | None:
    if name in fields:
        return name
    folded = _name(name)
    folded = aliases.get(folded, folded)
    return folded if folded in fields else None


def _moved(given: Any) -> Any:
    """The spellcasting ability beside the name, where some put it, moved to the spells."""
    who = given.get("character") if isinstance(given, dict) else None
    if not isinstance(who, dict) or "spellcasting_ability" not in who:
        return given
    spells = given.get("spells") or {}
    if not isinstance(spells, dict):
        return given
    who = dict(who)
    ability = who.pop("spellcasting_ability")
    return {**given, "character": who, "spells": {"spellcasting_ability": ability, **spells}}


def _with_classes(who: dict[str, Any]) -> dict[str, Any]:
    """`Paladin 5 / Sorcerer 3` as two classes; class and level from the classes if left out."""
    written = _written_class(who)
    if written is not None and not who.get("classes"):
        parts = [
            _CLASS_WITH_LEVEL.fullmatch(part.strip()) for part in _BETWEEN_CLASSES.split(written)
        ]
        if all(parts):
            who = {**who, "classes": [_class_level(part) for part in parts if part]}
    classes = _classes(who.get("classes"))
    if not classes:
        return _with_proper_class(who)
    who.setdefault("class", " / ".join(f"{each['name']} {each['level']}" for each in classes))
    who.setdefault("level", sum(each["level"] for each in classes))
    return who


def _written_class(who: dict[str, Any]) -> str | None:
    """What stands for the class, each blank once; what is too long is the schema's to refuse."""
    written = who.get("class")
    if not isinstance(written, str) or len(written) > _LONGEST_CLASS:
        return None
    return " ".join(written.split())


def _class_level(part: re.Match[str]) -> dict[str, Any]:
    subclass = {"subclass": part["sub"]} if part["sub"] else {}
    name = class_name(part["name"]) or part["name"]
    return {"name": name, "level": int(part["level"]), **subclass}


def _with_proper_class(who: dict[str, Any]) -> dict[str, Any]:
    """`fighter (champion)` as a class and a subclass, written as the SRD does."""
    written = _written_class(who)
    if written is None:
        return who
    if found := _CLASS_WITH_SUBCLASS.fullmatch(written):
        who = {"subclass": found["sub"], **who, "class": found["name"]}
    return {**who, "class": class_name(who["class"]) or who["class"]}


def _classes(given: Any) -> list[dict[str, Any]]:
    """Classes that have a name and a level each; none if one of them does not."""
    if not isinstance(given, list):
        return []
    is_whole = all(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and type(each.get("level")) is int
        for each in given
    )
    return given if is_whole else []


def tidy(given: Any) -> tuple[Any, list[str]]:
    """A character in the schema's own form, and the paths in it that nobody knows."""
    reading = Tidy()
    return reading.character(given), reading.unknown
