// One call as a command or code to copy.

import { Exact, isObject, parse } from "./json.js";
import { quoted, shell } from "./text.js";

const META = "io.modelcontextprotocol";

export function copies(about, tool, text, render) {
  const url = about.kind === "local" ? new URL(about.endpoint, location.href).href : about.target;
  const isUrl = /^https?:/.test(url);
  return {
    curl: isUrl ? curl(url, tool, text, render.revision ?? about.revision, render.profile) : null,
    CLI: cli(url, tool, text, render),
    Python: python(url, tool, text),
  };
}

function curl(url, tool, text, revision, profile) {
  const isStateless = revision >= "2026-07-28";
  const capabilities = profile ? { extensions: { "dev.accord-mcp/profile": { name: profile } } } : {};
  const meta = `"_meta":${JSON.stringify({ [`${META}/protocolVersion`]: revision, [`${META}/clientCapabilities`]: capabilities })}`;
  const params = `{"name":${JSON.stringify(tool)},"arguments":${text}${isStateless ? `,${meta}` : ""}}`;
  const headers = [
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `MCP-Protocol-Version: ${revision}`,
    ...(isStateless ? ["Mcp-Method: tools/call", `Mcp-Name: ${encoded(tool)}`] : []),
  ];
  const words = [
    `curl ${shell(url)}`,
    ...headers.map((each) => `-H ${shell(each)}`),
    `-d ${shell(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)}`,
  ];
  return words.join(" \\\n  ");
}

// A header holds plain characters; any other name goes as MCP encodes it.
function encoded(name) {
  if (/^[\x21-\x7e]+$/.test(name)) return name;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(name)))}?=`;
}

function cli(target, tool, text, render) {
  const words = ["accord", "call", shell(target), shell(tool), shell(text)];
  if (render.revision) words.push("--revision", render.revision);
  return words.join(" ");
}

function python(target, tool, text) {
  return `import asyncio

from accord import Client


async def main():
    async with Client(${literal(target)}) as client:
        reading = await client.call_tool(${literal(tool)}, ${literal(parse(text))})
    print(reading.response)


asyncio.run(main())
`;
}

function literal(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (value instanceof Exact) return value.source;
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([name, each]) => `${literal(name)}: ${literal(each)}`)
      .join(", ")}}`;
  return typeof value === "string" ? quoted(value) : JSON.stringify(value);
}
