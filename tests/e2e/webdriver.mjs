// A browser driven over the W3C WebDriver protocol.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('no free port'));
        else resolve(address.port);
      });
    });
  });
}

/**
 * How a browser is driven: the driver's program, its variables, and what a session asks for.
 * @typedef {{ driver: string, env?: Record<string, string>, capabilities: object }} Driven
 */

/**
 * Starts a browser with one window. A port that was free may be taken a moment later: three tries.
 * @param {Driven} driven
 */
export async function launch(driven) {
  for (let tries = 1; ; tries++) {
    try {
      return await launchOnce(driven);
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}

/** @param {Driven} driven */
async function launchOnce({ driver, env = {}, capabilities }) {
  const port = await freePort();
  const server = spawn(driver, [`--port=${port}`], { stdio: 'ignore', env: { ...process.env, ...env } });
  const failed = new Promise((_, reject) => {
    server.on('error', (error) => {
      reject(new Error(`${driver} cannot be started (cargo xtask setup installs it): ${error.message}`));
    });
  });
  failed.catch(() => undefined);

  /** @param {string} method @param {string} path @param {object} [body] @returns {Promise<unknown>} */
  const ask = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { value } = /** @type {{ value: { error?: string, message?: string } | null }} */ (
      await response.json()
    );
    if (!response.ok) throw new Error(`WebDriver ${path}: ${value?.error}: ${value?.message}`);
    return value;
  };
  const ready = async () => {
    for (let attempt = 0; ; attempt++) {
      try {
        await ask('GET', '/status');
        return;
      } catch (error) {
        if (attempt > 3000) throw error;
        await new Promise((resolve) => {
          setTimeout(resolve, 100);
        });
      }
    }
  };
  try {
    await Promise.race([ready(), failed]);
    const session = /** @type {{ sessionId: string }} */ (
      await ask('POST', '/session', {
        capabilities: {
          alwaysMatch: {
            timeouts: { script: 600_000 },
            ...capabilities,
          },
        },
      })
    );
    const path = `/session/${session.sessionId}`;
    return {
      /** @param {string} url */
      goto: (url) => ask('POST', `${path}/url`, { url }),
      /**
       * Runs `body`, the body of an async function of `args`, in the page.
       * @param {string} body @param {...unknown} args
       */
      run: async (body, ...args) => {
        const script = `const done = arguments[arguments.length - 1];
          (async (args) => { ${body} })([...arguments].slice(0, -1))
            .then((value) => done({ value }), (error) => done({ error: String(error) + ' ' + (error.code ?? '') }));`;
        const result = /** @type {{ value?: unknown, error?: string }} */ (
          await ask('POST', `${path}/execute/async`, { script, args })
        );
        if (result.error !== undefined) throw new Error(`in the page: ${result.error}`);
        return result.value;
      },
      close: async () => {
        await ask('DELETE', path).catch(() => undefined);
        server.kill();
      },
    };
  } catch (error) {
    server.kill();
    throw error;
  }
}
