// Files of the lesson, with what to do where one does not come.

/**
 * @param {URL} address
 * @throws {Error} If there is no network, or no such file: with the file's name and what to do.
 */
export async function fetched(address) {
  const failed = (/** @type {string} */ reason) =>
    new Error(
      `${address.pathname.split('/').slice(-2).join('/')} could not be fetched (${reason}); load the page again`,
    );
  const response = await fetch(address).catch((/** @type {unknown} */ thrown) => {
    throw failed(thrown instanceof Error ? thrown.message : String(thrown));
  });
  if (!response.ok) throw failed(String(response.status));
  return response;
}
