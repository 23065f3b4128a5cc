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

const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const today = new Intl.DateTimeFormat(undefined, clock);
const otherDay = new Intl.DateTimeFormat(undefined, { ...clock, month: 'short', day: 'numeric' });
const otherYear = new Intl.DateTimeFormat(undefined, {
  ...clock,
  year: 'numeric',
  month: 'short',
  day: 'numeric',
});

/** A time as a clock shows it, with the day where that is not today, and its distance from now on hover. */
export function ClockTime({ at }: { readonly at: string }) {
  const [time, now] = [new Date(at), new Date()];
  const isToday = time.toDateString() === now.toDateString();
  const format = isToday ? today : time.getFullYear() === now.getFullYear() ? otherDay : otherYear;
  return (
    <time
      dateTime={at}
      title={`${time.toLocaleString()}, ${distance((time.getTime() - now.getTime()) / 1_000)}`}
      className="tabular-nums"
    >
      {format.format(time)}
    </time>
  );
}

const exact = new Intl.DateTimeFormat(undefined, {
  ...clock,
  weekday: 'short',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
});

/** A time with its day and zone. */
export const ExactTime = ({ at }: { readonly at: string }) => (
  <time dateTime={at}>
    {exact.format(new Date(at))} {zoneText(new Date(at))}
  </time>
);

const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'longOffset' });

/** The zone of this computer at a time, as `UTC+01:00` or `UTC`. */
export function zoneText(at = new Date()): string {
  const { value = '' } = zone.formatToParts(at).find(({ type }) => type === 'timeZoneName') ?? {};
  return value.replace('GMT', 'UTC').replace('+00:00', '');
}

/** What the times of a list mean. */
export const TimesNote = () => (
  <p className="text-sm text-dim">
    Times in {zoneText()}. Those without a date are of today, {day.format(new Date())}.
  </p>
);

const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', month: 'short', day: 'numeric' });

function distance(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit === undefined ? 'just now' : relative.format(Math.trunc(seconds / length), unit);
}
