import { randomBytes } from 'node:crypto';
import { utf8, type HmacKey } from '@svault/shared';
import { NotTestable } from '../check/outcome.ts';
import { NoAnswer, type Answer, type Client, type RequestToSend } from '../http/client.ts';
import type { Address, Binding, Invitation } from '../target.ts';
import { bindingOf } from './exchanged.ts';
import { createHandshake, unknownCode, unknownKey, VAULT_ID, type Handshake } from './handshake.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import type { BindingTranscript, Step, StepName } from './transcript.ts';

/** How a binding ended, and what was answered on the way. */
export interface Bound {
  readonly transcript: BindingTranscript;
  /** Why there is none, where the webhook could not be bound. */
  readonly binding: Binding | NotTestable;
}

/** What the steps work with. */
interface Desk {
  readonly address: Address;
  readonly invitation: Invitation;
  readonly hand: Handshake;
  readonly record: Recorder;
  /** The key with the id `bind`. */
  readonly codeKey: HmacKey;
}

/** An exchange that was answered with a key. */
interface Exchanged {
  readonly binding: Binding;
  readonly answer: Answer;
}

/**
 * Binds the webhook to the suite as a service does (protocol section 5.1): exchanges the code, then completes the
 * binding with a first signed request. Around these two it looks at everything that shows with one code. An exchange
 * that should have been refused and was not gives its key to the run: a code is never lost to a look.
 */
export async function bind(client: Client, address: Address, invitation: Invitation): Promise<Bound> {
  const record = createRecorder(client);
  const hand = createHandshake(address, invitation);
  const codeKey = { id: 'bind', secret: utf8(invitation.code) };
  const desk: Desk = { address, invitation, hand, record, codeKey };
  const transcript: BindingTranscript = { address, invitation, steps: record.steps };

  await lookAtUnbound(desk);
  const tooEarly = await exchangeWrongly(desk);
  const [exchanged, ...others] = tooEarly.length > 0 ? tooEarly : await exchangeRightly(desk);
  if (exchanged === undefined)
    return { transcript, binding: whyNot(record.steps.exchange, 'the webhook was not bound') };
  record.note('exchange', exchanged.answer);
  await lookAtPending(desk, exchanged.binding);
  const binding = await complete(desk, [exchanged, ...others]);
  if (!(binding instanceof NotTestable)) await lookAtBound(desk, binding);
  return { transcript, binding };
}

const HEALTH = '/v1/health';
const BIND_PAGE: RequestToSend = { method: 'GET', path: '/bind', headers: [['accept', 'text/html']] };

async function lookAtUnbound({ hand, record, codeKey }: Desk): Promise<void> {
  const { look } = record;
  const page = await look('page', BIND_PAGE);
  const form = page && hand.wrongSetupToken(page);
  if (form !== undefined) {
    await look('wrongSetupToken', form);
    await exhaustSetupTokens(record, form);
  }
  await look('openHealth', { method: 'GET', path: HEALTH });
  await look('unsignedHealth', { method: 'POST', path: HEALTH });
  const notice = { serviceName: 'none', reason: 'manual' };
  const get = { phase: 'get', serviceName: 'none' };
  // None stands for what a webhook without a key may hold in its place.
  const emptyKeys = ['bind', unknownKey().id].map((id) => ({ id, secret: new Uint8Array() }));
  for (const key of [unknownKey(), ...emptyKeys]) {
    const isEmpty = key.secret.byteLength === 0;
    const name = !isEmpty ? 'unknownKey' : key.id === 'bind' ? 'emptyBindKey' : 'emptyKey';
    await look(`${name}AtHealth`, hand.signed(HEALTH, {}, key));
    await look(`${name}AtStorage`, hand.signed('/v1/storage', { op: 'tokens.list', limit: 1 }, key));
    await look(`${name}AtProxy`, hand.signed('/v1/proxy', undefined, key));
    await look(`${name}AtRefreshNotify`, hand.signed('/v1/refresh-notify', notice, key));
    await look(`${name}AtRefresh`, hand.signed('/v1/refresh', get, key));
    if (name !== 'emptyBindKey')
      await look(`${name}Rotates`, hand.signed('/v1/exchange', { op: 'rotate' }, key));
  }
  const emptyKey = { ...unknownKey(), secret: new Uint8Array() };
  await look('codeAtHealthUnbound', hand.signed(HEALTH, {}, codeKey));
  await look('emptyKeyTicket', hand.ticket({ webhookId: 'whk_none', key: emptyKey }));
}

