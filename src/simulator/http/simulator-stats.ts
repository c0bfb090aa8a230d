import type { Faults } from '../faults.ts';

/** One request as it came in. */
export interface RequestRecord {
  readonly path: string;
  readonly search: URLSearchParams;
  /** Monotonic milliseconds of the arrival. */
  readonly at: number;
  /** 0 while unanswered, and if the connection was closed. */
  status: number;
}

const KEPT = 50_000;

/** The requests that the simulator received, for tests and for the demo's summary. */
export class RequestLog {
  /** The latest requests, oldest first. */
  readonly requests: RequestRecord[] = [];
  readonly byPath = new Map<string, number>();
  readonly byStatus = new Map<number, number>();
  /** How often each fault was injected. */
  readonly byFault = new Map<keyof Faults, number>();
  /** The greatest offset that was requested. */
  maxOffset = 0;
  total = 0;

  arrived(path: string, search: URLSearchParams, at: number): RequestRecord {
    const record: RequestRecord = { path, search, at, status: 0 };
    if (this.requests.length >= KEPT) this.requests.splice(0, KEPT / 2);
    this.requests.push(record);
    this.total++;
    this.byPath.set(path, (this.byPath.get(path) ?? 0) + 1);
    const offset = Number(search.get('offset') ?? 0);
    if (offset > this.maxOffset) this.maxOffset = offset;
    return record;
  }

  injected(fault: keyof Faults): void {
    this.byFault.set(fault, (this.byFault.get(fault) ?? 0) + 1);
  }

  answered(record: RequestRecord, status: number): void {
    record.status = status;
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
  }

  /** Times at which requests came in, monotonic milliseconds. */
  arrivals(): number[] {
    return this.requests.map((request) => request.at);
  }

  clear(): void {
    this.requests.length = 0;
    this.byPath.clear();
    this.byStatus.clear();
    this.byFault.clear();
    this.maxOffset = 0;
    this.total = 0;
  }
}
