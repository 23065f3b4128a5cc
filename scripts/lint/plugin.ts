import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal } from './imports.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The part of ESTree that these rules read. */
interface Node {
  readonly type: string;
  readonly source?: Node | null;
  readonly value?: unknown;
  readonly specifiers?: readonly Specifier[];
  readonly name?: string;
  readonly object?: Node;
  readonly property?: Node;
  readonly callee?: Node;
  readonly argument?: Node;
  readonly arguments?: readonly Node[];
}
interface Specifier {
  readonly type: string;
  readonly imported?: { readonly name?: string; readonly value?: string };
  readonly local?: { readonly name?: string; readonly value?: string };
}
interface Context {
  readonly filename: string;
  report(finding: { node: Node; message: string }): void;
}

/** Package entries: the only files that may hand on what another file exports. */
const ENTRY =
  /^(shared\/src\/((schemas|egress|sealed|error-catalog|request-rules|audit-chain)\/)?|(conformance|clients\/node)\/src\/)index\.ts$/;
/** Names that say nothing about what is inside. */
const MUTE = /(^|\/)(utils?|helpers?|services?|types|common|misc)(\.ts$|\/)/;

function pathFromRoot(context: Context): string {
  return relative(ROOT, context.filename).split(sep).join('/');
}

/** Holds the directions of `arrows.ts`, for static, dynamic and type imports and for re-exports. */
const arrows = {
  create(context: Context): object {
    const file = pathFromRoot(context);
    const check = (
      node: Node,
      source: Node | null | undefined,
      names: readonly string[] | undefined,
    ): void => {
      if (typeof source?.value !== 'string') return;
      const why = refusal({ file, specifier: source.value, names });
      if (why !== undefined)
        context.report({ node, message: `${file} must not import ${source.value}: ${why}.` });
    };
    const named = (node: Node): void => check(node, node.source, namesOf(node.specifiers ?? []));
    const whole = (node: Node): void => check(node, node.source, undefined);
    return {
      ImportDeclaration: named,
      ExportNamedDeclaration: named,
      ExportAllDeclaration: whole,
      ImportExpression: whole,
      TSImportType: whole,
    };
  },
};

/** Names that an import or re-export takes, undefined where it takes the module as a whole. */
function namesOf(specifiers: readonly Specifier[]): readonly string[] | undefined {
  const names: string[] = [];
  for (const { type, imported, local } of specifiers) {
    const taken = type === 'ExportSpecifier' ? local : imported;
    const name = taken?.name ?? taken?.value;
    if (type === 'ImportNamespaceSpecifier' || type === 'ImportDefaultSpecifier') return undefined;
    if (name === undefined || name === 'default') return undefined;
    names.push(name);
  }
  return names;
}

/** What a package offers is a list in its entry: no `export *` anywhere, no re-export elsewhere. */
const publicSurface = {
  create(context: Context): object {
    const isEntry = ENTRY.test(pathFromRoot(context));
    return {
      ExportAllDeclaration(node: Node): void {
        context.report({
          node,
          message: 'Name what is exported; `export *` makes a public surface that no one chose.',
        });
      },
      ExportNamedDeclaration(node: Node): void {
        if (node.source === null || node.source === undefined || isEntry) return;
        context.report({
          node,
          message: 'Only a package entry re-exports; import from the file that defines it.',
        });
      },
    };
  },
};

/** A file is called after its concept. */
const tellingNames = {
  create(context: Context): object {
    return {
      Program(node: Node): void {
        if (!MUTE.test(pathFromRoot(context))) return;
        context.report({
          node,
          message: 'Call the file after its one concept, not utils, helpers or types.',
        });
      },
    };
  },
};

/** What a locator of Playwright reads at once, whatever the page is about to show. */
const READ_AT_ONCE =
  /^(count|is[A-Z]\w+|(all)?[iI]nnerTexts?|(all)?[tT]extContents?|inputValue|getAttribute)$/;

/** A page answers when it is ready: a test of a browser tries what it expects until it holds. */
const retriedReads = {
  create(context: Context): object {
    if (!context.filename.endsWith('.browser.test.ts')) return {};
    return {
      CallExpression(node: Node): void {
        const { object: expected, property: matcher } = node.callee ?? {};
        const read = expected?.callee?.name === 'expect' ? expected.arguments?.[0]?.argument : undefined;
        const name = read?.callee?.property?.name ?? '';
        const wanted = node.arguments?.[0]?.value;
        // Nothing (yet) there needs no patience.
        if (!READ_AT_ONCE.test(name) || wanted === 0 || wanted === false || matcher?.name === 'toBeLessThan')
          return;
        context.report({
          node,
          message: `Read by \`await expect.poll(() => ….${name}(…))\`: pages fill late.`,
        });
      },
    };
  },
};

// oxlint-disable-next-line import/no-default-export -- oxlint reads a plugin from its default export
export default {
  meta: { name: 'svault' },
  rules: {
    arrows,
    'public-surface': publicSurface,
    'telling-names': tellingNames,
    'retried-reads': retriedReads,
  },
};
