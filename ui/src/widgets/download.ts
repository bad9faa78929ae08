const RELEASE_AFTER_MS = 10_000;

/** Hands the reader a file made here. */
export const download = (name: string, type: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name.replaceAll(/[^\w.@-]+/g, '-');
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), RELEASE_AFTER_MS);
};
