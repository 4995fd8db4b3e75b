"""Replies in other languages than English: how it went, in the few words that say so."""

from typing import Any

import pytest

from accord.reader import read
from accord.reader.glossary import in_english
from reader.judging import Case, each_of, require_items, require_kind

KINDS: dict[str, list[Case]] = {
    "action": [
        ("notas_crear", {"titulo": "a"}, "✅ Nota 'a' creada"),
        ("generate_chart", {}, "图表已保存到: /tmp/a.png"),
        ("render_page", {}, "✅ 页面渲染成功\n输出目录: /tmp"),
        ("notiz", {}, "Die Notiz wurde erfolgreich gespeichert – als Entwurf für später"),
        ("taak", {}, "タスクを作成しました: 3"),
        ("imposta_limite", {}, '{"successo": true, "messaggio": "Limite aggiornato"}'),
    ],
    "error": [
        ("notas_leer", {"id": "9"}, "Nota no encontrada: «9»"),
        ("obtenir_client", {"id": "9"}, "Erreur : la fiche n'existe pas"),
        ("get_entry", {"key": "a"}, "⚠️ 条目不存在: a"),
        ("get_entry", {}, "请提供一个名字。"),
        ("leggi_voce", {}, '{"errore": "voce non trovata per 9", "suggerimento": "crearla prima"}'),
        ("zapis", {"plik": "a.txt"}, "Błąd: plik a.txt nie istnieje"),
    ],
    "single": [
        ("resumen_proyecto", {}, "📋 **Resumen:**\n\n- Archivos: 5\n- Líneas totales: 19\n- Al día: sí"),
        ("chat", {}, "Sin embargo, la nota fue creada por otra persona, según el artículo."),
    ],
}  # fmt: skip
NOTHING = [
    ("buscar_notas", "🔍 Sin resultados para 'x'."),
    ("search_notes", "Keine Ergebnisse für „x“ – bitte später erneut"),
    ("search_notes", "未找到匹配的结果"),
    ("search_sports", "'zzz'에 해당하는 종목을 찾을 수 없습니다."),
    ("list_tasks", "Nenhuma tarefa encontrada — até já"),
]


@pytest.mark.parametrize(("kind", "tool", "arguments", "reply"), each_of(KINDS))
def test_a_reply_says_how_it_went_in_its_own_language(
    kind: str, tool: str, arguments: dict[str, Any], reply: str
) -> None:
    require_kind(kind, tool, arguments, reply)


@pytest.mark.parametrize(("tool", "reply"), NOTHING)
def test_nothing_was_found_in_any_language(tool: str, reply: str) -> None:
    require_items(tool, {}, reply, 0)


def test_the_items_are_those_of_an_empty_list_under_a_foreign_name() -> None:
    reply = '{"tipo": ["a", "b"], "totale_risultati": 0, "risultati": []}'
    require_items("cerca", {"testo": "x"}, reply, 0)


def test_what_was_said_is_kept_as_it_was_said() -> None:
    reply = {"content": [{"type": "text", "text": "⚠️ 条目不存在: a"}]}
    error = read(reply, "get_entry").response.error
    assert error is not None
    assert error.message == "⚠️ 条目不存在: a"


@pytest.mark.parametrize("text", ["✅ Created it", "Sin (x) is 0.5", "plain", "", "naïve café"])
def test_what_holds_no_word_that_is_known_stays_as_it_is(text: str) -> None:
    assert in_english(text) == text
