import { describe, expect, it } from 'vitest';
import { AppError, WEBHOOK_ERROR_STATUS, isWebhookErrorCode } from './errors.ts';

describe('errors', () => {
  it('keep code, details, reason and cause', () => {
    const cause = new Error('disk');
    const error = new AppError('NOT_FOUND', 'no such thing', {
      cause,
      details: { retryAfter: 1 },
      reason: 'deleted',
    });
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'no such thing',
      details: { retryAfter: 1 },
      reason: 'deleted',
    });
    expect(error.cause).toBe(cause);
    expect('cause' in new AppError('NOT_FOUND', 'no such thing')).toBe(false);
  });

  it('recognise the codes of a webhook and no others', () => {
    expect(Object.keys(WEBHOOK_ERROR_STATUS)).toHaveLength(32);
    expect(isWebhookErrorCode('TICKET_INVALID')).toBe(true);
    for (const text of ['toString', '__proto__', 'ticket_invalid', '', undefined])
      expect(isWebhookErrorCode(text)).toBe(false);
  });
});
