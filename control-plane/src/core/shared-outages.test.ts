import { type Id, ManualClock } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { createSoleProcessOutages } from './shared-outages.ts';

const [ONE, OTHER] = ['vlt_1' as Id<'vlt'>, 'vlt_2' as Id<'vlt'>];
const MINUTE_MS = 60_000;

function outagesOf() {
  const clock = new ManualClock();
  const outages = createSoleProcessOutages(clock);
  /** Asks ten times a second, and each probe fails. @returns how many there were */
  const probesWithin = async (ms: number, requested: readonly Id<'vlt'>[] = []): Promise<number> => {
    let probes = 0;
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      for (const vaultId of await outages.takeProbes(32, requested)) {
        probes += 1;
        await outages.probeFailed(vaultId);
      }
    }
    return probes;
  };
  return { clock, outages, probesWithin };
}

describe('probes of a webhook that is offline', () => {
  it('come once a second in the first five minutes', async () => {
    const { outages, probesWithin } = outagesOf();
    await outages.publish([{ vaultId: ONE, isOffline: true }]);
    expect(await probesWithin(5_000)).toBe(5);
    expect(await probesWithin(4 * MINUTE_MS)).toBe(240);
  });

  it('come less often afterwards, down to once a minute, and a second after the last one for a requested vault', async () => {
    const { outages, probesWithin } = outagesOf();
    await outages.publish([{ vaultId: ONE, isOffline: true }]);
    await probesWithin(6 * MINUTE_MS);
    const next = await probesWithin(MINUTE_MS);
    expect(next).toBeGreaterThan(5);
    expect(next).toBeLessThan(15);
    await probesWithin(60 * MINUTE_MS);
    expect(await probesWithin(10 * MINUTE_MS)).toBe(10);
    expect(await probesWithin(5_000, [ONE, OTHER])).toBe(5);
  });

  it('are one at a time for each vault, and leased again where no process reported one', async () => {
    const { clock, outages } = outagesOf();
    await outages.publish([ONE, OTHER].map((vaultId) => ({ vaultId, isOffline: true })));
    expect(await outages.takeProbes(1, [])).toEqual([ONE]);
    expect(await outages.takeProbes(32, [ONE])).toEqual([OTHER]);
    clock.advance(4_900);
    expect(await outages.takeProbes(32, [ONE])).toEqual([]);
    clock.advance(100);
    expect(await outages.takeProbes(32, [])).toEqual([ONE, OTHER]);
  });

  it('end with the outage, and begin again with the next outage', async () => {
    const { outages, probesWithin } = outagesOf();
    await outages.publish([{ vaultId: ONE, isOffline: true }]);
    await probesWithin(60 * MINUTE_MS);
    await outages.publish([{ vaultId: ONE, isOffline: false }]);
    expect(await probesWithin(MINUTE_MS, [ONE])).toBe(0);
    await outages.publish([{ vaultId: ONE, isOffline: true }]);
    expect(await probesWithin(5_000)).toBe(5);
  });
});
