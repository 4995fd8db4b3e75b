"""A form to fill: a blank form, and the mapping of its fields to value keys."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from accord.errors import ContractError
from accord.sources.sheets.blank_form import BlankForm, FormField, read_blank_form
from accord.sources.sheets.sheet import is_key

PACKAGE: Final = Path(__file__).parent
PAPERS: Final = ("a4", "letter")
_MAX_BYTES: Final = 64 << 20


class SheetForm(msgspec.Struct, frozen=True):
    """A blank form, and its fields by value key."""

    blank: BlankForm
    fields: Mapping[str, tuple[FormField, ...]]
    absent: tuple[str, ...]
    """Field names in the mapping that the form does not have."""
    held: tuple[FormField, ...]
    """Mapped fields that the form has a value in; a sheet clears or replaces it."""
    kept: tuple[str, ...]
    """Names of other fields that the form has a value in."""

    def has(self, key: str) -> bool:
        """True if the form has a field for a key."""
        return key in self.fields

    def rows(self, name: str) -> int:
        """Return the number of rows for a list."""
        count = 0
        while f"{name}[{count}].name" in self.fields:
            count += 1
        return count

    def every_field(self) -> Iterator[FormField]:
        """Yield the mapped fields."""
        return (field for fields in self.fields.values() for field in fields)


def load(template: Path | None = None, mapping: Path | None = None, paper: str = "a4") -> SheetForm:
    """Load a form: the bundled one, or a template with its mapping."""
    path = template or PACKAGE / "forms" / f"sheet-{paper}.pdf"
    blank = read_blank_form(_read(path), path.name)
    keys = _keys(path, blank.fields, mapping)
    named = _by_name(blank.fields)
    by_key: dict[str, tuple[FormField, ...]] = {}
    for name, key in keys.items():
        if name in named:
            by_key[key] = (*by_key.get(key, ()), *named[name])
    if not by_key:
        raise ContractError(f"{path.name} has none of the fields in its mapping")
    mapped = [field for fields in by_key.values() for field in fields]
    if not any(field.is_visible for field in mapped):
        raise ContractError(
            f"{path.name} shows none of its fields: no page has a visible widget for them;"
            " fill in the form as its publisher offers it, not a copy that lost them"
        )
    absent = tuple(name for name in keys if name not in named)
    held = {field.number: field for field in mapped if field.holds_value and field.kind != "other"}
    kept = (each.name for each in blank.fields if each.holds_value and each.number not in held)
    return SheetForm(blank, by_key, absent, tuple(held.values()), tuple(dict.fromkeys(kept)))


def _by_name(fields: Sequence[FormField]) -> dict[str, tuple[FormField, ...]]:
    """Return the fields by name; of several with one name those of the first one's kind."""
    named: dict[str, tuple[FormField, ...]] = {}
    for field in fields:
        same = named.get(field.name, ())
        if not same or field.kind == same[0].kind:
            named[field.name] = (*same, field)
    return named


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ContractError(f"file {path.name} does not exist")
        if path.stat().st_size > _MAX_BYTES:
            raise ContractError(f"{path.name} is larger than {_MAX_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise ContractError(f"could not read {path.name}: {error.strerror}") from error


# Mappings


def _keys(path: Path, fields: Sequence[FormField], mapping: Path | None) -> dict[str, str]:
    """Return the keys of a form's fields by field name."""
    if mapping is not None:
        return read_mapping(mapping)
    names = {field.name for field in fields}
    by_name = {name: name for name in names if is_key(name)}
    if by_name:
        return by_name
    official = read_mapping(PACKAGE / "forms" / "official.toml")
    if len(names & official.keys()) * 2 > len(official):
        return official
    raise ContractError(f"{path.name} has unknown fields; map them with --map")


def list_fields(path: Path) -> list[tuple[FormField, str]]:
    """Return the fields of a form, each with its key, or "" if it is unknown."""
    fields = read_blank_form(_read(path), path.name).fields
    try:
        keys = _keys(path, fields, None)
    except ContractError:
        keys = {}
    return [(field, keys.get(field.name, "")) for field in fields]


def read_mapping(path: Path) -> dict[str, str]:
    """Read a mapping file: keys by field name, without empty ones."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = msgspec.convert(read.get("fields"), dict[str, str])
    except OSError as error:
        raise ContractError(f"could not read {path.name}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{path.name} is not a mapping of fields: {reason}") from error
    fields = {name: key for name, key in fields.items() if key}
    unknown = sorted(key for key in fields.values() if not is_key(key))
    if unknown:
        named = ", ".join(unknown[:5])
        raise ContractError(f"{path.name} has unknown keys: {named}")
    return fields
