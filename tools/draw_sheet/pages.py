"""Layout of the three pages: character, story, spells."""

from reportlab.lib.colors import white

from tools.draw_sheet.sheet import (
    BOLD_RULE,
    HAIR,
    HAIRLINE,
    INK,
    LINE,
    RULE,
    SOFT,
    WIDTH,
    Sheet,
)

ABILITIES = {
    "strength": ["athletics"],
    "dexterity": ["acrobatics", "sleight_of_hand", "stealth"],
    "constitution": [],
    "intelligence": ["arcana", "history", "investigation", "nature", "religion"],
    "wisdom": ["animal_handling", "insight", "medicine", "perception", "survival"],
    "charisma": ["deception", "intimidation", "performance", "persuasion"],
}
A, B, C = (0.0, 188.0), (202.0, 178.0), (394.0, 141.0)
"""Columns of the first page: left edge and width."""
BODY = 78.0
SHORTEST = 736.0
"""Height of the print area of Letter."""
ROWS, ROW = 25, 12.5
"""Lines of saves and skills, and the height of one at least."""
ATTACK_ROWS = 5
SPELL_COLUMNS = (
    {"cantrips": 8, "first_level": 14, "second_level": 14},
    {"third_level": 14, "fourth_level": 12, "fifth_level": 10},
    {"sixth_level": 9, "seventh_level": 9, "eighth_level": 8, "ninth_level": 8},
)


def name_of(key: str) -> str:
    return " ".join(word if word == "of" else word.capitalize() for word in key.split("_"))


def draw(sheet: Sheet) -> None:
    character(sheet)
    sheet.next_page()
    story(sheet)
    sheet.next_page()
    spells(sheet)
    sheet.canvas.showPage()


def foot(sheet: Sheet) -> None:
    label = "Rules facts from the SRD 5.1 by Wizards of the Coast LLC, CC-BY-4.0"
    sheet.text(label, 0, sheet.height + 9, size=5.9, font="Lato-Regular", color=RULE)
    sheet.text(
        str(sheet.page),
        WIDTH,
        sheet.height + 9,
        size=5.9,
        font="Lato-Regular",
        color=RULE,
        align="right",
    )


# The first page


def character(sheet: Sheet) -> None:
    _header(sheet)
    _passives(sheet)
    end = _abilities(sheet, BODY + 58)
    _text(sheet, "Proficiencies & languages", "proficiencies.other", *A, end + 8, sheet.height)
    _combat(sheet)
    _attacks(sheet, BODY + 196)
    _equipment(sheet, BODY + 372)
    _personality(sheet)
    foot(sheet)


def _header(sheet: Sheet) -> None:
    sheet.bar(0, 0, WIDTH, 2.6)
    sheet.field("character.name", 0, 14, 236, 28, size=19, tip="Character name")
    sheet.rule(0, 44, 236, BOLD_RULE, INK)
    sheet.label("Character name", 0, 53)
    fields = [
        [
            ("class_and_level", "Class & level"),
            ("background", "Background"),
            ("player_name", "Player"),
        ],
        [("race", "Race"), ("alignment", "Alignment"), ("experience_points", "Experience")],
    ]
    widths, left = (110, 84, 73), 252.0
    for column, width in enumerate(widths):
        for row in range(2):
            key, label = fields[row][column]
            y = 9 + row * 29
            sheet.field(f"character.{key}", left, y, width, 15, size=9.5, tip=label)
            sheet.rule(left, y + 15.5, width, LINE, RULE)
            sheet.label(label, left, y + 23)
        left += width + 8


def _passives(sheet: Sheet) -> None:
    x, width = A
    tiles = [
        ("proficiency_bonus", "Proficiency bonus"),
        ("passive_perception", "Passive perception"),
        ("character.inspiration", "Inspiration"),
    ]
    each = (width - 12) / 3
    for index, (key, label) in enumerate(tiles):
        _tile(sheet, key, label, x + index * (each + 6), BODY, each, 46, size=16)


def _tile(
    sheet: Sheet, key: str, label: str, x: float, y: float, width: float, height: float, size: float
) -> None:
    """Draw a number field with its label below."""
    sheet.panel(x, y, width, height)
    lines = label.split()
    sheet.field(key, x + 3, y + 3, width - 6, height - 21, size=size, align=1, tip=label)
    for index, line in enumerate(lines):
        middle = y + height - (13.2 if len(lines) > 1 else 9.6) + 7 * index
        sheet.label(line, x + width / 2, middle, align="center")


