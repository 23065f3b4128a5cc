import type { Answer } from './client.ts';

/** The first value of a header, by its lower-case name. */
export function header(answer: Answer, name: string): string | undefined {
  return answer.headers.find(([each]) => each === name)?.[1];
}

export function text(answer: Answer): string {
  return Buffer.from(answer.body).toString('utf8');
}

/** The body where it is one JSON object. */
export function jsonObject(answer: Answer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text(answer));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
