/** What each step came to, by its name. */
export type Steps = Map<string, unknown>;

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
const CLOCK_TIME = /\b\d{1,2}:\d\d:\d\d( [AP]M)?/g;
const LOOPBACK = /127\.0\.0\.1:\d+/g;

/** Without what differs from run to run: ids, times, ports. */
export function steady(value: unknown): unknown {
  if (typeof value === 'string')
    return value
      .replaceAll(UUID, '<id>')
      .replaceAll(ISO_TIME, '<time>')
      .replaceAll(CLOCK_TIME, '<time>')
      .replaceAll(LOOPBACK, '<host>');
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, steady(inner)]));
}

/** What a call came to, refusals included. */
export async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return steady(await call);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { name, message } = error;
    return { failed: steady({ name, message, code: 'code' in error ? error.code : undefined }) };
  }
}
