#!/usr/bin/env node
import module from 'node:module';

// Most of a start is compilation. Node 22.1 and newer cache compiled code for the next start.
if ('enableCompileCache' in module && typeof module.enableCompileCache === 'function')
  Reflect.apply(module.enableCompileCache, module, []);

// Modules that are loaded before this line are not cached.
const { runProgram } = await import('./commands/program.ts');
await runProgram();
