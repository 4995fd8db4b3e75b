"""Plain replies of ordinary servers, which no rule for an odd one may take for something else."""

from typing import Any

import pytest

from accord.reader import read
from reader.judging import Case, each_of, require_items, require_kind

KINDS: dict[str, list[Case]] = {
    "error": [
        (
            "get_status",
            {},
            '{"success": false, "error": {"message": "no"}, "meta": {"request_id": "1"}}',
        ),
        ("list_channels", {}, "You are not authorized to view any channels."),
        ("search_messages", {}, "You have not configured any API key."),
        ("get_user", {"query": "al"}, "No user found"),
        ("run_build", {}, '{"exitCode": 2, "stderr": "boom", "summary": {"duration": 3}}'),
    ],
    "single": [
        ("bash", {"command": "echo done"}, "done"),
        ("run_command", {"command": "kubectl auth can-i create pods"}, "yes"),
        ("run_command", {"command": "git commit --dry-run"}, "On branch main\nNothing to add"),
        ("run_command", {"command": "git show releases"}, "commit abc1234\nAuthor: a\nDate: b"),
        ("get_site_info", {}, "Login required: No"),
        ("get_post", {"id": 1}, "Got exception handling working today. Nice."),
        ("read_note", {"id": 1}, "Rate limit exceeded: how to handle 429s"),
        ("get_post", {"id": 1}, "We successfully converted our app to vue.js"),
        ("impact_analysis", {}, '{"success": true, "affected_users": 1200, "severity": "high"}'),
        ("dashboard", {}, '{"success": true, "memories_stored": 5, "size_mb": 3}'),
        ("poll_job", {"id": 5}, '{"job_id": "5", "status": "partially_failed", "processed": 10}'),
        ("get_secret", {"name": "a"}, '{"text": "[{\\"a\\": 1}, {\\"a\\": 2}]"}'),
        ("tool_docs", {"name": "delete_user", "arguments": {}}, "Deletes a user.\nTakes an id."),
        ("generate_request_id", {}, '{"request_id": "abc"}'),
        ("lyrics", {"song": "Foo"}, "No lyrics found for Foo."),
        ("curl", {"url": "u"}, "Status code: 200\n\nhello world"),
        (
            "run_command",
            {"command": "docker logs sync-worker"},
            "10:00 INFO started\n10:01 WARN slow",
        ),
        ("run_command", {"command": "cat update-deps.sh"}, "one\ntwo"),
        ("run_command", {"command": "git show add-feature"}, "one\ntwo"),
        ("run_command", {"command": "gcloud config list"}, "[core]\naccount = a@b.c\nproject = p"),
        ("run_command", {"command": "cat", "arguments": "update.log"}, "one\ntwo"),
        ("run_postgres_command", {"command": "SELECT name FROM users"}, "al\nbo"),
        ("redis_execute_command", {"command": "TYPE user:1"}, "string"),
        ("get_visa_requirements", {}, "Visa required: No"),
        ("estimate_gas", {}, "Gas required: 21000"),
        ("crypto_price", {}, '{"success": true, "price": 42000.5, "updated": 1712345678}'),
        ("standings", {}, '{"success": true, "team": "a", "games_played": 3}'),
        ("get_run", {"id": 7}, '{"id": 7, "status": "partial_failure", "duration": 12}'),
        ("get_queue_stats", {}, '{"queue": "a", "processed": 0, "failed": 4, "waiting": 12}'),
        ("get_server_status", {}, "# Server Status\n\nNo active alerts."),
        ("describe_table", {"table": "users"}, "# users\n\nNo indexes defined."),
        ("get_build", {"id": 1}, "Build completed successfully."),
        ("check_login", {}, "User authenticated successfully"),
        ("icd10_lookup", {"code": "I50"}, "Heart failure. Unspecified (I50.9)."),
        ("get_movie", {"id": 1}, "Human Error. 2004 film by A. B."),
        ("read_note", {"id": 1}, "Rate limit for free users: 100 per minute"),
        ("get_doc", {"id": 1}, "Authentication is required for writes. Use a bearer token."),
        ("read_file", {"path": "a"}, "No changes yet."),
        ("next_step", {}, "Step 2: mix the flour with the eggs."),
        ("continue_reading", {}, "It was late, and nobody spoke."),
        ("get_dimensions", {}, "Width: 1920, Height: 1080"),
        ("get_system_resources", {}, "CPU: 12%, Memory: 40%, Disk: 71%"),
        ("prompt", {"name": "create_plan", "arguments": {}}, "First think, then act."),
        ("current_job", {}, '{"job_id": "j1"}'),
        ("get_recent_order", {}, '{"id": 1, "items": null, "total": 5}'),
        ("calculator", {"args": ["add", 2, 3]}, "5"),
        ("sentiment", {"args": ["cancel", "my", "order"]}, '{"label": "negative"}'),
        ("stock_quote", {"args": ["BUY"]}, '{"symbol": "BUY", "price": 10}'),
        ("shell", {"cmd": "echo", "args": ["delete"]}, "delete"),
        ("man", {"args": ["kill"]}, "kill - send a signal\n\nIt sends one."),
        (
            "check_domain",
            {"domain": "a.b"},
            '{"status": "not_found", "message": "Free", "domain": "a.b", "available": true,'
            ' "price": 10, "currency": "EUR", "tld": "b", "premium": false}',
        ),
        (
            "get_issue",
            {"id": 3},
            "<untrusted-data-deadbeef>\nFailed to login. Please help.\n</untrusted-data-deadbeef>",
        ),
        (
            "get_page",
            {"url": "u"},
            '<untrusted-data-deadbeef>\n{"responseType": "action", "toolName": "x"}\n'
            "</untrusted-data-deadbeef>",
        ),
        ("is_holiday", {"date": "d"}, '{"ok": true, "date": "d", "is_holiday": true, "name": "x"}'),
        ("business_days_between", {}, '{"ok": true, "days": 5}'),
        ("sqlite_exists", {}, '{"success": true, "exists": true}'),
        ("get_issue", {"number": 3}, '{"title": "Failed to build", "labels": [], "body": ""}'),
        ("get_todo", {"id": 1}, '{"title": "Renew expired passport", "done": false}'),
        (
            "read_file",
            {"path": "a.md"},
            '{"path": "a.md", "content": "It is not supported.", "error": null}',
        ),
        (
            "run_command",
            {"command": "cat x"},
            '{"stdout": "Error: not found\\n", "stderr": "", "exit_code": 0}',
        ),
        ("get_tasks", {}, '{"today": [{"id": 1}], "later": [{"id": 2}, {"id": 3}]}'),
        ("search", {"q": "x"}, '{"users": [{"id": 1}], "posts": [{"id": 2}]}'),
        ("list_pods", {}, '{"output": "No resources found", "command": "kubectl get pods"}'),
        ("list_users", {}, '{"first_name": "Ada", "last_name": "L"}'),
        ("list_addresses", {}, '{"address": {"street": "a", "city": "b", "zip": "c"}}'),
        ("list_items", {}, '{"_links": {"self": "x", "next": "y"}}'),
        ("get_setting", {"key": "k"}, '{"found": false, "key": "k", "default": 5}'),
        (
            "get_job",
            {"id": "e"},
            '{"name": "n", "output": {"path": "s3://b"}, "state": "RUNNING"}',
        ),
        ("get_logs", {"service": "api"}, "Error: service unavailable"),
        (
            "get_deployment",
            {"id": "d"},
            '{"id": "d", "state": "error", "errors": [{"m": "x"}], "url": "u", "created": "c"}',
        ),
        (
            "validate_resource",
            {},
            '{"resourceType": "OperationOutcome", "issue": [{"severity": "error"}]}',
        ),
        ("fetch", {"url": "http://x"}, "Config file not found handling in Go"),
        ("read_file", {"path": "a.md"}, "❌ Don't do this in a.md:\n\ncode\n\n✅ Do this\n"),
        ("get_player_state", {}, "Playback is not paused"),
        ("weather", {"c": "x"}, "Temps: 20°, mis à jour à 12h"),
        ("payment", {}, "Payment was not successful."),
        ("deployment", {}, "The deployment is not complete."),
        ("calculator", {}, "Calculation complete. 42"),
        ("generate_story", {}, "The house was complete. Bob slept."),
        ("get_metrics", {}, "Count: 0\nMean: n/a"),
        ("integrate", {}, "x**2/2"),
        ("lint_code", {}, '{"errors": [{"m": "x"}], "warnings": 0}'),
        ("get_form", {}, '{"errors": ["x"], "touched": false}'),
        ("read_file", {"path": "a"}, "Erreur: fichier introuvable à l'étage"),
        ("get_issue", {}, "Fehler: Login schlägt fehl für alle\nStatus: offen\nPriorität: hoch"),
        ("generate_poem", {}, "不能没有你"),
        ("tarot", {}, "愚者：成功的开始"),
        ("test_connection", {}, "Connection successful."),
        ("review_contract", {}, "The contract was signed on May 1."),
        ("profile_get", {}, "Profile was created in 2019."),
        ("list_pods", {}, '{"stdout": "NAME\\npod1", "stderr": ""}'),
        ("list_info", {}, '{"owner": "Ada", "color": "red"}'),
        ("list_items", {}, '{"meta": {"request": "x", "region": "y"}}'),
        ("get_user", {}, '{"name": "x", "logged": true}'),
        ("detect_face", {}, '{"found": false}'),
        ("get_pod_logs", {}, "Error: listen EADDRINUSE"),
        (
            "read_doc",
            {"path": "/a"},
            '{"success": true, "file_path": "/a", "message": "Saved by Bob"}',
        ),
    ],
    "action": [
        ("run_git", {"command": ""}, "ok"),
        ("run_npm", {"args": []}, "ok"),
        ("bash", {"command": "rm -rf build"}, ""),
        ("create_rule", {}, "Missing error handler added to app.py"),
        ("clear_queue", {}, "Failed jobs removed, no data deleted"),
        ("run_sync", {}, "Import finished, but no items were found in the file."),
        ("redis", {"command": "DEL session:1"}, "(integer) 1"),
        ("browser", {"command": "click #submit"}, '{"url": "u", "title": "t"}'),
        ("device", {"command": "turn on"}, '{"state": "on"}'),
        ("import_contacts", {}, "All 120 contacts were imported; no invalid rows were found."),
        ("create_backup", {}, "The backup was created; no missing files were detected."),
        ("ship_package", {}, "Expected arrival: May 5, signature not required"),
        ("download_video", {"url": "u"}, "Title: X\nFile: /tmp/x.mp4\nSize: 3MB"),
        ("download_file", {"url": "u"}, "Download finished\n/tmp/a.zip"),
        ("toggle_sidebar", {"action": "show"}, "Sidebar is now visible"),
        ("browser_hover", {"selector": "#a", "position": {"x": 1}}, '{"url": "u"}'),
        ("run_security_scan", {}, "No vulnerabilities found."),
        ("run_type_check", {}, "No errors found"),
        ("run_script", {"script": "x"}, "Created 5 users\nElapsed: 3s"),
        ("perform_bulk_update", {}, '{"results": [{"id": 1, "ok": true}]}'),
        ("batch", {}, "Deleted files:\n- a\n- b"),
        ("set_version", {"version": "1.2"}, "Version set to 1.2"),
        ("optimize_database", {}, '{"status": "ok", "freed": 5}'),
        (
            "create_order",
            {},
            '{"order_number": "A1", "status": "pending", "requires_confirmation": true}',
        ),
        ("sync_catalog", {}, '{"success": true}'),
        ("attach_reference", {}, "Reference attached"),
        ("create_user", {}, '{"id": 7, "confirmation_required": true}'),
        ("edit_file", {}, "@@ -1 +1 @@\n-confirm: false\n+confirm: true"),
        ("create_user", {}, "Error: none. User created successfully."),
        ("render_video", {}, '{"rendered": "out.mp4"}'),
    ],
}
LISTS: list[tuple[str, str, int]] = [
    (
        "list_users",
        '{"status": "not_found", "message": "No matches", "results": [], "query": "x", "total": 0,'
        ' "page": 1, "limit": 10}',
        0,
    ),
    ("list_models", '[{"name": "m", "parameters": {"temperature": 0.5}}]', 1),
    ("list_tables", '[{"name": "t", "schema": {"columns": ["a"]}}]', 1),
    ("list_files", "Files:\na.txt, b.txt, c.txt\nTotal: 3", 3),
    ("list_movies", "Movies:\nTotal Recall\nHer\nTotal 1990 Remake", 3),
    (
        "get_tables",
        "## Tables\n\n**Database:** shop\n**Schema:** public\n\n### Tables\n- users\n- orders",
        2,
    ),
    ("search", "Web: 0 results\nNews:\n- Foo\n- Bar", 2),
    ("find_usages", "Tests: 0 usages\nSource:\nsrc/a.py\nsrc/b.py", 2),
    ("get_contacts", '{"found": false, "contacts": []}', 0),
    ("get_totals", "- Total US: 5\n- Total EU: 3\n- Total AS: 3", 3),
    ("list_songs", "- Sin ti\n- Corazón\n- Luna", 3),
    ("list_notes", "Sin título\nOtra nota", 2),
    ("list_files", "没有标题.txt\n成功.txt", 2),
    ("grep", "a.py: 0 matches\nb.py: 3 matches", 2),
    ("get_users", "- Ada Lovelace: admin\n- Bob Jones: member\n- Carol King: guest", 3),
    ("list_users", "Users:\nAda Lovelace: admin\nBob Jones: member\nCarol King: guest", 3),
    ("block_list", "Blocked domains:\n- a.com\n- b.com", 2),
    ("brew_search", '["a"]', 1),
    ("replicate_list_models", "[1]", 1),
    ("registrar_list_domains", "[1]", 1),
    (
        "get_failed_jobs",
        '[{"name": "a", "status": "failed", "error": "x", "started": 1, "ended": 2}]',
        1,
    ),
    (
        "get_issues",
        "# Issues\n**Repo:** x\n**Total:** 2\n\n## 1. Foo\ntext\n\n## 2. Bar\ntext",
        2,
    ),
    ("list_users", "- Ada\n- Bob\n\nTo see more:\n- use page 2\n- use limit", 2),
    ("list_tables", "Tables:\n1. a\n2. b\n\nYou can also:\n- query one\n- describe one", 2),
    ("get_chat_messages", '{"messages": [{"id": 1}, {"id": 2}], "summary": "2 messages"}', 2),
    ("get_services_status", '{"services": [{"a": 1}, {"a": 2}], "overall": "healthy"}', 2),
    ("list_apps", "No running browser.", 0),
    ("get_issues_summary", '{"state": "open", "issues": [{"id": 1}, {"id": 2}], "total": 2}', 2),
    ("get_alerts_status", '{"state": "pending", "alerts": [{"id": 1}]}', 1),
    ("get_product_details", '{"success": true, "details": [{"id": 1}, {"id": 2}]}', 2),
    ("help_search", 'Found 2 articles for "developer tools":\n1. Open it\n2. Close it', 2),
    ("get_custom_fields", "| Field | Value |\n|---|---|\n| a | 1 |\n| b | 2 |", 2),
    ("execute_search", "No results found", 0),
    ("run_tests", "No tests found.", 0),
    ("get_health_tips", "1. Drink water\n2. Sleep well\n3. Walk daily", 3),
    ("list_metrics", "| Metric | Value |\n|---|---|\n| Sales | 4 |\n| Refunds | 1 |", 2),
    ("list_prices", "| a | b |\n|---- |-- |\n| 1 | 2 |", 1),
    ("list_users", '{"message": "[OK] 2 users", "users": {"a": {"id": 1}, "b": {"id": 2}}}', 2),
    ("list_rows", '{"rows": [["al", 3]], "ids": [[7]]}', 1),
    ("list_test_runs", '[{"id": "r1", "results": [{"t": "a"}, {"t": "b"}], "meta": {}}]', 1),
    ("get_directions", '{"routes": [{"name": "A1", "legs": [1]}, {"name": "A2", "legs": [2]}]}', 2),
    ("get_prices", '{"prices": [1.5, "n/a"]}', 2),
    ("get_logs", 'Logs for web:\n[{"ts": 1}, {"ts": 2}]', 2),
    (
        "get_schools_info",
        '{"state": "TX", "schools": [{"name": "A"}, {"name": "B"}], "total": 2}',
        2,
    ),
    ("execute_query", '{"results": [{"a": 1}, {"a": 2}], "logs": ["x"]}', 2),
    ("filter_words", '{"words": ["x", "y"], "count": 2}', 2),
]


