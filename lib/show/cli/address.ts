import { URL_VARIABLE, UsageError } from './options.js';

/** Where the store is. */
export interface StoreAddress {
  /** Empty if `config` says where. */
  readonly url: string;
  readonly keyPrefix: string | undefined;
  /** The key of a lock, with one `*` in the place of its name. */
  readonly key: string | undefined;
  readonly table: string | undefined;
  readonly schema: string | undefined;
  /** File of a module with the options of the store. */
  readonly config: string | undefined;
}

export type StoreKind = 'redis' | 'postgres' | 'mysql';

const KINDS: Readonly<Record<string, StoreKind>> = {
  'redis:': 'redis',
  'rediss:': 'redis',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
};

const FORMS = 'redis://host:6379, rediss://, postgres://user:password@host/database or mysql://';

export const kindOf = ({ url }: StoreAddress): StoreKind | undefined =>
  URL.canParse(url) ? KINDS[new URL(url).protocol] : undefined;

/**
 * @returns the address itself
 * @throws UsageError if it can never work. It never quotes the URL, which may hold a password
 */
export function checkAddress(address: StoreAddress): StoreAddress {
  const { url, keyPrefix, key, table, schema, config } = address;
  if (config !== undefined) {
    if ([keyPrefix, key, table, schema].every((value) => value === undefined)) return address;
    throw new UsageError(
      '--config names the store whole: leave --key-prefix, --key, --table and --schema out.',
    );
  }
  checkUrl(url);
  const isRedis = kindOf(address) === 'redis';
  if (isRedis && (table !== undefined || schema !== undefined))
    throw new UsageError('--table and --schema are of databases, and the URL is that of a Redis.');
  if (!isRedis && (keyPrefix !== undefined || key !== undefined))
    throw new UsageError('--key-prefix and --key are of Redis, and the URL is that of a database.');
  checkKey(key, keyPrefix);
  return address;
}

function checkKey(key: string | undefined, keyPrefix: string | undefined): void {
  if (key === undefined) return;
  if (keyPrefix !== undefined)
    throw new UsageError('--key is the whole key of a lock: leave --key-prefix out.');
  if (key.split('*').length !== 2)
    throw new UsageError('--key: write one * in the place of the name, such as job-lock:default:*.');
}

function checkUrl(url: string): void {
  if (url === '')
    throw new UsageError(`Say where the store is: set ${URL_VARIABLE}, or give --url ${FORMS}.`);
  if (!URL.canParse(url))
    throw new UsageError(
      `The URL of the store is none. Write ${FORMS}; percent-encode special characters in the password.`,
    );
  const { protocol, hash, pathname, search, hostname, username, password } = new URL(url);
  if (KINDS[protocol] === undefined)
    throw new UsageError(`The URL of the store begins with none of these: ${FORMS}.`);
  // A part of the password would be taken for the host or the database, resolved, and shown.
  if (hash !== '' || pathname.includes('@') || /^\?[^=]*@/.test(search))
    throw new UsageError(
      'A "#", "/" or "?" cuts the user name or password of the URL off. Percent-encode special characters there.',
    );
  // `pg` takes it for itself, other drivers throw.
  if (KINDS[protocol] !== 'postgres' && [username, password].some((part) => decoded(part) === undefined))
    throw new UsageError(
      'A "%" in the user name or password of the URL encodes no character. Write %25 for it.',
    );
  if (hostname === '') throw new UsageError(`The URL of the store names no host. Write ${FORMS}.`);
}

/** A text without the URL of the store, and without its password. */
export function withoutSecrets(text: string, url: string): string {
  const secrets = [url];
  if (URL.canParse(url)) {
    const { password, searchParams } = new URL(url);
    secrets.push(password, decoded(password) ?? password, searchParams.get('password') ?? '');
  }
  return secrets
    .filter(({ length }) => length >= SHORTEST)
    .reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}

/** A shorter password would take single letters out of the text, and show itself by the gaps. */
const SHORTEST = 3;

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
