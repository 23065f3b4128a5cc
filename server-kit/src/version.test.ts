import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { VERSION } from './version.ts';

it.each(['..', '../../webhook', '../../control-plane', '../..'])(
  'the version of both programs is that of %s/package.json',
  (folder) => {
    const text = readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8');
    expect((JSON.parse(text) as { version: string }).version).toBe(VERSION);
  },
);
