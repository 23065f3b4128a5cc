const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+).* Safari\//],
] as const;

const SYSTEMS = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** What a browser calls itself in its `User-Agent`, in the words of people; a text that is not known stays as it is. */
export function browserName(userAgent: string): string {
  for (const [name, pattern] of BROWSERS) {
    const version = pattern.exec(userAgent)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find(([, of]) => of.test(userAgent))?.[0];
    return `${name} ${version}${system === undefined ? '' : ` on ${system}`}`;
  }
  return userAgent;
}
