import { type Options, URL_VARIABLE, UsageError } from './options.js';

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

/** @throws UsageError for what can never work. It never quotes the URL, which may hold a password */
export function addressOf(url: string, text: Options['text']): StoreAddress {
  const [keyPrefix, key, table, schema, config] = PARTS.map(text);
  const address = { url, keyPrefix, key, table, schema, config };
  const given = PARTS.slice(0, -1).filter((name) => text(name) !== undefined);
  if (config !== undefined) {
    if (given.length === 0) return address;
    throw new UsageError(`--config names the store whole: leave --${given.join(' and --')} out.`);
  }
  checkUrl(url);
  const ofKind = kindOf(address) === 'redis' ? ['key-prefix', 'key'] : ['table', 'schema'];
  const wrong = given.find((name) => !ofKind.includes(name));
  if (wrong !== undefined)
    throw new UsageError(`--${wrong} is none of the options for this URL: --${ofKind.join(', --')}.`);
  if (key !== undefined && keyPrefix !== undefined)
    throw new UsageError('--key is the whole key of a lock: leave --key-prefix out.');
  if (key !== undefined && key.split('*').length !== 2)
    throw new UsageError('--key: write one * in the place of the name, such as job-lock:default:*.');
  return address;
}

const PARTS = ['key-prefix', 'key', 'table', 'schema', 'config'] as const;

function checkUrl(url: string): void {
  if (url === '')
    throw new UsageError(`Say where the store is: set ${URL_VARIABLE}, or give --url ${FORMS}.`);
  if (!isWhole(url))
    throw new UsageError(
      `The URL of the store is none of these: ${FORMS}. Percent-encode special characters in user name and password.`,
    );
}

function isWhole(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hash, pathname, search, hostname, username, password } = new URL(url);
  // A part of a password that a "#", "/" or "?" cuts off would be taken for the host or the database, resolved, and shown.
  const isCut = hash !== '' || pathname.includes('@') || /^\?[^=]*@/.test(search);
  // `pg` takes a "%" for itself, other drivers throw.
  const isReadable =
    KINDS[protocol] === 'postgres' || [username, password].every((part) => decoded(part) !== undefined);
  return KINDS[protocol] !== undefined && hostname !== '' && !isCut && isReadable;
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
