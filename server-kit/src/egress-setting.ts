import { parseAllowList } from '@svault/shared/egress';
import { type Setting, list } from './settings.ts';

/** `SV_EGRESS_ALLOW`, which both programs read: what outgoing calls may reach beside public addresses (protocol section 6). */
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
