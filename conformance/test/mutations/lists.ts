import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';

const equivalentsSchema = z.array(
  z.strictObject({ reason: z.string().min(20), mutations: z.array(z.string()).min(1) }),
);
const sampleSchema = z.record(z.string(), z.string());

function read(name: string): unknown {
  return parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
}

/** Mutations that break no MUST: id → why not. @throws Error where one is listed twice */
export function readEquivalents(): ReadonlyMap<string, string> {
  const listed = equivalentsSchema
    .parse(read('equivalents.yaml'))
    .flatMap(({ reason, mutations }) => mutations.map((id) => [id, reason] as const));
  const byId = new Map(listed);
  if (byId.size !== listed.length) throw new Error('equivalents.yaml lists a mutation twice');
  return byId;
}

/** A few mutations of each file and each place: id → the check that finds it. */
export function readSample(): ReadonlyMap<string, string> {
  return new Map(Object.entries(sampleSchema.parse(read('sample.yaml'))));
}
