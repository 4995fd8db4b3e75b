"""The three pages: the character, the story, the spells."""

from reportlab.lib.colors import white

from template.board import BOLD_RULE, HAIR, HAIRLINE, HEIGHT, INK, LINE, RULE, SOFT, WIDTH, Board

ABILITIES = {
    "strength": ["athletics"],
    "dexterity": ["acrobatics", "sleight_of_hand", "stealth"],
    "constitution": [],
    "intelligence": ["arcana", "history", "investigation", "nature", "religion"],
    "wisdom": ["animal_handling", "insight", "medicine", "perception", "survival"],
    "charisma": ["deception", "intimidation", "performance", "persuasion"],
}
A, B, C = (0.0, 188.0), (202.0, 178.0), (394.0, 141.0)
"""The columns of the first page: where each begins, and how wide it is."""
BODY = 78.0
ROW = 12.5
ATTACK_ROWS = 5
SPELL_COLUMNS = (
    {"cantrips": 8, "first_level": 14, "second_level": 14},
    {"third_level": 14, "fourth_level": 12, "fifth_level": 10},
    {"sixth_level": 9, "seventh_level": 9, "eighth_level": 8, "ninth_level": 8},
)


def name_of(key: str) -> str:
    return " ".join(word if word == "of" else word.capitalize() for word in key.split("_"))


def draw(board: Board) -> None:
    character(board)
    board.turn()
    story(board)
    board.turn()
    spells(board)
    board.canvas.showPage()


def foot(board: Board) -> None:
    words = "Rules facts from the SRD 5.1 by Wizards of the Coast LLC, CC-BY-4.0"
    board.words(words, 0, HEIGHT + 9, size=5, font="Lato-Regular", color=RULE)
    board.words(
        str(board.page), WIDTH, HEIGHT + 9, size=5, font="Lato-Regular", color=RULE, align="right"
    )


# The first page


def character(board: Board) -> None:
    _header(board)
    _passives(board)
    end = _abilities(board, BODY + 58)
    _text(board, "Proficiencies & languages", "proficiencies.other", *A, end + 8, HEIGHT)
    _combat(board)
    _attacks(board, BODY + 196)
    _equipment(board, BODY + 372)
    _personality(board)
    foot(board)


def _header(board: Board) -> None:
    board.bar(0, 0, WIDTH, 2.6)
    board.field("character.name", 0, 14, 236, 28, size=19, tip="Character name")
    board.rule(0, 44, 236, BOLD_RULE, INK)
    board.label("Character name", 0, 53)
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
            key, words = fields[row][column]
            y = 9 + row * 29
            board.field(f"character.{key}", left, y, width, 15, size=9.5, tip=words)
            board.rule(left, y + 15.5, width, LINE, RULE)
            board.label(words, left, y + 23)
        left += width + 8


def _passives(board: Board) -> None:
    x, width = A
    tiles = [
        ("proficiency_bonus", "Proficiency bonus"),
        ("passive_perception", "Passive perception"),
        ("character.inspiration", "Inspiration"),
    ]
    each = (width - 12) / 3
    for index, (key, words) in enumerate(tiles):
        _tile(board, key, words, x + index * (each + 6), BODY, each, 46, size=16)


def _tile(
    board: Board, key: str, words: str, x: float, y: float, width: float, height: float, size: float
) -> None:
    """A figure by itself, and below it what it is."""
    board.panel(x, y, width, height)
    lines = words.split()
    board.field(key, x + 3, y + 3, width - 6, height - 21, size=size, align=1, tip=words)
    for index, line in enumerate(lines):
        middle = y + height - (13.2 if len(lines) > 1 else 9.6) + 7 * index
        board.label(line, x + width / 2, middle, align="center")


