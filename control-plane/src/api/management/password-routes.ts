import type { PasswordSetting } from '../../sign-in/set-password.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { newPasswordSchema } from './schemas/sign-in.ts';

/** @param setting undefined where people sign in at an identity provider */
export function createPasswordRoutes({
  setting,
}: {
  readonly setting: PasswordSetting | undefined;
}): readonly ManagementRoute[] {
  return [
    defineRoute({
      method: 'post',
      path: '/api/me/password',
      operation: 'setPassword',
      tag: 'Account',
      summary: 'Set your own password and end your other sessions; 404 with an identity provider',
      role: 'member',
      whenLocked: 'refused',
      audit: ['MEMBER_UPDATED'],
      limit: 'password_login',
      body: newPasswordSchema,
      answer: { status: 204 },
      refusals: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ actor, body, transaction }) => {
        if (setting === undefined) throw noPasswordsHere();
        const { currentPassword, newPassword } = body;
        await setting.set(actor, { currentPassword, newPassword }, transaction);
      },
    }),
  ];
}
