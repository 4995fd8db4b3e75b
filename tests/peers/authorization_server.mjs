// An authorization server: oidc-provider, which signs in every user as `alice` and agrees to every scope.
//
// Argument: JSON with the folder of node_modules, the port, the resource and its scopes, the id and secret of a client
// for machines, the format of access tokens (jwt or opaque) and their lifetime in seconds.
//
// Refresh tokens rotate; tokens can be introspected and revoked; other clients register themselves. POST /rotate-keys
// replaces the signing key. It prints a line once it listens, and ends with its standard input.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { modules, port, resource, scopes, client, secret, format, seconds } = JSON.parse(process.argv[2]);
const { resolve } = createRequire(join(modules, "server.js"));
const { Provider } = await import(pathToFileURL(resolve("oidc-provider")));
const issuer = `http://127.0.0.1:${port}`;
const scope = `${scopes} offline_access`;

function key() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

let keys = [key()];
let provider = build();

function build() {
  const made = new Provider(issuer, {
    jwks: { keys },
    clients: [{
      client_id: client,
      client_secret: secret,
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      scope: scopes,
    }],
    cookies: { keys: ["a test"] },
    scopes: ["openid", ...scope.split(" ")],
    ttl: {
      AccessToken: seconds, ClientCredentials: seconds, RefreshToken: 3600,
      Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600,
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope, audience: resource, accessTokenFormat: format }),
      },
    },
    clientDefaults: { grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none" },
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    interactions: { url: (_, { uid }) => `/agree/${uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  made.on("server_error", (_, error) => console.error(error));
  return made;
}

async function agree(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "alice" } });
  }
  const grant = (grantId && await provider.Grant.find(grantId))
    || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope: own = [], missingResourceScopes: others = {} } = prompt.details;
  grant.addOIDCScope(own.join(" "));
  for (const [server, missing] of Object.entries(others)) grant.addResourceScope(server, missing.join(" "));
  const result = { consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

// Clients may ask for more than the scopes that they registered with.
async function register(request, response) {
  const parts = await request.toArray();
  const { scope: _, ...metadata } = JSON.parse(Buffer.concat(parts));
  request.body = metadata;
  provider.callback()(request, response);
}

const server = createServer((request, response) => {
  if (request.url === "/rotate-keys") {
    keys = [key()];
    provider = build();
    response.end();
  } else if (request.url === "/reg") {
    register(request, response);
  } else if (request.url.startsWith("/agree/")) {
    agree(request, response).catch((error) => { response.statusCode = 500; response.end(String(error)); });
  } else {
    provider.callback()(request, response);
  }
});
server.listen(port, "127.0.0.1", () => console.log("listening"));
process.stdin.on("end", () => process.exit()).resume();
