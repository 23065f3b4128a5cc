import { parseTime, toBase64url } from '@svault/shared';
import { type AssertionChanges, softwarePasskey } from '@svault/shared/software-passkey';
import {
  decisionOptions,
  givenApprover,
  pathBelow,
  post,
  postDecision,
  type Approver,
} from '../../approver/approver.ts';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { allOf } from '../storage/holdings.ts';
import {
  asked,
  expectStatus,
  expectUnapproved,
  fetchFor,
  freshSub,
  OF_API,
  OF_CREDENTIAL,
  OF_PROXY,
  OTHER_METHODS,
  setUpApprovedApi,
  setUpApprovedMcp,
  storeApproved,
  type ApprovableCall,
  type Approval,
} from './approved-record.ts';
import { requestDigest } from '@svault/shared/request-digest';

const MINUTE_MS = 60_000;
/** How long a denial answers who asks again. */
const SILENCE_MS = 10 * MINUTE_MS;
/** Clocks aside, an answer takes a while. */
const SLACK_MS = 5_000;

/** A request for the delivery of a record of its own. */
interface Pending {
  readonly name: string;
  readonly sub: string;
  readonly approval: Approval;
}

async function pending(tools: Tools, standingSeconds?: number): Promise<Pending> {
  const { name } = await storeApproved(tools, standingSeconds);
  const sub = freshSub();
  return { name, sub, approval: await asked(tools, { serviceName: name, sub }) };
}

