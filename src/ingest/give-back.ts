/** Frees memory at once that nothing reads any more, where it may be much: a collection may come late. */
export const giveBack = (memory: ArrayBufferLike): void => {
  if (memory instanceof ArrayBuffer && !memory.detached) memory.transfer(0);
};
