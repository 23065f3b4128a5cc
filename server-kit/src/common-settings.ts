import { parseAllowList } from '@svault/shared/egress';
import { type Setting, integer, list } from './settings.ts';

/** `SV_DRAIN_SECONDS` of both programs. */
export const drainSeconds: Setting<number> = integer({
  min: 0,
  max: 30,
  default: 0,
  description:
    '0 to 30: how long requests are accepted after SIGTERM while `/readyz` says 503. Behind a reverse proxy, longer than ' +
    'it takes to notice',
});

/** `SV_EGRESS_ALLOW` of both programs (PROTOCOL.md section 6). */
export const egressAllow: Setting<readonly string[]> = list({
  default: [],
  description:
    'private addresses (CIDR ranges, addresses, host names) that outgoing calls may reach; plain http only there',
  entry: (text) => {
    try {
      parseAllowList([text]);
    } catch (cause) {
      throw new Error('must list CIDR ranges, addresses or host names, with commas between', { cause });
    }
  },
});

/** `SV_BACKUP_RECIPIENTS` of both programs. */
export const backupRecipients: Setting<readonly string[]> = list({
  default: [],
  description:
    'recipients of age, `age1…` with commas between: `backup` encrypts to them. Backups are not encrypted unless set',
  entry: (text) => {
    if (!/^age1[02-9ac-hj-np-z]+$/.test(text))
      throw new Error('must list recipients of age: age1…, with commas between');
  },
});
