import { writeFileSync } from 'node:fs';

/** Loaded before a program by `--import`: writes the cost of the process into the file that `BENCH_COST` names. */
process.once('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cost = { megabytes: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 };
  writeFileSync(process.env['BENCH_COST'] ?? '', JSON.stringify(cost));
});
