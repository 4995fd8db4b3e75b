"""Replies that are lists: of servers that nobody has seen, in the ways that servers word them."""

from typing import Any

import pytest

from accord.reader import Reading, read

Reply = str | list[str]


def read_text(reply: Reply, tool: str, arguments: dict[str, Any]) -> Reading:
    texts = [reply] if isinstance(reply, str) else reply
    return read({"content": [{"type": "text", "text": each} for each in texts]}, tool, arguments)


LISTS: list[tuple[str, dict[str, Any], Reply, int]] = [
    (
        "notes",
        {"operation": "list"},
        "Found 2 notes:\n\nShopping:\nmilk, eggs\n\nIdeas:\nwrite a book",
        2,
    ),
    (
        "get-recent-activities",
        {"perPage": 3},
        "**Recent Activities:**\n\n🏃 Morning run (ID: 1) - 5.1 km on 2025-01-01\n🚴 Ride (ID: 2) - 30 km on 2025-01-02\n🏃 Evening run (ID: 3) - 4 km on 2025-01-03",
        3,
    ),
    (
        "search_notes",
        {"query": "x"},
        '{"results":[{"title":"a"}],"current_page":1,"page_size":10}',
        1,
    ),
    (
        "get_historical_prices",
        {"symbol": "AAPL"},
        '[{"Date":"2025-01-01","Close":1.0},{"Date":"2025-01-02","Close":2.0}]',
        2,
    ),
    (
        "manage_scene",
        {"action": "get_hierarchy"},
        '{"success":true,"message":"Retrieved hierarchy for scene","data":[{"name":"Main Camera"},{"name":"Light"}]}',
        2,
    ),
    (
        "read_console",
        {"action": "get"},
        '{"success":true,"message":"Retrieved 2 log entries.","data":[{"type":"Error","message":"NullReference"},{"type":"Log","message":"hi"}]}',
        2,
    ),
    ("list_incidents", {}, '{"response":[{"id":"P1","title":"Down"},{"id":"P2","title":"Up"}]}', 2),
    (
        "list_emails",
        {"folder": "INBOX"},
        "ID: 1 | From: a@x | Subject: Hi | Date: 2025\nID: 2 | From: b@x | Subject: Yo | Date: 2025",
        2,
    ),
    ("search_code", {"query": "foo"}, "src/a.ts:12: const foo = 1\nsrc/b.ts:40: foo()\n", 2),
    ("grep", {"pattern": "foo"}, "/r/a.py:3:foo\n/r/b.py:9:foo bar", 2),
    (
        "list_issues",
        {},
        "# Issues\n\n## X-1: Fix login\n- Status: Open\n- Priority: High\n\n## X-2: Add docs\n- Status: Done\n- Priority: Low",
        2,
    ),
    (
        "list_projects",
        {},
        "Projects:\n\n1. Web (id: 1)\n   Status: active\n2. App (id: 2)\n   Status: archived\n\nTotal: 2 projects",
        2,
    ),
    ("list_models", {}, "Available models:\n- gpt-4o\n- gpt-4o-mini\n- o1", 3),
    ("list_buckets", {}, "bucket-a\nbucket-b\nbucket-c", 3),
    ("list_keys", {}, "Keys: a, b, c", 3),
    ("list_tables", {}, "users, orders, items", 3),
    ("list_branches", {}, "  dev\n* main\n  release/1.0", 3),
    (
        "list_containers",
        {},
        "CONTAINER ID   IMAGE     STATUS\nabc            nginx     Up 3 hours\ndef            redis     Exited (1) 2 days ago",
        2,
    ),
    ("list_files", {"path": "/x"}, "Contents of /x:\n📁 src/\n📄 a.txt (12 B)\n📄 b.txt (4 KB)", 3),
    ("list_files", {"path": "/x"}, "src/\na.txt\nb.txt", 3),
    (
        "list_databases",
        {},
        "+--------------------+\n| Database           |\n+--------------------+\n| mysql              |\n| shop               |\n+--------------------+",
        2,
    ),
    (
        "query",
        {"sql": "select * from t"},
        " id | name \n----+------\n  1 | a\n  2 | b\n(2 rows)\n",
        2,
    ),
    ("query", {"sql": "select 1"}, '{"columns":["id"],"rows":[[1],[2]],"rowCount":2}', 2),
    ("query", {"sql": "select 1"}, '{"rows":[{"id":1}],"fields":[{"name":"id"}]}', 1),
    ("get_schema", {}, '{"tables":[{"name":"users","columns":[]}]}', 1),
    (
        "search_web",
        {"query": "x"},
        "Title: A\nLink: https://a\nSnippet: one\n\nTitle: B\nLink: https://b\nSnippet: two",
        2,
    ),
    (
        "search_web",
        {"query": "x"},
        "1. **A**\n   https://a\n   one\n\n2. **B**\n   https://b\n   two\n",
        2,
    ),
    ("search_web", {"query": "x"}, "### A\nhttps://a\n\none\n\n### B\nhttps://b\n\ntwo", 2),
    ("search_web", {"query": "x"}, "[A](https://a)\none\n\n[B](https://b)\ntwo", 2),
    (
        "search_papers",
        {"query": "x"},
        "Found 2 papers:\n\nTitle: A\nAuthors: X\nYear: 2020\n---\nTitle: B\nAuthors: Y\nYear: 2021\n---\n",
        2,
    ),
    (
        "list_events",
        {},
        "Upcoming events:\n\n📅 Standup\n   10:00 - 10:15\n   Room A\n\n📅 Review\n   14:00 - 15:00\n   Room B",
        2,
    ),
    ("list_tasks", {}, "☐ 1. Buy milk\n☑ 2. Call Bo\n☐ 3. Sleep", 3),
    ("list_tasks", {}, "[ ] 1: Buy milk\n[x] 2: Call Bo", 2),
    (
        "get_transactions",
        {"address": "0x"},
        "Hash: 0x1\nFrom: a\nTo: b\n\nHash: 0x2\nFrom: c\nTo: d",
        2,
    ),
    (
        "get_symbols",
        {"file": "a.py"},
        "Functions:\n- foo (line 1)\n- bar (line 9)\n\nClasses:\n- Baz (line 20)",
        3,
    ),
    (
        "find_references",
        {"symbol": "x"},
        "Found 3 references in 2 files:\n\na.py:\n  Line 1: x = 1\n  Line 9: print(x)\n\nb.py:\n  Line 3: import x",
        3,
    ),
    ("get_channel_messages", {"id": 1}, "[10:00] ann: hi\n[10:01] bo: error again", 2),
    ("get_trending", {}, "1. A (100 stars)\n2. B (90 stars)", 2),
    ("get_items", {}, '{"code":0,"msg":"ok","data":{"list":[{"id":1}],"total":1}}', 1),
    ("get_items", {}, '{"status":"success","count":2,"items":[{"id":1},{"id":2}]}', 2),
    ("list_customers", {}, '["cus_1","cus_2"]', 2),
    ("list_agents", {}, "Agents:\n  • alpha — running\n  • beta — failed", 2),
    ("list_agents", {}, "| id | name |\n|---|---|\n| 1 | a |\n| 2 | b |\n| 3 | c |", 3),
    (
        "search_flights",
        {"from": "A", "to": "B"},
        "✈️ Found 2 flights:\n\nFlight 1: LH100\n  Departs: 10:00\n  Price: 100\n\nFlight 2: BA200\n  Departs: 12:00\n  Price: 90\n",
        2,
    ),
    (
        "find_recipes",
        {"ingredient": "x"},
        "## Soup\nTime: 10 min\nDifficulty: easy\n\n## Stew\nTime: 60 min\nDifficulty: hard",
        2,
    ),
    ("list_rooms", {}, 'Rooms:\n{"id":1,"name":"a"}\n{"id":2,"name":"b"}', 2),
    ("list_rooms", {}, '{"id":1,"name":"a"}\n\n{"id":2,"name":"b"}', 2),
    ("list_rooms", {}, "[Room(id=1, name='a'), Room(id=2, name='b')]", 2),
    ("list_rooms", {}, "('a', 1)\n('b', 2)", 2),
    ("list_alerts", {}, "🔴 CPU high on web-1\n🟡 Disk on db-1\n🟢 All fine on x", 3),
    ("get_errors", {"project": "x"}, '{"errors":[{"id":1,"message":"Failed"}]}', 1),
    (
        "search_logs",
        {"query": "error"},
        "Found 2 log entries:\n2025-01-01 10:00 ERROR failed to connect\n2025-01-01 10:01 ERROR timeout",
        2,
    ),
    ("get_recommendations", {"seed": "x"}, "Recommended for you:\n1. A\n2. B\n3. C", 3),
    ("suggest_names", {"topic": "x"}, "- Alpha\n- Beta\n- Gamma", 3),
    ("extract_entities", {"text": "x"}, '{"entities":[{"text":"Ann","type":"PERSON"}]}', 1),
    ("extract_links", {"url": "x"}, '{"links":["a","b"],"count":2}', 2),
    ("list_sessions", {}, "Active sessions: 2\n- s1 (user a)\n- s2 (user b)", 2),
    (
        "list_sessions",
        {},
        "Session s1:\n  User: a\n  Since: 10:00\nSession s2:\n  User: b\n  Since: 11:00",
        2,
    ),
    ("list_sessions", {}, "s1\ta\t10:00\ns2\tb\t11:00", 2),
    ("list_services", {}, "NAME   STATUS   PORT\nweb    up       80\ndb     down     5432", 2),
    ("list_services", {}, "web: running\ndb: stopped\ncache: running", 3),
    ("list_users", {}, "Users (2):\nann <ann@x>\nbo <bo@x>", 2),
    (
        "list_users",
        {},
        "**Users**\n\n- **Ann** (admin)\n  Email: ann@x\n- **Bo**\n  Email: bo@x",
        2,
    ),
    ("list_users", {}, "1) ann\n2) bo", 2),
    ("list_users", {}, "#1 ann\n#2 bo", 2),
    ("list_users", {}, "User 1: ann\nUser 2: bo", 2),
    ("list_users", {}, "id: 1, name: ann\nid: 2, name: bo", 2),
    (
        "list_users",
        {},
        "=== User 1 ===\nName: ann\nRole: admin\n\n=== User 2 ===\nName: bo\nRole: dev\n",
        2,
    ),
    ("list_users", {}, "--- User 1 ---\nName: ann\n--- User 2 ---\nName: bo", 2),
    ("list_users", {}, '<users>\n  <user id="1">ann</user>\n  <user id="2">bo</user>\n</users>', 2),
    ("list_users", {}, '```json\n[{"id":1},{"id":2}]\n```', 2),
    ("list_users", {}, "```\nann\nbo\n```", 2),
    ("list_users", {}, 'Here are the users:\n\n{"users": [{"id": 1}, {"id": 2}], "total": 2}', 2),
    ("list_users", {}, "- id: 1\n  name: ann\n- id: 2\n  name: bo", 2),
    ("list_users", {}, "users:\n- ann\n- bo", 2),
    ("list_users", {}, "users:\n  - id: 1\n    name: ann\n  - id: 2\n    name: bo\ntotal: 2", 2),
    ("list_users", {}, "ann (admin), bo (dev), cy (dev)", 3),
    ("list_users", {}, "Total users: 2\n\nName: ann\nRole: admin\n\nName: bo\nRole: dev", 2),
    (
        "list_users",
        {},
        '{"data":{"users":{"nodes":[{"id":1}],"pageInfo":{"hasNextPage":false}}}}',
        1,
    ),
    ("list_users", {}, '{"data":{"users":[{"id":1}]},"errors":[]}', 1),
    ("list_users", {}, '{"users":[{"id":1}],"groups":[{"id":9}],"total":1}', 1),
    ("run_query", {"query": "SELECT a FROM t"}, "a\n1\n2\n", 2),
    ("aggregate", {"pipeline": []}, '[{"_id":"a","n":1}]', 1),
    ("memory_search", {"query": "x"}, "1. [0.92] likes tea\n2. [0.80] likes coffee", 2),
    (
        "recall",
        {"query": "x"},
        "Found 2 memories:\n\n[1] likes tea (score 0.9)\n[2] likes coffee (score 0.8)",
        2,
    ),
    ("get_forecast", {"city": "Rome"}, '{"city": "Rome", "forecast": [{"day": 1}, {"day": 2}]}', 2),
    ("get_top_songs", {"artist": "x"}, '{"artist": "x", "songs": [{"t": 1}], "count": 1}', 1),
    (
        "query_database",
        {"id": "x"},
        '{"object": "list", "results": [{"id": 1}], "has_more": false, "next_cursor": null}',
        1,
    ),
    (
        "list_pods",
        {},
        '{"apiVersion": "v1", "kind": "List", "items": [{"metadata": {"name": "a"}}]}',
        1,
    ),
    ("list_files", {"path": "/"}, '{"path": "/", "entries": [{"name": "a"}, {"name": "b"}]}', 2),
    ("get_pr_files", {"id": 1}, '[{"filename": "x"}]', 1),
    (
        "get_deployments",
        {"x": 1},
        '{"deployments": [{"id": "d", "state": "ERROR"}], "pagination": {"count": 1, "next": null}}',
        1,
    ),
    (
        "list_mcp_servers",
        {},
        '{"servers": [{"name": "a", "tools": [{"name": "t", "inputSchema": {}}]}]}',
        1,
    ),
    ("list_prompts", {}, '{"prompts": [{"name": "a", "description": "b"}]}', 1),
    (
        "search_products",
        {"q": "x"},
        '{"products": [{"id": 1}], "filters": [{"name": "color"}], "total": 51, "page": 1}',
        1,
    ),
    ("get_candles", {"symbol": "X"}, '{"symbol": "X", "candles": [[1, 2, 3], [4, 5, 6]]}', 2),
    ("vector_search", {"q": "x"}, '{"matches": [{"id": "a", "score": 0.9}], "namespace": ""}', 1),
    ("get_events", {"from": "x"}, '{"value": [{"id": 1}], "@odata.nextLink": "https://x"}', 1),
    ("get_mail", {"folder": "x"}, '{"@odata.context": "c", "value": [{"id": 1}, {"id": 2}]}', 2),
    (
        "query_logs",
        {"q": "x"},
        '{"hits": {"total": {"value": 2}, "hits": [{"_id": "a"}, {"_id": "b"}]}, "took": 3}',
        2,
    ),
    ("run_graphql", {"query": "{ users { id } }"}, '{"data": {"users": [{"id": 1}]}}', 1),
    ("list_processes", {}, '[{"pid": 1, "name": "a"}]', 1),
    ("geocode", {"address": "x"}, '{"results": [{"lat": 1}], "status": "OK"}', 1),
    ("list_jobs", {}, '{"jobs": [{"id": 1, "error": "x", "status": "failed"}]}', 1),
    ("list_jobs", {}, '[{"error": "x"}, {"error": "y"}]', 2),
    (
        "search_memory",
        {"query": "x"},
        [
            "Found 2 memories (keyword search):\n\n[note] likes tea\n2025-01-01\n---\n[fact] has a cat\n2025-01-02"
        ],
        2,
    ),
    ("search_menu", {"query": "x"}, "[food] Pizza with cheese\n---\n[drink] Cola", 2),
    (
        "rag_query",
        {"query": "x"},
        "[Document 1]\nSource: a\nContent: hello\n\n---\n[Document 2]\nSource: b\nContent: there",
        2,
    ),
    ("list_tables", {}, ["# Tables", "Found 2 tables:", "- a\n- b"], 2),
    ("get_screenshot", {}, ["Found 2 screenshot(s)", "Screenshot: a.png", "Screenshot: b.png"], 2),
    (
        "list_folders",
        {},
        ["Found 2 folders:", "\n1. 📁 Work\n   ID: 1", "\n2. 📁 Home\n   ID: 2"],
        2,
    ),
    ("search_tables", {"q": "x"}, 'Found 2 tables matching \'x\': [\n  "a",\n  "b"\n]', 2),
    (
        "list_contacts",
        {},
        "Found 2 contact(s):\n\n1. **Ann**\n   Email: a@x\n\n2. **Bo**\n   Email: b@x",
        2,
    ),
    (
        "list_documents",
        {},
        "Found 2 document(s):\n\n• Doc A\n  ID: 1\n  Owner: Ann\n• Doc B\n  ID: 2\n  Owner: Bo",
        2,
    ),
    (
        "search_github",
        {"query": "x"},
        "GitHub repository search: x (120 total)\n\n⭐ 10 a/b\n   desc one\n   https://x\n\n⭐ 5 c/d\n   desc two\n   https://y\n",
        2,
    ),
    ("find_servers", {"team": "x"}, "Servers owned by x:\n- web1 (prod)\n- web2 (dev)", 2),
    (
        "list_stations",
        {},
        "Stations near you:\n\nA Street (0.3 km)\n  Bikes: 3 | Docks: 2\n\nB Street (0.5 km)\n  Bikes: 0 | Docks: 9",
        2,
    ),
    (
        "get_standings",
        {"league": "x"},
        "1. Arsenal - 30 pts\n2. City - 28 pts\n3. Spurs - 25 pts",
        3,
    ),
    (
        "get_matches",
        {"team": "x"},
        "Arsenal 2-1 Spurs (2025-01-01)\nCity 0-0 Leeds (2025-01-02)",
        2,
    ),
    ("get_holidays", {"country": "DE"}, "2025-01-01: New Year\n2025-05-01: Labour Day", 2),
    ("list_timezones", {}, "Africa/Abidjan\nEurope/Rome\nUTC", 3),
    ("get_synonyms", {"word": "big"}, "large, huge, great", 3),
    ("get_translations", {"word": "x"}, "de: Haus\nfr: maison", 2),
    ("get_post_comments", {"id": 1}, "Comments (2):\n- Ann: sorry you failed\n- Bo: try again", 2),
    ("get_feed", {}, "[1] Ann: hi\n[2] Bo: yo", 2),
    (
        "search_tracks",
        {"query": "x"},
        "Found 2 tracks:\n🎵 A - X [3:20] (spotify:track:1)\n🎵 B - Y [2:10] (spotify:track:2)",
        2,
    ),
    (
        "get_nfts",
        {"a": "x"},
        "Found 2 NFTs:\n\n1. Ape #1\nContract: 0x1\n\n2. Ape #2\nContract: 0x2",
        2,
    ),
    (
        "list_images",
        {},
        "REPOSITORY   TAG       IMAGE ID       SIZE\nnginx        latest    abc            100MB",
        1,
    ),
    ("get_pods", {}, "NAME    READY   STATUS\nweb-1   1/1     Running", 1),
    (
        "get_node_metrics",
        {},
        "NAME    CPU(cores)   MEMORY(bytes)\nnode1   100m         1Gi\nnode2   200m         2Gi",
        2,
    ),
    (
        "search_articles",
        {"query": "x"},
        '[{"pmid": "1", "title": "Error"}, {"pmid": "2", "title": "B"}]',
        2,
    ),
    (
        "get_trending_coins",
        {},
        '{"coins": [{"item": {"id": "a"}}], "nfts": [], "categories": []}',
        1,
    ),
    (
        "get_query_results",
        {"execution_id": "e"},
        '{"rows": [{"a": 1}], "metadata": {"total_row_count": 1}}',
        1,
    ),
    (
        "get_positions",
        {},
        "Current Positions:\n-------------------\nSymbol: X\nQuantity: 1\nP/L: 2\n-------------------\nSymbol: Y\nQuantity: 3\nP/L: -1\n-------------------\n",
        2,
    ),
    (
        "list_charges",
        {},
        '{"object": "list", "data": [{"id": "ch_1", "status": "failed"}], "has_more": false, "url": "/v1/charges"}',
        1,
    ),
    ("get_products", {"limit": 2}, '{"products": [{"id": 1}, {"id": 2}]}', 2),
    ("list_workflows", {}, '{"data": [{"id": "1"}], "nextCursor": null}', 1),
    (
        "get_issues",
        {"project": "x"},
        '{"total": 1, "p": 1, "ps": 100, "issues": [{"key": "a"}], "components": [{"key": "c"}], "facets": []}',
        1,
    ),
    ("run_bigquery", {"sql": "SELECT 1"}, '[{"f0_": 1}]', 1),
    ("list_topics", {}, "orders\npayments\n__consumer_offsets", 3),
    ("get_bookmarks", {}, '{"items": [{"_id": 1}], "count": 30, "result": true}', 1),
    ("list_notes", {}, "Notes:\n1. Groceries (2025-01-01)\n2. Failed ideas (2025-01-02)", 2),
    (
        "get_inbox",
        {},
        "Title: A\nUUID: 1\nStatus: incomplete\n\n---\n\nTitle: B\nUUID: 2\nStatus: incomplete",
        2,
    ),
    ("get_today", {}, "Title: A\nUUID: 1\n\n---\n\nTitle: B\nUUID: 2", 2),
    ("get_work_items", {"project": "x"}, '[{"id": 1, "fields": {}}]', 1),
    (
        "list_mail_messages",
        {},
        '{"@odata.context": "x", "value": [{"id": "1", "subject": "Delivery failed"}], "@odata.nextLink": "https://x"}',
        1,
    ),
    ("list_posts", {}, '[{"id": 1, "title": {"rendered": "Error 404"}}]', 1),
    (
        "get_timeline",
        {},
        "@ann: hello world\n2025-01-01 | ❤️ 3\n\n@bo: it failed\n2025-01-02 | ❤️ 0",
        2,
    ),
    (
        "search_people",
        {"q": "x"},
        '{"elements": [{"id": 1}], "paging": {"start": 0, "count": 10, "total": 1}}',
        1,
    ),
    ("get_activities", {"limit": 2}, '[{"activityId": 1}, {"activityId": 2}]', 2),
    (
        "get_forecast",
        {"city": "x", "days": 2},
        "Forecast for x:\n\nDay 1: 5°C, rain\nDay 2: 7°C, sun",
        2,
    ),
    (
        "find_flights",
        {"a": 1},
        "Flight 1:\nAirline: LH\nPrice: 100\n\nFlight 2:\nAirline: BA\nPrice: 90",
        2,
    ),
    (
        "list_voices",
        {},
        "Available voices:\n\nRachel (21m00)\n- Category: premade\n\nDomi (AZnz)\n- Category: premade",
        2,
    ),
    ("list_datasets", {}, "bigquery-a\nbigquery-b", 2),
    (
        "query_metrics",
        {"q": "x"},
        '{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]}}',
        1,
    ),
    ("list_collections", {}, '{"collections": [{"name": "a"}], "status": "ok", "time": 0.1}', 1),
    ("list_extensions", {}, "Name | Version\n---- | ----\na | 1\nb | 2", 2),
    ("get_slow_queries", {}, "query,calls,mean_time\nSELECT 1,3,0.1\nSELECT 2,4,0.2", 2),
    ("get_indexes", {"table": "x"}, "Indexes on x:\n  pk_x (id) UNIQUE\n  ix_x_name (name)", 2),
    ("search_tickets", {"q": "error"}, "#12 Error on login (open)\n#13 Failed payment (closed)", 2),
    ("list_failed_jobs", {}, '[{"id": 1}]', 1),
    ("list_failed_jobs", {}, "Failed jobs:\n- job-1\n- job-2", 2),
    ("get_failed_logins", {}, "Failed logins (2):\n1. ann from 1.2.3.4\n2. bo from 5.6.7.8", 2),
    ("list_warnings", {}, "Warning: disk\nWarning: cpu", 2),
    ("get_exceptions", {}, "Exception: A (3)\nException: B (1)", 2),
    ("get_vulnerabilities", {"pkg": "x"}, "Found 1 vulnerability:\n- CVE-1: denial of service", 1),
]
EMPTY: list[tuple[str, dict[str, Any], Reply]] = [
    ("list-invoices", {}, ["Found 0 invoices:"]),
    ("search_web", {"query": "x"}, "No results found for 'x'"),
    ("list_reminders", {}, "You have no reminders."),
    ("list_events", {}, "No upcoming events found."),
    ("list_tasks", {}, '{"tasks":[],"message":"No tasks yet"}'),
    ("docker_ps", {}, "[]"),
    ("list_alerts", {}, "✅ No active alerts"),
    ("list_alerts", {}, "ℹ️ No alerts found."),
    ("list_indexes", {}, "No indexes"),
    ("list_indexes", {}, "(none)"),
    ("list_indexes", {}, "The table has no indexes."),
    ("list_sessions", {}, "There are currently no active sessions."),
    ("list_sessions", {}, "0 sessions"),
    ("run_query", {"query": "SELECT a FROM t"}, "Query returned 0 rows"),
    ("run_query", {"query": "SELECT a FROM t"}, "No rows returned"),
    ("memory_search", {"query": "x"}, "No memories found matching your query."),
    ("search_all", {"query": "x"}, '{"users": [], "posts": []}'),
    ("list_values", {}, "null"),
    ("list_values", {}, "{}"),
    ("geocode", {"address": "x"}, '{"results": [], "status": "ZERO_RESULTS"}'),
    ("get_upcoming_assignments", {"days": 7}, "No upcoming assignments due in the next 7 days."),
    ("search_skills", {"query": "x"}, 'No skills match "x".'),
    ("list_memories", {"category": "x"}, "No memories in 'x'."),
    ("search_kb", {"query": "x"}, "No relevant information found."),
    ("search_code", {"query": "x"}, "No matching code found."),
    ("list_timers", {}, "No timers are running."),
    ("get_orders", {}, '{"orders":[],"count":0}'),
    ("get_pods", {}, "No resources found in default namespace."),
    ("get_positions", {}, "No open positions found."),
    ("scan_code", {"path": "x"}, '{"results": [], "errors": [], "paths": {"scanned": ["a"]}}'),
    ("search_todos", {"query": "x"}, "No todos found matching 'x'"),
    ("list_failed_jobs", {}, "No failed jobs"),
    ("get_vulnerabilities", {"pkg": "x"}, "No vulnerabilities found in x"),
]
CATALOGS: list[tuple[str, dict[str, Any], Reply, int]] = [
    ("list_tools", {}, "Available tools:\n- a: does a\n- b: does b", 2),
    (
        "list_tools",
        {"server": "x"},
        '{"server": "x", "tools": [{"name": "a", "description": "b"}]}',
        1,
    ),
    ("get_capabilities", {}, '{"tools": [{"name": "a", "description": "b", "parameters": {}}]}', 1),
]


@pytest.mark.parametrize(("tool", "arguments", "reply", "items"), LISTS)
def test_a_list_is_read_with_all_its_items(
    tool: str, arguments: dict[str, Any], reply: Reply, items: int
) -> None:
    reading = read_text(reply, tool, arguments)
    assert reading.response.response_type == "list", reading.rules
    assert len(reading.response.data) == items, reading.rules


@pytest.mark.parametrize(("tool", "arguments", "reply"), EMPTY)
def test_an_empty_search_is_an_empty_list(
    tool: str, arguments: dict[str, Any], reply: Reply
) -> None:
    reading = read_text(reply, tool, arguments)
    assert reading.response.response_type == "list", reading.rules
    assert reading.response.data == []


@pytest.mark.parametrize(("tool", "arguments", "reply", "items"), CATALOGS)
def test_a_list_of_tools_is_a_catalog(
    tool: str, arguments: dict[str, Any], reply: Reply, items: int
) -> None:
    reading = read_text(reply, tool, arguments)
    assert reading.response.response_type == "tool_catalog", reading.rules
    assert len(reading.response.data) == items
