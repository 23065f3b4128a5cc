import { randomToken, toBase64url } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import { shownTickets } from '../../report/shown-tickets.ts';
import { ownAnswers } from '../transport/own-answers.ts';
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
  {
    id: 'error.no-secret-in-this-run',
    title: 'no refusal of this run repeated a secret that a store brought, a ticket or the key',
    requirements: ['TRN-40'],
    run: async (tools) => {
      if (tools.claims.has('store')) {
        const value = `canary-${randomToken()}`;
        await tools.store(tools.freshName(), { tokenType: 'PlainText', value, comment: 'of nobody' });
      }
      const refusals = ownAnswers(tools)
        .map(([answer]) => answer)
        .filter(({ status }) => status >= 400);
      const all = refusals.map(wholeOf).join('\n');
      const secrets = [...secretsIn(tools.seen), toBase64url(tools.target.key.secret)];
      const tickets = tools.seen.flatMap(({ sent }) => shownTickets(sent)).map(({ token }) => token);
      const repeated = [
        ...secrets.filter((each) => revealsText(all, each)),
        ...tickets.filter((each) => each.length >= SECRET_LENGTH && all.includes(each)),
      ];
      for (const secret of repeated) {
        const repeating = refusals.find((each) => revealsText(wholeOf(each), secret));
        if (repeating !== undefined)
          expectThat(false, repeating, 'a refusal without a secret, a ticket or a key of this run');
      }
    },
  },
];

/** Headers and body. */
const wholeOf = (answer: Answer): string => `${answer.headers.flat().join('\n')}\n${text(answer)}`;

/** Long enough that nothing else is called so by chance. */
const SECRET_LENGTH = 24;

/** Secrets that this run stored, except those that have a name. */
const storedSecrets = (seen: readonly Answer[]): ReadonlySet<string> =>
  secretsIn(seen.filter(({ status }) => status === 200));

/** Secrets that stores brought, whatever became of them. */
function secretsIn(seen: readonly Answer[]): ReadonlySet<string> {
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
  for (const { sent } of seen)
    if (sent.path === '/v1/store' && sent.method === 'POST') collect(stored(sent.body));
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
