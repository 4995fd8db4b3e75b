"""What the answers of servers mean that answer in ways of their own."""

import json
from typing import Any

import pytest

from accord.reader import read
from reader.judging import Case, each_of, require_items, require_kind

ERRORS: list[Case] = [
    ("task_status", {}, '{"taskId": "9", "status": "not_found", "error": "Task not found"}'),
    (
        "edit_block",
        {"path": "a"},
        '{"message": "Text not found", "path": "a", "expected": 1, "actual": 0, "old": "x",'
        ' "status": "not_found", "risk": {"level": "low"}, "backup": null}',
    ),
    (
        "tracker_request",
        {"method": "post"},
        "<insecure-content-36ae7a7c>\nstatus_code: 422\nbody:\n  errors:\n  - No subject\n"
        "error: 'Unprocessable Entity'\n</insecure-content-36ae7a7c>",
    ),
    (
        "note_write",
        {},
        '{"status": "error", "path": "a", "hash": "", "errors": [{"code": "E_HASH"}]}',
    ),
    ("get_persona", {"name": "no"}, "❌ Persona 'no' not found.\n\nAvailable personas: a, b"),
    ("get_project", {"slug": "no"}, '{"found": false, "known": ["a", "b"]}'),
    ("search_docs", {}, "## Not logged in\n\nPlease login first:\n\n```bash\nx login\n```"),
    (
        "fhir_read",
        {},
        '{"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": "x"}]}',
    ),
    ("geocode", {"name": "x"}, 'Error: [{"code": "too_small", "message": "at least 2"}]'),
    (
        "test_request",
        {"url": "/users/9"},
        '{"request": {"url": "/users/9"}, "response": {"statusCode": 404, "statusText": "Not Found",'
        ' "body": {"error": "no user"}}}',
    ),
    (
        "get_summary",
        {"path": "a.py"},
        '{"status": "needs_index", "message": "Index not available. Please build it first."}',
    ),
    ("analyze_commit", {"sha": "0"}, "Error: git show failed: fatal: bad revision\nUse '--' to…"),
    (
        "run_code",
        {"code": "1/0"},
        "Ran in session 1:\n\nTraceback (most recent call last):\n  File x\nZeroDivisionError: no\n",
    ),
    ("write_file", {"path": "a.py"}, "File 'a.py' exists. Use overwrite=True to replace."),
    ("get_entry", {"key": "a"}, "未找到key 'a' 的条目。"),
    ("extract_structure", {"table": 4}, "提取表格 4 结构失败"),
    (
        "rest_request",
        {},
        '{"result": {"code": "42703", "details": null, "hint": null,'
        ' "message": "column a.b does not exist"}}',
    ),
    ("get_guide", {"name": "x"}, "Unknown guide: 'x'\n\nAvailable guides: contexts, lazy"),
    ("browse_methods", {"kind": "x"}, "Unknown category: x\n\nValid options: frames, series"),
    (
        "check_job_status",
        {"id": "x"},
        '{"success": true, "status": "not_found", "message": "Job x not'
        ' found. It may have been cleared."}',
    ),
    ("check_auth", {"t": 5}, '{"valid": false, "error": "Token expired", "success": false}'),
    ("get_profile", {}, "No profile found"),
    ("read_pages", {"range": "9"}, '{"error": "No valid pages in range 9.", "page_count": 3}'),
    (
        "get_schema",
        {"name": "No"},
        '{"name": "No", "schema": {}, "message": "Model \'No\' not found"}',
    ),
    (
        "load_data",
        {"path": "x"},
        '{"valid": false, "message": "Invalid path or URL", "rows": null}',
    ),
    (
        "execute_command",
        {"command": "no"},
        '{"status": "error", "command": "no", "args": [], "options": {}, "stdout": "", "stderr": "",'
        ' "exception": {"type": "CommandError", "message": "Unknown command"}}',
    ),
    ("read_part", {"path": "a"}, "Reference file not found, maybe it is a broken link."),
    ("search_log_file", {"pattern": "["}, "Error: Invalid pattern: unterminated set"),
    ("analyze_text", {"text": "a"}, "Error analyzing text: \n*****\n  Resource 'x' not found.\n"),
    (
        "get_deadlines",
        {"year": 1},
        '{"status": "error", "data": {"year": 1}, "error": "Name or service not known"}',
    ),
    ("lookup_term", {"term": "x"}, '{"found": false, "entry": null}'),
    ("request", {}, '{"status": 404, "statusText": "Not Found", "response": {"error": "no item"}}'),
    ("get_readme", {"name": "a"}, "No README found for **a**.\n\nSee the page: https://x/a"),
    ("get_download_stats", {"name": "is-odd"}, 'Package "is-odd" not found or has no downloads.'),
    ("get_changelog", {"n": "ab"}, "**ab** has no repository — cannot fetch changelog.\nAt: none"),
    ("delete_link", {"id": 1}, "Error: set confirm=true to delete.\n\nThis removes the link."),
    ("fetch_json", {"url": "a"}, "Failed to call tool, error: URL must use http"),
    ("update_book_status", {"id": 99}, "Book 99 not found."),
    ("list_breakpoints", {}, "No active debugging session. Use start_debug first."),
    ("get_symbol", {"name": "Dog"}, '{"errors": [{"code": "not_found"}], "found": false}'),
    (
        "batch_fetch",
        {},
        '[{"url": "a", "method": "GET", "pattern": "", "success": false, "error": "it is not'
        ' allowed"}]',
    ),
]
ACTIONS: list[Case] = [
    (
        "execute_command",
        {"command": "sleep 9"},
        "Command started with PID 15537\nInitial output:\n\n"
        "Command is still running. Use read_output to get more output.",
    ),
    ("page_search_replace_all", {}, '{"success": true, "replacements_made": 1}'),
    ("html_to_markdown", {}, "Successfully converted and saved to: /a.md\n\nTitle: Doc"),
    ("snapshot_scene", {}, 'Snapshot "v1" saved (3 things)\n\n{"success": true, "name": "v1"}'),
    ("transform_json", {}, '{"outputFile": "/b.json", "operation": "flat", "status": "success"}'),
    (
        "verify_task",
        {},
        "## Done\n\nTask 1 has been successfully marked as completed.\n\nNow rest.",
    ),
    ("query_graphql", {"query": "mutation { addUser { id } }"}, '{"data": {"addUser": {"id": 6}}}'),
    ("cache_file", {}, "Cached file: a.txt\nSize: 5 bytes"),
    ("shell_run", {"command": "sleep 9"}, '{"job_id": "1", "status": "running", "pid": 7}'),
    ("advance_status", {}, '{"success": true, "previous_status": "todo", "new_status": "done"}'),
    ("project_research_add", {}, '{"data": {"id": 1, "content": "it is fine"}, "success": true}'),
    ("load_folder", {}, '{"status": "success", "successful_loads": 2, "files": [{"name": "a"}]}'),
    ("export_scene", {}, '{"path": "/tmp/a.pdf", "pages": [1, 2]}'),
    (
        "open_diagram",
        {},
        "Editor URL:\nhttps://x/y\n\nThe diagram has been opened in your browser.",
    ),
    ("tmux_new_session", {"name": "a"}, '{"id": "$0", "name": "a"}'),
    ("make_move", {}, '{"move": "e4", "over": false}'),
    ("assembly__merge_pdfs", {}, '{"success": true, "inputs": [{"path": "a"}, {"path": "b"}]}'),
    ("process_order", {}, '{"id": 5, "status": "done"}'),
    ("capture_payment", {}, '{"payment": {"id": 5}}'),
    ("export_to_s3", {}, '{"bucket": "b", "parts": [1]}'),
    ("pack_repository", {}, '{"outputId": "1", "files": 3}'),
    ("raster_convert", {"to": "b"}, '{"output": {"path": "b", "size": 5}, "driver": "x"}'),
    ("load_csv", {"path": "a"}, '{"message": "Successfully loaded CSV file", "session_id": "1"}'),
    ("load_spec", {"path": "a"}, "Successfully loaded spec: Pets v1.0 with 2 paths"),
    ("project_log", {"action": "a"}, '{"logged": {"action": "a"}, "entries": 1}'),
    ("diagram_preview", {}, "Diagram rendered successfully and opened in browser.\nFile: a.svg"),
    ("persist_context", {}, "✅ PERSISTENCE SETUP COMPLETE!\n\nConfigured for: a"),
    ("book_import_list", {}, "Imported 2 books into your library."),
    ("shelf_review_book", {}, "Review added for 'Dune': 5/5\nGreat"),
    ("build_project", {}, "Build succeeded in 3.2s"),
]
SINGLES: list[Case] = [
    ("get_settings", {}, '{"settings": {}}'),
    ("get_headers", {}, '{"headers": {}}'),
    ("execute_command", {"command": "cat log"}, "INFO started with pid 77\nGET / 200\nGET /a 404"),
    ("generate_theme", {}, "// Generated by theme-tool\nimport Theme\n\nextension Color {\n}\n"),
    ("get_usage_examples", {}, "import { A } from 'a';\n\nfunction b() {\n  return A;\n}"),
    ("roll_dice", {}, '{"result": {"total": 9, "dice": [{"value": 4}, {"value": 5}]}}'),
    ("get_cleanup_hints", {}, '{"current_folder_size_mb": 0, "current_file_count": 0}'),
    ("process_get_run", {"id": 1}, '{"run_id": "1", "command": "ls", "status": "completed"}'),
    ("export_scene", {}, '{"type": "scene", "version": 2, "elements": [{"id": 1}, {"id": 2}]}'),
    ("export_graph", {}, '{"content": "graph TD\\n  a --> b"}'),
    ("get_symbol_body", {}, json.dumps({
        "symbol": "f", "type": "function", "path": "a.py", "line": 1, "code": "def f():\n  pass",
        "truncated": False, "called_by": ["main"]})),
    ("get_bounds", {}, '{"status": "success", "bounds": [0.0, 1.0, 3.0, 7.0]}'),
    ("intersection", {}, '{"status": "success", "geometry": "POINT EMPTY", "message": "Intersection'
     ' created successfully"}'),
    ("is_valid", {}, '{"is_valid": false, "message": "Validation completed successfully"}'),
    ("project_summary", {}, '{"success": true, "summary": {"epic": {"todo": 1}}}'),
    ("generate_report", {}, json.dumps({"status": "success", "report": "# All\n" + "words " * 50})),
    ("constraint_validate", {}, '{"valid": false, "error": "Invalid character at 2"}'),
    ("call_function", {"function_name": "get_pet"}, '{"id": 3, "name": "Tom"}'),
    ("convert_to_markdown", {"uri": "a"}, "# Menu\n\n| Dish | Price |\n| --- | --- |\n| Soup | 4 |"),
    ("get_best_practices", {}, "You write code.\n\n## Types\n\n- be strict\n\n## Tests\n\n- write some"),
    ("compare_components", {}, '{"a": {"name": "x"}, "b": {"name": "y"}, "common": ["p", "q"]}'),
    ("best_trial", {}, '{"trial_number": 0, "params": {"t": 2.0}, "values": [3.5]}'),
    ("index_mapping", {}, 'Mapping for books:\n{"books": {"mappings": {"title": {"type": "text"}}}}'),
    ("validate_query", {"query": "CREATE (n)"}, '{"valid": false, "errors": ["it writes"]}'),
    ("get_match", {}, '{"team1": {"score": 1}, "team2": {"score": 3}, "winner": "team2"}'),
    ("get_flight_status", {}, "The flight has been cancelled."),
    ("get_weather", {"place": "a"}, "Rain started. Expect more."),
    ("check_health", {}, "No issues found."),
    ("weather", {}, '{"cached": true, "temp": 5}'),
    ("render_chart", {}, '{"status": "success", "content": [{"type": "text", "text": "pie\\n a"}]}'),
    ("content_best_practices", {}, "#### YAML\n\n- [ ] Indent\n- [ ] Quote\n\n#### Names\n\n- [ ] Short"),
    ("calculator", {"e": "1+1"}, "{'success': True, 'result': 2.5}"),
    ("health", {}, "ok"),
    ("json_skeleton", {}, '{"cells": [{"a": 1}, {"a": 2}], "metadata": {"b": 1}}'),
    ("simulate_sight", {}, '{"original": "#f00", "simulated": "#990"}'),
    ("check_balance", {}, '{"balance": [0.0, 0.0], "is_balanced": true, "parts": [1.0, 1.0]}'),
    ("build_regex", {}, '{"pattern": "[0-9]+", "type": "number"}'),
    ("delete_project", {"id": 1}, "⚠️ This deletes **a**.\n\nCall again with `confirm=True`."),
    ("delete_project", {"id": 1}, '{"requires_confirmation": true, "project": "a"}'),
    ("env_status", {}, '{"ok": false, "docker": {"running": false}, "env": {"exists": false}}'),
    ("summarize_logs", {}, '{"summary": "Four lines.", "count": 4, "top_messages": ["a"]}'),
    ("get_market_insights", {}, "**Market**\n\n• Total jobs: 12\n• Mean pay: 3\n• Top: a"),
    ("get_log", {}, "error: disk full\nwarning:\ninfo: ok"),
    ("get_status", {}, "status: ok\nerror: none\nready: true"),
    ("get_har", {}, '{"request": {"url": "/x"}, "response": {"status": 500}}'),
    ("chat", {}, "人无完人,不存在完美的人。"),
    ("get_feed", {"id": 1}, json.dumps({
        "id": 1, "url": "x", "title": "News", "site": "y", "category_id": 1, "fetched": "t",
        "etag": None, "created": "t", "unread_count": 0})),
]  # fmt: skip
LISTS: list[tuple[str, dict[str, Any], str, int]] = [
    ("tracker_request", {}, "<insecure-content-99cbcc12>\nstatus_code: 200\nbody:\n  issues:\n"
     "  - id: 1\n    subject: Slow\n  - id: 2\n    subject: Lost\nerror: ''\n</insecure-content-99cbcc12>", 2),
    ("tool", {"args": ["board", "list"]}, "No boards created yet.\n", 0),
    ("tool", {"args": ["task", "list"]}, "- a\n- b", 2),
    ("test_list", {}, "Listing tests:\n  [id=1] a.js:2 > adds\n  [id=2] a.js:3 > fails\n"
     "Total: 2 tests in 1 file", 2),
    ("get_metrics", {}, '[{"name": "a", "parameters": {"x": "What x is"}},'
     ' {"name": "b", "parameters": {"y": "What y is"}}]', 2),
    ("list_directory", {}, "Directory: /a\nEntries: 2\n\n📄 a.py (file)\n📄 b.py (file)", 2),
    ("list_threads", {}, '## Threads (2 total)\n\n### 1. `a`\nStatus: x\nMetadata: {"id":"1"}\n\n'
     '### 2. `b`\nStatus: y\nMetadata: {"id":"2"}', 2),
    ("list_projects", {}, "attic,garden", 2),
    ("list_rules", {}, "2 rules\na/alt (A) — Images must have a text. Add one to each.\nb/svg (A) — So must"
     " drawings. Add a title.", 2),
    ("audit_page", {}, "Found 1 violation:\n\n1. [CRITICAL] a/alt\n   Image without text.\n   At: img", 1),
    ("list_databases", {}, "No .db, .sqlite, or .sqlite3 files found in /www", 0),
    ("query", {"sql": "select 1 where 0"}, "Rows: 0\n\n(No columns returned)", 0),
    ("find_usages", {}, "# usages of 'z'  a.py  [0 occurrences]\n\n'z' does not appear here.", 0),
    ("model_ps", {}, "**models:**\n  _empty array_", 0),
    ("list_decisions", {}, "## Decisions\n\n**Total:** 1 decision(s)\n\n| ID | Title |\n|----|----|\n"
     "| 2 | Use it |\n\n---\n**Tools:** `add`", 1),
    ("list_items", {}, "Found 4 items in @a:\n\nShowing items 1-2 of 4:\n\n- button - A button\n"
     "  Add: `x button`\n\n- card - A card\n  Add: `x card`\n\nMore items available.", 2),
    ("search_docs", {}, "## API\n**Path:** `a.md`\n**Score:** 0.2\n\n**Part:**\n```\n# API\nx\n```\n",
     1),
    ("list_templates", {}, '{"a": "Clean design", "b": "Old format", "c": "No frills"}', 3),
    ("list_variables", {}, '{"status": "ok", "total": 2, "variables": {"x": {"a": 1}, "y": {"b": 2}}}',
     2),
    ("list_units", {}, '{"units": {"mass": ["kg", "g"], "time": ["s"]}}', 2),
    ("list_documents", {}, "Documents:\n  doc-1 - Guide (type: other, tags: (none), at: 9 (UTC))", 1),
    ("filter_table_names", {"q": "ord"}, "orders", 1),
    ("context_get", {}, "No matching context found", 0),
    ("get_gear", {}, "No gear found.", 0),
    ("list_milestones", {}, "Milestones (1):\n  - m-0: Spring\n\nArchived (0):\n  (none)", 1),
    ("read_directory", {}, '{"path": "/a", "contents": ["(empty directory)"], "totalItems": 0}', 0),
    ("list_loaded_tables", {}, '{"run_id": "1", "status": "success", "message": "No tables loaded."}',
     0),
    ("run_query", {"query": "select 1"}, '{"status": "success", "message": "Query executed'
     ' successfully. No results returned."}', 0),
    ("list_tasks", {}, "## 通知\n\n目前系統中沒有任何任務。請先使用工具。", 0),
    ("find_references", {}, "Found 2 references for f\n\nReferences:\n  a.ts:4 - f()\n  b.ts:1 - f", 2),
    ("list_sheets", {}, '{"ok": true, "warnings": [], "roots": ["/a"], "workbooks": [{"path": "b"}]}',
     1),
    ("list_tables", {}, "[sqlite]\nTable: a\nURI: x\n---\nTable: b\nURI: y\n---", 2),
    ("list_layouts", {}, "=== LAYOUTS ===\n\n 0: Title - first\n    Parts: a, b\n 1: Plain - second\n"
     "    Parts: c", 2),
    ("run_sql", {"sql": "select * from a"}, "<table><tr><th>id</th><th>name</th></tr></table>", 0),
    ("list_collections", {}, "__NO_COLLECTIONS_FOUND__", 0),
    ("get_recent_tracks", {}, "Recent tracks:\nTrack: a\nID: 1\n---\nTrack: b\nID: 2\n---\nTrack: c\nID: 3",
     3),
    ("list_tasks", {}, "[1] Passport\nDue: May\n\nNotes: bring photos\n\n[2] Bank\n\n\n[3] Plants\nDue: July", 3),
    ("execute_read_query", {"query": "select name, price from tea"}, "Query executed successfully. 1 rows"
     " returned.\n\nname, price\n-----------\nRooibos, 3.1", 1),
    ("find_cells", {"text": "x"}, '{"matches": {}}', 0),
    ("milestone_list", {}, "Milestones (1):\n  - m-0: v1.0\n\nOn tasks (0):\n  (none)\n\nArchived (0):\n"
     "  (none)\n\nHint: use milestone_add to create some.", 1),
    ("list_issues", {}, '<?xml version="1.0"?>\n<issues type="array" total_count="0" limit="25"/>', 0),
    ("list_issues", {}, '<issues type="array"><issue><id>1</id></issue></issues>', 1),
    ("list_files", {}, '<file name="a.log" size="0"/>', 1),
    ("list_invoices", {}, '<invoices><invoice id="7" total="0"/></invoices>', 1),
    ("list_fields", {}, '<field name="tags" type="array"/>', 1),
    ("list_carts", {}, '<cart sub-total_count="0"></cart>', 1),
    ("list_tables", {}, "empty_carts", 1),
    ("check_files", {}, "# Orders\n\nNo orders found for May.\n\n- June: 5 orders", 1),
    ("list_people", {}, "Smith, John\n-----------\nEngineer, senior\n-----------\nDoe, Jane", 3),
    ("list_pages", {}, '<page total="0" id="7"/><page total="12" id="8"/>', 2),
    ("search_issues", {}, "# Issues in **acme**\n\nNo issues found.\n\nTry another range.", 0),
    ("list_helpers", {}, "# All\n\n## Kind A\nThese are a.\n\n### one\nDoes one\n\n### two\nDoes two\n"
     "\n## Kind B\nThese are b.\n\n### three\nDoes three", 3),
    ("get_package_versions", {}, '{"name": "a", "versions": ["2", "1"], "recent_versions": ["2"]}', 2),
    ("convert_batch", {}, '{"batch_results": [{"success": true, "value": 8}, {"success": false,'
     ' "error": "no such unit"}], "summary": {"total": 2, "successful": 1, "failed": 1}}', 2),
    ("list_tags", {}, "ITEM_TYPE: tag\nTOTAL_ITEMS: 2\n\nITEM_1:\n  id: a\n\nITEM_2:\n  id: b\n", 2),
    ("find_notes", {"q": "x"}, "ITEM_TYPE: note\nTOTAL_ITEMS: 0\nSTATUS: No notes found", 0),
    ("get_tags_by_note", {"id": "n"}, '{"tags": ["a", "b"]}', 2),
    ("suggest_component", {"for": "dates"}, '{"for": "dates", "suggestions": [{"name": "picker"}]}', 1),
    ("get_interfaces", {}, "=== Interfaces ===\n\neth0:\n  Status: UP\n  Address: a\n  Address: b\n\n"
     "lo:\n  Status: UP\n  Address: c", 2),
    ("get_shards", {}, "index | shard | state\nbooks | 0 | STARTED\nbooks | 1 | LOST", 2),
    ("get_trials", {}, "Trials:\n,number,value,state\n0,0,3.5,DONE\n1,1,4.5,DONE", 2),
    ("list_ports", {}, "Proto    Address      Program\n----------------------------\nTCP      a:1  "
     "        x y\nUDP      b:2          z", 2),
    ("list_servers", {}, '{"errors": null, "output": []}', 0),
    ("search_papers", {"query": "mutation (BRCA1) in cancer"}, '[{"title": "a"}]', 1),
    ("search_news", {}, "1. 公司没有任何回应\n2. 法院判决\n3. 天气", 3),
    ("list_keywords", {}, "let\nvar\nconst\nif", 4),
    ("list_emails", {}, '{"emails": ["(no subject)"], "total": 1}', 1),
    ("list_sizes", {}, '{"sizes": [36, 37, 38]}', 3),
    ("list_issues", {}, "Open  issues\n------------\n\nFix the parser\nWrite docs\n", 2),
    ("list_databases", {}, '["No databases found in this folder."]', 0),
    ("execute_query", {"query": "select 1"}, '[{"message": "Query returned no results."}]', 0),
    ("get_component_list", {}, "# All\n\nThere are 2 components:\n\n- **A**: one\n- **B**: two", 2),
    ("roll_several", {}, '{"results": [{"total": 4}, {"total": 7}], "total": 11}', 2),
    ("export_query", {}, '[{"id": 1}, {"id": 2}]', 2),
    ("list_types", {}, "\n".join([f"kind{n}: *.k{n}" for n in range(40)] + ["long: " + "x " * 200]), 41),
]  # fmt: skip
KINDS = {"error": ERRORS, "action": ACTIONS, "single": SINGLES}


