import type { Answer } from './http/client.ts';
import { text } from './http/read-answer.ts';

/** Whether two answers are the same to a stranger: status and body. A request id may differ only in the headers. */
export function sameOutside(one: Answer, other: Answer): boolean {
  return one.status === other.status && text(one) === text(other);
}
