import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WEBHOOK_ERROR_STATUS } from '@svault/shared';
import { isSignedBy, readCheckpoint, readNoteKey } from '@svault/shared/audit-chain';
import { CAPABILITIES, SECRET_FIELD_NAMES, storageAnswerSchemas } from '@svault/shared/schemas';
import { digestVectors, requestVector, requestVectors, ticketVectors } from './vector-files.ts';

const { vectors: auditChainVectors } = JSON.parse(
  readFileSync(new URL('../vectors/audit-chain.json', import.meta.url), 'utf8'),
) as { readonly vectors: readonly { readonly hash: string }[] };
const page = readFileSync(new URL('../PROTOCOL.md', import.meta.url), 'utf8');
const REQUIREMENT = /^- \*\*([A-Z]{3})-(\d\d)\*\* (.+)$/;
/** Ids that no sentence has any more; none gets them again. */
const WITHDRAWN = ['TRN-29'];
const KEYWORD = /\b(?:MUST NOT|MUST|SHOULD NOT|SHOULD|MAY)\b/g;

const lines = page.split('\n');
const requirements = lines.flatMap((line) => {
  const [, prefix = '', number = '', sentence = ''] = REQUIREMENT.exec(line) ?? [];
  return prefix === '' ? [] : [{ id: `${prefix}-${number}`, prefix, number: Number(number), sentence }];
});
const sentenceOf = (id: string): string =>
  requirements.find((requirement) => requirement.id === id)?.sentence ?? '';
const inCode = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const codeBlocks = [...page.matchAll(/^```\n([\s\S]*?)\n```$/gm)].map(([, block]) => block);

describe('PROTOCOL.md', () => {
  it('numbers the requirements of each section from 01 without repetition, with gaps only for withdrawn ones', () => {
    const next = new Map<string, number>();
    for (const { id, prefix, number } of requirements.toSorted((one, other) => one.number - other.number)) {
      let expected = (next.get(prefix) ?? 0) + 1;
      if (WITHDRAWN.includes(`${prefix}-${expected}`)) expected += 1;
      expect([id, number]).toEqual([id, expected]);
      next.set(prefix, number);
    }
    expect(requirements.length).toBeGreaterThan(250);
  });

  it('has one sentence and one keyword in each requirement', () => {
    for (const { id, sentence } of requirements) {
      expect([id, sentence.match(KEYWORD)?.length]).toEqual([id, 1]);
      expect([id, sentence.endsWith('.')]).toEqual([id, true]);
      expect([id, /[a-z`)]\. [A-Z]/.test(sentence)]).toEqual([id, false]);
    }
  });

  it('has no keyword outside a requirement', () => {
    const others = lines.filter((line) => !REQUIREMENT.test(line) && !line.includes('RFC 2119'));
    expect(others.filter((line) => line.match(KEYWORD) !== null)).toEqual([]);
  });

  it('refers only to requirements that exist', () => {
    const ids = new Set(requirements.map(({ id }) => id));
    for (const [id] of page.matchAll(/\b(?!UTF-)[A-Z]{3}-\d\d\b/g)) expect(ids).toContain(id);
  });

  it('has the requirement that each rejected vector violates', () => {
    for (const { name, expect: wanted, breaks } of [...digestVectors, ...requestVectors, ...ticketVectors]) {
      if (wanted === 'refuse') expect([name, sentenceOf(breaks ?? '')]).not.toEqual([name, '']);
      else expect([name, breaks]).toEqual([name, undefined]);
    }
  });

  it('shows a signed request that is a vector', () => {
    const { request, signatureBase } = requestVector('with a body');
    const names = new Map([
      ['content-type', 'Content-Type'],
      ['content-digest', 'Content-Digest'],
      ['signature-input', 'Signature-Input'],
      ['signature', 'Signature'],
    ]);
    const fields = request.headers.map(([name, value]) => `${names.get(name) ?? name}: ${value}`);
    const head = [`${request.method} ${request.path} HTTP/1.1`, `Host: ${request.authority}`, ...fields].join(
      '\n',
    );
    expect(codeBlocks).toContain(signatureBase);
    expect(codeBlocks).toContain(`${head}\n\n${request.body}`);
  });

  it('shows a ticket that is a vector', () => {
    const vector = ticketVectors.find(({ name }) => name === 'credential');
    expect(codeBlocks).toEqual(expect.arrayContaining([vector?.header, vector?.claims, vector?.ticket]));
  });

  it('shows a checkpoint that both of its keys have signed, of events that are vectors', () => {
    const [, note = ''] = /^```\n(\S+\n\d+\n\S+\n\n(?:— .+\n)+)```$/m.exec(page) ?? [];
    const [, vkeys = ''] = /^```\n((?:\S+\+[0-9a-f]{8}\+\S+\n)+)```$/m.exec(page) ?? [];
    const { size, hash } = readCheckpoint(note);
    expect(auditChainVectors[size - 1]?.hash).toBe(hash);
    const keys = vkeys.trimEnd().split('\n');
    expect(keys.map((vkey) => [readNoteKey(vkey).role, isSignedBy(note, vkey)])).toEqual([
      ['log', true],
      ['cosigner', true],
    ]);
  });

  it('has the same error codes, secret names, capabilities and operations as the code', () => {
    const rows = [...page.matchAll(/^\| (\d{3}) +\| (.+?) *\|$/gm)];
    const table = rows.flatMap(([, status, codes = '']) =>
      inCode(codes).map((code) => [code, Number(status)]),
    );
    expect(Object.fromEntries(table)).toEqual(WEBHOOK_ERROR_STATUS);
    expect(inCode(sentenceOf('STO-04')).slice(1)).toEqual(SECRET_FIELD_NAMES);
    expect(inCode(sentenceOf('HEA-05')).slice(1)).toEqual(CAPABILITIES);
    const operations = [...page.matchAll(/^\| `([a-z]+\.[a-z]+)` /gm)].map(([, name]) => name);
    expect(operations).toEqual(Object.keys(storageAnswerSchemas));
  });
});
