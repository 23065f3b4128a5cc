import type { Command } from 'commander';
import { type Action, NAMED, YES, nounCommand } from '../declare.ts';
import { FOR_HOW_LONG, REFRESH_POLICY } from '../grants/commands.ts';

/** `folders` and all below it. */
export const foldersCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'folders',
    summary: 'folders: credentials that are granted together',
    description:
      'Folders: credentials that are granted together. A credential that is added later is not granted to those who got the folder before.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the folders',
        options: [NAMED],
        examples: [
          'svault folders list',
          'svault folders list --name build',
          "svault folders list --json | jq -r '.[].name'",
        ],
        run: 'listFolders',
      },
      show: {
        says: 'show a folder, with the credentials in it',
        operands: { '<folder>': FOLDER },
        examples: [
          'svault folders show build',
          "svault folders show build --json | jq -r '.serviceNames[]'",
          'svault folders show build --format name',
        ],
        run: 'showFolder',
      },
      create: {
        says: 'create a folder',
        options: [
          ['--name <name>', 'what it is called (needed)'],
          ['--services <services>', 'the credentials in it, separated by commas'],
        ],
        examples: [
          'svault folders create --name build --services github,npm',
          'svault folders create --name release    # empty; see folders edit --add',
          'svault folders create --name build --services github --json | jq -r .id',
        ],
        run: 'createFolder',
      },
      edit: {
        says: 'change a folder; grants made from it stay',
        operands: { '<folder>': FOLDER },
        options: [
          ['--name <name>', 'what it is called from now on'],
          ['--services <services>', 'all credentials in it, separated by commas'],
          ['--add <services>', 'put these credentials in, separated by commas'],
          ['--remove <services>', 'take these credentials out, separated by commas'],
        ],
        examples: [
          'svault folders edit build --add pypi',
          'svault folders edit build --remove npm',
          'svault folders edit build --name release',
        ],
        run: 'editFolder',
      },
      rm: {
        says: 'delete a folder; its credentials and the grants made from it stay',
        operands: { '<folder>': FOLDER },
        options: [YES],
        examples: [
          'svault folders rm build',
          'svault folders show build    # what is in it',
          'svault folders rm build --yes',
        ],
        run: 'removeFolder',
      },
      grant: {
        says: 'grant an agent every credential that is in a folder now',
        operands: { '<folder>': FOLDER, '<agent>': 'name or id of the agent' },
        options: [FOR_HOW_LONG, REFRESH_POLICY],
        examples: [
          'svault folders grant build ci',
          'svault folders grant build ci --expires 1d',
          "svault folders grant build ci --json | jq -r '.grants[].serviceName'",
        ],
        run: 'grantFolder',
      },
    },
  });

const FOLDER = 'its name or its id';
