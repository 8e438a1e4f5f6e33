// What is fetched when an encoder is first asked for: finding and loading it, and calls without an Embedder.

import { abortable } from './abort.js';
import { attentionOf } from './attention.js';
import { checkTask, embedAll, Encoder, factsOf, onlyOf, textOrTexts, vectorsOf } from './encoder.js';
import { encoderFiles, hasTokenizer, knownOverLetters, lettersFiles } from './encoder-files.js';
import { BEAM, beamOf, CREATE, EMBED, HEAD, headOf, poolingOf, reporting, TAG } from './encoder-options.js';
import { invalid, MultiheadError } from './errors.js';
import { find } from './find.js';
import { kindOf, notFor, ofLetters } from './kinds.js';
import { availabilityOf } from './loader.js';
import { checkModelOptions, checkText, read } from './options.js';
import { monitored } from './progress.js';
import type { EncoderTask } from './protocol.js';
import { type RunningModel, SharedModel } from './shared-model.js';
import type { FoundModel } from './sources.js';
import type {
  Availability,
  Classification,
  EmbedCallOptions,
  EmbedOptions,
  EncoderCallOptions,
  LoadedInfo,
  MaskFill,
  ModelOptions,
  ModelSource,
  TaggedTokens,
  Transliteration,
  TransliterateOptions,
} from './types.js';

type Vector = Float32Array<ArrayBuffer>;

/** The model of embed() and Embedder where none is named. */
const DEFAULT_MODEL = 'all-minilm-l6-v2';
/** That of transliterate(). */
const DEFAULT_LETTERS = 'en-km-translit';

/** The encoder that `model` names, with the files that it is loaded from. */
async function findEncoder(model: ModelSource): Promise<FoundModel> {
  return asEncoder(await find(model, 'encoder'));
}

/** The model over letters that `model` names. */
async function findLetters(model: ModelSource): Promise<FoundModel> {
  return asLetters(await find(model, 'encoder'));
}

/** The model with the files of a model over letters only; one of another kind is an error that says so. */
async function asLetters(found: FoundModel): Promise<FoundModel> {
  const { id, files } = found;
  const cannot = 'transliterates nothing';
  if (kindOf(files) !== 'encoder' || hasTokenizer(files)) throw notFor(id, files, cannot);
  // An encoder, whose tokenizer is missing.
  if ((await knownOverLetters(files)) === false) throw notFor(id, [{ name: 'tokenizer.json' }], cannot);
  return { ...found, files: lettersFiles(id, files) };
}

/** The model with the files of what it is: an encoder or a model over letters. */
export async function asWhole(found: FoundModel): Promise<FoundModel> {
  const isOverLetters = (await knownOverLetters(found.files)) ?? ofLetters(found.files);
  return isOverLetters ? asLetters(found) : asEncoder(found);
}

/** The model with an encoder's files only; one of another kind is an error that says so. */
async function asEncoder(found: FoundModel): Promise<FoundModel> {
  const { id, files } = found;
  if (kindOf(files) !== 'encoder') throw notFor(id, files, 'no encoder');
  return { ...found, files: encoderFiles(id, files, await knownOverLetters(files)) };
}

/** Whether the model is there, and whether its files are here already. */
export async function availability(options: ModelOptions): Promise<Availability> {
  const { model = DEFAULT_MODEL } = read(options, CREATE, 'Embedder.availability()');
  try {
    return await availabilityOf([await findEncoder(model)]);
  } catch (thrown) {
    const code = thrown instanceof MultiheadError ? thrown.code : undefined;
    if (code === 'model-not-found' || code === 'model-unsupported') return 'unavailable';
    throw thrown;
  }
}

/** An encoder for an Embedder. */
export async function open(options: EmbedOptions): Promise<Encoder> {
  const taken = read(options, CREATE, 'Embedder.create()');
  poolingOf(taken);
  const { shared, running } = await used(taken, () => findEncoder(taken.model ?? DEFAULT_MODEL));
  try {
    checkTask(shared.found.id, factsOf(running), 'embed');
    return new Encoder(shared, running, taken);
  } catch (thrown) {
    shared.release();
    throw thrown;
  }
}