@pytest.mark.parametrize(
    ("kind", "tool", "arguments", "reply"),
    each_of(KINDS),
)
def test_an_answer_is_what_its_server_means(
    kind: str, tool: str, arguments: dict[str, Any], reply: str
) -> None:
    require_kind(kind, tool, arguments, reply)


@pytest.mark.parametrize(("tool", "arguments", "reply", "items"), LISTS)
def test_a_list_has_as_many_items_as_its_server_means(
    tool: str, arguments: dict[str, Any], reply: str, items: int
) -> None:
    require_items(tool, arguments, reply, items)


def test_groups_in_blocks_of_their_own_hold_the_items() -> None:
    texts = ["To do:\n  a - one\n  b - two", "Done:\n  c - three"]
    content = [{"type": "text", "text": text} for text in texts]
    assert len(read({"content": content}, "task_list").response.data) == 3


@pytest.mark.parametrize("is_structured", [True, False])
def test_a_result_that_a_gateway_passes_on_is_read_as_its_own(is_structured: bool) -> None:
    inner = {
        "content": [{"type": "text", "text": '{"value": 4.4, "unit": "lb"}'}],
        "isError": False,
    }
    text = {"type": "text", "text": json.dumps(inner)}
    outer = (
        {"content": [text], "structuredContent": inner} if is_structured else {"content": [text]}
    )
    reading = read(outer, "execute_tool")
    assert reading.response.data == {"value": 4.4, "unit": "lb"}
    assert "result-in-result" in reading.rules