def _abilities(sheet: Sheet, y: float) -> float:
    row = _row(sheet)
    for ability, skills in ABILITIES.items():
        height = max(15 + row * (1 + len(skills)), 53)
        _token(sheet, ability, A[0], y)
        _rows(sheet, ability, skills, A[0] + 58, y, A[1] - 58)
        y += height + 4
    return y


def _row(sheet: Sheet) -> float:
    """Return the height of a line of skills: taller paper spreads them."""
    return ROW + (sheet.height - SHORTEST) / 2 / ROWS


def _token(sheet: Sheet, ability: str, x: float, y: float) -> None:
    """Draw the ability modifier in large type, with the score below."""
    sheet.panel(x, y, 46, 42, 5, stroke=RULE)
    sheet.field(
        f"modifiers.{ability}",
        x + 3,
        y + 4,
        40,
        27,
        size=19,
        align=1,
        tip=f"{name_of(ability)} modifier",
    )
    sheet.panel(x + 9, y + 34, 28, 15, 7, fill=white, stroke=RULE)
    sheet.field(
        f"abilities.{ability}", x + 11, y + 35, 24, 13, size=9.5, align=1, tip=name_of(ability)
    )


def _rows(sheet: Sheet, ability: str, skills: list[str], x: float, y: float, width: float) -> None:
    sheet.text(
        name_of(ability).upper(), x, y + 7, size=7.4, font="Lato-Heavy", color=INK, spacing=0.9
    )
    sheet.rule(x, y + 10.6, width, LINE, RULE)
    row = _row(sheet)
    lines = [(f"saves.{ability}", "Saving throw"), *((f"skills.{s}", name_of(s)) for s in skills)]
    for index, (key, label) in enumerate(lines):
        middle = y + 18.2 + index * row
        sheet.check(
            f"{key}.proficient", x + 3.2, middle, 2.7, f"{label} ({name_of(ability)}): proficient"
        )
        if key.startswith("skills"):
            sheet.check(
                f"{key}.expertise", x + 11, middle, 3.1, f"{label}: expertise", shape="diamond"
            )
        sheet.field(f"{key}.bonus", x + 16, middle - 6, 22, 11, size=8.8, align=1, tip=label)
        sheet.rule(x + 18, middle + 4.6, 18, HAIRLINE, HAIR)
        font = "Lato-Bold" if key.startswith("saves") else "Lato-Regular"
        sheet.text(label, x + 42, middle + 2.6, size=7.6, font=font, color=INK)


def _combat(sheet: Sheet) -> None:
    x, width = B
    sheet.shield(x, BODY - 1, 54, 60)
    sheet.field("combat.armor_class", x + 7, BODY + 8, 40, 24, size=20, align=1, tip="Armor class")
    sheet.label("Armor", x + 27, BODY + 40, align="center")
    _tile(sheet, "combat.initiative", "Initiative", x + 64, BODY, 53, 46, size=17)
    _tile(sheet, "combat.speed", "Speed", x + 125, BODY, 53, 46, size=15)

    y = BODY + 74
    sheet.heading("Hit points", x, y, width)
    sheet.panel(x, y + 9, width, 46)
    sheet.panel(x + 58, y + 12, 62, 40, 3, fill=white, stroke=RULE)
    sheet.field(
        "combat.hit_point_maximum", x + 5, y + 16, 48, 22, size=14, align=1, tip="Hit point maximum"
    )
    sheet.field(
        "combat.current_hit_points",
        x + 61,
        y + 15,
        56,
        25,
        size=18,
        align=1,
        tip="Current hit points",
    )
    sheet.field(
        "combat.temporary_hit_points",
        x + 125,
        y + 16,
        48,
        22,
        size=14,
        align=1,
        tip="Temporary hit points",
    )
    for label, middle in (("Maximum", 29), ("Current", 89), ("Temporary", 149)):
        sheet.label(label, x + middle, y + 48.4, align="center")

    y = BODY + 140
    sheet.field("combat.hit_dice", x, y + 2, 50, 15, size=9.5, tip="Hit dice")
    sheet.rule(x, y + 17.5, 50, LINE, RULE)
    sheet.label("Hit dice", x, y + 25)
    sheet.field("combat.hit_dice_remaining", x + 56, y + 2, 34, 15, size=9.5, tip="Hit dice left")
    sheet.rule(x + 56, y + 17.5, 34, LINE, RULE)
    sheet.label("Left", x + 56, y + 25)
    for row, label in enumerate(("successes", "failures")):
        middle = y + 1.5 + row * 11
        sheet.text(
            label.capitalize(), x + 138, middle + 2.4, size=6.6, font="Lato-Regular", align="right"
        )
        for index in range(3):
            tip = f"Death save {label[:-2] if row == 0 else label[:-1]} {index + 1}"
            sheet.check(
                f"combat.death_saves.{label}[{index}]", x + 148 + index * 12, middle, 4, tip
            )
    sheet.label("Death saves", x + width, y + 25, align="right")


