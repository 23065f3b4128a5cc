import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { type DenialCounter, createDenialCounter } from './denial-counter.ts';

const denial = (agent: string, code = 'RATE_LIMITED'): NewAuditEvent => ({
  vaultId: 'vlt_1' as Id<'vlt'>,
  agentId: `agt_${agent}` as Id<'agt'>,
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: 'rate_limited',
  detail: { code },
});

let clock: ManualClock;
let written: NewAuditEvent[];
let failing: boolean;
let counter: DenialCounter;

beforeEach(() => {
  clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
  written = [];
  failing = false;
  const record = async (event: NewAuditEvent): Promise<boolean> => {
    if (failing) throw new Error('disk full');
    written.push(event);
    return true;
  };
  counter = createDenialCounter({ audit: { record }, clock });
});

const summary = () => written.map(({ agentId, count, detail }) => [agentId, detail?.['code'], count]);

describe('a denial counter', () => {
  it('keeps of the origins of an event what all of its requests have in common', async () => {
    const from = (address: string, userAgent?: string) => ({
      ...denial('a'),
      origin: { requestId: `req_${address}`, channel: 'rest', address, userAgent } as const,
    });
    // The first was written by itself.
    expect(counter.countRepeat(from('192.0.2.9'))).toBe(false);
    for (const agent of ['curl', 'curl', 'wget']) counter.countRepeat(from('192.0.2.1', agent));
    clock.advance(60_000);
    counter.count(from('192.0.2.2', 'curl'));
    failing = true;
    await counter.flush(true).catch(() => undefined);
    failing = false;
    await counter.flush(true);
    expect(written.map(({ count, origin }) => [count, origin])).toEqual([[4, { channel: 'rest' }]]);

    for (let times = 0; times < 2; times++) counter.count(from('192.0.2.1', 'curl'));
    await counter.flush(true);
    const { requestId: _, ...same } = from('192.0.2.1', 'curl').origin;
    expect(written[1]?.origin).toEqual({ ...same, requestId: 'req_192.0.2.1' });
  });

  it('writes one event per agent, code and minute after the minute has ended', async () => {
    for (let times = 0; times < 3; times++) counter.count(denial('a'));
    counter.count(denial('b'));
    counter.count(denial('a', 'AGENT_INACTIVE'));
    await counter.flush();
    expect(written).toEqual([]);
    clock.advance(60_000);
    counter.count(denial('a'));
    await counter.flush();
    expect(summary()).toEqual([
      ['agt_a', 'RATE_LIMITED', 3],
      ['agt_b', 'RATE_LIMITED', 1],
      ['agt_a', 'AGENT_INACTIVE', 1],
    ]);
    expect(written[0]?.detail?.['since']).toBe('2026-11-20T12:00:00.000Z');
  });

  it('writes every event when it flushes everything', async () => {
    counter.count(denial('a'));
    await counter.flush(true);
    await counter.flush(true);
    expect(summary()).toEqual([['agt_a', 'RATE_LIMITED', 1]]);
  });

  it('does not count the first repeatable denial of a minute, which its caller writes', async () => {
    expect(counter.countRepeat(denial('a'))).toBe(false);
    await counter.flush(true);
    expect(written).toEqual([]);
    expect(counter.countRepeat(denial('a'))).toBe(false);
    expect(counter.countRepeat(denial('a'))).toBe(true);
    clock.advance(60_000);
    expect(counter.countRepeat(denial('a'))).toBe(false);
    await counter.flush(true);
    expect(summary()).toEqual([['agt_a', 'RATE_LIMITED', 1]]);
  });

  it('keeps denials that cannot be written', async () => {
    counter.count(denial('a'));
    failing = true;
    await expect(counter.flush(true)).rejects.toThrow('disk full');
    failing = false;
    await counter.flush(true);
    expect(summary()).toEqual([['agt_a', 'RATE_LIMITED', 1]]);
  });

  it('writes one event for all minutes of an outage of the log, and loses no denial', async () => {
    failing = true;
    for (let minute = 0; minute < 5; minute++) {
      counter.count(denial('a'));
      counter.count(denial('a'));
      await counter.flush().catch(() => undefined);
      clock.advance(60_000);
    }
    await counter.flush().catch(() => undefined);
    counter.count(denial('a'));
    failing = false;
    await counter.flush();
    expect(summary()).toEqual([['agt_a', 'RATE_LIMITED', 10]]);
    expect(written[0]?.detail?.['since']).toBe('2026-11-20T12:00:00.000Z');
    await counter.flush(true);
    expect(summary().at(-1)).toEqual(['agt_a', 'RATE_LIMITED', 1]);
  });

  it('writes the minutes that a clock set back has yet to reach again', async () => {
    counter.count(denial('a'));
    clock.jump(-24 * 60 * 60_000);
    await counter.flush();
    expect(summary()).toEqual([['agt_a', 'RATE_LIMITED', 1]]);
  });

  it('counts each proxy separately', async () => {
    const { agentId: _none, ...event } = denial('a');
    for (const proxy of ['one', 'other', 'one'])
      counter.count({ ...event, proxyId: `prx_${proxy}` as Id<'prx'> });
    await counter.flush(true);
    expect(written.map(({ proxyId, count }) => [proxyId, count])).toEqual([
      ['prx_one', 2],
      ['prx_other', 1],
    ]);
  });
});
