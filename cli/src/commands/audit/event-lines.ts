import { JsonRefused, parseJsonObject } from '@svault/shared';
import type { ChainedEvent } from '@svault/shared/audit-chain';
import * as z from 'zod';
import { Failure } from '../../failure.ts';

/** A thousand times the usual length of an event. */
const MAX_LINE_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

/**
 * The lines of a text that is read in parts: of each part those that end in it. A text of any length takes no more memory
 * than its longest line and one part.
 * @param options.lastLine `dropped`: what has no line feed behind it was cut off
 * @throws Failure for a line that is longer than any of a log
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  { lastLine = 'whole' }: { readonly lastLine?: 'whole' | 'dropped' } = {},
): AsyncGenerator<readonly Buffer[]> {
  let rest: Buffer = NOTHING;
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > MAX_LINE_BYTES || lines.some(({ length }) => length > MAX_LINE_BYTES))
      throw differs('a line has more than 1 MiB: no event of a log is that long');
    if (lines.length > 0) yield lines;
  }
  if (rest.length > 0 && lastLine === 'whole') yield [rest];
}

const text = z.string().optional();

/** Members of an event that the log and the webhook's copy have alike. */
export const EVENT_MEMBERS = {
  id: z.string(),
  eventType: z.string(),
  outcome: z.string(),
  agentId: text,
  proxyId: text,
  userId: text,
  serviceName: text,
  count: z.int().optional(),
};

/** What is verified of an event; more members may be in its line. */
const eventSchema = z.looseObject({
  vaultId: z.string('is missing: svault audit export writes it'),
  ...EVENT_MEMBERS,
  seq: z.int().min(1),
  timestamp: z.iso.datetime({ precision: 3 }),
  detail: z.record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.array(z.string())])).optional(),
  origin: z
    .looseObject({ requestId: text, channel: text, address: text, authenticatedBy: text, userAgent: text })
    .optional(),
  hash: z.string(),
  previousHash: text,
});

/** An event as it is exported. */
export type ExportedEvent = ChainedEvent & {
  /** The hash of the event before. */
  readonly previousHash?: string | undefined;
} & Readonly<Record<string, unknown>>;

/**
 * @param where of the line, for the message
 * @throws Failure for a line that is none of an exported log
 */
export const eventIn = (line: Uint8Array, where: string): ExportedEvent => memberOf(eventSchema, line, where);

/** The same for lines of another shape. */
export function memberOf<T>(schema: z.ZodType<T>, line: Uint8Array, where: string): T {
  const read = schema.safeParse(objectIn(line, where));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw differs(`${where} is no event of a log: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}

const REASONS: Readonly<Partial<Record<JsonRefused['reason'], string>>> = {
  syntax: 'it is not whole JSON',
  utf8: 'it is not UTF-8',
  depth: 'it is nested more than 32 deep',
  duplicate_name: 'a member stands in it twice',
  number: 'a number in it is too large',
  not_an_object: 'it is not a JSON object',
};

function objectIn(line: Uint8Array, where: string): Record<string, unknown> {
  try {
    return parseJsonObject(line);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw differs(`${where} is no event of a log: ${REASONS[error.reason] ?? error.reason}`);
  }
}

/** What a check found. */
export const differs = (message: string): Failure => new Failure('differs', message);