def _abilities(board: Board, y: float) -> float:
    for ability, skills in ABILITIES.items():
        height = max(15 + ROW * (1 + len(skills)), 53)
        _token(board, ability, A[0], y)
        _rows(board, ability, skills, A[0] + 58, y, A[1] - 58)
        y += height + 4
    return y


def _token(board: Board, ability: str, x: float, y: float) -> None:
    """The modifier, large, and the score it comes from."""
    board.panel(x, y, 46, 42, 5, stroke=RULE)
    board.field(
        f"modifiers.{ability}",
        x + 3,
        y + 4,
        40,
        27,
        size=19,
        align=1,
        tip=f"{name_of(ability)} modifier",
    )
    board.panel(x + 9, y + 34, 28, 15, 7, fill=white, stroke=RULE)
    board.field(
        f"abilities.{ability}", x + 11, y + 35, 24, 13, size=9.5, align=1, tip=name_of(ability)
    )


def _rows(board: Board, ability: str, skills: list[str], x: float, y: float, width: float) -> None:
    board.words(
        name_of(ability).upper(), x, y + 7, size=7.4, font="Lato-Heavy", color=INK, spacing=0.9
    )
    board.rule(x, y + 10.6, width, LINE, RULE)
    lines = [(f"saves.{ability}", "Saving throw"), *((f"skills.{s}", name_of(s)) for s in skills)]
    for index, (key, words) in enumerate(lines):
        middle = y + 18.2 + index * ROW
        board.check(
            f"{key}.proficient", x + 3.2, middle, 2.7, f"{words} ({name_of(ability)}): proficient"
        )
        if key.startswith("skills"):
            board.check(
                f"{key}.expertise", x + 11, middle, 3.1, f"{words}: expertise", shape="diamond"
            )
        board.field(f"{key}.bonus", x + 16, middle - 6, 22, 11, size=8.8, align=1, tip=words)
        board.rule(x + 18, middle + 4.6, 18, HAIRLINE, HAIR)
        font = "Lato-Bold" if key.startswith("saves") else "Lato-Regular"
        board.words(words, x + 42, middle + 2.6, size=7.6, font=font, color=INK)


def _combat(board: Board) -> None:
    x, width = B
    board.shield(x, BODY - 1, 54, 60)
    board.field("combat.armor_class", x + 7, BODY + 8, 40, 24, size=20, align=1, tip="Armor class")
    board.label("Armor", x + 27, BODY + 40, align="center")
    _tile(board, "combat.initiative", "Initiative", x + 64, BODY, 53, 46, size=17)
    _tile(board, "combat.speed", "Speed", x + 125, BODY, 53, 46, size=15)

    y = BODY + 74
    board.heading("Hit points", x, y, width)
    board.panel(x, y + 9, width, 46)
    board.panel(x + 58, y + 12, 62, 40, 3, fill=white, stroke=RULE)
    board.field(
        "combat.hit_point_maximum", x + 5, y + 16, 48, 22, size=14, align=1, tip="Hit point maximum"
    )
    board.field(
        "combat.current_hit_points",
        x + 61,
        y + 15,
        56,
        25,
        size=18,
        align=1,
        tip="Current hit points",
    )
    board.field(
        "combat.temporary_hit_points",
        x + 125,
        y + 16,
        48,
        22,
        size=14,
        align=1,
        tip="Temporary hit points",
    )
    for words, middle in (("Maximum", 29), ("Current", 89), ("Temporary", 149)):
        board.label(words, x + middle, y + 48.4, align="center")

    y = BODY + 140
    board.field("combat.hit_dice", x, y + 2, 50, 15, size=9.5, tip="Hit dice")
    board.rule(x, y + 17.5, 50, LINE, RULE)
    board.label("Hit dice", x, y + 25)
    board.field("combat.hit_dice_remaining", x + 56, y + 2, 34, 15, size=9.5, tip="Hit dice left")
    board.rule(x + 56, y + 17.5, 34, LINE, RULE)
    board.label("Left", x + 56, y + 25)
    for row, words in enumerate(("successes", "failures")):
        middle = y + 3.5 + row * 11
        board.words(
            words.capitalize(), x + 138, middle + 2.4, size=6.6, font="Lato-Regular", align="right"
        )
        for index in range(3):
            tip = f"Death save {words[:-2] if row == 0 else words[:-1]} {index + 1}"
            board.check(
                f"combat.death_saves.{words}[{index}]", x + 148 + index * 12, middle, 4, tip
            )
    board.label("Death saves", x + width, y + 25, align="right")


