import { isSignedBy, readCheckpoint, readNoteKey } from '@svault/shared/audit-chain';
import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { readFileBounded } from '../../secret-input/read-bounded.ts';
import { type ExportedEvent, differs } from './event-lines.ts';

const checkpointSchema = z.looseObject({ checkpoint: z.string(), keys: z.array(z.string()) });

/** `audit checkpoint`: the last one that both programs signed, or the keys by which they did. */
export async function showCheckpoint(
  invocation: Invocation,
  { keys = false }: { readonly keys?: boolean },
): Promise<void> {
  const { flags, terminal } = invocation;
  const client = await apiClient(invocation);
  const answer = await client.read('/api/audit/checkpoint', checkpointSchema);
  const read = readNote(answer.checkpoint, 'the answer');
  for (const key of answer.keys) mustSign(answer.checkpoint, key, `the checkpoint of ${read.origin}`);
  if (flags.format === 'json') terminal.out(jsonText(answer));
  else terminal.out(keys ? answer.keys.map((key) => `${key}\n`).join('') : answer.checkpoint);
}

/** More than any checkpoint has. */
const MAX_NOTE_BYTES = 16 * 1024;

/** Holds an exported log against a checkpoint. */
export interface CheckpointCheck {
  readonly origin: string;
  readonly size: number;
  /** @throws Failure where it is the event that the checkpoint is about, and another one */
  readonly take: (event: ExportedEvent) => void;
  /** @throws Failure where that event was not among them */
  readonly end: () => void;
}

/**
 * @param path of the signed note
 * @param keys verifier keys, each of which must have signed it
 * @throws Failure where one did not
 */
export async function checkpointCheck(path: string, keys: readonly string[]): Promise<CheckpointCheck> {
  if (keys.length === 0)
    throw usage(
      '--checkpoint needs --key, once for each that must have signed it: svault-run webhook audit checkpoint shows that of the webhook',
    );
  const note = Buffer.from(await readFileBounded(path, MAX_NOTE_BYTES)).toString();
  const { origin, size, hash } = readNote(note, path);
  for (const key of keys) {
    mustBeKey(key);
    mustSign(note, key, path);
  }
  let isThere = false;
  return {
    origin,
    size,
    take: ({ seq, hash: own, vaultId }) => {
      if (!origin.endsWith(`/${vaultId}`))
        throw differs(`the checkpoint is of ${origin}, and the events are of ${vaultId}`);
      if (seq !== size) return;
      isThere = true;
      if (own !== hash)
        throw differs(`event ${seq} has not the hash that was signed: it or one before it was changed`);
    },
    end: () => {
      if (!isThere) throw differs(`event ${size}, which the checkpoint is about, is missing`);
    },
  };
}

function readNote(note: string, where: string): ReturnType<typeof readCheckpoint> {
  try {
    return readCheckpoint(note);
  } catch (error) {
    if (error instanceof TypeError) throw differs(`${where} is no checkpoint: ${error.message}`);
    throw error;
  }
}

function mustBeKey(key: string): void {
  try {
    readNoteKey(key);
  } catch (error) {
    if (error instanceof TypeError) throw usage(`--key: ${error.message}`);
    throw error;
  }
}

function mustSign(note: string, key: string, where: string): void {
  if (!isSignedBy(note, key)) throw differs(`${where} is not signed by the key ${key}`);
}
