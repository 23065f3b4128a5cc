import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { pageOf } from './holdings.ts';

const CLAIMS = ['storage'] as const;
type Members = Readonly<Record<string, unknown>>;

const event = (members: Members): Members => ({
  id: `evt_${randomToken(16)}`,
  eventType: 'CONFORMANCE',
  timestamp: new Date().toISOString(),
  outcome: 'success',
  ...members,
});

/** Each is refused, and no event of this agent is written. */
async function expectNoneWritten(tools: Tools, agentId: string, events: Readonly<Record<string, Members>>) {
  await eachVariant(events, async (each) =>
    expectRefusal(await tools.storage({ op: 'audit.append', events: [each] }), 'INVALID_REQUEST'),
  );
  const { answer, items } = await pageOf(tools, { op: 'audit.list', agentId });
  expectThat(items.length === 0, answer, 'no item');
}

const EVENT_BYTES = 8 * 1024;
/** Letters that JSON writes as they are, in one to four bytes, and signs that it escapes. */
const TEXT = 'é語🔑"\\\n';

/** An event whose compact JSON has this many bytes. */
function eventOf(bytes: number, members: Members): Members {
  const empty = event({ ...members, detail: { text: TEXT, more: '' } });
  const rest = bytes - Buffer.byteLength(JSON.stringify(empty));
  return { ...empty, detail: { text: TEXT, more: 'x'.repeat(rest) } };
}

/** The same events with white space between, and each character beyond ASCII as an escape. */
const atLength = (operation: object): string =>
  JSON.stringify(operation, null, 2).replace(
    /[^\x20-\x7e\n]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const NO_IDS: Readonly<Record<string, unknown>> = {
  'an empty text': '',
  '129 characters': 'x'.repeat(129),
  'a space': 'a b',
  'a slash': 'a/b',
  'a letter beyond ASCII': 'é',
  'a number': 7,
  'a list': ['a'],
};
const LONGEST_ID = `${'aZ09_.:-'.repeat(15)}12345678`;

/** Protocol section 5.3: what an event and an id may be. */
export const EVENT_FORM_CHECKS: readonly Check[] = [
  {
    id: 'audit.event-bytes',
    title:
      'an event is measured by its compact JSON, however it was sent: 8192 bytes are accepted, 8193 are not',
    requirements: ['STO-42', 'STO-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const append = (text: string): ReturnType<Tools['signed']> =>
        tools.signed({ method: 'POST', path: '/v1/storage', body: text });
      const operation = (bytes: number): object => ({ op: 'audit.append', events: [eventOf(bytes, {})] });
      for (const write of [JSON.stringify, atLength]) {
        expectOk(await append(write(operation(EVENT_BYTES))));
        expectRefusal(await append(write(operation(EVENT_BYTES + 1))), 'INVALID_REQUEST', '8193 bytes');
      }
    },
  },
  {
    id: 'audit.detail-form',
    title: 'an event whose detail is no object is refused and not written',
    requirements: ['STO-43'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = `agt_${randomToken(16)}`;
      await expectNoneWritten(tools, agentId, {
        'a text': event({ agentId, detail: 'why' }),
        'a list': event({ agentId, detail: ['why'] }),
        'a number': event({ agentId, detail: 1 }),
      });
    },
  },
  {
    id: 'audit.ids',
    title:
      'an id of an event has 1 to 128 characters of A-Z a-z 0-9 _ . : -; an event with another is refused',
    requirements: ['STO-44'],
    claims: CLAIMS,
    run: async (tools) => {
      const longest = { agentId: LONGEST_ID, proxyId: LONGEST_ID, userId: LONGEST_ID };
      expectOk(await tools.storage({ op: 'audit.append', events: [event(longest)] }));
      const agentId = `agt_${randomToken(16)}`;
      const wrong = Object.entries(NO_IDS).flatMap(([what, value]) =>
        ['id', 'proxyId', 'userId'].map((name) => [`${name}: ${what}`, event({ agentId, [name]: value })]),
      );
      await expectNoneWritten(tools, agentId, Object.fromEntries(wrong) as Record<string, Members>);
      const { id: _, ...nameless } = event({ agentId });
      const events = { 'no id': nameless, null: null, 'a text': 'event', 'a list': [event({ agentId })] };
      for (const [what, each] of Object.entries(events))
        expectRefusal(
          await tools.storage({ op: 'audit.append', events: [event({ agentId }), each] }),
          'INVALID_REQUEST',
          `an event that is ${what}`,
        );
      for (const [what, value] of Object.entries(NO_IDS))
        expectRefusal(
          await tools.storage({ op: 'audit.append', events: [event({ agentId: value })] }),
          'INVALID_REQUEST',
          `agentId: ${what}`,
        );
    },
  },
  {
    id: 'proxy-config.id-form',
    title:
      'a proxyId has 1 to 128 characters of A-Z a-z 0-9 _ . : -; a configuration with another is refused',
    requirements: ['STO-44'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      const put = (proxyId: unknown): ReturnType<Tools['storage']> =>
        tools.storage({
          op: 'proxies.put',
          proxyId,
          serviceName,
          upstreamUrl: 'https://api.example/',
          headerTemplates: {},
        });
      await eachVariant(NO_IDS, async (value) => expectRefusal(await put(value), 'INVALID_REQUEST'));
      const longest = tools.freshProxyId().padEnd(128, '.:-');
      expectOk(await put(longest));
      expectOk(await tools.storage({ op: 'proxies.delete', proxyId: longest }));
    },
  },
];
