/** A response of the simulated server other than 200: its status and the text of its `error` member. */
export class ServedError extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.name = 'ServedError';
    this.status = status;
  }
}
