import { type Command, Option } from 'commander';
import { type Action, NAMED, YES, nounCommand } from '../declare.ts';

/** `policies` and all below it. */
export const policiesCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'policies',
    alias: 'pol',
    summary: 'policies: when, from where and how often a credential may be had',
    description:
      'Policies: when, from where and how often a credential may be had. All rules of all policies that are attached to the agent or proxy and to the credential must allow a request.',
    load: async () => ({
      ...(await import('./actions.ts')),
      ...(await import('./preview.ts')),
      ...(await import('./simulate.ts')),
    }),
    commands: {
      list: {
        says: 'list the policies',
        options: [NAMED, ...TARGETS],
        examples: [
          'svault policies list --name office',
          'svault policies list --agent ci',
          'svault policies list --service github',
        ],
        run: 'listPolicies',
      },
      show: {
        says: 'show a policy, its rules, and what it is attached to',
        operands: { '<policy>': POLICY },
        examples: [
          "svault policies show 'office hours'",
          "svault policies show 'office hours' --json | jq .rules",
          "svault policies export 'office hours'    # as a file",
        ],
        run: 'showPolicy',
      },
      export: {
        says: 'print policies as YAML, as apply takes them',
        operands: { '[policy...]': `${POLICY}; without one, all` },
        examples: [
          'svault policies export > policies.yaml',
          "svault policies export 'office hours'",
          'svault policies export --context staging | svault policies diff - --context work',
        ],
        run: 'exportPolicies',
      },
      apply: {
        says: 'create and update policies from files in YAML or JSON: missing ones are created, those of the same name are updated, others stay',
        summary: 'make policies as files say',
        operands: { '<file...>': FILES },
        examples: [
          'svault policies apply policies.yaml',
          'svault policies apply policies/*.yaml',
          'svault policies export --context staging | svault policies apply - --context work',
        ],
        run: 'applyPolicies',
      },
      diff: {
        says: 'say what apply would change, and change nothing; exit 8 where something would be',
        operands: { '<file...>': FILES },
        examples: [
          'svault policies diff policies.yaml',
          'svault policies diff policies.yaml || svault policies apply policies.yaml',
          'svault policies diff policies.yaml --json | jq length',
        ],
        run: 'diffPolicies',
      },
      preview: {
        says: 'say which recent requests the policies of files would have decided otherwise; nothing is saved or counted. Each policy is looked at by itself, among the others as they are now',
        summary: 'say which recent requests policies would decide otherwise',
        operands: { '<file...>': FILES },
        examples: [
          'svault policies preview policies.yaml',
          "svault policies export 'office hours' | svault policies preview -",
          "svault policies preview policies.yaml --json | jq '.[] | { policy, denied, allowed }'",
        ],
        run: 'previewPolicies',
      },
      simulate: {
        says: 'say what the policies would decide about a request; grants, limits and the lock are not asked, and nothing is counted',
        summary: 'say what the policies would decide about a request',
        options: [
          ['--agent <agent>', 'who would ask: an agent'],
          ['--proxy <proxy>', 'who would ask: a proxy'],
          ['--service <service>', 'the credential (needed)'],
          ['--at <time>', 'when, as 2026-11-20T12:00:00Z (default: now)'],
          ['--ip <address>', 'from where (default: not known)'],
          ['--method <method>', 'what the proxy would be asked, for rules about that: a method'],
          ['--path <path>', 'its path at the upstream (default: that of the proxy)'],
          ['--tool <tool>', 'a tool of MCP'],
          ['--arguments <json>', 'the arguments of the tool, as a JSON object'],
          ['--mcp-method <method>', 'a method of MCP, such as resources/read'],
        ],
        examples: [
          'svault policies simulate --agent ci --service github',
          'svault policies simulate --agent ci --service github --at 2026-11-21T23:00:00Z    # at night',
          'svault policies simulate --agent ci --service github --ip 192.0.2.7',
          'svault policies simulate --proxy issues --service github --path /repos/acme/site',
          `svault policies simulate --proxy issues --service github --tool get_issue --arguments '{"repo":"site"}'`,
        ],
        run: 'simulatePolicies',
      },
      test: {
        says: 'simulate the requests of a file, and compare each decision with what the file expects; exit 8 where one differs',
        summary: 'compare decisions with what a file expects',
        operands: { '<file...>': 'YAML or JSON with tests; - is stdin' },
        examples: [
          'svault policies test policy-tests.yaml',
          'svault policies test tests/*.yaml',
          "svault policies test policy-tests.yaml --json | jq '.[] | select(.passed == false)'",
        ],
        run: 'testPolicies',
      },
      attach: {
        says: 'attach a policy to an agent, a proxy or a credential',
        operands: { '<policy>': POLICY },
        options: TARGETS,
        examples: [
          "svault policies attach 'office hours' --agent ci",
          "svault policies attach 'office network' --service github",
          "svault policies attach 'office hours' --proxy linear",
        ],
        run: 'attachPolicy',
      },
      detach: {
        says: 'take a policy off an agent, a proxy or a credential, and forget what it counted there',
        operands: { '<policy>': POLICY },
        options: TARGETS,
        examples: [
          "svault policies detach 'office hours' --agent ci",
          "svault policies detach 'office network' --service github",
          "svault policies detach 'office hours' --proxy linear",
        ],
        run: 'detachPolicy',
      },
      rm: {
        says: 'delete a policy, its attachments and its counts',
        operands: { '<policy>': POLICY },
        options: [YES],
        examples: [
          "svault policies rm 'office hours'",
          "svault policies show 'office hours'    # where it is attached",
          "svault policies rm 'office hours' --yes",
        ],
        run: 'removePolicy',
      },
    },
  });

const POLICY = 'its name or its id';
const FILES = 'YAML or JSON with policies; - is stdin';
const TARGETS = [
  new Option('--agent <agent>', 'of an agent, by its name or id').conflicts(['proxy', 'service']),
  new Option('--proxy <proxy>', 'of a proxy, by its name or id').conflicts(['agent', 'service']),
  new Option('--service <service>', 'of a credential').conflicts(['agent', 'proxy']),
];
