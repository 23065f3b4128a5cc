import { randomToken, utf8 } from '@svault/shared';
import {
  type AssertionChanges,
  softwarePasskey,
  type SoftwarePasskey,
} from '@svault/shared/software-passkey';
import { expectOk, expectThat } from '../check/expect.ts';
import { oncePerRun } from '../check/once-per-run.ts';
import { CheckSkipped, NotTestable } from '../check/outcome.ts';
import type { Tools } from '../check/tools.ts';
import type { Answer } from '../http/client.ts';
import { jsonObject } from '../http/read-answer.ts';

type Json = Readonly<Record<string, unknown>>;

/** A person with a passkey in software, who decides at the webhook. */
export interface Approver {
  readonly passkey: SoftwarePasskey;
  /** What a page of another origin was answered that posted for the options of the link. */
  readonly elsewhere: Answer;
  /** What the passkey was to be made by. */
  readonly creation: Answer;
  /** Posts once more what enrolled this approver, with another passkey. */
  enrolAgain(): Promise<{ readonly options: Answer; readonly decision: Answer }>;
  /** Decides as the page's script does. @throws CheckFailed where there is nothing to sign */
  decide(url: string, asked?: Partial<Asked>, changes?: AssertionChanges): Promise<Answer>;
}

/** A decision. */
export interface Asked {
  /** `approve` where it is absent. */
  readonly decision: string;
  /** `once` where it is absent. */
  readonly scope: string;
}

export interface Options {
  readonly answer: Answer;
  readonly text: string;
  /** What the page shows beside it. */
  readonly shown: Json;
  readonly publicKey: { readonly challenge: string; readonly rpId: string };
}

/** The path of a URL of the webhook, below its address. @throws NotTestable for another one */
export function pathBelow({ target }: Tools, url: unknown, answer?: Answer): string {
  const { webhookUrl } = target;
  if (typeof url === 'string' && url.startsWith(`${webhookUrl}/`)) return url.slice(webhookUrl.length);
  throw new NotTestable('this is no URL of the webhook', answer);
}

/** Posts JSON without a signature, as a program or a page does. */
export const post = (
  tools: Tools,
  path: string,
  body: object,
  headers: ReadonlyArray<readonly [string, string]> = [],
): Promise<Answer> =>
  tools.send({
    method: 'POST',
    path,
    headers: [['content-type', 'application/json'], ...headers],
    body: utf8(JSON.stringify(body)),
  });

/** A decision, with what is absent filled in. */
const decisionOf = ({ decision = 'approve', scope = 'once' }: Partial<Asked> = {}): Asked => ({
  decision,
  scope,
});

/**
 * Enrols the one approver of a run, by the link that it was given.
 * @throws CheckSkipped without a link, NotTestable where the webhook does not enrol
 */
export const givenApprover: (tools: Tools) => Promise<Approver> = oncePerRun(async (tools) => {
  if (tools.approverLink === undefined) throw new CheckSkipped('no --approver-link');
  const link = await tools.approverLink();
  const path = pathBelow(tools, link.split('?', 1)[0]);
  const code = new URL(link).searchParams.get('code');
  const origin = 'https://another.example';
  const elsewhere = await post(tools, `${path}/options`, { code, name: 'x' }, [['origin', origin]]);
  const enrolled = await enrol(tools, path, code);
  for (const answer of [enrolled.options, enrolled.decision])
    if (answer.status !== 200) throw new NotTestable('the approver could not be enrolled', answer);
  const { passkey } = enrolled;
  return {
    ...{ passkey, elsewhere, creation: enrolled.options },
    enrolAgain: () => enrol(tools, path, code),
    decide: async (url, asked = {}, changes = {}) => {
      const { publicKey } = await decisionOptions(tools, url, asked);
      return postDecision(tools, url, asked, passkey.get(publicKey, changes));
    },
  };
});

async function enrol(
  tools: Tools,
  path: string,
  code: string | null,
): Promise<{
  readonly options: Answer;
  readonly decision: Answer;
  readonly passkey: SoftwarePasskey;
}> {
  const asked = { code, name: `svault-conformance ${randomToken(4)}` };
  const options = await post(tools, `${path}/options`, asked);
  const publicKey = membersIn(jsonObject(options)?.['publicKey']);
  const { origin, hostname: rpId } = new URL(tools.target.webhookUrl);
  const passkey = softwarePasskey({ origin, rpId });
  // A link that works no more has no challenge; the second post must be refused all the same.
  const challenge = typeof publicKey['challenge'] === 'string' ? publicKey['challenge'] : randomToken(32);
  const response = passkey.create({ challenge });
  const decision = await post(tools, `${path}/decision`, { ...asked, response });
  return { options, decision, passkey };
}

/** What is signed for a decision. @throws CheckFailed where it is not answered */
export async function decisionOptions(tools: Tools, url: string, asked?: Partial<Asked>): Promise<Options> {
  const answer = await post(tools, `${pathBelow(tools, url)}/options`, decisionOf(asked));
  const { text, shown, publicKey } = expectOk(answer);
  const { challenge, rpId } = membersIn(publicKey);
  const isRight = typeof text === 'string' && typeof challenge === 'string' && typeof rpId === 'string';
  expectThat(isRight, answer, '{ text, publicKey: { challenge, rpId } } to sign');
  return { answer, text, shown: membersIn(shown), publicKey: { challenge, rpId } };
}

/** Posts what a passkey answered. */
export const postDecision = (
  tools: Tools,
  url: string,
  asked: Partial<Asked>,
  response: object,
): Promise<Answer> => post(tools, `${pathBelow(tools, url)}/decision`, { ...decisionOf(asked), response });

const membersIn = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {};
