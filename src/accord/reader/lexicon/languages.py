"""The few words of other languages by which a reply says how it went, in English.

The rules know English alone. What is told in another language is put into English word by word, as
far as it says that something was done, that it failed, or that nothing was found.
"""

import re
from typing import Final

from accord.reader.patterns import Pattern

_LONGEST: Final = 600
_LETTERS: Final = Pattern("[\u00c0-\u024f\u0400-\u052f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Those of other languages; signs and pictures are everybody's."""

_WORDS: Final = {
    "no results": """sin resultados; nenhum resultado; aucun résultat; keine ergebnisse;
        keine treffer; nessun risultato; geen resultaten; brak wyników; нет результатов;
        ничего не найдено""",
    "no results found for": """no se encontraron; não foram encontrados; não foram encontradas;
        nie znaleziono""",
    "not found": """no encontrado; no encontrada; no se encontró; no se ha encontrado;
        não encontrado; não encontrada; não foi encontrado; introuvable; non trouvé; non trouvée;
        nicht gefunden; non trovato; non trovata; niet gevonden; не найден; не найдена; не найдено;
        не найдены""",
    "found": """encontrado; encontrada; encontrados; encontradas; trouvé; trouvés; trouvées;
        gefunden; trovati; trovate; gevonden; znaleziono; найдено""",
    "does not exist": """no existe; não existe; n'existe pas; existiert nicht; non esiste;
        bestaat niet; nie istnieje; не существует""",
    "already exists": """ya existe; já existe; existe déjà; existiert bereits; existiert schon;
        esiste già; bestaat al; już istnieje; уже существует""",
    "error": "errores; erro; erros; erreur; fehler; errore; fout; błąd; ошибка",
    "failed": """falló; fallido; fallida; falhou; échoué; échec; fehlgeschlagen; gescheitert;
        fallito; mislukt; не удалось""",
    "cannot": """no se puede; no se pudo; no es posible; não foi possível; não é possível;
        impossible de; impossibile; kann nicht; konnte nicht; nie można; невозможно""",
    "invalid": """inválido; inválida; non valide; ungültig; ungültige; ungültiger; non valido;
        non valida; ongeldig; nieprawidłowy; неверный; недопустимый""",
    "missing": "falta; faltan; manquant; manquante; fehlt; fehlende; mancante; отсутствует",
    "successfully": """con éxito; exitosamente; correctamente; com sucesso; avec succès;
        erfolgreich; con successo; met succes; pomyślnie; успешно""",
    "created": """creado; creada; criado; criada; créé; créée; erstellt; angelegt; creato; creata;
        aangemaakt; utworzono; создан; создана; создано""",
    "updated": """actualizado; actualizada; atualizado; atualizada;
        aktualisiert; aggiornato; aggiornata; bijgewerkt; обновлен; обновлён; обновлена;
        обновлено""",
    "deleted": """eliminado; eliminada; borrado; borrada; excluído; excluída; removido; removida;
        deletado; apagado; supprimé; supprimée; gelöscht; entfernt; eliminato; eliminata;
        verwijderd; usunięto; удален; удалён; удалена; удалено""",
    "saved": """guardado; guardada; salvo em; enregistré; enregistrée; sauvegardé; gespeichert;
        salvato; salvata; opgeslagen; zapisano; сохранен; сохранён; сохранена; сохранено""",
    "added": """agregado; agregada; añadido; añadida; adicionado; adicionada; ajouté; ajoutée;
        hinzugefügt; aggiunto; aggiunta; toegevoegd; dodano; добавлен; добавлена; добавлено""",
    "sent": """enviado; enviada; envoyé; envoyée; gesendet; inviato; inviata; verzonden; wysłano;
        отправлен; отправлено""",
    "registered": "registrado; registrada; registriert; registrato; зарегистрирован",
    "initialized": "inicializado; inicializada; initialisé; initialisiert; inizializzato",
    "started": "iniciado; iniciada; démarré; démarrée; gestartet; avviato; запущен",
    "completed": """completado; completada; concluído; concluída; terminé; terminée; abgeschlossen;
        erledigt; completato; voltooid; завершен; завершено; выполнено""",
    "generated": "generado; generada; gerado; gerada; généré; générée; erzeugt; generato",
}
_SIGNS: Final = {  # of scripts that put no blanks between words
    "no results": "没有结果 無結果 无结果 沒有結果 結果なし 결과가\u00a0없습니다 결과\u00a0없음",
    "not found": """未找到 找不到 未能找到 見つかりませんでした 見つかりません
        찾을\u00a0수\u00a0없습니다 찾지\u00a0못했습니다""",
    "found": "找到 共有 見つかりました 찾았습니다",
    "does not exist": "不存在 存在しません 존재하지\u00a0않습니다",
    "already exists": "已存在 已经存在 既に存在 이미\u00a0존재",
    "error": "错误 錯誤 出错 エラー 오류 에러",
    "failed": "失败 失敗 실패",
    "cannot": "无法 無法 できません 할\u00a0수\u00a0없습니다",
    "invalid": "无效 無效 無効 非法 유효하지\u00a0않은 잘못된",
    "missing": "缺少 未提供 필수",
    "please provide": "请提供 請提供 请输入 請輸入 请提出 请指定 请先",
    "saved to": "已保存到 已保存至 保存到 保存至 已儲存到 に保存しました",
    "saved": "已保存 已儲存 保存しました 저장되었습니다 저장했습니다",
    "created": "已创建 已建立 作成しました 생성되었습니다 생성했습니다",
    "updated": "已修改 更新しました 업데이트되었습니다 수정되었습니다",
    "deleted": "已删除 已刪除 已移除 已清除 已清空 削除しました 삭제되었습니다 삭제했습니다",
    "added": "已添加 已新增 已加入 追加しました 추가되었습니다 추가했습니다",
    "sent": "已发送 已發送 送信しました 전송되었습니다 보냈습니다",
    "registered": "已注册 已登记 已记录 登録しました 등록되었습니다",
    "initialized": "已初始化",
    "started": "已启动 已開始 已开始 開始しました 시작되었습니다",
    "completed": "已完成 完了しました 완료되었습니다 완료했습니다",
    "generated": "已生成 生成しました",
    "executed": "已执行 已執行 実行しました 실행되었습니다",
    "set": "已设置 已設定 設定しました 설정되었습니다",
    "successfully": "正常に 성공적으로",
}
_VERBS: Final = {
    "list": "listar auflisten elencare",
    "search": "buscar pesquisar procurar chercher rechercher suchen suche cercare cerca zoeken",
    "create": "crear criar creer erstellen erstelle creare maak",
    "add": "agregar anadir adicionar ajouter hinzufuegen aggiungere aggiungi toevoegen",
    "delete": "eliminar borrar excluir apagar deletar supprimer loeschen elimina eliminare",
    "update": "actualizar atualizar aktualisieren aktualisiere aggiornare editar modificar",
    "save": "guardar salvar enregistrer speichern speichere salvare",
    "read": "leer ler lesen leggere leggi",
    "get": "obtener obter obtenir holen ottenere ottieni consultar mostrar",
    "write": "escribir escrever ecrire schreiben scrivere scrivi",
    "send": "enviar envoyer senden sende inviare invia",
    "start": "iniciar starten starte avviare avvia",
    "calculate": "calcular calculer berechnen berechne calcolare calcola",
    "analyze": "analizar analisar analysieren analizzare",
    "register": "registrieren registrare",
    "summary": "resumen resumo zusammenfassung riassunto",
    "validate": "validar valider pruefen verificar",
    "convert": "convertir konvertieren convertire",
}

MEMBERS: Final = {
    **dict.fromkeys(("errore", "erro", "erreur", "fehler", "ошибка", "错误"), "error"),
    **dict.fromkeys(("errores", "errori", "erros", "erreurs"), "errors"),
    **dict.fromkeys(
        ("successo", "exito", "éxito", "sucesso", "succes", "succès", "成功"), "success"
    ),
    **dict.fromkeys(("mensaje", "mensagem", "messaggio", "nachricht", "消息"), "message"),
}
"""Members that say how it went."""


def _pairs(table: dict[str, str], ends: str | None) -> dict[str, str]:
    return {
        " ".join(foreign.split()).replace("\u00a0", " "): english
        for english, words in table.items()
        for foreign in words.split(ends)
    }


_SPACED: Final = _pairs(_WORDS, ";")
_UNSPACED: Final = _pairs(_SIGNS, None)
_ENGLISH: Final = _SPACED | {sign: f" {english} " for sign, english in _UNSPACED.items()}
_ENGLISH["成功"] = " successfully "  # at the end of a phrase alone
VERBS: Final = _pairs(_VERBS, None)
"""The verbs in the names of tools."""


def _longest_first(words: dict[str, str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_FOREIGN: Final = Pattern(
    rf"(?<!\w)(?:{_longest_first(_SPACED)})(?!\w)|{_longest_first(_UNSPACED)}|成功(?=\W|$)"
)
"""Any of them."""


def in_english(words: str, *, is_foreign: bool = False) -> str:
    """A text whose first words are English, in small letters, if any are of another language.

    `is_foreign`: it may be of another language though no letter shows it.
    """
    head = words[:_LONGEST]
    if not is_foreign and (head.isascii() or _LETTERS.search(head) is None):
        return words
    small = head.lower()
    told = _FOREIGN.sub(lambda found: _ENGLISH[found[0]], small)
    return words if told == small else told.lstrip() + words[_LONGEST:]
