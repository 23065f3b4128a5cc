import { parseTime, randomToken } from '@svault/shared';
import type { WebhookCheck } from '../../check/check.ts';
import { CheckSkipped } from '../../check/outcome.ts';
import { deliveredIn } from '../../check/delivered.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { despiteSilence } from '../../forge/held-back.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';
import {
  expectAsked,
  fetchMinted,
  GCP,
  GITHUB,
  givenMinter,
  LIFE_SECONDS,
  newAccount,
  say,
  storeMinter,
  type MinterRecord,
  type PlayedMinter,
} from './provider.ts';

/** Clocks differ, and a provider takes a while; a unit that was mistaken is further off. */
const EXPIRY_TOLERANCE_MS = 120_000;

/** Fetches a token and expects it to be one that the provider gave. */
async function expectMinted(tools: Tools, record: MinterRecord, sub?: string): Promise<string> {
  const answer = await fetchMinted(tools, record.name, sub);
  expectAsked(record, answer);
  const { accessToken } = deliveredIn(answer).token;
  expectThat(
    typeof accessToken === 'string' && record.given.includes(accessToken),
    answer,
    'a token that the provider gave, as a string',
  );
  return accessToken;
}

/** What holds for whatever provider there is. */
function checksOf(minter: PlayedMinter): readonly WebhookCheck[] {
  const claims = ['credential', minter.claim] as const;
  const check = (
    what: string,
    title: string,
    requirements: WebhookCheck['requirements'],
    run: WebhookCheck['run'],
  ): WebhookCheck => ({ id: `mint.${minter.id}-${what}`, title, requirements, claims, run });

  return [
    check(
      'delivers',
      'what the provider made is delivered, with its expiryTime',
      ['CRE-07'],
      async (tools) => {
        const record = await givenMinter(tools, minter);
        const answer = await fetchMinted(tools, record.name);
        expectAsked(record, answer);
        const { token } = deliveredIn(answer);
        expectThat(token['accessToken'] === record.given[0], answer, `accessToken "${record.given[0]}"`);
        expectThat(token['tokenType'] === 'RawCredential', answer, 'tokenType "RawCredential"');
        const returned = parseTime(String(token['expiryTime'])) ?? 0;
        const awayMs = Math.abs(returned - (Date.now() + LIFE_SECONDS * 1000));
        expectThat(awayMs < EXPIRY_TOLERANCE_MS, answer, 'expiryTime, an hour from now as the provider said');
      },
    ),
    check('per-subject', 'nobody gets what was minted for another sub', ['SAV-31'], async (tools) => {
      const record = await givenMinter(tools, minter);
      const seen = new Map<string, string>();
      const subjects = ['agt_one', 'agt_two', 'usr_one', 'AGT_one', 'agt_one_'];
      await eachVariant(Object.fromEntries(subjects.map((sub) => [sub, sub])), async (sub) => {
        const answer = await fetchMinted(tools, record.name, sub);
        expectAsked(record, answer);
        // Ids have their form, and not every webhook takes what is none.
        if (!/^(agt|usr)_[a-z]+$/.test(sub) && answer.status === 401) return;
        const { accessToken } = deliveredIn(answer).token;
        const owner = seen.get(String(accessToken));
        expectThat(owner === undefined, answer, `a token of its own, not the one that ${String(owner)} got`);
        seen.set(String(accessToken), sub);
      });
    }),
    check(
      'per-subject-at-once',
      'nobody gets what is minted for another sub at that moment',
      ['SAV-31'],
      async (tools) => {
        const record = await givenMinter(tools, minter);
        const subjects = ['agt_one', 'agt_two', 'agt_three', 'agt_four'];
        const answers = await Promise.all(subjects.map((sub) => fetchMinted(tools, record.name, sub)));
        const seen = new Set<unknown>();
        for (const answer of answers) {
          expectAsked(record, answer);
          const { accessToken } = deliveredIn(answer).token;
          expectThat(!seen.has(accessToken), answer, 'a token that no other sub got');
          seen.add(accessToken);
        }
      },
    ),
    check(
      'per-record',
      'what was minted of one record is not delivered for another',
      ['SAV-31'],
      async (tools) => {
        // The same account: a cache by account alone takes one for the other.
        const account = newAccount();
        const one = await givenMinter(tools, minter, { account });
        const other = await givenMinter(tools, minter, { account });
        await expectMinted(tools, one);
        await expectMinted(tools, other);
        await expectMinted(tools, one);
      },
    ),
    check('reused', 'what was minted is used again for the same sub', ['SAV-32'], async (tools) => {
      const record = await givenMinter(tools, minter);
      const first = await expectMinted(tools, record);
      const answer = await fetchMinted(tools, record.name);
      const { accessToken } = deliveredIn(answer).token;
      expectThat(accessToken === first, answer, 'the token of before, whose life has just begun');
    }),
    check('replaced', 'a minter that was stored anew mints anew', ['SAV-03'], async (tools) => {
      const account = newAccount();
      const record = await givenMinter(tools, minter, { account });
      await expectMinted(tools, record);
      const next = await givenMinter(tools, minter, { account });
      await storeMinter(tools, record.name, minter.settings(next.place.url, account));
      const answer = await fetchMinted(tools, record.name);
      const { accessToken } = deliveredIn(answer).token;
      expectThat(
        next.given.includes(String(accessToken)),
        answer,
        'a token of the provider that was stored last, not one of before',
      );
    }),
    check(
      'refused',
      'a provider that gives no token is answered with 422, and with nothing of what it said',
      ['SAV-30'],
      async (tools) => {
        const words = `said-${randomToken()}`;
        const answers: Readonly<Record<string, UpstreamAnswer>> = {
          'a refusal in JSON': (response) =>
            say(response, 400, { error: 'invalid_grant', error_description: words, message: words }),
          'a 401 with a challenge': (response) => {
            response.setHeader('www-authenticate', `Bearer error="${words}"`);
            say(response, 401, { error: words, message: words });
          },
          'a page with status 500': (response) => {
            response
              .writeHead(500, words, { 'content-type': 'text/html', 'x-said': words })
              .end(`<p>${words}`);
          },
          'a page with status 200': (response) => {
            response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${words}</p>`);
          },
          'a success without token': (response) =>
            say(response, 200, { ...minter.withoutToken, error: words, note: words }),
          'a broken connection': (response) => {
            response.destroy();
          },
        };
        await eachVariant(answers, async (provider) => {
          const record = await givenMinter(tools, minter);
          record.place.answerWith(provider);
          const answer = await fetchMinted(tools, record.name);
          expectAsked(record, answer);
          expectThat(!wholeOf(answer).includes(words), answer, 'nothing of what the provider said');
          expectRefusal(answer, 'MINT_FAILED');
        });
      },
    ),
    check('redirect', 'a provider’s redirect is not followed', ['ADR-05', 'SAV-30'], async (tools) => {
      await eachVariant({ 'a 302': 302, 'a 307': 307 }, async (status) => {
        const elsewhere = await givenMinter(tools, minter);
        const record = await givenMinter(tools, minter);
        record.place.answerWith((response, { rest }) => {
          response.writeHead(status, { location: elsewhere.place.url + rest }).end();
        });
        const answer = await fetchMinted(tools, record.name);
        expectAsked(record, answer);
        expectThat(elsewhere.place.calls.length === 0, answer, 'no call to where the provider pointed');
        expectRefusal(answer, 'MINT_FAILED');
      });
    }),
    check(
      'refused-first',
      'the provider is not asked for a record that is not delivered',
      ['CRE-21', 'CRE-09'],
      async (tools) => {
        // That the provider could be asked shows with a record that is delivered.
        await expectMinted(tools, await givenMinter(tools, minter));
        const kept = await givenMinter(tools, minter, { beside: { delivery: 'proxy-only' } });
        const refused = await fetchMinted(tools, kept.name);
        expectRefusal(refused, 'DELIVERY_NOT_ALLOWED', 'a proxy-only record');
        expectThat(kept.place.calls.length === 0, refused, 'no call to the provider of a proxy-only record');
        const empty = await givenMinter(tools, minter, { settings: { privateKey: '' } });
        const nothing = await fetchMinted(tools, empty.name);
        expectRefusal(nothing, 'EMPTY_TOKEN', 'an empty key');
        expectThat(empty.place.calls.length === 0, nothing, 'no call to the provider with an empty key');
      },
    ),
    check(
      'unlisted',
      'neither a minter’s key nor what was minted is in an answer of /v1/storage',
      ['STO-03', 'SAV-33'],
      async (tools) => {
        if (!tools.claims.has('storage')) throw new CheckSkipped('the webhook does not claim storage');
        const record = await givenMinter(tools, minter);
        const minted = await expectMinted(tools, record);
        const key = String(minter.settings('')['privateKey']).split('\n')[3] ?? '';
        for (const op of ['tokens.get', 'audit.list']) {
          const answer = await tools.storage({ op, serviceName: record.name });
          expectOk(answer);
          expectThat(!text(answer).includes(minted), answer, `nothing of what was minted in ${op}`);
          expectThat(!text(answer).includes(key), answer, `nothing of the private key in ${op}`);
        }
      },
    ),
  ];
}

/** Protocol section 5.5: credentials that are made on demand, by whichever provider. */
export const MINTING_CHECKS: readonly WebhookCheck[] = [
  ...checksOf(GCP),
  ...checksOf(GITHUB),
  {
    id: 'mint.provider-hangs',
    title: 'a provider that does not answer in time is answered with 504',
    requirements: ['SAV-30', 'TRN-25'],
    claims: ['credential'],
    // A webhook may take 8 seconds until it gives its provider up (TRN-25).
    waitsFor: 'a provider of minted credentials that never answers',
    run: async (tools) => {
      const minter = [GCP, GITHUB].find(({ claim }) => tools.claims.has(claim));
      if (minter === undefined) throw new CheckSkipped('the webhook claims neither gcp nor github-app');
      const record = await givenMinter(tools, minter);
      record.place.answerWith(() => undefined);
      const answer = await despiteSilence(fetchMinted(tools, record.name));
      expectAsked(record, answer);
      expectRefusal(answer, 'PROVIDER_TIMEOUT');
    },
  },
];

/** Headers and body as one text. */
const wholeOf = (answer: Answer): string =>
  [...answer.headers.map(([name, value]) => `${name}: ${value}`), text(answer)].join('\n');