/** Expects that a status ends so long after now. */
function expectEnd(answer: Answer, expiresAt: unknown, ms: number, from: number): void {
  const end = typeof expiresAt === 'string' ? (parseTime(expiresAt) ?? 0) : 0;
  const isWithin = end >= from + ms - SLACK_MS && end <= Date.now() + ms + SLACK_MS;
  expectThat(isWithin, answer, `an end ${ms / 1000} seconds after the decision`);
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  Object(value) as Readonly<Record<string, unknown>>;

/** Expects what a passkey of ES256 can be made by: the members that Web Authentication Level 3 requires. */
function expectCreation(answer: Answer): void {
  const { rp, user, pubKeyCredParams } = membersOf(expectOk(answer)['publicKey']);
  const texts = [
    membersOf(rp)['name'],
    ...['id', 'name', 'displayName'].map((name) => membersOf(user)[name]),
  ];
  const isNamed = texts.every((each) => typeof each === 'string');
  expectThat(isNamed, answer, 'a name of rp, and id, name and displayName of user');
  const algorithms: readonly unknown[] = Array.isArray(pubKeyCredParams) ? pubKeyCredParams : [];
  const takesES256 = algorithms.map(membersOf).some(({ type, alg }) => type === 'public-key' && alg === -7);
  expectThat(takesES256, answer, 'ES256 (-7) among pubKeyCredParams');
}

/** Protocol section 5.10: decisions, who may make them, and what is logged of them. */
export const DECIDING_CHECKS: readonly Check[] = [
  {
    id: 'approvals.approved',
    title: 'a request that an approver approved is approved for 15 minutes, and an allowance for its seconds',
    requirements: ['APR-24', 'APR-28', 'APR-44'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const approver = await givenApprover(tools);
      expectCreation(approver.creation);
      for (const [scope, ms] of [
        ['once', 15 * MINUTE_MS],
        ['standing:60', MINUTE_MS],
      ] as const) {
        const { approval } = await pending(tools, 60);
        const from = Date.now();
        const answer = await approver.decide(approval.url, { scope });
        expectOk(answer);
        const { expiresAt } = await expectStatus(tools, approval, 'approved');
        expectEnd(answer, expiresAt, ms, from);
      }
    },
  },
  {
    id: 'approvals.denied',
    title: 'a request that an approver denied is denied, answers who asks again, and lets nobody in',
    requirements: ['APR-10', 'APR-24'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const { name, sub, approval } = await pending(tools);
      const from = Date.now();
      const answer = await approver.decide(approval.url, { decision: 'deny' });
      expectOk(answer);
      const { expiresAt } = await expectStatus(tools, approval, 'denied');
      expectEnd(answer, expiresAt, SILENCE_MS, from);
      const again = await asked(tools, { serviceName: name, sub });
      const isSame = again.id === approval.id && again.status === 'denied';
      expectThat(isSame, again.answer, 'the request that was denied');
      expectUnapproved(await fetchFor(tools, name, sub));
    },
  },
  {
    id: 'approvals.decided-once',
    title: 'a pending request is approved or denied once, and an approved one revoked until it is used',
    requirements: ['APR-24', 'APR-43'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const conflicts = async ({ url }: Approval, decision: string): Promise<void> => {
        const answer = await post(tools, `${pathBelow(tools, url)}/options`, { decision, scope: 'once' });
        expectRefusal(answer, 'VERSION_CONFLICT', `the options of ${decision}`);
        const response = approver.passkey.get({ challenge: toBase64url(new Uint8Array(32)) });
        const decided = await postDecision(tools, url, { decision }, response);
        expectRefusal(decided, 'VERSION_CONFLICT', decision);
      };
      const { name, sub, approval } = await pending(tools);
      await conflicts(approval, 'revoke');
      expectOk(await approver.decide(approval.url));
      for (const decision of ['approve', 'deny']) await conflicts(approval, decision);
      expectOk(await approver.decide(approval.url, { decision: 'revoke' }));
      expectUnapproved(await fetchFor(tools, name, sub), 'a use of what was revoked');
      for (const decision of ['approve', 'deny', 'revoke']) await conflicts(approval, decision);
      const used = await pending(tools);
      expectOk(await approver.decide(used.approval.url));
      expectOk(await fetchFor(tools, used.name, used.sub));
      await conflicts(used.approval, 'revoke');
      const unknown = used.approval.url.slice(0, -22) + 'A'.repeat(22);
      const answer = await post(tools, `${pathBelow(tools, unknown)}/options`, {
        ...{ decision: 'approve', scope: 'once' },
      });
      expectRefusal(answer, 'NOT_FOUND', 'a request that is not there');
    },
  },
  {
    id: 'approvals.assertion',
    title:
      'an assertion of another origin, relying party, challenge or passkey, or without the person, is refused',
    requirements: ['APR-23', 'APR-43'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const { name, sub, approval } = await pending(tools);
      const { origin, hostname } = new URL(tools.target.webhookUrl);
      await eachVariant<AssertionChanges>(
        {
          'another origin': { origin: `${origin}.example` },
          'its origin in capitals': { origin: origin.toUpperCase() },
          'the origin of another port': { origin: `${new URL(origin).protocol}//${hostname}:1` },
          'another relying party': { rpId: `not-${hostname}` },
          'a person who was not verified': { userVerified: false },
          'a person who was not there': { userPresent: false },
          'a frame of another origin': { crossOrigin: true },
          'the registration of a passkey': { type: 'webauthn.create' },
          'another challenge': { challenge: toBase64url(new Uint8Array(32)) },
          'a passkey that nobody enrolled': { id: toBase64url(Buffer.alloc(32, 1)) },
        },
        async (changes) => {
          expectRefusal(await approver.decide(approval.url, {}, changes), 'SIGNATURE_INVALID');
          await expectStatus(tools, approval, 'pending');
        },
      );
      const stranger = softwarePasskey({ origin, rpId: hostname });
      const { publicKey } = await decisionOptions(tools, approval.url);
      const forged = stranger.get(publicKey, { id: approver.passkey.id });
      expectRefusal(await postDecision(tools, approval.url, {}, forged), 'SIGNATURE_INVALID', 'a forgery');
      expectUnapproved(await fetchFor(tools, name, sub));
    },
  },
  {
    id: 'approvals.assertion-elsewhere',
    title: 'an assertion for another decision, scope or request is refused, one that was used before too',
    requirements: ['APR-22', 'APR-23'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const { name, sub, approval } = await pending(tools, 3600);
      const { publicKey } = await decisionOptions(tools, approval.url, { decision: 'deny' });
      const denial = approver.passkey.get(publicKey);
      const once = await decisionOptions(tools, approval.url);
      const refused = async (response: object, asked: object, what: string): Promise<void> =>
        expectRefusal(await postDecision(tools, approval.url, asked, response), 'SIGNATURE_INVALID', what);
      await refused(denial, { decision: 'approve' }, 'a denial as an approval');
      await refused(approver.passkey.get(once.publicKey), { scope: 'standing:3600' }, 'once as an allowance');
      const { challenge } = once.publicKey;
      const cased = challenge.replaceAll(/[a-z]/gi, (each) =>
        each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase(),
      );
      await refused(approver.passkey.get({ challenge: cased }), {}, 'another letter case of the challenge');
      const begun = approver.passkey.get({ challenge: challenge.slice(0, 20) });
      await refused(begun, {}, 'the beginning of the challenge');
      const other = await pending(tools);
      const its = await decisionOptions(tools, other.approval.url);
      const used = approver.passkey.get(its.publicKey);
      expectOk(await postDecision(tools, other.approval.url, {}, used));
      await refused(used, {}, 'what approved another request');
      const later = await asked(tools, { serviceName: name, sub });
      expectThat(later.status === 'pending', later.answer, 'the status pending');
    },
  },
  {
    id: 'approvals.standing-bounds',
    title: 'an allowance is given up to standingSeconds of the record, and for approve alone',
    requirements: ['APR-22', 'APR-25', 'APR-43'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      await givenApprover(tools);
      const [without, to] = [await pending(tools), await pending(tools, 120)];
      const refused = async ({ approval }: Pending, scope: string, decision = 'approve'): Promise<void> => {
        const answer = await post(tools, `${pathBelow(tools, approval.url)}/options`, { decision, scope });
        expectRefusal(answer, 'INVALID_REQUEST', `${decision}, ${scope}`);
      };
      await refused(without, 'standing:60');
      await refused(to, 'standing:121');
      await refused(to, 'standing:59');
      await refused(to, 'standing:60', 'deny');
      for (const scope of ['standing:', 'standing:-60', 'standing:60.5', 'standing:1e2', 'always', ''])
        await refused(to, scope);
      for (const scope of ['not standing:60', 'Standing:60', 'ONCE']) await refused(to, scope);
      for (const decision of ['maybe', 'disapprove', 'approved', 'Approve'])
        await refused(to, 'once', decision);
      await decisionOptions(tools, to.approval.url, { scope: 'standing:120' });
    },
  },
  {
    id: 'approvals.standing-without-message',
    title: 'no allowance is given for a message of MCP of which there is nothing but a digest',
    requirements: ['APR-25'],
    claims: OF_PROXY,
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools, { standingSeconds: 3600 });
      const read = requestDigest({ kind: 'http', method: 'POST', fields: [], body: Buffer.alloc(20_000) });
      const bodyDigest = 'bodyDigest' in read ? read.bodyDigest : '';
      const asking = mcp.asking({ headers: [['content-type', 'application/json']] });
      const operation = { ...asking.operation, bodyDigest, bodyBytes: 20_000 };
      const { url } = await asked(tools, { ...asking, operation });
      const path = `${pathBelow(tools, url)}/options`;
      const answer = await post(tools, path, { decision: 'approve', scope: 'standing:60' });
      expectRefusal(answer, 'INVALID_REQUEST');
      await decisionOptions(tools, url);
    },
  },
  {
    id: 'approvals.standing-readings',
    title: 'no allowance is given for a request that names another method or path, and one for a long body',
    requirements: ['APR-25'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools, { standingSeconds: 3600 });
      await eachVariant<ApprovableCall>(OTHER_METHODS, async (call) => {
        const { url } = await asked(tools, api.asking({ ...call, method: 'POST' }));
        const path = `${pathBelow(tools, url)}/options`;
        const answer = await post(tools, path, { decision: 'approve', scope: 'standing:60' });
        expectRefusal(answer, 'INVALID_REQUEST');
        await decisionOptions(tools, url);
      });
      const asking = api.asking({ target: '/long', headers: [['content-type', 'text/plain']] });
      const bodyDigest = `sha-256=:${Buffer.alloc(32).toString('base64')}:`;
      const operation = { ...asking.operation, bodyDigest, bodyBytes: 20_000 };
      const { url } = await asked(tools, { ...asking, operation });
      await decisionOptions(tools, url, { scope: 'standing:60' });
    },
  },
  {
    id: 'approvals.logged',
    title: 'each decision is in the log with its text, scope and approver, and all that the passkey signed',
    requirements: ['APR-26'],
    claims: ['store', 'storage', 'approvals'],
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const ofApprover = textsIn((await entryOf(tools, approver))['detail']);
      for (const decision of ['approve', 'deny', 'revoke']) {
        const { name, approval } = await pending(tools, 3600);
        if (decision === 'revoke') expectOk(await approver.decide(approval.url));
        const asking = { decision, scope: decision === 'approve' ? 'standing:3600' : 'once' };
        const { publicKey, text } = await decisionOptions(tools, approval.url, asking);
        const response = approver.passkey.get(publicKey);
        expectOk(await postDecision(tools, approval.url, asking, response));
        const { answer, items } = await allOf(tools, { op: 'audit.list', serviceName: name });
        const { clientDataJSON, authenticatorData, signature } = response.response;
        const expected = [text, decision, asking.scope, clientDataJSON, authenticatorData, signature];
        const found = items.find(
          ({ source, detail }) => source === 'webhook' && expected.every((each) => textsIn(detail).has(each)),
        );
        expectThat(
          found !== undefined,
          answer,
          `an entry of the webhook with what was signed for ${decision}`,
        );
        const isWhole = ['id', 'timestamp', 'eventType', 'outcome'].every(
          (name) => typeof found?.[name] === 'string',
        );
        expectThat(isWhole, answer, 'its id, timestamp, eventType and outcome');
        const isNamed = [...textsIn(found?.['detail'])].some((each) => ofApprover.has(each));
        expectThat(isNamed, answer, 'the approver in it, as in the entry of the new approver');
      }
    },
  },
  {
    id: 'approvals.approver-logged',
    title: 'a new approver is in the log with the public key',
    requirements: ['APR-27'],
    claims: ['storage', 'approvals'],
    run: async (tools) => {
      await entryOf(tools, await givenApprover(tools));
    },
  },
  {
    id: 'approvals.link-once',
    title: 'a link for an approver works once',
    requirements: ['APR-37', 'APR-43'],
    claims: ['approvals'],
    run: async (tools) => {
      const { options, decision } = await (await givenApprover(tools)).enrolAgain();
      expectRefusal(options, 'NOT_FOUND', 'the options of a link that was used');
      expectRefusal(decision, 'NOT_FOUND', 'another passkey by a link that was used');
    },
  },
  {
    id: 'approvals.other-origin',
    title: 'what a page of another origin posts is refused, and decides nothing',
    requirements: ['APR-41'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const approver = await givenApprover(tools);
      const { approval } = await pending(tools);
      const path = pathBelow(tools, approval.url);
      const { publicKey } = await decisionOptions(tools, approval.url);
      const { origin } = new URL(tools.target.webhookUrl);
      const body = { decision: 'approve', scope: 'once' };
      expectRefusal(approver.elsewhere, 'ORIGIN_NOT_ALLOWED', 'the options of a link');
      for (const other of ['https://another.example', 'null', `${origin}.example`, origin.toUpperCase()]) {
        const from = [['origin', other]] as const;
        expectRefusal(await post(tools, `${path}/options`, body, from), 'ORIGIN_NOT_ALLOWED', other);
        const response = approver.passkey.get(publicKey);
        const decided = await post(tools, `${path}/decision`, { ...body, response }, from);
        expectRefusal(decided, 'ORIGIN_NOT_ALLOWED', other);
      }
      await expectStatus(tools, approval, 'pending');
      const response = approver.passkey.get(publicKey);
      expectOk(await post(tools, `${path}/decision`, { ...body, response }, [['origin', origin]]));
    },
  },
];

/** What the log says of a new approver. @throws CheckFailed */
async function entryOf(tools: Tools, { passkey }: Approver): Promise<Readonly<Record<string, unknown>>> {
  const { answer, items } = await allOf(tools, { op: 'audit.list', limit: 100 });
  const key = toBase64url(passkey.cose);
  const found = items.find(({ source, detail }) => source === 'webhook' && textsIn(detail).has(key));
  expectThat(found !== undefined, answer, `an entry of the webhook with the public key ${key}`);
  return found ?? {};
}

/** Every text in a value, however deep. */
function textsIn(value: unknown): ReadonlySet<string> {
  if (typeof value === 'string') return new Set([value]);
  if (typeof value !== 'object' || value === null) return new Set();
  return new Set(Object.values(value).flatMap((each) => [...textsIn(each)]));
}