def _attacks(sheet: Sheet, y: float) -> None:
    x, width = B
    sheet.heading("Attacks", x, y, width)
    columns = [
        ("name", "Attack", 0, 66),
        ("attack_bonus", "Bonus", 69, 26),
        ("damage", "Damage", 100, 78),
    ]
    for _, label, left, _ in columns:
        sheet.label(label, x + left, y + 12)
    for row in range(ATTACK_ROWS):
        top = y + 15 + row * 17
        for key, label, left, size in columns:
            align = 1 if key == "attack_bonus" else 0
            sheet.field(
                f"attacks[{row}].{key}",
                x + left,
                top,
                size,
                15,
                size=8.8,
                align=align,
                tip=f"{label} {row + 1}",
            )
            sheet.rule(x + left, top + 15.5, size, HAIRLINE, RULE)
    sheet.label("More attacks and notes", x, y + 111)
    sheet.panel(x, y + 115, width, 44)
    sheet.area("attacks.more", x + 4, y + 117, width - 8, 40, "Further attacks", size=8)


def _equipment(sheet: Sheet, y: float) -> None:
    x, width = B
    sheet.heading("Equipment", x, y, width)
    each = (width - 4 * 5) / 5
    for index, coin in enumerate(("cp", "sp", "ep", "gp", "pp")):
        left = x + index * (each + 5)
        sheet.panel(left, y + 9, each, 26)
        sheet.field(
            f"equipment.currency.{coin}",
            left + 1,
            y + 11,
            each - 2,
            13,
            size=9,
            align=1,
            tip=coin.upper(),
        )
        sheet.label(coin, left + each / 2, y + 31.5, align="center")
    sheet.panel(x, y + 40, width, sheet.height - y - 40)
    sheet.area("equipment.items", x + 4, y + 43, width - 8, sheet.height - y - 46, "Equipment")


def _personality(sheet: Sheet) -> None:
    y = BODY + 6
    parts = [
        ("Personality traits", "personality_traits", 76),
        ("Ideals", "ideals", 58),
        ("Bonds", "bonds", 58),
        ("Flaws", "flaws", 58),
    ]
    for label, key, height in parts:
        _text(sheet, label, f"narrative.{key}", *C, y, y + height + 9)
        y += height + 20
    _text(sheet, "Features & traits", "features.text", *C, y, sheet.height)


def _text(sheet: Sheet, label: str, key: str, x: float, width: float, y: float, end: float) -> None:
    """Draw a multi-line text section: heading and panel."""
    sheet.heading(label, x, y, width)
    sheet.panel(x, y + 9, width, end - y - 9)
    sheet.area(key, x + 4, y + 11.5, width - 8, end - y - 14, label)


# The second page


