// Which of the files that are there make an encoder: a folder as transformers and sentence-transformers write it.

import { isRecord } from './catalogue.js';
import { MultiheadError } from './errors.js';
import { ofLetters } from './kinds.js';
import type { SourceFile } from './sources.js';

/** Files beside the weights, those that every encoder has first. */
export const BESIDE = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'modules.json',
  'sentence_bert_config.json',
] as const;

export const WEIGHTS = 'model.safetensors';
/** Of weights in several files: which tensor is in which. */
export const SHARDS = 'model.safetensors.index.json';

/** Files that are looked for only to say what is there instead of what is missing. */
export const INSTEAD = [
  'pytorch_model.bin',
  'pytorch_model.bin.index.json',
  'onnx/model.onnx',
  'model.onnx',
  'tf_model.h5',
  'flax_model.msgpack',
  'vocab.txt',
  'vocab.json',
  'sentencepiece.bpe.model',
  'spiece.model',
] as const;

const OTHER_WEIGHTS = /(^|\/)([^/]*\.(bin|pt|pth|ckpt|onnx|h5|msgpack)|pytorch_model\.bin\.index\.json)$/i;
const OTHER_TOKENIZER = /^(vocab\.(txt|json)|merges\.txt|.*\.model)$/i;

/** A file of a module of sentence-transformers, in the module's folder. */
const MODULE = /^[^/]+\/(config\.json|model\.safetensors)$/;

const SHARD = /^(.*)-(\d{5})-of-(\d{5})\.safetensors$/;

/** How many names a message has. */
const NAMED = 12;

interface Named {
  name: string;
}

/**
 * The encoder's files among `files`, by their paths in its folder. An error names at once all that is missing, and says
 * how to come by it; where `isOverLetters` says that they are a model's over letters, also what takes that.
 */
export function encoderFiles<File extends Named>(
  id: string,
  files: readonly File[],
  isOverLetters = ofLetters(files),
): File[] {
  const there = inFolder(files);
  const chosen = new Map<string, File>();
  for (const [path, file] of there) {
    if (isBeside(path) || MODULE.test(path)) chosen.set(path, file);
  }
  const missing = [
    ...BESIDE.slice(0, 2).filter((name) => !there.has(name)),
    ...weightsOf(there, chosen),
    ...modulesWithout(there),
  ];
  if (missing.length > 0) throw lacking(id, missing, [...there.keys()], isOverLetters);
  return [...chosen].map(([name, file]) => (file.name === name ? file : { ...file, name }));
}

/** The files of a model over letters, which has no tokenizer: its symbols are in its config.json. */
export function lettersFiles<File extends Named>(id: string, files: readonly File[]): File[] {
  const there = inFolder(files);
  const needed = ['config.json', WEIGHTS].map((name) => [name, there.get(name)] as const);
  const missing = needed.filter(([, file]) => file === undefined).map(([name]) => name);
  if (missing.length > 0) {
    throw new MultiheadError(
      `${id}: a model over letters is config.json and ${WEIGHTS}; missing: ${names(missing)}; there: ${names([...there.keys()])}`,
      {
        code: 'model-unsupported',
        option: 'model',
        ...(missing[0] === undefined ? {} : { file: missing[0] }),
      },
    );
  }
  return needed.flatMap(([name, file]) =>
    file === undefined ? [] : [file.name === name ? file : { ...file, name }],
  );
}

/** Whether there is a tokenizer, as every encoder has one. */
export function hasTokenizer(files: readonly Named[]): boolean {
  return files.some(({ name }) => /(^|[/\\])tokenizer\.json$/.test(name));
}

/** Whether the content of a config.json is that of a model over letters. */
export function isOfLetters(config: unknown): boolean {
  return isRecord(config) && config['model_type'] === 'multihead-letters';
}

/** Whether it is a model over letters, as its config.json says; undefined where that is not here yet, or cannot be read. */
export async function knownOverLetters(files: readonly SourceFile[]): Promise<boolean | undefined> {
  const origin = inFolder(files).get('config.json')?.origin;
  if (!(origin instanceof Blob)) return undefined;
  try {
    return isOfLetters(JSON.parse(await origin.text()));
  } catch {
    return undefined;
  }
}

function isBeside(path: string): boolean {
  return (BESIDE as readonly string[]).includes(path);
}

/** The files by their paths in the encoder's folder: what a page is given may be called by the folder as well. */
function inFolder<File extends Named>(files: readonly File[]): Map<string, File> {
  const paths = files.map(({ name }) => name.replaceAll('\\', '/').replace(/^(\.?\/)+/, ''));
  const folders = paths.filter((path) => /(^|\/)tokenizer\.json$/.test(path) || endsInWeights(path));
  const configs = folders.length > 0 ? folders : paths.filter((path) => /(^|\/)config\.json$/.test(path));
  const [shortest] = configs.map((path) => path.slice(0, path.lastIndexOf('/') + 1)).toSorted(byLength);
  const root = shortest ?? '';
  const found = new Map<string, File>();
  for (const [place, path] of paths.entries()) {
    const file = files[place];
    if (file !== undefined && path.startsWith(root)) found.set(path.slice(root.length), file);
  }
  return found;
}

