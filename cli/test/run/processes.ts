import { readFileSync, readdirSync } from 'node:fs';

/** Processes whose command line, or environment if this user may read it, contains a text; none but on Linux. */
export function holdersOf(
  text: string,
): readonly { readonly pid: number; readonly where: string; readonly held: string }[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      ['cmdline', 'environ'].map((file) => {
        const where = `/proc/${pid}/${file}`;
        return { pid: Number(pid), where, held: textOf(where) };
      }),
    )
    .filter(({ held }) => held.includes(text));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    // It has ended, or is another user's.
    return '';
  }
}
