import type { ServerResponse } from 'node:http';

/** Answers with JSON; `res.json` would negotiate, hash and stringify with options that nobody set. */
export function sendJson(res: ServerResponse, body: object, status = 200): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}
