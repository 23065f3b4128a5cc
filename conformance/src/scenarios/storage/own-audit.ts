import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import { reachable } from '../../upstream/reachable.ts';
import { allOf } from './holdings.ts';

type Members = Readonly<Record<string, unknown>>;

interface OwnEntries {
  readonly answer: Answer;
  readonly items: readonly Members[];
  /** An entry may stand for several uses. */
  readonly uses: number;
}

/** What the webhook wrote by itself about a record. */
async function ownEntries(tools: Tools, serviceName: string): Promise<OwnEntries> {
  const { answer, items } = await allOf(tools, { op: 'audit.list', serviceName });
  const own = items.filter(({ source }) => source === 'webhook');
  const uses = own.reduce((sum, { count }) => sum + (typeof count === 'number' ? count : 1), 0);
  return { answer, items: own, uses };
}

const event = (members: object): object => ({
  id: `evt_${randomToken(16)}`,
  eventType: 'CONFORMANCE',
  timestamp: new Date().toISOString(),
  outcome: 'success',
  ...members,
});

/** Protocol section 5.3, what the webhook writes by itself and a service cannot. */
export const OWN_ENTRY_CHECKS: readonly Check[] = [
  {
    id: 'audit.own-deliveries',
    title: 'each delivery of a record is in the log, written by the webhook',
    requirements: ['STO-29', 'STO-35', 'STO-45'],
    claims: ['storage', 'credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      let { uses } = await ownEntries(tools, name);
      for (const fetched of ['the first', 'the second']) {
        expectOk(await tools.fetchCredential(tools.ticket('credential', name)));
        const now = await ownEntries(tools, name);
        expectThat(
          now.uses > uses,
          now.answer,
          `a further item of source "webhook" after ${fetched} delivery`,
        );
        uses = now.uses;
      }
    },
  },
  {
    id: 'audit.own-stores-and-deletions',
    title: 'each store of a record and its deletion is in the log, written by the webhook',
    requirements: ['STO-35', 'STO-45'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const stored = await ownEntries(tools, name);
      let { uses } = stored;
      expectThat(uses > 0, stored.answer, 'an item of source "webhook" after a store');
      const done = {
        'another store': () => tools.store(name, { tokenType: 'PlainText', value: 'another canary' }),
        'a deletion': () => tools.storage({ op: 'tokens.delete', serviceName: name }),
      };
      for (const [what, work] of Object.entries(done)) {
        expectOk(await work());
        const now = await ownEntries(tools, name);
        expectThat(now.uses > uses, now.answer, `a further item of source "webhook" after ${what}`);
        uses = now.uses;
      }
    },
  },
  {
    id: 'audit.own-injections',
    title: 'each call through a proxy is in the log, written by the webhook',
    requirements: ['STO-29', 'STO-35'],
    claims: ['storage', 'proxy'],
    run: async (tools) => {
      await reachable(tools);
      const upstream = await tools.given.upstream();
      const { name: serviceName } = await tools.given.text({ allowedHosts: [upstream.allowedHost] });
      const headerTemplates = { authorization: 'Bearer ${TOKEN}' };
      const upstreamUrl = upstream.open().url;
      const proxyId = await tools.given.proxy({ serviceName, upstreamUrl, headerTemplates });
      let { uses } = await ownEntries(tools, serviceName);
      for (const called of ['the first', 'the second']) {
        const answer = await tools.proxied({ proxyId, serviceName });
        expectThat(answer.status === 200, answer, '200, as the upstream answers');
        const now = await ownEntries(tools, serviceName);
        expectThat(now.uses > uses, now.answer, `a further item of source "webhook" after ${called} call`);
        uses = now.uses;
      }
    },
  },
  {
    id: 'audit.forged-source',
    title: 'an appended event that claims a source, a seq and a hash is written as the service’s',
    requirements: ['STO-30', 'STO-31'],
    claims: ['storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      const forged = { serviceName, source: 'webhook', seq: 1, hash: 'x', epoch: 'x' };
      const answer = await tools.storage({
        op: 'audit.append',
        events: [event(forged), event({ ...forged, Source: 'webhook' })],
      });
      const { items } = await allOf(tools, { op: 'audit.list', serviceName });
      // Unknown members are ignored (TRN-11); a webhook that takes none of them has written nothing.
      expectThat(
        items.every(({ source, seq }) => source === 'service' && Number(seq) > 1),
        answer,
        'items of source "service", with the next seqs, or none',
      );
    },
  },
  {
    id: 'audit.own-entries-stay',
    title:
      'an event under the id of the webhook’s own item leaves that item as it was, and one that copies it is the service’s',
    requirements: ['STO-30', 'STO-35'],
    claims: ['storage', 'credential'],
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      expectOk(await tools.fetchCredential(tools.ticket('credential', serviceName)));
      const before = await ownEntries(tools, serviceName);
      const taken = before.items.map(({ id }) => event({ id, serviceName, outcome: 'denied' }));
      await tools.storage({ op: 'audit.append', events: taken });
      // In all but its id like the webhook's own. A webhook may refuse its own types of events.
      const copies = before.items.map(({ source: _source, seq: _seq, ...item }) => ({
        ...item,
        id: `evt_${randomToken(16)}`,
      }));
      await tools.storage({ op: 'audit.append', events: copies });
      const after = await ownEntries(tools, serviceName);
      expectThat(
        !after.items.some(({ id }) => copies.some((copy) => copy.id === id)),
        after.answer,
        'no item of source "webhook" under the id of an appended event that copies one',
      );
      for (const { seq, outcome, eventType } of before.items)
        expectThat(
          after.items.some(
            (item) => item['seq'] === seq && item['outcome'] === outcome && item['eventType'] === eventType,
          ),
          after.answer,
          `the webhook’s item ${String(seq)} as it was`,
        );
      expectThat(after.items.length >= before.items.length, after.answer, 'the webhook’s items');
    },
  },
];
