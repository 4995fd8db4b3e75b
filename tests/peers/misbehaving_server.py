"""Raw stdio server, without Accord or an SDK, with one fault: `python misbehaving_server.py FAULT`.

It speaks the handshake era, and rejects everything else as servers of that era do.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Fault = Callable[[Message], None]

FAULTS: dict[str, Fault] = {}


def fault(act: Fault) -> Fault:
    FAULTS[act.__name__] = act
    return act


def say(message: Any) -> None:
    put(json.dumps(message).encode() + b"\n")


def put(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(request: Message, result: Any) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def fail(request: Message, code: int, message: str) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})


def text(words: str) -> Message:
    return {"content": [{"type": "text", "text": words}]}


def behave(message: Message) -> None:
    """Answer as a server without a fault."""
    method = message.get("method")
    if method == "initialize":
        asked = message["params"]["protocolVersion"]
        info = {"name": "misbehaving", "version": "1"}
        answer(message, {"protocolVersion": asked, "capabilities": {}, "serverInfo": info})
    elif method == "tools/call":
        answer(message, text(message["params"]["name"]))
    elif method == "ping":
        answer(message, {})
    elif "id" in message and method is not None:
        fail(message, -32601, "Method not found")


@fault
def decent(message: Message) -> None:
    behave(message)


# How it begins


@fault
def silent(message: Message) -> None:
    """Never says anything."""


@fault
def ignores_what_it_does_not_know(message: Message) -> None:
    if message["method"] != "server/discover":
        behave(message)


@fault
def dies_of_what_it_does_not_know(message: Message) -> None:
    if message["method"] == "server/discover":
        sys.exit("what is that?")
    behave(message)


@fault
def dies_of_initialize_after_discover(message: Message) -> None:
    """A server whose state is spoiled by the first question."""
    if message["method"] == "server/discover":
        STATE["spoiled"] = True
    if message["method"] == "initialize" and STATE.get("spoiled"):
        sys.exit(4)
    behave(message)


STATE: dict[str, Any] = {}


@fault
def refuses(message: Message) -> None:
    fail(message, -32000, "not today")


@fault
def knows_only_the_oldest(message: Message) -> None:
    """Refuses other revisions instead of offering its own."""
    if message["method"] == "initialize" and message["params"]["protocolVersion"] != "2024-11-05":
        data = {"supported": ["2024-11-05"]}
        error = {"code": -32602, "message": "Unsupported protocol version", "data": data}
        say({"jsonrpc": "2.0", "id": message["id"], "error": error})
    else:
        behave(message)


@fault
def offers_the_future(message: Message) -> None:
    if message["method"] == "initialize":
        answer(message, {"protocolVersion": "2099-01-01", "capabilities": {}})
    else:
        behave(message)


def discovering(versions: list[str]) -> Message:
    return {"resultType": "complete", "supportedVersions": versions, "capabilities": {}}


@fault
def speaks_only_the_future(message: Message) -> None:
    answer(message, discovering(["2099-01-01"]))


@fault
def speaks_the_future_and_the_past(message: Message) -> None:
    """Of the stateless era, but with no revision of it in common."""
    if message["method"] == "server/discover":
        data = {"supported": ["2099-01-01", "2025-11-25"], "requested": "2026-07-28"}
        error = {"code": -32022, "message": "Unsupported protocol version", "data": data}
        say({"jsonrpc": "2.0", "id": message["id"], "error": error})
    else:
        behave(message)


@fault
def wants_capabilities(message: Message) -> None:
    fail(message, -32021, "Missing required client capability")


@fault
def says_little_of_itself(message: Message) -> None:
    """Discovery with members of the wrong types."""
    if message["method"] == "server/discover":
        answer(message, {"supportedVersions": ["2026-07-28"], "capabilities": 7, "_meta": []})
    else:
        behave(message)


# How it answers


@fault
def dies_in_a_call(message: Message) -> None:
    if message["method"] == "tools/call":
        print("".join(f"line {n}\n" for n in range(100)) + "out of owls", file=sys.stderr)
        sys.exit(3)
    behave(message)


@fault
def is_killed_in_a_call(message: Message) -> None:
    if message["method"] == "tools/call":
        os.kill(os.getpid(), signal.SIGKILL)
    behave(message)


@fault
def closes_its_output(message: Message) -> None:
    if message["method"] == "tools/call":
        os.close(1)
        os.read(0, 1)
    behave(message)


@fault
def prints_noise(message: Message) -> None:
    put(b'starting up...\n\n   \n{"level": "info"}\n[1, 2]\n"words"\n\xff\xfe\n{"broken\n')
    behave(message)


@fault
def answers_twice(message: Message) -> None:
    behave(message)
    behave(message)


@fault
def answers_with_other_ids(message: Message) -> None:
    if message["method"] != "tools/call":
        behave(message)
        return
    ids: list[Any] = [999, str(message["id"]), float(message["id"]), True, None, [], {}]
    for identity in ids:
        say({"jsonrpc": "2.0", "id": identity, "result": text("whose?")})
    if message["params"]["name"] == "late":
        behave(message)


@fault
def answers_in_reverse(message: Message) -> None:
    """Waits for three calls, and answers the last one first."""
    if message.get("method") != "tools/call":
        behave(message)
        return
    calls = STATE.setdefault("calls", [])
    calls.append(message)
    if len(calls) == 3:
        for call in reversed(calls):
            behave(call)
        calls.clear()


@fault
def has_no_ids_in_errors(message: Message) -> None:
    if message.get("method") == "tools/call":
        say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
    else:
        behave(message)


@fault
def answers_in_batches(message: Message) -> None:
    if message.get("method") != "tools/call":
        behave(message)
        return
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "hi"}}
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": text("batched")}
    say([note, reply, 7])


@fault
def sends_what_is_not_json(message: Message) -> None:
    """As Python's json module writes it."""
    if message.get("method") == "tools/call":
        odd = {"nan": float("nan"), "lone": "\ud800"}
        answer(message, odd)
    else:
        behave(message)


