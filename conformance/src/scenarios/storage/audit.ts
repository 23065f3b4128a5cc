import { parseTime, randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { OWN_ENTRY_CHECKS } from './own-audit.ts';
import { allOf, differenceOf, isMembers, pageOf } from './holdings.ts';
import { expectLimits } from './lists.ts';

const CLAIMS = ['storage'] as const;
type Members = Readonly<Record<string, unknown>>;

const freshId = (prefix: string): string => `${prefix}_${randomToken(16)}`;

/** An event that a service reports. */
function event(members: object = {}): { readonly id: string } & Members {
  const timestamp = new Date().toISOString();
  return { id: freshId('evt'), eventType: 'CONFORMANCE', timestamp, outcome: 'success', ...members };
}

async function append(tools: Tools, events: readonly object[]): Promise<void> {
  const answer = await tools.storage({ op: 'audit.append', events });
  const { accepted } = expectOk(answer);
  expectThat(accepted === events.length, answer, `accepted ${events.length}`);
}

const ofAgent = (tools: Tools, agentId: string): ReturnType<typeof allOf> =>
  allOf(tools, { op: 'audit.list', agentId });

/** The head of the log. @throws CheckFailed where there is none */
async function headOf(
  tools: Tools,
): Promise<{ readonly epoch: unknown; readonly seq: number; readonly hash: unknown }> {
  const answer = await tools.storage({ op: 'audit.list', limit: 1 });
  const { head } = expectOk(answer);
  expectThat(isMembers(head), answer, 'head');
  const { epoch, seq, hash } = head;
  expectThat(typeof epoch === 'string' || typeof epoch === 'number', answer, 'head.epoch');
  expectThat(typeof seq === 'number' && Number.isInteger(seq), answer, 'head.seq, an integer');
  expectThat(typeof hash === 'string' && hash !== '', answer, 'head.hash, a text');
  return { epoch, seq, hash };
}

/** Protocol section 5.3, the log. */
export const AUDIT_CHECKS: readonly Check[] = [
  {
    id: 'audit.append',
    title: 'an event is listed as it was appended, with a seq and the source service',
    requirements: ['STO-02', 'STO-28', 'STO-29'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const about = { proxyId: freshId('prx'), userId: freshId('usr'), serviceName: tools.freshName() };
      const full = event({
        agentId,
        ...about,
        count: 3,
        detail: { why: 'conformance', deep: { list: [1, 'a'] } },
      });
      await append(tools, [full]);
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === 1, answer, 'one item');
      const [item = {}] = items;
      for (const [name, value] of Object.entries(full)) {
        const returned = item[name];
        const same =
          name === 'timestamp'
            ? parseTime(String(returned)) === parseTime(String(value))
            : sameJson(returned, value);
        expectThat(same, answer, `${name} ${JSON.stringify(value)}`);
      }
      expectThat(item['source'] === 'service', answer, 'source "service"');
      expectThat(Number.isInteger(item['seq']), answer, 'seq, an integer');
    },
  },
  {
    id: 'audit.repeat',
    title: 'events that were appended before are accepted and not written again',
    requirements: ['STO-20', 'STO-26', 'STO-27'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const events = [event({ agentId, count: 1 }), event({ agentId, count: 1 })];
      await append(tools, events);
      const before = await ofAgent(tools, agentId);
      await append(tools, events);
      // An id is what an event is known by, whatever else is said under it.
      await append(tools, [{ ...events[0], count: 2, outcome: 'denied' }, event({ agentId, count: 1 })]);
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === 3, answer, 'three items: two, and the one that was new');
      expectThat(
        items.every(({ count }) => count === 1),
        answer,
        'the first events of their ids',
      );
      for (const { id, seq } of before.items)
        expectThat(
          items.some((item) => item['id'] === id && item['seq'] === seq),
          answer,
          `${String(id)} at seq ${String(seq)} still`,
        );
    },
  },
  {
    id: 'audit.other-ids',
    title: 'ids of events that differ in letter case, or in one letter more, are two',
    requirements: ['STO-27', 'STO-26'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const id = `evt_${randomToken(8)}aA`;
      const ids = [id, id.toUpperCase(), id.toLowerCase(), `${id}x`, id.slice(0, -1)];
      await append(
        tools,
        ids.map((each) => ({ ...event({ agentId }), id: each })),
      );
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === ids.length, answer, `${ids.length} items, one of each id`);
    },
  },
  {
    id: 'audit.repeat-at-once',
    title: 'an id that appears twice in one append is accepted twice and written once',
    requirements: ['STO-26', 'STO-27'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const twice = event({ agentId });
      await append(tools, [twice, event({ agentId }), twice]);
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === 2, answer, 'two items');
    },
  },
  {
    id: 'audit.most-events',
    title: '500 events, and one of nearly 8 KiB, are accepted',
    requirements: ['STO-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      await append(
        tools,
        Array.from({ length: 500 }, () => event()),
      );
      await append(tools, [event({ agentId, detail: { text: 'x'.repeat(7 * 1024) } })]);
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === 1, answer, 'the large event');
    },
  },
  {
    id: 'audit.too-many-events',
    title: 'an append of 501 events is refused, and none is written',
    requirements: ['STO-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const events = Array.from({ length: 501 }, () => event({ agentId }));
      expectRefusal(await tools.storage({ op: 'audit.append', events }), 'INVALID_REQUEST');
      const { answer, items } = await pageOf(tools, { op: 'audit.list', agentId });
      expectThat(items.length === 0, answer, 'no item');
    },
  },
  {
    id: 'audit.too-large-event',
    title: 'an event above 8 KiB is refused and not written',
    requirements: ['STO-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const large = event({ agentId, detail: { text: 'x'.repeat(9 * 1024) } });
      for (const events of [[large], [event(), large]])
        expectRefusal(
          await tools.storage({ op: 'audit.append', events }),
          'INVALID_REQUEST',
          'an event of 9 KiB',
        );
      const { answer, items } = await ofAgent(tools, agentId);
      expectThat(items.length === 0, answer, 'no item');
    },
  },
  {
    id: 'audit.list-limit',
    title: 'audit.list takes a limit from 1 to 100 and no other',
    requirements: ['STO-11'],
    claims: CLAIMS,
    run: (tools) => expectLimits(tools, 'audit.list', 100),
  },
  {
    id: 'audit.list-pages',
    title: 'pages of audit.list have every item once, a hundred where nothing is said',
    requirements: ['STO-02', 'STO-12'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const events = Array.from({ length: 101 }, () => event({ agentId }));
      await append(tools, events);
      const first = await pageOf(tools, { op: 'audit.list', agentId });
      expectThat(
        first.items.length === 100 && first.next !== undefined,
        first.answer,
        'a hundred items and a nextCursor',
      );
      for (const limit of [100, 40]) {
        const { answer, items } = await allOf(tools, { op: 'audit.list', agentId, limit });
        const wrong = differenceOf(
          events.map(({ id }) => id),
          items.map(({ id }) => String(id)),
        );
        expectThat(wrong === '', answer, `each of the 101 items once in all pages of ${limit} (${wrong})`);
      }
    },
  },
  {
    id: 'audit.filters',
    title:
      'audit.list by agentId, and by serviceName, has that agent’s, and that record’s, items and no others',
    requirements: ['STO-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const [one, other] = [freshId('agt'), freshId('agt')];
      const [name, another] = [tools.freshName(), tools.freshName()];
      const events = [
        event({ agentId: one, serviceName: name }),
        event({ agentId: one, serviceName: another }),
        event({ agentId: other, serviceName: name }),
        event({ agentId: one }),
        event(),
        // Nearly that agent, and nearly that record.
        ...[one.toUpperCase(), `${one}x`, one.slice(0, -1)].map((agentId) => event({ agentId })),
        ...[name.toUpperCase(), `${name}x`, name.slice(0, -1)].map((serviceName) => event({ serviceName })),
      ];
      await append(tools, events);
      for (const [filter, wanted] of [
        [{ agentId: one }, [0, 1, 3]],
        [{ serviceName: name }, [0, 2]],
      ] as const) {
        const { answer, items } = await allOf(tools, { op: 'audit.list', ...filter });
        const ids = items.map(({ id }) => id);
        expectThat(
          ids.length === wanted.length && wanted.every((index) => ids.includes(events[index]?.id)),
          answer,
          `${wanted.length} items, those of ${JSON.stringify(filter)}`,
        );
      }
    },
  },
  {
    id: 'audit.sequence',
    title: 'seq grows by one from item to item, up to the head’s',
    requirements: ['STO-28', 'STO-31'],
    claims: CLAIMS,
    run: async (tools) => {
      const agentId = freshId('agt');
      const before = await headOf(tools);
      await append(tools, [event({ agentId }), event({ agentId }), event({ agentId })]);
      const mine = await ofAgent(tools, agentId);
      const after = await headOf(tools);
      const seqs = mine.items.map(({ seq }) => Number(seq));
      expectThat(
        new Set(seqs).size === 3 && seqs.every((seq) => seq > before.seq && seq <= after.seq),
        mine.answer,
        `three seqs above ${before.seq}, which was the head’s, and up to ${after.seq}, which is`,
      );
      const { answer, items } = await pageOf(tools, { op: 'audit.list', limit: 100 });
      const page = items.map(({ seq }) => Number(seq));
      const span = Math.max(...page) - Math.min(...page) + 1;
      expectThat(
        new Set(page).size === page.length && span === page.length,
        answer,
        'a page without a gap in its seqs, and none of them twice',
      );
    },
  },
  {
    id: 'audit.head',
    title: 'the head stays the same while nothing is written, and goes on in the same epoch',
    requirements: ['STO-31', 'STO-32', 'STO-33'],
    claims: CLAIMS,
    run: async (tools) => {
      const heads = [await headOf(tools), await headOf(tools)];
      await append(tools, [event()]);
      heads.push(await headOf(tools), await headOf(tools));
      const answer = await tools.storage({ op: 'audit.list', limit: 1 });
      for (const [index, head] of heads.entries()) {
        const former = heads[index - 1] ?? head;
        expectThat(former.epoch === head.epoch, answer, 'one epoch, since nothing was restored');
        expectThat(former.seq <= head.seq, answer, 'a seq that does not go back');
        expectThat(former.seq !== head.seq || former.hash === head.hash, answer, 'equal hash with equal seq');
      }
      expectThat(
        (heads[2]?.seq ?? 0) > (heads[1]?.seq ?? 0),
        answer,
        'a head that grew by what was appended',
      );
    },
  },
  ...OWN_ENTRY_CHECKS,
];

/** Whether two JSON values are the same, whatever the order of members. */
function sameJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, index) => sameJson(each, other[index]));
  if (!isMembers(one) || !isMembers(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length && names.every((name) => sameJson(one[name], other[name]))
  );
}
