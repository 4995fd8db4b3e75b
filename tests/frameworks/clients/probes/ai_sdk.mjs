// The AI SDK of Vercel: `createMCPClient`, with the SDK's own mock as the model.
// Argument: JSON with the folder of node_modules, the command of the server for each profile, and
// the calls.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { modules, commands, calls } = JSON.parse(process.argv[2]);
const { resolve } = createRequire(join(modules, "probe.js"));
const load = (name) => import(pathToFileURL(resolve(name)));
const { generateText, stepCountIs } = await load("ai");
const { MockLanguageModelV4 } = await load("ai/test");
const { createMCPClient } = await load("@ai-sdk/mcp");
const { Experimental_StdioMCPTransport } = await load("@ai-sdk/mcp/mcp-stdio");

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const answer = (content, reason) => ({
  content: [content],
  finishReason: { unified: reason, raw: reason },
  usage,
  warnings: [],
});

async function seenBy(tools, toolName, input) {
  const call = { type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) };
  const model = new MockLanguageModelV4({
    doGenerate: [answer(call, "tool-calls"), answer({ type: "text", text: "done" }, "stop")],
  });
  await generateText({ model, tools, prompt: "go", stopWhen: stepCountIs(2) });
  const prompt = model.doGenerateCalls.at(-1).prompt;
  const { output } = prompt.find((message) => message.role === "tool").content[0];
  const blocks = output.type === "content" ? output.value : [output];
  const isText = (block) => ["text", "error-text"].includes(block.type);
  const others = blocks.filter((block) => !isText(block) && !block.type.endsWith("json"));
  const texts = blocks.map((block) =>
    isText(block) ? block.text ?? block.value : block.type.endsWith("json") ? JSON.stringify(block.value) : "",
  );
  const mark = output.type.startsWith("error") ? "marked" : "";
  return { text: texts.join("\n"), images: others.length, mark };
}

async function seenIn([command, ...args]) {
  const transport = new Experimental_StdioMCPTransport({ command, args });
  const client = await createMCPClient({ transport });
  const seen = {};
  try {
    const tools = await client.tools();
    for (const [name, input] of Object.entries(calls)) seen[name] = await seenBy(tools, name, input);
  } finally {
    await client.close();
  }
  return seen;
}

const version = (name) =>
  JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;
const names = ["ai", "@ai-sdk/mcp"];
const versions = Object.fromEntries(names.map((name) => [name, version(name)]));
const seen = {};
for (const [profile, command] of Object.entries(commands)) seen[profile] = await seenIn(command);
console.log(JSON.stringify({ versions, seen }));