@pytest.mark.parametrize(("kind", "tool", "arguments", "reply"), each_of(KINDS))
def test_a_plain_reply_is_what_it_is(
    kind: str, tool: str, arguments: dict[str, Any], reply: str
) -> None:
    require_kind(kind, tool, arguments, reply)


@pytest.mark.parametrize(("tool", "reply", "items"), LISTS)
def test_a_plain_list_has_all_its_items(tool: str, reply: str, items: int) -> None:
    require_items(tool, {}, reply, items)


@pytest.mark.parametrize("tool", [None, "", "__", "查询"])
def test_a_statement_needs_no_tool(tool: str | None) -> None:
    reading = read("[1]", tool, {"sql": "SELECT 1 FROM t"})
    assert reading.response.response_type == "list"


@pytest.mark.parametrize("depth", [3, 100, 985, 990, 995, 3_000])
def test_containers_in_containers_are_read_however_deep_they_are(depth: int) -> None:
    text = '{"data":' * depth + '{"a":"b","c":"d"}' + "}" * depth
    read({"content": [{"type": "text", "text": text}]}, "list_users")
    value: Any = {"a": "b", "c": "d"}
    for _ in range(depth):
        value = {"data": value}
    read({"content": [], "structuredContent": value}, "list_users")


@pytest.mark.parametrize("depth", [100, 992, 3_000])
@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("name", ["exception", "error", "reason", "errors", "data", "result", "a"])
def test_a_value_is_read_however_deep_it_is(name: str, is_list: bool, depth: int) -> None:
    value: Any = {name: "x"}
    for _ in range(depth):
        value = {name: [value] if is_list else value}
    for tool in ("get_user", "list_users", "create_user", None):
        read({"content": [], "structuredContent": value}, tool)
        read(value, tool)


