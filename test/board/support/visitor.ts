import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../support/chromium.js';

/** A person with a browser. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of: scripts that failed, and what the policy of the page forbids. */
  readonly complaints: readonly string[];
}

export interface VisitorOptions {
  readonly dark?: boolean;
  readonly zone?: string;
  readonly script?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly size?: { readonly width: number; readonly height: number };
}

let browser: Promise<Browser> | undefined;

/** Starts the browser once for a file of tests. @throws if this machine has none */
export function startBrowser(): Promise<Browser> {
  return (browser ??= findChromium().then(({ command, env }) =>
    chromium.launch({
      executablePath: command,
      // The pages come from these tests alone; as root there is no sandbox.
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
      env,
    }),
  ));
}

export async function closeBrowser(): Promise<void> {
  await (await browser?.catch(() => undefined))?.close();
}

/**
 * `test`, or, where there is no browser, `test.skip`: what needs one is then left out, said aloud, and counted as skipped.
 *
 * @throws in CI, where there has to be one
 */
export async function testInBrowser(what: string): Promise<typeof test | typeof test.skip> {
  try {
    await startBrowser();
    return test;
  } catch (error) {
    const problem = `${what}: there is no browser. ${String(error).split('\n')[0]}`;
    if (process.env['CI']) throw new Error(problem, { cause: error });
    process.stderr.write(`LEFT OUT: ${problem}\n`);
    return test.skip;
  }
}

export async function visitor(options: VisitorOptions = {}): Promise<Visitor> {
  const { dark = false, zone = 'Europe/Berlin', script = true, headers, size } = options;
  const context = await (
    await startBrowser()
  ).newContext({
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: zone,
    locale: 'en-GB',
    javaScriptEnabled: script,
    viewport: size ?? { width: 1280, height: 900 },
    ...(headers && { extraHTTPHeaders: headers }),
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, context, complaints };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong for keyboards and screen readers. The policy of the page does not hold for what a test evaluates. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    interface Node {
      target: string[];
      failureSummary?: string;
    }
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: Node[] }[] }> };
    };
    return (await axe.run()).violations;
  });
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}
