import type { RequestRule } from './rules-schema.ts';

// Makes no schema: pages of the console show rules without any.

/** A value of an argument. */
export type Scalar = string | number | boolean | null;
/** Values that are no texts where they stand without quotes. */
export const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
export const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;

/** Controls, invisible characters and spaces other than the plain one: nobody sees in a line what they are. */
const UNSEEN = /(?! )[\p{C}\p{Z}]/gu;
const BARE_NAME = /^[^",]+$/;
const BARE_POINTER = /^[^"=\p{C}\p{Z}]+$/u;
const BARE_TEXT = /^[^"|\p{C}\p{Z}]+$/u;

/** The line that `parseRequestRule` reads as this rule: the JSON of a rule that no shorter one can say. */
export const formatRequestRule = (rule: RequestRule): string => lineOf(rule) ?? visible(JSON.stringify(rule));

function lineOf(rule: RequestRule): string | undefined {
  const { hosts = [], paths } = rule;
  if (hosts.length > 1 || paths.length > 1) return undefined;
  const target = [...hosts, ...paths].join('');
  if ('methods' in rule) return `${rule.methods.join(',')} ${target}`;
  const [kind, names] = 'tools' in rule ? (['tools', rule.tools] as const) : (['mcp', rule.mcp] as const);
  if (!names.every((name) => BARE_NAME.test(name))) return undefined;
  const line = `${kind} ${names.join(',')} ${target}`;
  if (!('arguments' in rule) || rule.arguments === undefined) return line;
  const given = Object.entries(rule.arguments);
  if (!given.every(([pointer]) => BARE_POINTER.test(pointer))) return undefined;
  return [
    line,
    ...given.map(([pointer, values]) => `${nameOf(pointer)}=${values.map(textOf).join('|')}`),
  ].join(' ');
}

/** A member of the outermost object goes without its slash. */
const nameOf = (pointer: string): string => (/^\/[^/]+$/.test(pointer) ? pointer.slice(1) : pointer);

function textOf(value: Scalar): string {
  if (typeof value !== 'string') return String(value);
  const isRead = BARE_TEXT.test(value) && !LITERALS.has(value) && !INTEGER.test(value);
  return isRead ? value : visible(JSON.stringify(value));
}

/** @param json in which only texts have such characters */
const visible = (json: string): string =>
  json.replaceAll(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
