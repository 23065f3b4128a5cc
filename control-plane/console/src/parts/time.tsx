const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A time as its distance from now, with the time itself on hover. @param at RFC 3339; nothing stands for never */
export function Time({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <span className="text-dim">never</span>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {distance((Date.parse(at) - Date.now()) / 1_000)}
    </time>
  );
}

function distance(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit === undefined ? 'just now' : relative.format(Math.trunc(seconds / length), unit);
}
