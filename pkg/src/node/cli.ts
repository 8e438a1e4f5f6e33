#!/usr/bin/env node
// The package's command: models for a site to serve.

import { parseArgs } from 'node:util';
import './index.js';
import { MultiheadError, reasonOf } from '../errors.js';
import { add } from './models/add.js';
import { terminal } from './models/console.js';
import { list } from './models/list.js';
import { indexAddress, PUBLIC_INDEX } from './models/offers.js';
import { verify } from './models/verify.js';

const HELP = `multihead models add <id…> <folder>   fetch models into a folder that your site serves
multihead models list                 what the index offers
multihead models verify <folder>      check a folder against its index

  add writes <folder>/<id>/<file>.gz (.gguf, .safetensors and short files as they are), the licence beside them, and
  <folder>/index.json, which keeps the models it lists already. A language model may also be named by the address of
  its .gguf file, or as "owner/name:Q4_K_M" or "owner/name@revision:file.gguf" on Hugging Face; its id is the file's
  name. An encoder (for embed() and the like) by the address of its folder, which ends in "/", or as "owner/name" or
  "owner/name@revision". A file is checked by the size and SHA-256 that the index gives; the public one gives them of
  models, not of vocabularies and shortlists, of which the sums in their gzip files are checked. What is there already,
  by its SHA-256, is kept. A model is replaced once all of its files have come.

  --from <index>         path or address of a multihead index (index.json, or its folder) or of a storage
                         index of Firefox Translations. Default: the public one,
                         ${PUBLIC_INDEX}
  --architecture <name>  tiny, base or base-memory, where the index has several; default: the first released
  --int8                 encoders with their matrices quantised: a quarter of the download, slightly less exact
  -h, --help             this text

  Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted.

  npx multihead models add en-pt pt-en public/models
  npx multihead models add smollm2-135m-instruct public/models
  npx multihead models add all-minilm-l6-v2 public/models --int8
`;

/** Arguments that make no sense; told with a pointer to the help. */
class Usage extends Error {}

const interrupted = new AbortController();

async function main(): Promise<void> {
  const { values, positionals } = parse();
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(HELP);
    return;
  }
  const [what, action, ...rest] = positionals;
  if (what !== 'models') throw new Usage(`there is no "${what}"; there is: models`);
  const console = terminal();
  const { signal } = interrupted;
  switch (action) {
    case 'add': {
      const folder = rest.at(-1);
      const ids = rest.slice(0, -1);
      if (folder === undefined || ids.length === 0) {
        throw new Usage(
          'models add takes one or more ids and then a folder, as in: models add en-pt public/models',
        );
      }
      const index = from(values.from);
      await add(
        {
          ids: [...new Set(ids)],
          folder,
          index,
          architecture: values.architecture,
          int8: values.int8 === true,
        },
        console,
        signal,
      );
      return;
    }
    case 'list':
      if (rest.length > 0) throw new Usage('models list takes no id; the index is given by --from');
      await list(from(values.from), console, signal);
      return;
    case 'verify': {
      const [folder, ...others] = rest;
      if (folder === undefined || others.length > 0) throw new Usage('models verify takes one folder');
      await verify(folder, console);
      return;
    }
    case undefined:
    default:
      throw new Usage(`models ${action ?? '…'}: there are add, list and verify`);
  }
}

function parse(): ReturnType<typeof parsed> {
  try {
    return parsed();
  } catch (thrown) {
    throw new Usage(reasonOf(thrown));
  }
}

function parsed(): {
  values: { help?: boolean; from?: string; architecture?: string; int8?: boolean };
  positionals: string[];
} {
  return parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      from: { type: 'string' },
      architecture: { type: 'string' },
      int8: { type: 'boolean' },
    },
  });
}

function from(given: string | undefined): URL {
  try {
    return indexAddress(given ?? PUBLIC_INDEX);
  } catch (thrown) {
    throw new Usage(`--from ${given}: ${reasonOf(thrown)}`);
  }
}

// Whoever read the output, `head` say, may have gone; the work goes on. Where it cannot be written, that is told.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.exitCode = 1;
    if (stream === process.stdout)
      process.stderr.write(`multihead: output cannot be written: ${error.message}\n`);
  });
}
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    interrupted.abort(new Error('interrupted; the models that were not added yet are as they were'));
  });
}
try {
  await main();
} catch (thrown) {
  process.exitCode = interrupted.signal.aborted ? 130 : thrown instanceof Usage ? 2 : 1;
  const code = thrown instanceof MultiheadError ? ` (${thrown.code})` : '';
  const more = thrown instanceof Usage ? '\nmultihead --help says more' : '';
  process.stderr.write(`multihead: ${reasonOf(thrown)}${code}${more}\n`);
}
