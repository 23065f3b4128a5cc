import { TUNNEL_METHODS } from '@svault/compose/webhook-project/tunnel-methods';
import { Command, Option } from 'commander';
import { type Action, YES, collect, examples } from '../declare.ts';

/** `webhook` and all below it. */
export function webhookCommand(action: Action): Command {
  const webhook = new Command('webhook')
    .alias('wh')
    .summary('the webhook: where the credentials are, on a machine of yours')
    .description(
      'The webhook: where the credentials are, on a machine of yours. Taken away, it stops every delivery.',
    );
  webhook
    .command('init')
    .description('write a compose project that runs the webhook')
    .argument('[folder]', 'where to; it is created if it is missing', 'svault-webhook')
    .addOption(
      new Option('--method <method>', 'how the control plane reaches the webhook').choices(TUNNEL_METHODS),
    )
    .option(
      '--set <KEY=VALUE>',
      'a value of the project, such as SV_WEBHOOK_URL=https://… or, from a file, TUNNEL_TOKEN=@FILE; may be repeated',
      collect,
    )
    .option('--force', 'write over files that are there; its secrets and .env stay')
    .addHelpText(
      'after',
      examples(
        'svault webhook init',
        'svault webhook init --method cloudflared --set TUNNEL_TOKEN=@token.txt',
        'svault webhook init vault --method custom --set SVAULT_SOURCES=../svault    # a checkout, from which the image is built',
      ),
    )
    .action(action(() => import('./init.ts'), 'initWebhook'));
  webhook
    .command('up')
    .description('start the webhook, and wait until it is healthy')
    .argument('[folder]', 'of the project', '.')
    .addHelpText(
      'after',
      examples(
        'svault webhook up svault-webhook',
        'svault webhook up    # in the folder of the project',
        'svault webhook up svault-webhook --debug',
      ),
    )
    .action(action(() => import('./actions.ts'), 'startWebhook'));
  webhook
    .command('bind')
    .description('bind the webhook by its registration link, without a browser (admin)')
    .argument(
      '[link]',
      'what bind-link printed; else it is read from stdin, or asked of the project in this folder',
    )
    .option('-y, --yes', 'do not ask; for machines that trust where the link came from')
    .addHelpText(
      'after',
      examples(
        'svault webhook bind                                  # in the folder of the project',
        'docker compose run --rm webhook bind-link | svault webhook bind --yes',
        'ssh vault svault-webhook bind-link | svault webhook bind',
      ),
    )
    .action(action(() => import('./bind.ts'), 'bindWebhook'));
  webhook
    .command('status')
    .description('show which webhook is bound and whether it answers (admin)')
    .addHelpText(
      'after',
      examples(
        'svault webhook status',
        'svault webhook status --json | jq .reachable',
        'svault webhook status --context work',
      ),
    )
    .action(action(() => import('./actions.ts'), 'webhookStatus'));
  webhook
    .command('rotate-secret')
    .description('replace the key that requests and tickets to the webhook are signed with (admin)')
    .addHelpText(
      'after',
      examples(
        'svault webhook rotate-secret',
        'svault webhook status    # shows a rotation that is not finished',
        'svault webhook rotate-secret --context work',
      ),
    )
    .action(action(() => import('./bound.ts'), 'rotateWebhookSecret'));
  webhook
    .command('unbind')
    .description('forget the webhook and the key shared with it: then no credential can be delivered (admin)')
    .option(...YES)
    .addHelpText(
      'after',
      examples(
        'svault webhook unbind',
        'svault webhook unbind --yes',
        'svault vault lock    # to stop deliveries and stay bound',
      ),
    )
    .action(action(() => import('./bound.ts'), 'unbindWebhook'));
  webhook
    .command('down')
    .description('stop the webhook: then no credential can be delivered')
    .argument('[folder]', 'of the project', '.')
    .addHelpText(
      'after',
      examples(
        'svault webhook down svault-webhook',
        'svault webhook down    # in the folder of the project',
        'svault webhook down svault-webhook --debug',
      ),
    )
    .action(action(() => import('./actions.ts'), 'stopWebhook'));
  return webhook;
}
