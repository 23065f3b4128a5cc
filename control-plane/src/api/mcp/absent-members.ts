/**
 * Leaves out what is null in the parameters of a message, at any depth: programs write null for what they do not have (Go for
 * a nil map, models for an optional argument), and no member of MCP's requests means anything by it.
 *
 * @param message as it was parsed; changed in place
 */
export function withoutNulls(message: unknown): unknown {
  if (!isObject(message) || !('params' in message)) return message;
  if (message['params'] === null) delete message['params'];
  else dropNulls(message['params']);
  return message;
}

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNulls);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      if (member === null) delete value[name];
      else dropNulls(member);
    }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
