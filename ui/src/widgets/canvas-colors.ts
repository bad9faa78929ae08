export type CanvasColors = {
  /**
   * @param color any CSS colour
   * @param isText is the reader's own where colours are forced; all else keeps what tells kinds and series apart
   */
  readonly of: (color: string, isText?: boolean) => string;
  /** Takes off the page what the colours were read with. */
  readonly done: () => void;
};

/** A canvas knows no variables of CSS: each colour is read once as what it is now. */
export const canvasColors = (host: HTMLElement): CanvasColors => {
  const probe = document.createElement('span');
  host.append(probe);
  const known = new Map<string, string>();
  return {
    of: (color, isText = false) => {
      const key = `${isText} ${color}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      probe.style.setProperty('forced-color-adjust', isText ? 'auto' : 'none');
      probe.style.color = color;
      const read = getComputedStyle(probe).color;
      known.set(key, read);
      return read;
    },
    done: () => probe.remove(),
  };
};

/** A canvas keeps the colours with which it was drawn. @param draw called when they have changed @returns what ends it */
export const onColorChange = (draw: () => void): (() => void) => {
  const themed = new MutationObserver(draw);
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const media = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query));
  for (const one of media) one.addEventListener('change', draw);
  return () => {
    themed.disconnect();
    for (const one of media) one.removeEventListener('change', draw);
  };
};
