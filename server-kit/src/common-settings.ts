import { parseAllowList } from '@svault/shared/egress';
import { type Setting, integer, list } from './settings.ts';

/** `SV_DRAIN_SECONDS` of both programs. */
export const drainSeconds: Setting<number> = integer({
  min: 0,
  max: 30,
  default: 0,
  description: 'how long a program that was told to stop goes on taking requests, not ready any more',
});

/** `SV_EGRESS_ALLOW` of both programs (PROTOCOL.md section 6). */
export const egressAllow: Setting<readonly string[]> = list({
  default: [],
  description: 'CIDR ranges, addresses and host names that outgoing calls may reach beside public addresses',
  entry: (text) => {
    try {
      parseAllowList([text]);
    } catch (cause) {
      throw new Error('must list CIDR ranges, addresses or host names, with commas between', { cause });
    }
  },
});