def _attacks(board: Board, y: float) -> None:
    x, width = B
    board.heading("Attacks", x, y, width)
    columns = [
        ("name", "Attack", 0, 72),
        ("attack_bonus", "Bonus", 76, 26),
        ("damage", "Damage", 106, 72),
    ]
    for _, words, left, _ in columns:
        board.label(words, x + left, y + 12)
    for row in range(ATTACK_ROWS):
        top = y + 15 + row * 17
        for key, words, left, size in columns:
            align = 1 if key == "attack_bonus" else 0
            board.field(
                f"attacks[{row}].{key}",
                x + left,
                top,
                size,
                15,
                size=8.8,
                align=align,
                tip=f"{words} {row + 1}",
            )
            board.rule(x + left, top + 15.5, size, HAIRLINE, RULE)
    board.label("More attacks and notes", x, y + 111)
    board.panel(x, y + 115, width, 44)
    board.area("attacks.more", x + 4, y + 117, width - 8, 40, "Further attacks", size=8)


def _equipment(board: Board, y: float) -> None:
    x, width = B
    board.heading("Equipment", x, y, width)
    each = (width - 4 * 5) / 5
    for index, coin in enumerate(("cp", "sp", "ep", "gp", "pp")):
        left = x + index * (each + 5)
        board.panel(left, y + 9, each, 26)
        board.field(
            f"equipment.currency.{coin}",
            left + 1,
            y + 11,
            each - 2,
            13,
            size=9,
            align=1,
            tip=coin.upper(),
        )
        board.label(coin, left + each / 2, y + 31.5, align="center")
    board.panel(x, y + 40, width, HEIGHT - y - 40)
    board.area("equipment.items", x + 4, y + 43, width - 8, HEIGHT - y - 46, "Equipment")


def _personality(board: Board) -> None:
    y = BODY + 6
    parts = [
        ("Personality traits", "personality_traits", 76),
        ("Ideals", "ideals", 58),
        ("Bonds", "bonds", 58),
        ("Flaws", "flaws", 58),
    ]
    for words, key, height in parts:
        _text(board, words, f"narrative.{key}", *C, y, y + height + 9)
        y += height + 20
    _text(board, "Features & traits", "features.text", *C, y, HEIGHT)


def _text(board: Board, words: str, key: str, x: float, width: float, y: float, end: float) -> None:
    """A section of running text: its heading, and a panel down to its end."""
    board.heading(words, x, y, width)
    board.panel(x, y + 9, width, end - y - 9)
    board.area(key, x + 4, y + 11.5, width - 8, end - y - 14, words)


# The second page


def story(board: Board) -> None:
    _small_header(board, "The story")
    names = ("age", "height", "weight", "eyes", "skin", "hair")
    each = (WIDTH - 5 * 10) / 6
    for index, name in enumerate(names):
        left = index * (each + 10)
        board.field(
            f"narrative.appearance.{name}", left, 58, each, 15, size=9.5, tip=name.capitalize()
        )
        board.rule(left, 73.5, each, LINE, RULE)
        board.label(name, left, 81.5)
    left, right, gap = 330.0, 190.0, 15.0
    _text(board, "Backstory", "narrative.backstory", 0, left, 104, 452)
    x = left + gap
    board.heading("Allies & organizations", x, 104, right)
    board.field("narrative.faction", x, 112, right, 15, size=9.5, tip="Faction")
    board.rule(x, 127.5, right, LINE, RULE)
    board.label("Faction", x, 135.5)
    board.panel(x, 141, right, 126)
    board.area("narrative.allies", x + 4, 143.5, right - 8, 121, "Allies and organizations")
    board.heading("Portrait", x, 286, right)
    board.panel(x, 295, right, 157, fill=white, stroke=HAIR)
    _text(board, "Features & traits, continued", "features.more", 0, WIDTH, 474, 624)
    _text(board, "Treasure & notes", "narrative.treasure", 0, WIDTH, 646, HEIGHT)
    foot(board)


