import { Failure, orElse } from '../../failure.ts';
import { isOnThisMachine } from '../../http/service-address.ts';
import { type IncomingAnswer, isStoppedHere, send } from '../../http/send.ts';
import type { Invocation } from '../../invocation.ts';
import { jsonIn } from '../../json-in.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Finding, longTime, ok, problem, skipped, warning } from './finding.ts';

/** Less than a ticket lives, and than a signature may be old (PROTOCOL.md section 3). */
const MAX_SKEW_S = 20;

/**
 * Whether a program answers here, whether its clock agrees with this machine's, and how long its certificate holds.
 * @param probe address of it that answers everybody, and the status that it says when it is well; `readyUrl` is asked as well
 *   where the first says nothing of readiness, and need not exist
 */
export async function reachFindings(
  invocation: Invocation,
  probe: {
    readonly called: string;
    readonly url: URL;
    readonly well: readonly string[];
    readonly readyUrl?: URL;
  },
): Promise<readonly Finding[]> {
  const { called, url, well } = probe;
  const sentAt = Date.now();
  let answer: IncomingAnswer;
  try {
    answer = await send(invocation, { method: 'GET', url });
  } catch (error) {
    if (!(error instanceof Failure) || invocation.signal.aborted) throw error;
    return [
      problem(
        called,
        error.message,
        isStoppedHere(error, url)
          ? `the ${called} does not run on this machine, or has another address; \`npm start\` starts both programs`
          : `curl -v ${url.href} shows where it ends: at the name, the network, a proxy or the certificate`,
      ),
    ];
  }
  const tookMs = Date.now() - sentAt;
  const readiness = probe.readyUrl && (await unready(invocation, probe.readyUrl));
  return [
    answerFinding(readiness ?? answer, { called, url, well, tookMs }),
    clockFinding(answer, { called, atMs: sentAt + tookMs / 2 }),
    await certificateFinding(called, url),
  ];
}

/** @returns what a program answers that is not ready; undefined where it is, or does not say */
async function unready(invocation: Invocation, url: URL): Promise<IncomingAnswer | undefined> {
  const answer = await orElse(send(invocation, { method: 'GET', url }), () => undefined);
  return answer?.status === 503 && reasonIn(answer) !== undefined ? answer : undefined;
}

/** The `error` of an answer. */
function reasonIn({ text }: IncomingAnswer): string | undefined {
  const body = jsonIn(text);
  const has = typeof body === 'object' && body !== null && 'error' in body;
  return has && typeof body.error === 'string' ? plainLine(body.error) : undefined;
}

function answerFinding(
  answer: IncomingAnswer,
  { called, url, well, tookMs }: { called: string; url: URL; well: readonly string[]; tookMs: number },
): Finding {
  const { status, text } = answer;
  const body = jsonIn(text);
  const said = typeof body === 'object' && body !== null && 'status' in body ? body.status : undefined;
  if (status === 200 && typeof said === 'string' && well.includes(said))
    return said === 'degraded'
      ? warning(called, 'it serves, without its Redis', 'check Redis: each process counts limits alone')
      : ok(called, `${url.host} answers in ${tookMs} ms`);
  if (status === 503) {
    const reason = reasonIn(answer);
    const remedy = DISK_FULL.test(reason ?? '')
      ? 'make room on that disk, or move the database to a larger one; it goes on by itself'
      : 'its log says why; a start or a stop takes seconds';
    return problem(called, `${url.host} is not ready${reason === undefined ? '' : `: ${reason}`}`, remedy);
  }
  return problem(
    called,
    `${url.host} answers ${status}, and not as svault does`,
    'check the address; something else may listen there, or stand before it',
  );
}

const DISK_FULL = /disk .*full/;

function clockFinding(
  { headers }: IncomingAnswer,
  { called, atMs }: { called: string; atMs: number },
): Finding {
  const check = `clock of ${called}`;
  const thereMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(thereMs)) return skipped(check, 'its answer has no Date');
  const skewS = Math.round((thereMs - atMs) / 1_000);
  const apart = `${Math.abs(skewS)} s ${skewS > 0 ? 'ahead of' : 'behind'} this machine`;
  if (Math.abs(skewS) <= MAX_SKEW_S) return ok(check, 'agrees with this machine');
  return problem(
    check,
    `it is ${apart}`,
    'tickets and signatures live a minute: have both machines set their clocks by NTP (timedatectl set-ntp true)',
  );
}

const MAX_WARN_MS = 14 * 86_400_000;
/** Less of its lifetime is left than where renewals begin: a third of it, with most tools. */
const WARN_SHARE = 1 / 4;
const TIMEOUT_MS = 10_000;

async function certificateFinding(called: string, url: URL): Promise<Finding> {
  const check = `certificate of ${called}`;
  if (url.protocol !== 'https:')
    return skipped(check, isOnThisMachine(url) ? 'plain http, on this machine alone' : 'plain http');
  const validity = await certificateOf(url);
  if (validity === undefined) return skipped(check, 'it verifies, and was not shown');
  const { startMs, endMs } = validity;
  const leftMs = endMs - Date.now();
  const end = `${new Date(endMs).toISOString().slice(0, 16)}Z`;
  if (leftMs > Math.min(MAX_WARN_MS, (endMs - startMs) * WARN_SHARE))
    return ok(check, `verifies, and holds until ${end}`);
  const left = longTime(Math.floor(leftMs / 3_600_000));
  return warning(check, `it ends in ${left}, at ${end}`, 'renew it, and find out why it was not renewed');
}

/** When a certificate begins and ends, in milliseconds. */
interface Validity {
  readonly startMs: number;
  readonly endMs: number;
}

/** The validity of a server's certificate, by a connection that verifies it. */
async function certificateOf({ hostname, port }: URL): Promise<Validity | undefined> {
  const { connect } = await import('node:tls');
  const { isIP } = await import('node:net');
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: port === '' ? 443 : Number(port),
    ...(isIP(host) === 0 && { servername: host }),
    timeout: TIMEOUT_MS,
  });
  return new Promise((resolve) => {
    const end = (validity: Validity | undefined): void => {
      socket.destroy();
      resolve(validity);
    };
    socket
      .once('secureConnect', () => {
        const { valid_from: start, valid_to: stop } = socket.getPeerCertificate();
        const [startMs, endMs] = [Date.parse(start), Date.parse(stop)];
        end(Number.isNaN(startMs + endMs) ? undefined : { startMs, endMs });
      })
      .once('timeout', () => end(undefined))
      .once('error', () => end(undefined));
  });
}
