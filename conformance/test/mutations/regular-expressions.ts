import type { Variant } from './variant.ts';

/** What can be got wrong with a regular expression: its anchors, its letter case, its alternatives and its counts. */
export function alternativesOf(pattern: string, flags: string): readonly Variant[] {
  const variant = (what: string, changed: string, by = flags): Variant => ({
    what,
    text: `/${changed}/${by}`,
  });
  const isOfLetters = /[a-z]{2}|[a-z]-[a-z]/i.test(pattern.replace(/\\[a-z]/gi, ''));
  return [
    ...(pattern.startsWith('^') ? [variant('without ^', pattern.slice(1))] : []),
    ...(/[^\\]\$$/.test(pattern) ? [variant('without $', pattern.slice(0, -1))] : []),
    ...(flags.includes('i') ? [variant('with letter case', pattern, flags.replace('i', ''))] : []),
    ...(!flags.includes('i') && isOfLetters ? [variant('ignoring case', pattern, `${flags}i`)] : []),
    ...groupsOf(pattern),
    ...countsOf(pattern),
  ].filter(({ text }) => isExpression(text));

  function groupsOf(whole: string): readonly Variant[] {
    return [...whole.matchAll(/\((\?:)?([^()]*\|[^()]*)\)/g)].flatMap(
      ({ 0: group, 1: kind = '', 2: inner = '', index }) => {
        const choices = inner.split('|');
        return choices.map((choice, at) => {
          const left = choices.filter((_, other) => other !== at).join('|');
          const changed = `${whole.slice(0, index)}(${kind}${left})${whole.slice(index + group.length)}`;
          return variant(`without ${choice}`, changed);
        });
      },
    );
  }

  function countsOf(whole: string): readonly Variant[] {
    return [...whole.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(
      ({ 0: count, 1: least = '', 2: most, index }) => {
        const put = (what: string, one: number, other: string): Variant =>
          variant(what, `${whole.slice(0, index)}{${one}${other}}${whole.slice(index + count.length)}`);
        const rest = most === undefined ? '' : `,${most}`;
        return [
          put('one more at least', Number(least) + 1, rest),
          ...(Number(least) > 0 ? [put('one less at least', Number(least) - 1, rest)] : []),
          ...(most === undefined || most === ''
            ? []
            : [
                put('one more at most', Number(least), `,${Number(most) + 1}`),
                put('one less at most', Number(least), `,${Number(most) - 1}`),
              ]),
        ];
      },
    );
  }
}

function isExpression(text: string): boolean {
  const at = text.lastIndexOf('/');
  try {
    return text.length > 2 && new RegExp(text.slice(1, at), text.slice(at + 1)).source !== '(?:)';
  } catch {
    return false;
  }
}
