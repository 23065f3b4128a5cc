import { apiClient } from '../../api/api-client.ts';
import { Failure, failed, usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { systemCode } from '../../system-reason.ts';
import { type ChainFrom, type EventChain, createEventChain } from './event-chain.ts';
import { type ExportedEvent, differs, eventIn } from './event-lines.ts';
import { type FormatOptions, lineWriter } from './export-formats.ts';
import { type ExportState, exportState } from './export-state.ts';
import { fileSink } from './file-sink.ts';
import { exportedLines, followedLines } from './log-sources.ts';

export interface ExportOptions extends FormatOptions {
  readonly after?: string;
  readonly follow?: true;
  readonly state?: string;
  readonly to?: string;
}

const SEQ = /^(?:0|[1-9]\d{0,14})$/;

/** `audit export`: every event at least once, and verified before it is written. */
export const exportLog: Run<[], ExportOptions> = async (invocation, _, options) => {
  const { after, follow, state: stateFile, to } = options;
  if (after !== undefined && !SEQ.test(after)) throw usage('--after takes the number of an event, or 0');
  const client = await apiClient(invocation);
  const lineOf = lineWriter(options, new URL(client.login.context.baseUrl).hostname);
  const state = stateFile === undefined ? undefined : exportState(stateFile);
  const from = await startOf(state, after);
  const chain = createEventChain(from);
  const place = {
    after: (): number => {
      const head = chain.head();
      return head === undefined ? (from?.seq ?? 0) : head.seq - 1;
    },
    mustRepeat: () => chain.head() !== undefined,
    notThere: () => noLonger(chain, from),
  };
  const lines = (follow === true ? followedLines : exportedLines)(invocation, client, place);
  await using sink = client.dryRun || to === undefined ? toStdout(invocation.terminal) : await fileSink(to);
  for await (const batch of lines) {
    const { text, problem } = verified(chain, batch, lineOf);
    const head = chain.head();
    if (text !== '' && head !== undefined) {
      await sink.write(text);
      await state?.write(head);
    }
    if (problem !== undefined) throw problem;
  }
};

async function startOf(
  state: ExportState | undefined,
  after: string | undefined,
): Promise<ChainFrom | undefined> {
  const written = await state?.read();
  if (written === undefined) return after === undefined ? undefined : { seq: Number(after) };
  if (after !== undefined)
    throw usage(
      `${state?.path} says that event ${written.seq} was the last: leave --after out, or delete the file`,
    );
  return written;
}

/** The text of the events that are new, up to the first that does not verify. */
function verified(
  chain: EventChain,
  batch: readonly Uint8Array[],
  lineOf: (event: ExportedEvent) => string,
): { readonly text: string; readonly problem?: Failure } {
  let text = '';
  for (const line of batch) {
    try {
      const event = eventIn(line, `the answer behind event ${chain.head()?.seq ?? 0}`);
      if (chain.take(event)) text += lineOf(event);
    } catch (problem) {
      if (!(problem instanceof Failure)) throw problem;
      return { text, problem };
    }
  }
  return { text };
}

const noLonger = (chain: EventChain, from: ChainFrom | undefined): Failure =>
  differs(
    `the log does not reach event ${(chain.head() ?? from)?.seq ?? 0}, which was exported before: was the control plane restored from a backup?`,
  );

/** A reader that has gone gets no more: to go on would lose what it has not read. */
const toStdout = ({ written }: { readonly written: (text: string) => Promise<void> }) => ({
  write: async (text: string): Promise<void> => {
    try {
      await written(text);
    } catch (error) {
      throw systemCode(error) === 'EPIPE' ? failed('nobody reads the output any more', error) : error;
    }
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