@fault
def answers_with_neither(message: Message) -> None:
    if message.get("method") == "tools/call":
        say({"jsonrpc": "2.0", "id": message["id"], "error": None})
    else:
        behave(message)


@fault
def sends_a_huge_line(message: Message) -> None:
    if message.get("method") == "tools/call" and message["params"]["name"] == "huge":
        answer(message, text("x" * 300_000))
    else:
        behave(message)


@fault
def floods_stderr(message: Message) -> None:
    sys.stderr.write("x" * 1_000_000 + "\nthe end\n")
    behave(message)


@fault
def never_reads_on(message: Message) -> None:
    behave(message)
    if message.get("method") == "notifications/initialized":
        signal.pause()


@fault
def closes_its_input(message: Message) -> None:
    behave(message)
    if message.get("method") == "notifications/initialized":
        os.close(0)
        put(b'{"jsonrpc": "2.0", "method": "notifications/message"}\n')
        signal.pause()


@fault
def tells_of_cancellations(message: Message) -> None:
    """Never answers `wait`; `what` tells whose call was taken back."""
    if message.get("method") == "notifications/cancelled":
        STATE["cancelled"] = message["params"]["requestId"]
    elif message.get("method") == "tools/call" and message["params"]["name"] == "wait":
        STATE["waited"] = message["id"]
    elif message.get("method") == "tools/call":
        answer(message, text(str(STATE.get("cancelled") == STATE["waited"])))
    else:
        behave(message)


# What it asks


@fault
def asks_back(message: Message) -> None:
    """Asks us things in the middle of a call, and answers with what we said."""
    if message.get("method") != "tools/call":
        if "method" not in message:
            STATE["said"].append(message)
            if len(STATE["said"]) == 3:
                answer(STATE["call"], {"said": STATE["said"]})
        else:
            behave(message)
        return
    STATE.update(call=message, said=[])
    for method in ("ping", "roots/list", "sampling/createMessage"):
        say({"jsonrpc": "2.0", "id": method, "method": method})


@fault
def asks_in_the_stateless_era(message: Message) -> None:
    """Asks, though it must not, and tells on the next call whether anything came back."""
    if message.get("method") == "server/discover":
        answer(message, discovering(["2026-07-28"]))
    elif "method" not in message:
        STATE["said"] = True
    elif "waiting" not in STATE:
        STATE["waiting"] = True
        say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        answer(message, {"resultType": "input_required", "inputRequests": {}})
    else:
        answer(message, {"resultType": "complete", "heard": "said" in STATE})


@fault
def keeps_pinging(message: Message) -> None:
    """Floods us with requests while it reads nothing."""
    if message.get("method") == "tools/call":
        for number in range(20_000):
            put(b'{"jsonrpc":"2.0","id":"%0200d","method":"ping"}\n' % number)
        behave(message)
    else:
        behave(message)


@fault
def lists_in_a_circle(message: Message) -> None:
    if message.get("method") == "tools/list":
        cursor = (message.get("params") or {}).get("cursor")
        answer(message, {"tools": [], "nextCursor": {"a": "b"}.get(cursor or "", "a")})
    else:
        behave(message)


@fault
def lists_two_pages(message: Message) -> None:
    if message.get("method") == "tools/list":
        last = "cursor" in message["params"]
        page = {"tools": [{"name": "second"}], "nextCursor": None}
        answer(message, page if last else {"tools": [{"name": "first"}], "nextCursor": "2"})
    else:
        behave(message)


@fault
def lists_nonsense(message: Message) -> None:
    if message.get("method") == "tools/list":
        answer(message, {"tools": "none"})
    else:
        behave(message)


# How it ends


@fault
def will_not_end(message: Message) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    STATE["after"] = signal.pause
    behave(message)


@fault
def ends_only_when_asked(message: Message) -> None:
    STATE["after"] = signal.pause
    behave(message)


def leave_a_child(message: Message, *, stranger: bool) -> None:
    """Start a child that holds our pipes and does not end; a call tells which it is."""
    if "child" not in STATE:
        command = [sys.executable, "-c", "import signal; signal.pause()"]
        STATE["child"] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=stranger
        )
    if message.get("method") == "tools/call":
        answer(message, text(str(STATE["child"].pid)))
    else:
        behave(message)


@fault
def leaves_a_child(message: Message) -> None:
    leave_a_child(message, stranger=False)


@fault
def leaves_a_stranger(message: Message) -> None:
    """A child that has left the process group."""
    leave_a_child(message, stranger=True)


def main(name: str) -> None:
    if name == "dies_at_once":
        print("no database", file=sys.stderr)
        sys.exit(7)
    act = FAULTS[name]
    if log := os.environ.get("START_LOG"):
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
    for line in sys.stdin.buffer:
        act(json.loads(line))
    STATE.get("after", lambda: None)()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
