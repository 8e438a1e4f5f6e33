// What a server says of the version of a file: that is all there is to tell one from another where no index has a hash.

/** The validators that HTTP has (RFC 9110, 8.8), a date with the length; undefined where the server gives none. */
export function versionOf({ headers }: Response): string | undefined {
  const tag = headers.get('etag');
  if (tag !== null) return tag;
  const date = headers.get('last-modified');
  const whole = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
  return date === null ? undefined : `${date} ${whole ?? headers.get('content-length') ?? ''}`;
}
