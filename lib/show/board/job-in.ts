/** The name of a job in a query. None: the name of no job. */
export const jobIn = (query: string): string => new URLSearchParams(query).get('job') ?? '';