/** BND-04. */
const WRONG_SETUP_TOKENS_A_MINUTE = 10;
/** What takes longer may span two of a webhook's minutes. */
const AT_ONCE_MS = 1000;

async function exhaustSetupTokens({ look }: Recorder, form: RequestToSend): Promise<void> {
  const start = Date.now();
  const most = (): number => (Date.now() - start < AT_ONCE_MS ? 1 : 2) * WRONG_SETUP_TOKENS_A_MINUTE + 1;
  for (let sent = 0; sent < most(); sent++) {
    const answer = await look('manyWrongSetupTokens', form);
    if (answer === undefined || answer.status === 429) return;
  }
}

/** Exchanges with one thing wrong each, until one of them is answered with a key, which none should be. */
async function exchangeWrongly({ address, invitation, hand, record }: Desk): Promise<readonly Exchanged[]> {
  const { code } = invitation;
  const now = (): number => Math.floor(Date.now() / 1000);
  const about = (baseUrl?: string, vaultId = VAULT_ID): object => ({ code, service: { baseUrl, vaultId } });
  const unsigned = (): RequestToSend => {
    const { method, path, body = '' } = hand.exchange();
    return { method, path, headers: [['content-type', 'application/json']], body };
  };
  const tampered = (): RequestToSend => {
    const body = JSON.stringify(about(address.serviceUrl, `${VAULT_ID}_2`));
    return { ...hand.exchange(), body };
  };
  const under = (key: HmacKey) => (): RequestToSend => hand.exchange({ signature: { key } });
  const at = (created: number, expires: number) => (): RequestToSend =>
    hand.exchange({ signature: { created: now() + created, expires: now() + expires } });
  const service =
    (baseUrl?: string, [created, expires]: readonly [number, number] = [0, 50]) =>
    (): RequestToSend =>
      hand.exchange({
        body: about(baseUrl),
        signature: { created: now() + created, expires: now() + expires },
      });
  // Clocks that differ by 25 seconds (SIG-50): such an exchange is refused for its service alone.
  const [ahead, late] = [[25, 80] as const, [-75, -25] as const];
  const wrong: readonly (readonly [StepName, () => RequestToSend])[] = [
    [
      'noCode',
      () => hand.exchange({ body: { service: { baseUrl: address.serviceUrl, vaultId: VAULT_ID } } }),
    ],
    ['codeIsNumber', () => hand.exchange({ body: { ...about(address.serviceUrl), code: 7 } })],
    ['wrongCode', () => hand.exchange({ code: unknownCode() })],
    ['unsigned', unsigned],
    ['forgedMac', under({ id: 'bind', secret: utf8(unknownCode()) })],
    ['otherKeyId', under({ id: 'bound', secret: utf8(code) })],
    ['tamperedBody', tampered],
    ['expired', at(-95, -39)],
    ['fromTheFuture', at(42, 90)],
    ['longLived', at(0, 61)],
    ['withoutLife', at(5, 5)],
    ['otherService', service('https://another-service.example')],
    ['serviceWithSlash', service(`${address.serviceUrl}/`, ahead)],
    [
      'serviceInCapitals',
      service(
        address.serviceUrl.replace(/^https?/, (scheme) => scheme.toUpperCase()),
        late,
      ),
    ],
    ['noService', service()],
  ];
  for (const [name, request] of wrong) {
    let answer = await record.look(name, request());
    // Told to wait at the first of them: a run before this one used up what wrong codes there may be in a minute.
    if (name === 'wrongCode') answer = (await record.again(name, request)) ?? answer;
    const exchanged = answer && exchangedBy(answer);
    if (exchanged !== undefined) return [exchanged];
  }
  return [];
}

