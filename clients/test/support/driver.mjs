// Runs calls of the packed client and prints what came of each. Pauses are recorded and not waited for.
/* oxlint-disable no-console */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { inspect } from 'node:util';

const pauses = [];
const waits = [];
timers.setTimeout = async (ms) => void pauses.push(ms / 1_000);
syncBuiltinESMExports();
const { SvaultClient, createSealingKey, mcpProxy, publicJwk } = await import('@svault/client');

const CALLS = {
  get: (client, { service }) => client.get(service),
  grants: (client) => client.grants(),
  mcp: (client) => client.mcp(),
};

/** With the members that JSON.stringify leaves out. */
function plain(call, result) {
  const { accessToken, refreshToken, privateKey, headers } = result;
  if (call === 'get') return { ...result, accessToken, refreshToken, privateKey };
  return call === 'grants' ? result : { ...result, headers };
}

async function outcomeOf({ call, options = {}, ...rest }) {
  if (call === 'create_sealing_key') {
    const key = createSealingKey(rest.curve);
    return { result: { key, public: publicJwk(key) } };
  }
  const shownOf = (...values) => values.map((value) => inspect(value) + JSON.stringify(value)).join();
  if (call === 'mcp_proxy') {
    const endpoint = mcpProxy({ key: rest.key });
    return { result: plain(call, endpoint), shown: shownOf(endpoint) };
  }
  const { timeout, max_wait, base_url, webhook_url, sealing_key, require_sealed, key } = options;
  const client = new SvaultClient({
    ...(base_url !== undefined && { baseUrl: base_url }),
    ...(webhook_url !== undefined && { webhookUrl: webhook_url }),
    ...(sealing_key !== undefined && { sealingKey: sealing_key }),
    ...(key !== undefined && { key }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }),
    ...(max_wait !== undefined && { maxWaitMs: max_wait * 1_000 }),
    ...(require_sealed !== undefined && { requireSealed: require_sealed }),
    onRetry: ({ error, waitMs }) => waits.push(`${error.code}: ${waitMs / 1_000} s`),
  });
  const result = await CALLS[call](client, rest);
  return { result: plain(call, result), shown: shownOf(client, result) };
}

const outcomes = [];
for (const each of JSON.parse(process.argv[2])) {
  pauses.length = 0;
  waits.length = 0;
  let outcome;
  try {
    outcome = await outcomeOf(each);
  } catch (error) {
    const { name, message, code, status, requestId, retryAfter, policy, rule, reason, isRetryable } = error;
    outcome = {
      error: { name, message, code, status, requestId, retryAfter, policy, rule, reason, isRetryable },
      shown: inspect(error),
    };
  }
  outcomes.push({ ...outcome, pauses: [...pauses], waits: [...waits] });
}
console.log(JSON.stringify(outcomes));
