const FORM = /^(?=\d)(?:(?<days>\d{1,4})d)?(?:(?<hours>\d{1,4})h)?(?:(?<minutes>\d{1,6})m)?$/;

/** A duration as a person types it: `90m`, `1h`, `30d`, `1d12h`. @returns seconds; undefined for another form */
export function secondsOf(text: string): number | undefined {
  if (!FORM.test(text)) return undefined;
  const { days = 0, hours = 0, minutes = 0 } = FORM.exec(text)?.groups ?? {};
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60;
}

/** As `secondsOf` reads it; whole minutes. */
export function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const parts = [
    [Math.floor(minutes / 60), 'h'],
    [minutes % 60, 'm'],
  ] as const;
  return parts.map(([count, unit]) => (count === 0 ? '' : `${count}${unit}`)).join('');
}
