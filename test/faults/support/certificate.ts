import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LOOPBACK } from '../../support/machine.js';

/** A certificate that a server has signed itself, for the loopback interface. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** @throws if there is no openssl: tests with TLS fail without it, they are not left out */
export async function selfSigned(): Promise<Certificate> {
  const dir = await mkdtemp(join(tmpdir(), 'scheduler-lock-tls-'));
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const remove = () => rm(dir, { recursive: true, force: true });
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  const names = ['-addext', `subjectAltName=DNS:localhost,IP:${LOOPBACK}`];
  try {
    const files = ['-keyout', keyFile, '-out', certFile];
    await promisify(execFile)('openssl', [...request, ...names, ...files], { timeout: 60_000 });
  } catch (cause) {
    await remove();
    throw new Error('Tests with TLS need openssl, to make a certificate. Install it.', { cause });
  }
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { certFile, keyFile, cert, key, remove };
}
