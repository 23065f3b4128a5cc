import { TUNNEL_METHODS } from '@svault/compose/webhook-project/tunnel-methods';
import { Command, Option } from 'commander';
import { type Action, collect } from '../declare.ts';

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
    .argument('[folder]', 'where to; it is made where it is missing', 'svault-webhook')
    .addOption(
      new Option('--method <method>', 'how the control plane reaches the webhook').choices(TUNNEL_METHODS),
    )
    .option(
      '--set <KEY=VALUE>',
      'a value of the project, such as SV_WEBHOOK_URL=https://… or, from a file, TUNNEL_TOKEN=@FILE; may be repeated',
      collect,
    )
    .option('--force', 'write over files that are there; its secrets and .env stay')
    .action(action(() => import('./init.ts'), 'initWebhook'));
  webhook
    .command('up')
    .description('start the webhook, and wait until it is healthy')
    .argument('[folder]', 'of the project', '.')
    .action(action(() => import('./actions.ts'), 'startWebhook'));
  webhook
    .command('bind')
    .description('bind the webhook by its registration link, without a browser (admin)')
    .argument(
      '[link]',
      'what bind-link printed; else it is read from stdin, or asked of the project in this folder',
    )
    .option('-y, --yes', 'do not ask; for machines that trust where the link came from')
    .action(action(() => import('./bind.ts'), 'bindWebhook'));
  webhook
    .command('status')
    .description('say which webhook is bound and whether it answers (admin)')
    .action(action(() => import('./actions.ts'), 'webhookStatus'));
  webhook
    .command('down')
    .description('stop the webhook: then no credential can be delivered')
    .argument('[folder]', 'of the project', '.')
    .action(action(() => import('./actions.ts'), 'stopWebhook'));
  return webhook;
}
