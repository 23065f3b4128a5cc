import { NoAnswer, type Answer, type RequestToSend } from '../http/client.ts';

/**
 * A request whose head declares a body that never comes; what came next on its connection would be taken for that.
 * @param requirement the id of what asks for an answer without it, for the report
 */
export const withoutItsBody = (
  { headers = [], ...request }: RequestToSend,
  requirement: string,
): RequestToSend => ({
  ...request,
  heldBack: {
    expected: `an answer to the head alone (${requirement})`,
    hint: `the head was sent and its body is held back on purpose: answer before you read the body (${requirement}); many frameworks read it first unless told otherwise`,
  },
  headers: [...headers, ['content-length', '64'], ['connection', 'close']],
  body: '',
});

/** Has a failure say that the answer of a provider is held back on purpose. @throws NoAnswer */
export async function despiteSilence(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch((error: unknown) => {
    if (!(error instanceof NoAnswer) || !error.timedOut) throw error;
    const heldBack = {
      expected: 'an answer, although the provider gives none (TRN-25)',
      hint: 'the suite’s provider answers nothing on purpose: end a call to a provider within 8 seconds (TRN-25)',
    };
    throw new NoAnswer({ ...error.sent, heldBack }, error.cause as Error);
  });
}
