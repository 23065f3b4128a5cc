import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import { isMembers } from './holdings.ts';
import { SECRET_NAMES, reveals, revealsText } from './reveals-secret.ts';

/** What shows of everything that was answered so far; these come late in a run. */
export const SECRECY_CHECKS: readonly Check[] = [
  {
    id: 'storage.no-secret-in-this-run',
    title: 'no answer of this run revealed a secret that was stored before it',
    requirements: ['STO-03'],
    claims: ['storage'],
    run: async (tools) => {
      const answer = await tools.storage({ op: 'audit.list' });
      expectOk(answer);
      const asked = tools.seen.filter(({ sent }) => sent.path === '/v1/storage');
      // Thousands of answers and hundreds of secrets: one look at all of them, and at each only where that found one.
      const all = asked.map(text).join('\n');
      for (const secret of [...storedSecrets(tools.seen)].filter((each) => revealsText(all, each))) {
        const revealing = asked.find((each) => reveals(each, secret)) ?? answer;
        expectThat(false, revealing, 'an answer without a secret that was stored in this run');
      }
    },
  },
];

/** Long enough that nothing else is called so by chance. */
const SECRET_LENGTH = 24;

/** Secrets that this run stored, except those that have a name. */
function storedSecrets(seen: readonly Answer[]): ReadonlySet<string> {
  const secrets = new Set<string>();
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) collect(each);
    if (!isMembers(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const isSecret = (SECRET_NAMES as readonly string[]).includes(name) && typeof member === 'string';
      if (isSecret && member.length >= SECRET_LENGTH) secrets.add(member);
      collect(member);
    }
  };
  for (const { sent, status } of seen)
    if (sent.path === '/v1/store' && sent.method === 'POST' && status === 200) collect(stored(sent.body));
  return secrets;
}

function stored(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    // A webhook that took what is no JSON has failed another check.
    return undefined;
  }
}
