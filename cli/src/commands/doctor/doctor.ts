import * as z from 'zod';
import manifest from '../../../package.json' with { type: 'json' };
import { apiClient } from '../../api/api-client.ts';
import { ENVIRONMENT_NAME } from '../../contexts/context-name.ts';
import { Failure, orElse } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { accountFindings } from './account-findings.ts';
import { type ExpectedBackups, backupFindings } from './backups.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';
import { reachFindings } from './reach.ts';

const SIGNS = { ok: 'ok', warning: 'warning', problem: 'PROBLEM', skipped: '-' } as const;
const TONES = { ok: 'green', warning: 'yellow', problem: 'red', skipped: 'dim' } as const;

const FINDINGS: Shape<Finding> = {
  columns: [
    { title: 'result', of: ({ state }) => SIGNS[state], tone: ({ state }) => TONES[state], whole: true },
    { title: 'check', of: ({ check }) => check, whole: true },
    { title: 'found', of: ({ found }) => found },
  ],
  name: ({ check }) => check,
};

/** `doctor`: exit 8 where something is wrong. */
export const doctor: Run<[], ExpectedBackups> = async (invocation, _, expected) => {
  const client = await apiClient(invocation, 'anybody');
  const { baseUrl, name } = client.login.context;
  // Shows the first request, and ends there.
  if (client.dryRun) await client.read('/readyz', z.unknown());
  const controlPlane = {
    called: 'control plane',
    url: new URL(`${baseUrl}/readyz`),
    well: ['ok', 'degraded'],
  };
  const reach = await reachFindings(invocation, controlPlane);
  const [first] = reach;
  const findings: readonly Finding[] = [
    versionFinding(),
    ...reach,
    ...(first?.state === 'problem'
      ? []
      : [
          await apiFinding(client),
          await baseUrlFinding(client),
          ...(await accountFindings(invocation, client)),
        ]),
    ...(await backupFindings(expected)),
  ];
  printList(invocation, findings, FINDINGS);
  sayRemedies(invocation, findings);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (problems > 0)
    throw new Failure(
      'differs',
      `${problems === 1 ? '1 problem' : `${problems} problems`} with ${name === ENVIRONMENT_NAME ? baseUrl : `the login ${name} (${baseUrl})`}`,
    );
};

/** As JSON they are with each finding already. */
function sayRemedies(invocation: Invocation, findings: readonly Finding[]): void {
  if (invocation.flags.format === 'json') return;
  for (const { check, remedy } of findings) if (remedy !== undefined) say(invocation, `${check}: ${remedy}`);
}

/** Of `engines` in package.json. */
const MIN_NODE = /\d+/.exec(manifest.engines.node)?.[0] ?? '0';

function versionFinding(): Finding {
  const found = `svault ${manifest.version} on Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  return Number(process.versions.node.split('.')[0]) >= Number(MIN_NODE)
    ? ok('client', found)
    : problem('client', found, `install Node ${MIN_NODE} or newer`);
}

const API_VERSION = '1';

async function apiFinding(client: Awaited<ReturnType<typeof apiClient>>): Promise<Finding> {
  const schema = z.looseObject({ info: z.looseObject({ version: z.string() }) });
  const check = 'API version';
  return orElse<Finding>(
    client
      .read('/api/openapi.json', schema)
      .then(({ info: { version } }) =>
        version === API_VERSION
          ? ok(check, `both speak version ${version}`)
          : warning(
              check,
              `the control plane speaks version ${version.slice(0, 20)}`,
              'install the svault of its release',
            ),
      ),
    (error) => {
      if (error.exit === 'interrupted') throw error;
      return warning(check, error.message, 'check the address: this may not be a control plane');
    },
  );
}

/** Tickets, sign-in links and OAuth name SV_BASE_URL, which RFC 8414 publishes as the issuer. */
async function baseUrlFinding(client: Awaited<ReturnType<typeof apiClient>>): Promise<Finding> {
  const { baseUrl } = client.login.context;
  const check = 'base URL';
  return orElse<Finding>(
    client
      .read('/.well-known/oauth-authorization-server', z.looseObject({ issuer: z.string() }))
      .then(({ issuer }) =>
        issuer === baseUrl
          ? ok(check, 'the control plane has the same in SV_BASE_URL')
          : warning(
              check,
              `SV_BASE_URL of the control plane is ${plainLine(issuer)}, and ${baseUrl} is used here`,
              `set SV_BASE_URL of the control plane to the address that agents use; if it is right, set SVAULT_BASE_URL to it`,
            ),
      ),
    (error) => {
      if (error.exit === 'interrupted') throw error;
      return skipped(check, 'the control plane does not say its SV_BASE_URL');
    },
  );
}