def test_what_a_gateway_says_itself_is_not_lost() -> None:
    inner = {"content": [{"type": "text", "text": "inner"}], "isError": False}
    boom = {"content": [{"type": "text", "text": "Boom"}], "isError": True}
    assert read(boom | {"structuredContent": inner}, "call").response.response_type == "error"
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    said = {"content": [picture], "structuredContent": inner, "custom": 5}
    metadata = read(said, "call").response.metadata
    assert metadata is not None
    assert (metadata["custom"], len(metadata["attachments"])) == (5, 1)


def test_a_result_within_itself_is_read() -> None:
    endless: dict[str, Any] = {"content": [{"type": "text", "text": "x"}]}
    endless["structuredContent"] = endless
    assert read(endless, "call").response.response_type
    deep: Any = {1: 2}
    for _ in range(40):
        deep = {"content": [{"type": "text", "text": "x"}], "structuredContent": deep}
    assert read(deep, "call").response.response_type


def test_a_link_to_what_was_made_is_part_of_the_report() -> None:
    link = {"type": "resource_link", "uri": "task://1", "name": "1"}
    said = {"content": [link], "structuredContent": {"taskCreated": {"id": 1}}}
    assert read(said, "create_task").response.response_type == "action"


@pytest.mark.parametrize(
    "text", ["```\n```", "```text\n```", "a: true\nb: 1\ud800", 'a: true\nb: "\ud800"']
)
def test_what_once_raised_is_read(text: str) -> None:
    for tool in ("list_things", "get_things", "search"):
        assert read({"content": [{"type": "text", "text": text}]}, tool).response.response_type


