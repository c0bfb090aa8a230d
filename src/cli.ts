#!/usr/bin/env node
import module from 'node:module';

// Most of a start is compiling. Node 22.1 and newer keep what they have compiled, for the next start.
if ('enableCompileCache' in module && typeof module.enableCompileCache === 'function')
  Reflect.apply(module.enableCompileCache, module, []);

// Nothing that is loaded before this line is kept.
const { runProgram } = await import('./commands/program.ts');
await runProgram();
