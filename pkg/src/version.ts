// What a server says of the version of a file: that is all there is to tell one from another where no index has a hash.

/** The validators that HTTP has (RFC 9110, 8.8), with the length; undefined where the server gives none. */
export function versionOf({ headers }: Response): string | undefined {
  const tag = headers.get('etag') ?? headers.get('last-modified');
  if (tag === null) return undefined;
  const whole = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
  // A server that compresses as it sends says the length of that, or none.
  const length =
    headers.get('content-encoding') !== null ? undefined : (whole ?? headers.get('content-length'));
  return `${tag} ${length ?? ''}`;
}