def test_rows_between_bars_have_no_blanks_around_their_cells() -> None:
    rows = read("id | name | city\n1 | Ada | Rome\n2 | Bob | Oslo", "query").response.data
    assert rows == [
        {"id": "1", "name": "Ada", "city": "Rome"},
        {"id": "2", "name": "Bob", "city": "Oslo"},
    ]


def test_a_structure_that_is_the_text_block_once_more_is_not_what_is_meant() -> None:
    block = {"type": "text", "text": '{"errors": ["no such server"], "output": null}'}
    response = read({"content": [block], "structuredContent": block}, "enable_server").response
    assert response.response_type == "error"


WRAPPED = {"fastmcp": {"wrap_result": True}}
TWO = [{"type": "text", "text": "two"}]


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [], "structuredContent": {"result": []}}, []),
        ({"content": [], "structuredContent": {"result": {}}}, {"result": {}}),
        (
            {"content": [], "structuredContent": {"result": [], "total": 0}},
            {"result": [], "total": 0},
        ),
        ({"content": [], "structuredContent": {"result": None}, "_meta": WRAPPED}, None),
        ({"content": [], "structuredContent": {"result": {}}, "_meta": WRAPPED}, {}),
        ({"content": TWO, "structuredContent": {"result": 2}, "_meta": WRAPPED}, 2),
        ({"content": TWO, "structuredContent": {"result": 2}}, {"result": 2}),
        (
            {"content": TWO, "structuredContent": {"result": 2, "a": 1}, "_meta": WRAPPED},
            {"result": 2, "a": 1},
        ),
        (
            {"content": TWO, "structuredContent": {"result": 2}, "_meta": {"fastmcp": 1}},
            {"result": 2},
        ),
    ],
)
def test_the_object_around_a_result_is_removed_if_it_is_certain(
    result: dict[str, Any], value: object
) -> None:
    assert read(result).value == value


