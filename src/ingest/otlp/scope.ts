import type { ScopedEmitter } from '../mapping/table.ts';

/** Claude Code names its scopes `com.anthropic.claude_code`, `.events` and `.tracing`. */
export const emitterOfScope = (name: string): ScopedEmitter | undefined =>
  name.includes('claude_code') ? 'claude_code' : undefined;