function endsInWeights(path: string): boolean {
  return path.endsWith(WEIGHTS) || path.endsWith(SHARDS);
}

function byLength(a: string, b: string): number {
  return a.length - b.length;
}

/** Puts the weights into `chosen`; what of them is missing. */
function weightsOf<File extends Named>(there: Map<string, File>, chosen: Map<string, File>): string[] {
  const whole = there.get(WEIGHTS);
  if (whole !== undefined) {
    chosen.set(WEIGHTS, whole);
    return [];
  }
  const files = [...there].filter(([path]) => /^[^/]+\.safetensors$/.test(path));
  const index = there.get(SHARDS);
  const shards = files.filter(([path]) => SHARD.test(path));
  if (index === undefined) {
    const [only, second] = files;
    // A single one of another name is what somebody gave.
    if (only !== undefined && second === undefined && shards.length === 0) {
      chosen.set(WEIGHTS, only[1]);
      return [];
    }
    return shards.length > 0 ? [SHARDS, ...gaps(shards)] : [WEIGHTS];
  }
  chosen.set(SHARDS, index);
  for (const [path, file] of files) chosen.set(path, file);
  return files.length === 0
    ? ['the *.safetensors files that model.safetensors.index.json names']
    : gaps(shards);
}

/** The shards that are not there of those whose names count them. */
function gaps(shards: readonly (readonly [string, Named])[]): string[] {
  const present = new Set(shards.map(([path]) => path));
  const [, stem = '', , count = '0'] = SHARD.exec(shards[0]?.[0] ?? '') ?? [];
  const all = Array.from(
    { length: Number(count) },
    (_, place) => `${stem}-${String(place + 1).padStart(5, '0')}-of-${count}.safetensors`,
  );
  return all.filter((name) => !present.has(name));
}

/** Weights of dense layers after the pooling that are not there. */
function modulesWithout(there: ReadonlyMap<string, Named>): string[] {
  return [...there.keys()].flatMap((path) => {
    const [, folder] = /^(\w*Dense\w*\/)config\.json$/.exec(path) ?? [];
    return folder === undefined || there.has(`${folder}${WEIGHTS}`) ? [] : [`${folder}${WEIGHTS}`];
  });
}

/** The error that says what is missing, what is there instead, and how to convert it. */
function lacking(
  id: string,
  missing: readonly string[],
  there: readonly string[],
  isOverLetters: boolean,
): MultiheadError {
  const repository = /^[\w.-]+\/[\w.-]+/.exec(id)?.[0] ?? 'the folder or name of the model';
  const advice: string[] = [];
  const isWeightless = missing.some((name) => endsInWeights(name) && !name.includes('/'));
  const others = there.filter((name) => OTHER_WEIGHTS.test(name));
  if (isWeightless && others.length > 0) {
    advice.push(
      `Weights are read from safetensors, not from ${names(others)}. Convert them in Python by transformers: AutoModel.from_pretrained(${quoted(repository)}).save_pretrained('folder', safe_serialization=True); with its head by AutoModelForSequenceClassification, AutoModelForTokenClassification or AutoModelForMaskedLM`,
    );
  }
  if (missing.some((name) => /Dense/.test(name))) {
    advice.push(
      `Convert the dense layer in Python by sentence-transformers: SentenceTransformer(${quoted(repository)}).save('folder', safe_serialization=True)`,
    );
  }
  if (missing.includes('tokenizer.json')) {
    const vocabulary = there.filter((name) => OTHER_TOKENIZER.test(name));
    if (isOverLetters) {
      advice.push('A model over letters, which has no tokenizer, is for transliterate()');
    }
    const instead = vocabulary.length === 0 ? '' : `, not from ${names(vocabulary)}`;
    advice.push(
      `The tokenizer is read from tokenizer.json${instead}. Python's transformers writes it: AutoTokenizer.from_pretrained(${quoted(repository)}).save_pretrained('folder')`,
    );
  }
  const needs = `${id}: an encoder is config.json, tokenizer.json and model.safetensors (or ${SHARDS} and what it names)`;
  return new MultiheadError(
    [`${needs}; missing: ${names(missing)}; there: ${names(there)}`, ...advice].join('. '),
    { code: 'model-unsupported', option: 'model', ...(missing[0] === undefined ? {} : { file: missing[0] }) },
  );
}

function quoted(name: string): string {
  return `'${name}'`;
}

function names(paths: readonly string[]): string {
  const more = paths.length - NAMED;
  const shown = paths.slice(0, NAMED).join(', ');
  return shown === '' ? 'nothing' : `${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
