import { Command } from 'commander';
import { type Action, YES, examples } from '../declare.ts';

/** `approve` */
export const approveCommand = (action: Action): Command =>
  new Command('approve')
    .summary('approve or deny with a security key what a credential holds back itself')
    .description(
      'decide, with a security key of this machine, on a use that a credential holds back until an approver decides. It shows what would be signed, which no page can change, and asks the key to sign exactly that',
    )
    .argument('<url>', 'the link of the request at the webhook: https://…/approvals/apr_…')
    .option('--deny', 'deny it, and the same request for ten minutes')
    .option(
      '--for <duration>',
      'allow the same use for so long, such as 30m or 1h, where the credential permits that',
    )
    .option('--device <path>', 'which security key, where several are plugged in: fido2-token -L lists them')
    .option(...YES)
    .addHelpText(
      'after',
      examples(
        'svault approve https://hook.example.com/approvals/apr_3kTMd8Q2sWv0bXh1pZ9aRg',
        'svault approve https://hook.example.com/approvals/apr_3kTMd8Q2sWv0bXh1pZ9aRg --for 1h',
        'svault approve https://hook.example.com/approvals/apr_3kTMd8Q2sWv0bXh1pZ9aRg --deny',
      ),
    )
    .addHelpText(
      'after',
      `
It needs fido2-assert and fido2-token of libfido2, and a key that is an approver: register it in a
browser, by the link that approver-link prints on the webhook’s machine.`,
    )
    .action(action(() => import('./approve.ts'), 'approve'));