/** Loads an encoder, or a model over letters, and keeps it. */
export async function warmed(options: ModelOptions, found: FoundModel): Promise<LoadedInfo> {
  const { shared, running } = await used(options, () => asWhole(found));
  shared.kept = true;
  shared.release();
  return running.info;
}

/** Embeds a text, or each text of a list. */
export async function embedded(
  input: unknown,
  options: EmbedOptions & EmbedCallOptions,
): Promise<Vector | Vector[]> {
  const taken = read(options, EMBED, 'embed()');
  const pooling = poolingOf(taken);
  const report = reporting(taken.onProgress);
  const { texts, isList } = textOrTexts(input);
  checkModelOptions(taken);
  // For nothing no model is needed.
  if (texts.length === 0) return [];
  const vectors: Vector[] = [];
  await once('embed', taken, DEFAULT_MODEL, (shared, running) =>
    embedAll(shared, texts, pooling, {}, taken.signal, report, (part) => {
      vectors.push(...vectorsOf(part, factsOf(running)));
    }),
  );
  return isList ? vectors : onlyOf(vectors);
}

export async function classified(
  text: unknown,
  options: EncoderCallOptions & { topK?: number },
): Promise<Classification> {
  const taken = read(options, HEAD, 'classify()');
  const head = headOf(taken);
  checkText(text);
  return once('classify', taken, undefined, (shared) =>
    shared.asked(taken.signal, ({ engine, number }) =>
      engine.request('classify', { model: number, text, ...head }, { signal: taken.signal }),
    ),
  );
}

export async function tagged(text: unknown, options: EncoderCallOptions): Promise<TaggedTokens> {
  const taken = read(options, TAG, 'tagTokens()');
  const head = headOf(taken);
  checkText(text);
  return once('tag', taken, undefined, (shared) =>
    shared.asked(taken.signal, ({ engine, number }) =>
      engine.request('tag', { model: number, text, ...head }, { signal: taken.signal }),
    ),
  );
}

export async function filled(
  text: unknown,
  options: EncoderCallOptions & { topK?: number },
): Promise<MaskFill> {
  const taken = read(options, HEAD, 'fillMask()');
  const head = headOf(taken);
  checkText(text);
  return once('fill', taken, undefined, (shared) =>
    shared.asked(taken.signal, ({ engine, number }) =>
      engine.request('fill', { model: number, text, ...head }, { signal: taken.signal }),
    ),
  );
}

export async function transliterated(text: unknown, options: TransliterateOptions): Promise<Transliteration> {
  const taken = read(options, BEAM, 'transliterate()');
  const beam = beamOf(taken);
  const attention = attentionOf(taken.attention);
  checkText(text);
  return once(
    'transliterate',
    taken,
    DEFAULT_LETTERS,
    (shared) =>
      shared.asked(taken.signal, ({ engine, number }) =>
        engine.request(
          'transliterate',
          { model: number, text, options: beam, attention },
          { signal: taken.signal },
        ),
      ),
    findLetters,
  );
}

/** One call to a model, which is kept for the next one; `otherwise`: the model where the options name none. */
async function once<T>(
  task: EncoderTask,
  options: ModelOptions,
  otherwise: string | undefined,
  work: (shared: SharedModel, running: RunningModel) => Promise<T>,
  finding: (model: ModelSource) => Promise<FoundModel> = findEncoder,
): Promise<T> {
  const { model = otherwise } = options;
  if (model === undefined) {
    throw invalid('model', 'name one that has the head for it: only embed() has a model by default');
  }
  const { shared, running } = await used(options, () => finding(model));
  try {
    checkTask(shared.found.id, factsOf(running), task);
    shared.kept = true;
    return await work(shared, running);
  } finally {
    shared.release();
  }
}

/** The model that is found, loaded, and used by the caller until its `release()`. */
async function used(
  options: ModelOptions,
  finding: () => Promise<FoundModel>,
): Promise<{ shared: SharedModel; running: RunningModel }> {
  const { signal, monitor } = options;
  const computing = checkModelOptions(options);
  const report = monitored(monitor);
  const found = await abortable(finding(), signal);
  const shared = SharedModel.use('encoder', found, computing);
  try {
    return { shared, running: await shared.ready(signal, report) };
  } catch (thrown) {
    shared.release();
    throw thrown;
  }
}
