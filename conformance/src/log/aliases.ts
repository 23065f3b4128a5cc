/** Puts the same text in place of what is another one in each run, so that the logs of two runs can be compared. */
export interface Aliases {
  /** Random values become `<1>`, `<2>`, … as they first appear; times, one-time codes and ports what they are. */
  apply(text: string): string;
  /** What stands for what, by alias. */
  table(): Readonly<Record<string, string>>;
}

const TIMES = [
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g,
  /\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\b/g,
  // Seconds or milliseconds since 1970, from 2020 to 2033.
  /(?<![\w.-])1[6-9]\d{8}(?:\d{3})?(?![\w-])/g,
];
const ONE_TIME_CODE = /(?<="accessToken":\s*")\d{6,8}(?=")/g;
const PORT = /(?<=(?:127\.0\.0\.1|localhost|\[::1\]):)\d{2,5}\b/g;
const SIGNATURE = /(?<==:)[^:]*(?=:)/g;
const PEM = /-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----/gs;
/** Base64 with its marks, alone between colons or quotes; and runs of base64url, hex and UUIDs. */
const RANDOM =
  /(?<=[:"])[A-Za-z0-9+/]{20,}={0,2}(?=[:"])|(?<prefix>svault-conformance-|canary-|prx_)[A-Za-z0-9_-]{11,}|[A-Za-z0-9_-]{16,}/g;

export function createAliases(): Aliases {
  const byText = new Map<string, string>();
  const aliasOf = (text: string): string => {
    const known = byText.get(text) ?? `<${byText.size + 1}>`;
    byText.set(text, known);
    return known;
  };
  return {
    apply(text) {
      const timeless = TIMES.reduce((left, time) => left.replace(time, '<time>'), text);
      return timeless
        .replace(ONE_TIME_CODE, '<code>')
        .replace(PORT, '<port>')
        .replace(SIGNATURE, aliasOf)
        .replace(PEM, aliasOf)
        .replace(RANDOM, (run: string, prefix: string | undefined) =>
          prefix !== undefined
            ? prefix + aliasOf(run.slice(prefix.length))
            : isDrawn(run)
              ? aliasOf(run)
              : run,
        );
    },
    table: () => Object.fromEntries([...byText].map(([text, alias]) => [alias, text])),
  };
}

/** Whether a run looks drawn and not written: letters with digits, or letter case that changes at every turn. */
function isDrawn(run: string): boolean {
  if (/\d/.test(run) && /[A-Za-z]/.test(run)) return true;
  const turns = run.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g)?.length ?? 0;
  return turns * 5 > run.length;
}