def test_json_that_is_embedded_alone_is_the_value() -> None:
    resource = {
        "uri": "x://tools",
        "mimeType": "application/json",
        "text": '[{"id": 1}, {"id": 2}]',
    }
    reading = read({"content": [{"type": "resource", "resource": resource}]}, "list_things")
    assert reading.response.data == [{"id": 1}, {"id": 2}]


def test_a_failure_that_a_gateway_passes_on_is_a_failure() -> None:
    inner = {"content": [{"type": "text", "text": "it broke"}], "isError": True}
    response = read({"content": [], "structuredContent": inner}, "execute_tool").response
    assert response.response_type == "error"
    assert response.error is not None
    assert response.error.message == "it broke"


def test_tools_that_go_by_their_names_are_a_catalog() -> None:
    reply = '{"tools": {"help": "all tools", "get_board": "the board"}, "workflow": "begin"}'
    assert len(require_kind("tool_catalog", "help", {}, reply)) == 2


@pytest.mark.parametrize(
    ("tool", "reply"),
    [
        ("list-all-tools", '{"a": {"tools": [{"name": "x"}]}, "b": {"tools": [{"name": "y"}]}}'),
        ("find-tools", '{"a": [{"name": "x", "description": "X."}], "b": [{"name": "y"}]}'),
        ("available_tools", '{"count": 2, "kinds": {"a": [{"name": "x"}], "b": [{"name": "y"}]}}'),
    ],
)
def test_tools_in_groups_are_a_catalog_and_keep_the_name_of_their_group(
    tool: str, reply: str
) -> None:
    found = require_kind("tool_catalog", tool, {}, reply)
    assert [(each["key"], each["name"]) for each in found] == [("a", "x"), ("b", "y")]


