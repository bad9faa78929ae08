import { facets } from '../../signals/rows/codes.ts';
import { countedFacets } from '../../signals/trace-facets.ts';

// How many traces of one project have which values of the properties that are counted. Values stand under their numbers, as traces name
// them: a project has as many users as traces, and only few of their names are asked for.

/** The numbers of the properties that are counted, each with its place among them. */
const places: ReadonlyMap<number, number> = new Map(countedFacets.map((facet, place) => [facets[facet], place]));
/** The same for statements. */
export const COUNTED = countedFacets.map((facet) => facets[facet]).join(', ');

/** Of one property: how many traces have any value of it, and how many have each. */
export type ValueCounts = { holders: number; readonly counts: Map<number, number> };
/** By the number of the property. */
export type FacetTally = ReadonlyMap<number, ValueCounts>;

export const newFacetTally = (): FacetTally =>
  new Map(countedFacets.map((facet) => [facets[facet], { holders: 0, counts: new Map() }]));

/** The numbers that stand in `traces.facets`, separated by commas. */
export const parseIds = (text: string, ids: number[]): void => {
  ids.length = 0;
  if (text === '') return;
  let id = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x2c) {
      ids.push(id);
      id = 0;
    } else id = id * 10 + code - 0x30;
  }
  ids.push(id);
};

/** The values that traces of one project have, by their numbers, before it is known to which property each belongs. */
export const valueTally = () => {
  /** The place of each number among those that were met. */
  const met = new Map<number, number>();
  const ids: number[] = [];
  const counts: number[] = [];
  /** Places of the values of all traces, one trace after the other, and where each trace ends. */
  const held: number[] = [];
  const ends: number[] = [];
  return {
    ids,
    add: (ofTrace: readonly number[]): void => {
      for (const id of ofTrace) {
        let place = met.get(id);
        if (place === undefined) {
          place = ids.length;
          met.set(id, place);
          ids.push(id);
          counts.push(0);
        }
        counts[place] = (counts[place] ?? 0) + 1;
        held.push(place);
      }
      ends.push(held.length);
    },
    traces: (): number => ends.length,
    /** Adds all to the tally of their properties. @param facetOf the number of the property of a value, where it is counted */
    addTo: (tally: FacetTally, facetOf: (id: number) => number | undefined): void => {
      const groupOf = new Int8Array(ids.length).fill(-1);
      for (const [place, id] of ids.entries()) {
        const facet = facetOf(id);
        const values = facet === undefined ? undefined : tally.get(facet);
        if (facet === undefined || values === undefined) continue;
        groupOf[place] = places.get(facet) ?? -1;
        values.counts.set(id, (values.counts.get(id) ?? 0) + (counts[place] ?? 0));
      }
      // A bit for each property of which a trace has a value.
      const holders = new Uint32Array(places.size);
      let at = 0;
      for (const end of ends) {
        let groups = 0;
        for (; at < end; at += 1) {
          const group = groupOf[held[at] as number] as number;
          if (group >= 0) groups |= 1 << group;
        }
        for (let group = 0; groups !== 0; group += 1, groups >>>= 1)
          if (groups & 1) holders[group] = (holders[group] ?? 0) + 1;
      }
      for (const [facet, group] of places) {
        const values = tally.get(facet);
        if (values !== undefined) values.holders += holders[group] ?? 0;
      }
    },
  };
};
export type ValueTally = ReturnType<typeof valueTally>;

/** A tally as the row of an hour holds it: of each property that has a value its number, its holders, its values, and each value with its count. */
export const tallyText = (tally: FacetTally): string => {
  const numbers: number[] = [];
  for (const [facet, { holders, counts }] of tally) {
    if (counts.size === 0) continue;
    numbers.push(facet, holders, counts.size);
    for (const [id, count] of counts) numbers.push(id, count);
  }
  return JSON.stringify(numbers);
};

/** Adds what `tallyText` made. */
export const addTallyText = (tally: FacetTally, text: string): void => {
  const numbers = JSON.parse(text) as number[];
  for (let at = 0; at < numbers.length; ) {
    const [facet = 0, holders = 0, size = 0] = numbers.slice(at, at + 3);
    at += 3;
    const values = tally.get(facet);
    const end = at + 2 * size;
    if (values !== undefined) {
      values.holders += holders;
      const { counts } = values;
      for (; at < end; at += 2) {
        const id = numbers[at] as number;
        counts.set(id, (counts.get(id) ?? 0) + (numbers[at + 1] as number));
      }
    }
    at = end;
  }
};
