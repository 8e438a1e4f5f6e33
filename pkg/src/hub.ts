// Models of repositories on Hugging Face: listed by the hub's public API, chosen by what they are wanted for (a GGUF file by
// name or quantisation, an encoder whole), pinned to a commit, checked by the size and SHA-256 that the listing gives.

import * as cache from './cache.js';
import { isRecord } from './catalogue.js';
import { download } from './download.js';
import { MultiheadError, shown } from './errors.js';
import { encoderFiles } from './encoder-files.js';
import { chooseFile, type HubFile, isEncoder } from './hub-choice.js';
import type { ModelKind } from './kinds.js';
import type { FoundModel, SourceFile } from './sources.js';

/** The hub: `<HUB>api/models/…` lists, `<HUB><owner>/<name>/resolve/<commit>/<file>` is a file. */
export const HUB = 'https://huggingface.co/';

/** What "owner/name[@revision][:file or quantisation]" says. */
export interface HubName {
  repository: string;
  /** A branch, tag or commit. */
  revision: string;
  /** A file's path or name, or a quantisation; by default the best there is for a page. */
  wanted: string | undefined;
}

/** A repository at a commit. */
interface Listing {
  commit: string;
  files: HubFile[];
}

const listings = new Map<string, Promise<Listing>>();

/** The model that the name stands for; `kind`: what it is wanted for, where the repository has several. */
export async function onHub(name: HubName, kind?: ModelKind): Promise<FoundModel> {
  const { repository, revision } = name;
  const url = new URL(`api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`, HUB);
  const { commit, files } = await listed(url, name);
  const found = { forget: () => listings.delete(url.href) };
  if (isEncoder(name, files, kind)) {
    const parts = files
      .filter(({ path }) => !path.includes('/') || /^\d+_/.test(path) || path.endsWith('.onnx'))
      .map((file) => sourceOf(repository, commit, file));
    const key = new URL(`${repository}/tree/${commit}`, HUB).href;
    return { ...found, id: repository, key, files: encoderFiles(repository, parts) };
  }
  const file = chooseFile(name, files);
  const source = sourceOf(repository, commit, file);
  const model = { ...source, name: file.path.slice(file.path.lastIndexOf('/') + 1), role: 'model' };
  return { ...found, id: `${repository}:${file.path}`, key: source.origin.href, files: [model] };
}

/** A file of a repository at a commit. */
function sourceOf(
  repository: string,
  commit: string,
  { path, bytes, sha256, blob }: HubFile,
): SourceFile & { origin: URL } {
  const place = path.split('/').map(encodeURIComponent).join('/');
  return {
    name: path,
    origin: new URL(`${repository}/resolve/${commit}/${place}`, HUB),
    // A commit that does not change the file has it at another address.
    keptAs: new URL(`${repository}/${place}`, HUB),
    ...(bytes === undefined ? {} : { bytes }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(blob === undefined || sha256 !== undefined ? {} : { pinned: blob }),
    advice: `see ${HUB}${repository}`,
    denied: denied(repository),
  };
}

/** What a repository has, asked for once per page; after a failure the next call tries again. */
function listed(url: URL, name: HubName): Promise<Listing> {
  const known = listings.get(url.href);
  if (known !== undefined) return known;
  const listing = list(url, name);
  listings.set(url.href, listing);
  listing.catch(() => {
    if (listings.get(url.href) === listing) listings.delete(url.href);
  });
  return listing;
}

/** The listing from the hub; where that cannot be reached, as it was at the last visit. */
async function list(url: URL, name: HubName): Promise<Listing> {
  const { repository, revision } = name;
  const key = cache.cacheKey(url, 'listing');
  const at = revision === 'main' ? '' : ` with a revision ${shown(revision)}`;
  let text: string;
  try {
    const wanted = {
      name: repository,
      url,
      advice: `is there a repository ${repository}${at} on Hugging Face? See ${HUB}${repository}`,
      denied: denied(repository),
      cache: 'no-cache',
      // Further attempts would keep waiting those who have a copy.
      ...((await cache.has(key)) ? { tries: 1 } : {}),
    } as const;
    text = await (await download(wanted, new AbortController().signal, () => undefined)).text();
  } catch (thrown) {
    const failed = thrown instanceof MultiheadError && thrown.code === 'download-failed';
    const kept = failed ? await cache.get(key) : undefined;
    if (kept === undefined) throw thrown;
    return read(url, name, await kept.text());
  }
  const listing = read(url, name, text);
  await cache.keep(key, new Blob([text]));
  return listing;
}

/** The hub answers alike for what is not there and for what is not for everyone. */
function denied(repository: string): string {
  return `there is no repository ${repository} on Hugging Face, or it is private, or its owner grants access one by one. See ${HUB}${repository}: then have configure({ fetch }) send a token that may read it, or download the file and give it as { files }`;
}

function read(url: URL, { repository }: HubName, text: string): Listing {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // What is no JSON is no listing either.
  }
  const { sha, siblings } = isRecord(content) ? content : {};
  if (typeof sha !== 'string' || !/^[0-9a-f]{40,64}$/.test(sha) || !Array.isArray(siblings)) {
    throw new MultiheadError(
      `${repository}: what ${url.href} answers is no listing of a repository. Does something between answer for Hugging Face?`,
      { code: 'download-failed', file: repository },
    );
  }
  return { commit: sha, files: (siblings as unknown[]).flatMap(readFile) };
}

/** The file's path; its size and SHA-256 where they are given, which is of files in LFS. */
function readFile(entry: unknown): HubFile[] {
  if (!isRecord(entry) || typeof entry['rfilename'] !== 'string') return [];
  const lfs = isRecord(entry['lfs']) ? entry['lfs'] : {};
  const { sha256 } = lfs;
  const { blobId } = entry;
  const bytes = lfs['size'] ?? entry['size'];
  return [
    {
      path: entry['rfilename'],
      ...(typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes > 0 ? { bytes } : {}),
      ...(typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) ? { sha256 } : {}),
      ...(typeof blobId === 'string' && /^[0-9a-f]{40}$/.test(blobId) ? { blob: blobId } : {}),
    },
  ];
}