def test_objects_between_words_are_the_items() -> None:
    texts = ["Here they are:", '{"path": "a"}', '{"path": "b"}', "Do not mend them."]
    blocks = [{"type": "text", "text": text} for text in texts]
    reading = read({"content": blocks}, tool="lint_files")
    assert reading.response.data == [{"path": "a"}, {"path": "b"}]
    assert reading.response.message == "Here they are:\nDo not mend them."


def test_a_member_of_the_root_does_not_hide_what_is_attached() -> None:
    image = {"type": "image", "data": "QQ==", "mimeType": "image/png"}
    reply = {"content": [{"type": "text", "text": "A map"}, image], "attachments": "none"}
    metadata = read(reply).response.metadata
    assert metadata is not None
    assert [each["mimeType"] for each in metadata["attachments"]] == ["image/png"]


def test_objects_that_are_not_alike_are_no_items() -> None:
    texts = ["User:", '{"name": "a"}', "Address:", '{"street": "b"}']
    blocks = [{"type": "text", "text": text} for text in texts]
    assert read({"content": blocks}, tool="get_user").response.response_type == "single"


@pytest.mark.parametrize(
    "reply",
    ['{"items": [{"name": "x"}]}', '{"tools": [{"name": "x"}], "prompts": [{"name": "p"}]}'],
)
def test_one_list_of_tools_is_no_group_of_them(reply: str) -> None:
    assert require_kind("tool_catalog", "list_tools", {}, reply) == [{"name": "x"}]
