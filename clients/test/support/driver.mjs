// Runs calls of the packed client and prints what came of each. Pauses are recorded and not waited for.
/* oxlint-disable no-console */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { inspect } from 'node:util';

const pauses = [];
timers.setTimeout = async (ms) => void pauses.push(ms / 1_000);
syncBuiltinESMExports();
const { SvaultClient, createSealingKey, mcpProxy, publicJwk } = await import('@svault/client');

const CALLS = {
  get: (client, { service }) => client.get(service),
  grants: (client) => client.grants(),
  mcp: (client) => client.mcp(),
};

async function outcomeOf({ call, options = {}, ...rest }) {
  if (call === 'create_sealing_key') {
    const key = createSealingKey(rest.curve);
    return { result: { key, public: publicJwk(key) } };
  }
  if (call === 'mcp_proxy') return { result: mcpProxy({ key: rest.key }) };
  const { timeout, max_wait, base_url, webhook_url, sealing_key, key } = options;
  const client = new SvaultClient({
    ...(base_url !== undefined && { baseUrl: base_url }),
    ...(webhook_url !== undefined && { webhookUrl: webhook_url }),
    ...(sealing_key !== undefined && { sealingKey: sealing_key }),
    ...(key !== undefined && { key }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }),
    ...(max_wait !== undefined && { maxWaitMs: max_wait * 1_000 }),
  });
  const result = await CALLS[call](client, rest);
  const shown = call === 'get' ? [inspect(client), inspect(result), JSON.stringify(result)].join() : '';
  const { accessToken, refreshToken, privateKey } = result;
  return { result: call === 'get' ? { ...result, accessToken, refreshToken, privateKey } : result, shown };
}

const outcomes = [];
for (const each of JSON.parse(process.argv[2])) {
  pauses.length = 0;
  let outcome;
  try {
    outcome = await outcomeOf(each);
  } catch (error) {
    const { name, message, code, status, requestId, retryAfter, policy, reason } = error;
    outcome = {
      error: { name, message, code, status, requestId, retryAfter, policy, reason },
      shown: inspect(error),
    };
  }
  outcomes.push({ ...outcome, pauses: [...pauses] });
}
console.log(JSON.stringify(outcomes));
