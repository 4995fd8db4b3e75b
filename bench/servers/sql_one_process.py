"""The lower bound for `run_query`: one process, no limits, JSON written by SQLite.

The columns are fixed and no other tool exists; the bytes of the results equal Accord's.
"""

import os
import sys

import apsw
import msgspec
from msgspec import Raw

from bench.servers.data import COLUMNS

connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)
members = ", ".join(f"'{name}', {name}" for name in COLUMNS)
encode = msgspec.json.Encoder().encode


class Arguments(msgspec.Struct):
    query: str


class Params(msgspec.Struct):
    arguments: Arguments


class Call(msgspec.Struct):
    id: int
    params: Params


class Method(msgspec.Struct):
    method: str


decode = msgspec.json.Decoder(Call).decode
method_of = msgspec.json.Decoder(Method).decode


def reply(line: bytes) -> bytes:
    call = decode(line)
    query = call.params.arguments.query
    found, rows = connection.execute(
        f"SELECT count(*), json_group_array(json_object({members})) FROM ({query})"
    ).get
    json = rows.encode()
    indented = msgspec.json.format(json, indent=2).decode()
    text = f"Query executed successfully. Found {found} rows:\n{indented}"
    result = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"result": Raw(json)},
    }
    return encode({"jsonrpc": "2.0", "id": call.id, "result": result}) + b"\n"


def initialize(line: bytes) -> bytes:
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    identity = msgspec.json.decode(line)["id"]
    return encode({"jsonrpc": "2.0", "id": identity, "result": result}) + b"\n"


def main() -> None:
    handlers = {"tools/call": reply, "initialize": initialize}
    buffer = b""
    while chunk := os.read(0, 32_768):
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            handle = handlers.get(method_of(line).method)
            view = memoryview(handle(line) if handle else b"")
            while view:  # one write per reply: joining them costs a fifth more
                view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
