"""A form that can be filled: a blank PDF, and which of its fields is for what."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from accord.errors import ContractError
from accord.sources.sheets.blank import Blank, Field, read_blank
from accord.sources.sheets.sheet import is_key

HERE: Final = Path(__file__).parent
PAPERS: Final = ("a4", "letter")
_MOST_BYTES: Final = 64 << 20


class Form(msgspec.Struct, frozen=True):
    """A form that can be filled: as it is blank, and its fields by the key of their value."""

    blank: Blank
    fields: Mapping[str, tuple[Field, ...]]
    absent: tuple[str, ...]
    """Names in the mapping that the form does not have."""

    def has(self, key: str) -> bool:
        """Whether there is a field for a value."""
        return key in self.fields

    def rows(self, name: str) -> int:
        """How many lines there are for a list."""
        count = 0
        while f"{name}[{count}].name" in self.fields:
            count += 1
        return count

    def every_field(self) -> Iterator[Field]:
        """The fields that are for something."""
        return (field for fields in self.fields.values() for field in fields)


def load(template: Path | None = None, mapping: Path | None = None, paper: str = "a4") -> Form:
    """A form to fill: our own, or somebody's with the mapping that it needs."""
    path = template or HERE / "forms" / f"sheet-{paper}.pdf"
    blank = read_blank(_read(path), path.name)
    keys = _keys(path, blank.fields, mapping)
    named = _by_name(blank.fields)
    by_key: dict[str, tuple[Field, ...]] = {}
    for name, key in keys.items():
        if name in named:
            by_key[key] = (*by_key.get(key, ()), *named[name])
    if not by_key:
        raise ContractError(f"{path.name} has none of the fields that its mapping names")
    absent = tuple(name for name in keys if name not in named)
    return Form(blank, by_key, absent)


def _by_name(fields: Sequence[Field]) -> dict[str, tuple[Field, ...]]:
    """Fields by name: several of one name all hold its value, one that is listed twice is one."""
    named: dict[str, tuple[Field, ...]] = {}
    for field in {field.number: field for field in fields}.values():
        named[field.name] = (*named.get(field.name, ()), field)
    return named


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ContractError(f"there is no file {path.name}")
        if path.stat().st_size > _MOST_BYTES:
            raise ContractError(f"{path.name} is too large for a form")
        return path.read_bytes()
    except OSError as error:
        raise ContractError(f"cannot read {path.name}: {error.strerror}") from error


# Which field is for what


def _keys(path: Path, fields: Sequence[Field], mapping: Path | None) -> dict[str, str]:
    """The keys of a form's fields by their names."""
    if mapping is not None:
        return read_mapping(mapping)
    names = {field.name for field in fields}
    own = {name: name for name in names if is_key(name)}
    if own:
        return own
    official = read_mapping(HERE / "forms" / "official.toml")
    if len(names & official.keys()) * 2 > len(official):
        return official
    raise ContractError(
        f"{path.name} has fields that are not known here; say what they are for with --map"
    )


def list_fields(path: Path) -> list[tuple[Field, str]]:
    """The fields of a form, each with the key of its value where that is known, else nothing."""
    fields = read_blank(_read(path), path.name).fields
    try:
        keys = _keys(path, fields, None)
    except ContractError:
        keys = {}
    return [(field, keys.get(field.name, "")) for field in fields]


def read_mapping(path: Path) -> dict[str, str]:
    """A mapping file: fields by name, each with the key of its value; none where it is empty."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = msgspec.convert(read.get("fields"), dict[str, str])
    except OSError as error:
        raise ContractError(f"cannot read {path.name}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{path.name} is no mapping of fields: {reason}") from error
    fields = {name: key for name, key in fields.items() if key}
    unknown = sorted(key for key in fields.values() if not is_key(key))
    if unknown:
        named = ", ".join(unknown[:5])
        raise ContractError(f"{path.name} names values that there are not: {named}")
    return fields
