// The measurements, all through the package's public calls.

import { configure, memoryUsage, models, Translator, translate, unload } from '../../pkg/dist/index.js';
import { wordsIn } from '../elements.js';
import { latency, spread } from './statistics.js';

/** @typedef {import('../../pkg/dist/index.js').ModelInfo} ModelInfo */

/**
 * @typedef {object} Plan
 * @property {ModelInfo} pair @property {import('./texts.js').Texts} texts
 * @property {number} lines @property {number} runs @property {1 | 'auto'} threads
 * @property {boolean} download Whether the model's files are fetched anew.
 * @property {AbortSignal} signal
 * @property {(what: string, part: number) => void} progress Part of the whole, from 0 to 1.
 */

/** Sentences in a paragraph. */
const PARAGRAPH = 4;

// What is asked for here comes from the server, not from the browser's own cache.
configure({ fetch: (input, init) => fetch(input, { ...init, cache: 'no-store' }) });

/** @param {Plan} plan */
export async function measure(plan) {
  const { pair, texts, lines, runs, threads, signal, progress } = plan;
  const { from = '', to = '' } = pair;
  const sentences = texts.sentences.slice(0, lines);
  const paragraphs = sentences.flatMap((_, index) =>
    index % PARAGRAPH === 0 ? [sentences.slice(index, index + PARAGRAPH).join(' ')] : [],
  );
  const words = sentences.reduce((sum, sentence) => sum + wordsIn(sentence), 0);

  const load = await measureLoad(plan);
  const { translator } = load;
  try {
    const list = () => translate(sentences, { from, to, threads, signal });
    progress('Warming up', 0.1);
    for (const sentence of sentences.slice(0, 10)) await translator.translate(sentence, { signal });
    await list();

    /** @type {Record<'phrases' | 'sentences' | 'paragraphs', number[]>} */
    const times = { phrases: [], sentences: [], paragraphs: [] };
    /** @type {Record<'sentences' | 'list', number[]>} */
    const speeds = { sentences: [], list: [] };
    for (let run = 0; run < runs; run++) {
      const done = (/** @type {number} */ part) => 0.15 + (0.85 * (run + part)) / runs;
      for (const [place, [kind, inputs]] of /** @type {const} */ ([
        ['sentences', sentences],
        ['phrases', texts.phrases],
        ['paragraphs', paragraphs],
      ]).entries()) {
        progress(`Run ${run + 1} of ${runs}: ${kind}`, done(place / 4));
        const start = performance.now();
        for (const text of inputs) {
          const before = performance.now();
          await translator.translate(text, { signal });
          times[kind].push(performance.now() - before);
        }
        if (kind === 'sentences') speeds.sentences.push((words / (performance.now() - start)) * 1000);
      }
      progress(`Run ${run + 1} of ${runs}: all lines in one call`, done(3 / 4));
      const start = performance.now();
      await list();
      speeds.list.push((words / (performance.now() - start)) * 1000);
    }
    progress('Done', 1);
    const { wasm } = await memoryUsage();
    return {
      pair: { model: pair.id, from, to, bytes: pair.bytes },
      input: { lines: sentences.length, words, runs },
      engine: {
        device: translator.device,
        precision: translator.precision,
        reason: translator.deviceReason,
        threadsAskedFor: threads,
      },
      wordsPerSecond: { sentenceAfterSentence: spread(speeds.sentences), oneCall: spread(speeds.list) },
      milliseconds: {
        phrase: latency(times.phrases),
        sentence: latency(times.sentences),
        paragraph: latency(times.paragraphs),
      },
      load: load.seconds,
      memory: { wasmBytes: wasm, ...(await pageMemory()) },
    };
  } finally {
    translator.destroy();
    // translate() has kept its model.
    await unload();
  }
}

/** From nothing to the first translation: with the files on this device, and before that, where wanted, with a download. @param {Plan} plan */
async function measureLoad({ pair, threads, download, signal, progress }) {
  const create = async (
    /** @type {string} */ what,
    /** @type {number} */ start,
    /** @type {number} */ end,
  ) => {
    progress(what, start);
    const before = performance.now();
    const translator = await Translator.create({
      sourceLanguage: pair.from ?? '',
      targetLanguage: pair.to ?? '',
      model: pair.id,
      threads,
      signal,
      monitor(monitor) {
        monitor.addEventListener('downloadprogress', ({ loaded }) => {
          progress(what, start + (end - start) * loaded);
        });
      },
    });
    await translator.translate('1 a', { signal });
    return { translator, seconds: (performance.now() - before) / 1000 };
  };
  if (download) await models.delete(pair.id);
  const wasKept = await models.isCached(pair.id);
  const first = await create(wasKept ? 'Loading the model' : 'Downloading the model', 0, 0.06);
  first.translator.destroy();
  await unload();
  const second = await create('Loading the model again, from this device', 0.06, 0.1);
  return {
    translator: second.translator,
    seconds: {
      ...(wasKept ? {} : { downloadSeconds: first.seconds }),
      fromDeviceSeconds: second.seconds,
      kept: await models.isCached(pair.id),
    },
  };
}

/** Memory of the page and its worker as the browser tells it, where it does. */
async function pageMemory() {
  const ask = /** @type {{ measureUserAgentSpecificMemory?: () => Promise<{ bytes: number }> }} */ (
    /** @type {unknown} */ (performance)
  );
  if (!crossOriginIsolated || ask.measureUserAgentSpecificMemory === undefined) return {};
  // Browsers take their time: they wait for the next collection.
  /** @type {Promise<undefined>} */
  const late = new Promise((resolve) => setTimeout(resolve, 5000));
  const answer = await Promise.race([ask.measureUserAgentSpecificMemory().catch(() => undefined), late]);
  return answer === undefined ? {} : { pageBytes: answer.bytes };
}

/** What the browser tells about the device. */
export function deviceFacts() {
  const { userAgent, hardwareConcurrency } = navigator;
  const memory = /** @type {{ deviceMemory?: number }} */ (/** @type {unknown} */ (navigator)).deviceMemory;
  return {
    userAgent,
    cores: hardwareConcurrency,
    ...(memory === undefined ? {} : { memoryGigabytesAtLeast: memory }),
    crossOriginIsolated,
    webgpu: 'gpu' in navigator,
  };
}
