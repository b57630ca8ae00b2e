/** What was asked for cannot work. Its message is one line that says what to do. */
export class UsageError extends Error {}
