import { formsOf } from '../../binding/bind-page.ts';
import { bindingOf } from '../../binding/exchanged.ts';
import type { BindingTranscript, StepName } from '../../binding/transcript.ts';
import { CheckSkipped, NotTestable } from '../../check/outcome.ts';
import type { BindingCheck } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import { NoAnswer, type Answer } from '../../http/client.ts';
import { header, jsonObject, text } from '../../http/read-answer.ts';
import { mentionIn } from '../../check/mention-in.ts';

/** What was answered in a step. @throws NoAnswer, NotTestable */
export function answerIn({ steps }: BindingTranscript, name: StepName): Answer {
  const step = steps[name];
  if (step instanceof NoAnswer) throw step;
  if (step === undefined)
    throw new NotTestable('the binding did not come this far, or an earlier request timed out');
  return step;
}

/**
 * What the bind page was answered with.
 * @throws CheckSkipped where there is no page: an owner may bind by a command alone
 */
export function pageIn(transcript: BindingTranscript, name: StepName): Answer {
  const { page } = transcript.steps;
  if (page !== undefined && !(page instanceof NoAnswer) && page.status === 404)
    throw new CheckSkipped('the webhook has no page at /bind');
  return answerIn(transcript, name);
}

/** What the exchange was answered with, where that is a key. */
export function exchangedIn({ steps }: BindingTranscript): ReturnType<typeof bindingOf> {
  const { exchange } = steps;
  return exchange === undefined || exchange instanceof NoAnswer ? undefined : bindingOf(exchange);
}

export function claims(transcript: BindingTranscript, capability: string): boolean {
  const { exchange } = transcript.steps;
  const claimed = exchange && !(exchange instanceof NoAnswer) ? jsonObject(exchange)?.['capabilities'] : [];
  return Array.isArray(claimed) && claimed.includes(capability);
}

export const expectUnsigned = (answer: Answer): void => expectRefusal(answer, 'SIGNATURE_INVALID');

/** An exchange that is refused; a webhook may allow fewer wrong codes a minute than 30 (EXC-14). */
function expectWrongExchange(answer: Answer): void {
  if (answer.status === 429) expectRefusal(answer, 'RATE_LIMITED');
  else expectUnsigned(answer);
}

/** Each of these steps is such a refusal. */
export const refused =
  (...names: readonly StepName[]): BindingCheck['observe'] =>
  (transcript) => {
    for (const name of names) expectWrongExchange(answerIn(transcript, name));
  };

/** A page, or whatever is answered in its place, that says nothing of whom the webhook is for. */
export function expectMute(transcript: BindingTranscript, answer: Answer): void {
  const { address, invitation } = transcript;
  const ids = [exchangedIn(transcript)?.webhookId];
  const returned = mentionIn(`${text(answer)}\n${header(answer, 'location') ?? ''}`, {
    ...address,
    hmacHash: invitation.hmacHash,
    ids,
  });
  expectThat(
    returned === undefined,
    answer,
    `nothing about the service before the set-up token, such as ${returned ?? ''}`,
  );
}

export function expectSealed(answer: Answer): void {
  const code = jsonObject(answer)?.['code'];
  // A page for a browser may say it anywhere.
  expectThat(
    answer.status === 403 && (typeof code === 'string' ? code : text(answer)).includes('SETUP_REQUIRED'),
    answer,
    '403 with the code SETUP_REQUIRED',
  );
}

export function expectOpenPage(answer: Answer): void {
  const asks = formsOf(text(answer)).some(({ tokenField }) => tokenField !== undefined);
  expectThat(answer.status === 200 && asks, answer, '200 with a form that asks for the set-up token');
}