def story(sheet: Sheet) -> None:
    _small_header(sheet, "The story")
    names = ("age", "height", "weight", "eyes", "skin", "hair")
    each = (WIDTH - 5 * 10) / 6
    for index, name in enumerate(names):
        left = index * (each + 10)
        sheet.field(
            f"narrative.appearance.{name}", left, 58, each, 15, size=9.5, tip=name.capitalize()
        )
        sheet.rule(left, 73.5, each, LINE, RULE)
        sheet.label(name, left, 81.5)
    left, right, gap = 330.0, 190.0, 15.0
    more = sheet.height - SHORTEST
    end = 452 + more
    _text(sheet, "Backstory", "narrative.backstory", 0, left, 104, end)
    x = left + gap
    sheet.heading("Allies & organizations", x, 104, right)
    sheet.field("narrative.faction", x, 112, right, 15, size=9.5, tip="Faction")
    sheet.rule(x, 127.5, right, LINE, RULE)
    sheet.label("Faction", x, 135.5)
    sheet.panel(x, 141, right, 126)
    sheet.area("narrative.allies", x + 4, 143.5, right - 8, 121, "Allies and organizations")
    sheet.heading("Portrait", x, 286, right)
    sheet.panel(x, 295, right, end - 295, fill=white, stroke=HAIR)
    _text(sheet, "Features & traits, continued", "features.more", 0, WIDTH, end + 22, end + 172)
    _text(sheet, "Treasure & notes", "narrative.treasure", 0, WIDTH, end + 194, sheet.height)
    foot(sheet)


def _small_header(sheet: Sheet, label: str) -> None:
    sheet.bar(0, 0, WIDTH, 2.6)
    sheet.field("character.name", 0, 12, 300, 23, size=15, tip="Character name")
    sheet.rule(0, 37, WIDTH, BOLD_RULE, INK)
    sheet.title(label, WIDTH, 29, 20, SOFT, align="right")


# The third page


def spells(sheet: Sheet) -> None:
    _small_header(sheet, "Spells")
    parts = [
        ("spellcasting_class", "Spellcasting class", 0, 140, 0),
        ("spellcasting_ability", "Ability", 152, 86, 0),
        ("spell_save_dc", "Save DC", 250, 44, 1),
        ("spell_attack_bonus", "Attack bonus", 306, 58, 1),
        ("pact_slots", "Pact slots, on a short rest", 378, 116, 0),
        ("pact_slots_expended", "Used", 504, 31, 1),
    ]
    for key, label, left, width, align in parts:
        sheet.field(f"spells.{key}", left, 48, width, 20, size=13, align=align, tip=label)
        sheet.rule(left, 69, width, LINE, RULE)
        sheet.label(
            label,
            left if align == 0 else left + width / 2,
            77.5,
            "left" if align == 0 else "center",
        )
    gap = 14.0
    width = (WIDTH - 2 * gap) / 3
    for index, lists in enumerate(SPELL_COLUMNS):
        y, x = 92.0, index * (width + gap)
        lines = sum(lists.values())
        row = (sheet.height - y - 30 * len(lists)) / lines
        for level, (section, count) in enumerate(
            lists.items(), sum(map(len, SPELL_COLUMNS[:index]))
        ):
            y = _spell_list(sheet, section, level, count, x, y, width, row)
    foot(sheet)


def _spell_list(
    sheet: Sheet, section: str, level: int, count: int, x: float, y: float, width: float, row: float
) -> float:
    sheet.panel(x, y, width, 20, 3)
    sheet.bar(x, y, 2.4, 20)
    label = f"Level {level}" if level else "Cantrips"
    sheet.text(label.upper(), x + 9, y + 12.8, size=7.6, font="Lato-Heavy", color=INK, spacing=0.9)
    if level:
        _slots(sheet, section, x + width - 3, y)
    y += 22
    for index in range(count):
        middle, tip = y + row / 2, f"{name_of(section)} {index + 1}"
        left = x
        if level:
            sheet.check(
                f"spells.{section}[{index}].prepared", x + 4, middle + 0.6, 2.8, f"{tip}: prepared"
            )
            left = x + 12
        size = width - (left - x)
        sheet.field(
            f"spells.{section}[{index}].name", left, y + 0.6, size, row - 1.6, size=8.8, tip=tip
        )
        sheet.rule(left, y + row - 0.6, size, HAIRLINE, HAIR)
        y += row
    return y + 8


def _slots(sheet: Sheet, section: str, right: float, y: float) -> None:
    """Draw the total and used spell slots of a level."""
    for key, label, left in (("slots_total", "Slots", 73), ("slots_expended", "Used", 25)):
        x = right - left
        sheet.panel(x, y + 3, 25, 14, 2, fill=white, stroke=HAIR, weight=HAIRLINE)
        tip = f"{name_of(section)}: slots {label.lower().removeprefix('slots')}".strip()
        sheet.field(f"spells.{section}.{key}", x + 1, y + 3.5, 23, 13, size=9, align=1, tip=tip)
        sheet.label(label, x - 3.5, y + 12.2, align="right")
