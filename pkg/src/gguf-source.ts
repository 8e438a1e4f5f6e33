// A model named by the address of its file or by its name on Hugging Face.

import { absolute } from './configure.js';
import { invalid, shown } from './errors.js';
import { HUB, type HubName, onHub } from './hub.js';
import type { ModelKind } from './kinds.js';
import type { FoundModel } from './sources.js';

/** Addresses of the hub itself. */
const HUB_HOSTS = new Set([new URL(HUB).host, 'hf.co']);

/** What the two parts of a repository's name are made of. */
const PART = '[A-Za-z0-9][\\w.-]*';

const NAME = new RegExp(`^(${PART}/${PART})(?:@([^:]+))?(?::(.+))?$`);

/** Finds the model; `source` is neither an id nor a folder. `isAddress`: it was given as a URL. */
export async function ggufSource(source: string, isAddress: boolean, kind?: ModelKind): Promise<FoundModel> {
  const written = isAddress || /^[a-z][a-z0-9+.-]*:/i.test(source) ? undefined : hubName(source);
  if (written !== undefined) return onHub(written, kind);
  const url = absolute(source, 'model');
  const page = hubPage(url);
  return page === undefined ? oneFile(url) : onHub(page, kind);
}

/** A name of the hub. "models/file.gguf" is an address: a name that is followed by nothing does not end so. */
function hubName(text: string): HubName | undefined {
  const [, repository, revision, wanted] = NAME.exec(text) ?? [];
  if (repository === undefined) return undefined;
  if (revision === undefined && wanted === undefined && /\.gguf$/i.test(text)) return undefined;
  return { repository, revision: revision ?? 'main', wanted };
}

/** What an address of the hub names, as it stands in a browser's address bar or behind a download link. */
function hubPage(url: URL): HubName | undefined {
  if (!HUB_HOSTS.has(url.host)) return undefined;
  const path = url.pathname
    .replace(/^\/|\/$/g, '')
    .split('/')
    .map(decoded);
  const [owner, name, kind, revision = 'main', ...file] = path;
  const repository = `${owner}/${name}`;
  if (!NAME.test(repository)) return undefined;
  if (kind === undefined || kind === '') return { repository, revision, wanted: undefined };
  if (!['blob', 'resolve', 'tree'].includes(kind)) return undefined;
  return { repository, revision, wanted: file.length === 0 ? undefined : file.join('/') };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A model of one file at an address. */
function oneFile(url: URL): FoundModel {
  url.hash = '';
  const name = decoded(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  if (!/\.gguf$/i.test(name)) {
    throw invalid(
      'model',
      `the address of a folder ends in "/", that of a file in .gguf; a name on Hugging Face is "owner/name", "owner/name:Q4_K_M" or "owner/name@revision:file.gguf". Got ${shown(url.href)}. A file at another address can be given as { files: { 'name.gguf': address } }`,
    );
  }
  return {
    id: name,
    key: url.href,
    files: [{ name, role: 'model', origin: url, advice: 'is the address right?' }],
  };
}
