// The official TypeScript client: it signs in to a protected server, and calls a tool.
// Argument: JSON with the folder of node_modules, the URL, the tool and its arguments. Prints the result, and what was asked
// of the authorization server.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { modules, url, tool, args } = JSON.parse(process.argv[2]);
const { resolve } = createRequire(join(modules, "client.js"));
const load = (name) => import(pathToFileURL(resolve(name)));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await load("@modelcontextprotocol/client");

const CALLBACK = "http://127.0.0.1:9/callback"; // no server is there: the code is taken from the redirect

class SignIn {
  redirectUrl = CALLBACK;
  authorizations = [];
  clientMetadata = {
    client_name: "a test", application_type: "native", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
  };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  async redirectToAuthorization(authorization) {
    this.authorizations.push(Object.fromEntries(authorization.searchParams));
    this.answer = await follow(authorization);
  }
}

// Follow the redirects of a browser, with its cookies, up to the callback.
async function follow(start) {
  const cookies = new Map();
  for (let next = new URL(start); ;) {
    if (next.href.startsWith(CALLBACK)) return next.searchParams;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(next, { headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      value === "" ? cookies.delete(name) : cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${next} answered ${response.status} ${await response.text()}`);
    next = new URL(location, next);
  }
}

const authProvider = new SignIn();
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: "a test", version: "1" });
  await client.connect(transport);
  return client;
};

async function signedIn(work) {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || tries === 3) throw error;
      const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
      await transport.finishAuth(authProvider.answer);
    }
  }
}

const client = await signedIn(connect);
const result = await signedIn(() => client.callTool({ name: tool, arguments: args }));
console.log(JSON.stringify({ result, authorizations: authProvider.authorizations }));
await client.close();