def test_a_thing_keeps_its_own_key_beside_its_name() -> None:
    reply = '{"projects": {"alpha": {"key": "real"}, "beta": {"key": "z"}}}'
    items = require_kind("list", "list_projects", {}, reply)
    assert items == [{"_key": "alpha", "key": "real"}, {"_key": "beta", "key": "z"}]


def test_of_two_messages_the_first_that_is_known_says_why() -> None:
    reply = '{"detail": "Cannot do it", "message": "No such user: x", "user": null}'
    reading = read({"content": [{"type": "text", "text": reply}]}, "get_user", {"id": "x"})
    assert reading.response.error is not None
    assert reading.response.error.message == "No such user: x"


CATALOGS = [
    '[{"name": "a", "description": "A", "parameters": {"path": "string"}}]',
    '{"tools": [{"name": "a", "inputSchema": {"path": "any words"}}]}',
    '{"functions": [{"name": "a", "parameters": {"path": "string (required)"}}]}',
    '[{"name": "a", "parameters": {"$ref": "#/x"}}]',
    '[{"name": "a", "parameters": {"type": "object", "required": ["b"]}}]',
    '[{"name": "a", "parameters": {}}]',
]


@pytest.mark.parametrize("reply", CATALOGS)
def test_tools_are_a_catalog_however_they_say_what_they_take(reply: str) -> None:
    require_kind("tool_catalog", "get_capabilities", {}, reply)


