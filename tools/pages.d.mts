export interface Page {
  readonly path: string;
  readonly name: string;
  readonly title: string;
  readonly answer: string;
}
export function sections(): { readonly name: string; readonly pages: readonly Page[] }[];
export function llms(): string;
