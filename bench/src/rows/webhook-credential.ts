import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  authorityOf,
  fromBase64url,
  issueTicket,
  newId,
  randomToken,
  timeOrderedToken,
  signedPath,
  signRequest,
  utf8,
  type HmacKey,
  type TicketClaims,
} from '@svault/shared';
import { freePort } from '@svault/compose/free-port';
import { SERVER_CORE } from '../machine.ts';
import { onlyOnce, requestBytes } from '../requests.ts';
import type { Contender } from '../rounds.ts';
import { startServer } from '../server-process.ts';

const WEBHOOK_MAIN = fileURLToPath(new URL('../../../webhook/dist/main.js', import.meta.url));
/** The bench acts as the control plane; no process listens here. */
const SERVICE_URL = 'http://127.0.0.1:9';
const SERVICE_NAME = 'bench-service';
/** More than one core can answer, so that no run ends for want of tickets. */
const TICKETS_PER_SECOND = 30_000;
const TICKET_SECONDS = 60;

interface Bound {
  readonly url: string;
  readonly webhookId: string;
  readonly key: HmacKey;
}

/** A separate webhook that the bench has bound, since each request needs a ticket signed for it. */
export async function startWebhookContender(
  dir: string,
  secondsPerRun: number,
): Promise<{ contender: Contender; stop: () => Promise<void> }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...process.env,
    SV_WEBHOOK_URL: url,
    SV_WEBHOOK_LISTEN: `127.0.0.1:${port}`,
    SV_WEBHOOK_DATA_DIR: dir,
    SV_WEBHOOK_MASTER_KEY: randomToken(32),
    SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
    SV_WEBHOOK_SERVICE_URL: SERVICE_URL,
    SV_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const args = [WEBHOOK_MAIN, 'serve'];
  const server = await startServer({ args, readyUrl: `${url}/readyz`, core: SERVER_CORE, env, cwd: dir });
  const link = execFileSync(process.execPath, [WEBHOOK_MAIN, 'bind-link'], {
    env,
    cwd: dir,
    encoding: 'utf8',
  });
  const bound = await bind(url, link);
  await storeCredential(bound);
  const tickets = Math.ceil(TICKETS_PER_SECOND * secondsPerRun);
  const prepare: Contender['prepare'] = () =>
    onlyOnce(
      Array.from({ length: tickets }, () =>
        requestBytes(url, `/v1/credential?ticket=${credentialTicket(bound)}`),
      ),
    );
  return {
    contender: {
      name: 'webhook /v1/credential, single use durable',
      url,
      pid: server.pid,
      expectedStatus: 200,
      prepare,
    },
    stop: server.stop,
  };
}

/** Protocol section 5.1: exchanges the code of a registration link, then completes the binding by a signed request. */
async function bind(url: string, link: string): Promise<Bound> {
  const code = /[?&]code=([0-9a-f-]{36})/.exec(link)?.[1];
  if (code === undefined) throw new Error(`bind-link printed no code: ${link}`);
  const body = { code, service: { baseUrl: SERVICE_URL, vaultId: newId('vlt') } };
  const answer = (await post(url, '/v1/exchange', body, { id: 'bind', secret: utf8(code) })) as {
    webhookId: string;
    keyId: string;
    hmacSecret: string;
  };
  const secret = fromBase64url(answer.hmacSecret);
  if (secret === undefined) throw new Error('the webhook answered no secret');
  const bound = { url, webhookId: answer.webhookId, key: { id: answer.keyId, secret } };
  await post(url, '/v1/health', {}, bound.key);
  return bound;
}

async function post(url: string, path: string, json: object, key: HmacKey): Promise<unknown> {
  const body = utf8(JSON.stringify(json));
  const request = { method: 'POST', authority: authorityOf(url), path: signedPath(url, path) };
  const headers = signRequest({ ...request, body, key, nowMs: Date.now() });
  const answer = await fetch(url + path, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function storeCredential(bound: Bound): Promise<void> {
  const ticket = issueTicket({ ...claims(bound), op: 'store', sub: newId('usr') }, bound.key);
  const answer = await fetch(`${bound.url}/v1/store`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokenType: 'PlainText', value: randomToken(32) }),
  });
  if (!answer.ok) throw new Error(`/v1/store answered ${answer.status}: ${await answer.text()}`);
}

const credentialTicket = (bound: Bound): string =>
  issueTicket(
    { ...claims(bound), op: 'credential', sub: 'agt_bench', gnt: 'grt_bench', rfp: 'none' },
    bound.key,
  );

function claims({ webhookId }: Bound): Omit<TicketClaims, 'op' | 'sub'> {
  const nowMs = Date.now();
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: SERVICE_URL,
    aud: webhookId,
    svc: SERVICE_NAME,
    jti: timeOrderedToken(nowMs),
    iat,
    exp: iat + TICKET_SECONDS,
  };
}