def test_what_others_wrote_is_told_of_and_data_in_it_is_found() -> None:
    text = "<untrusted-data-deadbeef>\nissues:\n- id: 1\n- id: 2\n</untrusted-data-deadbeef>"
    reading = read({"content": [{"type": "text", "text": text}]}, "list_issues")
    assert reading.response.data == [{"id": 1}, {"id": 2}]
    assert "the data is marked as untrusted" in reading.findings


def test_marks_within_marks_have_no_end_that_matters() -> None:
    text = "<a-deadbeef>\n" * 5_000 + "x" + "\n</a-deadbeef>" * 5_000
    assert read({"content": [{"type": "text", "text": text}]}, "get_it").value == text


GIVEN: list[tuple[str, dict[str, Any], str, int]] = [
    ("list_labels", {"labels": ["bug"]}, '{"labels": ["bug"], "repo": "a/b"}', 1),
    ("sort_items", {"items": [1, 2]}, '{"items": [1, 2], "order": "asc"}', 2),
    ("execute_sql", {"sql": "SELECT name FROM users WHERE name = 'alice'"}, "alice", 1),
    ("execute_sql", {"sql": "SHOW TABLES LIKE 'users'"}, "users", 1),
    ("bash", {"command": "git log --oneline -2"}, "abc1234 Added x\ndef5678 Fixed y", 2),
]


@pytest.mark.parametrize(("tool", "arguments", "reply", "items"), GIVEN)
def test_a_plain_list_is_one_whatever_was_given(
    tool: str, arguments: dict[str, Any], reply: str, items: int
) -> None:
    require_items(tool, arguments, reply, items)


def test_what_is_in_a_document_and_beside_it_by_one_name_is_both_kept() -> None:
    inner = '{\n "items": [{"a": 1}], "total": 50, "status": "stale"\n}'
    said = read({"result": inner, "status": "ok", "total": 1}, "list_things").response
    assert said.metadata == {"total": 50, "status": "stale", "beside": {"status": "ok", "total": 1}}