def _small_header(board: Board, words: str) -> None:
    board.bar(0, 0, WIDTH, 2.6)
    board.field("character.name", 0, 12, 300, 23, size=15, tip="Character name")
    board.rule(0, 37, WIDTH, BOLD_RULE, INK)
    board.title(words, WIDTH, 29, 20, SOFT, align="right")


# The third page


def spells(board: Board) -> None:
    _small_header(board, "Spells")
    parts = [
        ("spellcasting_class", "Spellcasting class", 0, 190, 0),
        ("spellcasting_ability", "Ability", 206, 104, 0),
        ("spell_save_dc", "Save DC", 326, 92, 1),
        ("spell_attack_bonus", "Attack bonus", 434, 101, 1),
    ]
    for key, words, left, width, align in parts:
        board.field(f"spells.{key}", left, 48, width, 20, size=13, align=align, tip=words)
        board.rule(left, 69, width, LINE, RULE)
        board.label(
            words,
            left if align == 0 else left + width / 2,
            77.5,
            "left" if align == 0 else "center",
        )
    gap = 14.0
    width = (WIDTH - 2 * gap) / 3
    for index, lists in enumerate(SPELL_COLUMNS):
        y, x = 92.0, index * (width + gap)
        lines = sum(lists.values())
        row = (HEIGHT - y - 30 * len(lists)) / lines
        for level, (place, count) in enumerate(lists.items(), sum(map(len, SPELL_COLUMNS[:index]))):
            y = _spell_list(board, place, level, count, x, y, width, row)
    foot(board)


def _spell_list(
    board: Board, place: str, level: int, count: int, x: float, y: float, width: float, row: float
) -> float:
    board.panel(x, y, width, 20, 3)
    board.bar(x, y, 2.4, 20)
    words = f"Level {level}" if level else "Cantrips"
    board.words(words.upper(), x + 9, y + 12.8, size=7.6, font="Lato-Heavy", color=INK, spacing=0.9)
    if level:
        _slots(board, place, x + width - 3, y)
    y += 22
    for index in range(count):
        middle, tip = y + row / 2, f"{name_of(place)} {index + 1}"
        left = x
        if level:
            board.check(
                f"spells.{place}[{index}].prepared", x + 4, middle + 0.6, 2.8, f"{tip}: prepared"
            )
            left = x + 10
        size = width - (left - x)
        board.field(
            f"spells.{place}[{index}].name", left, y + 0.6, size, row - 1.6, size=8.8, tip=tip
        )
        board.rule(left, y + row - 0.6, size, HAIRLINE, HAIR)
        y += row
    return y + 8


def _slots(board: Board, place: str, right: float, y: float) -> None:
    """Slots of a level: all of them, and those that are spent."""
    for key, words, left in (("slots_total", "Slots", 73), ("slots_expended", "Used", 25)):
        x = right - left
        board.panel(x, y + 3, 25, 14, 2, fill=white, stroke=HAIR, weight=HAIRLINE)
        tip = f"{name_of(place)}: slots {words.lower().removeprefix('slots')}".strip()
        board.field(f"spells.{place}.{key}", x + 1, y + 3.5, 23, 13, size=9, align=1, tip=tip)
        board.label(words, x - 3.5, y + 12.2, align="right")