/** The right exchange, three times at once: one code is worth one key (BND-06, EXC-06). */
async function exchangeRightly({ hand, record }: Desk): Promise<readonly Exchanged[]> {
  const names = ['exchange', 'exchangeBeside', 'exchangeBesideToo'] as const;
  await Promise.all(names.map((name) => record.need(name, hand.exchange())));
  await record.again('exchange', () => hand.exchange());
  const won = names.filter((name) => exchangedBy(record.steps[name]) !== undefined);
  const inOrder = [...won, ...names.filter((name) => !won.includes(name))].map((name) => record.steps[name]);
  names.forEach((name, index) => record.note(name, inOrder[index]));
  return inOrder.flatMap((step) => exchangedBy(step) ?? []);
}

async function lookAtPending({ invitation, hand, record }: Desk, binding: Binding): Promise<void> {
  const { look } = record;
  await look('usedCodePending', hand.exchange());
  const service = { baseUrl: 'https://another-service.example', vaultId: VAULT_ID };
  await look('usedCodeOtherService', hand.exchange({ body: { code: invitation.code, service } }));
  await look(
    'usedCodeForgedPending',
    hand.exchange({ signature: { key: { id: 'bind', secret: utf8(unknownCode()) } } }),
  );
  await look('pagePending', BIND_PAGE);
  await look('forgedFirst', hand.signed(HEALTH, {}, { ...binding.key, secret: randomBytes(32) }));
  await look('ticketFirst', hand.ticket(binding));
  await look('pageStillPending', BIND_PAGE);
}

/**
 * The first valid request under the new key. Once more where it is refused, under another key if more than one was
 * given out, so that the run does not end there.
 */
async function complete(
  { hand, record }: Desk,
  [exchanged, other = exchanged]: readonly [Exchanged, ...Exchanged[]],
): Promise<Binding | NotTestable> {
  const health = ({ binding }: Exchanged): RequestToSend => hand.signed(HEALTH, {}, binding.key);
  const first = await record.need('firstHealth', health(exchanged));
  if (first?.status === 200) return exchanged.binding;
  const second = await record.need('secondHealth', health(other));
  if (second?.status === 200) return other.binding;
  return whyNot(record.steps.firstHealth, 'the first request under the new key was refused');
}

async function lookAtBound({ invitation, hand, record, codeKey }: Desk, { key }: Binding): Promise<void> {
  const { look, steps } = record;
  await look('pageBound', { method: 'GET', path: '/bind' });
  const form = steps.page instanceof NoAnswer ? undefined : steps.page && hand.wrongSetupToken(steps.page);
  if (form?.path === '/bind') await look('wrongSetupTokenBound', form);
  await look('usedCodeBound', hand.exchange());
  await look(
    'usedCodeForgedBound',
    hand.exchange({ signature: { key: { id: 'bind', secret: utf8(unknownCode()) } } }),
  );
  await look('codeAtHealthBound', hand.signed(HEALTH, {}, codeKey));
  await look('codeRotates', hand.exchange({ body: { op: 'rotate', code: invitation.code } }));
  await look('codeUnderKey', hand.exchange({ signature: { key } }));
}

function exchangedBy(step: Step | undefined): Exchanged | undefined {
  if (step === undefined || step instanceof NoAnswer) return undefined;
  const binding = bindingOf(step);
  return binding && { binding, answer: step };
}

function whyNot(step: Step | undefined, reason: string): NotTestable {
  if (step instanceof NoAnswer) return new NotTestable(`${reason}: ${step.message}`);
  return new NotTestable(reason, step);
}
