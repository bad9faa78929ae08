import { closeSync, openSync, rmSync, statfsSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { randomFillSync } from 'node:crypto';
import { dirname } from 'node:path';
import { driverCode, isDiskFull } from './driver-error.ts';

/**
 * Room on the disk that a data file keeps for itself: a file of noise beside it. Without any room SQLite can neither open a file,
 * which takes side files, nor delete from it, which takes a log. On a full disk the reserve goes, and what adds is refused until there is
 * room again, so that the room serves what only reads and what deletes.
 */
export type Room = {
  /** Opens the file. On a full disk the reserve goes first. */
  open<T>(work: () => T): T;
  /**
   * Makes a change that adds.
   * @throws what the change throws, or an error with the code of a full disk, without trying the change
   */
  add<T>(work: () => T): T;
  /** Makes a change that deletes: when it finds no room, the reserve goes, and it is made once more. */
  remove<T>(work: () => T): T;
  /** Makes the reserve where it is missing and fits. Called when there is time. */
  keep(): void;
  /**
   * Makes the reserve. Where the disk was found full, it also tries whether it still is, so that changes that add are taken again as soon as
   * there is room.
   * @param adds a change that adds nothing to speak of, made by `add`
   * @returns whether that was refused; deletes may succeed meanwhile
   */
  isStillFull(adds: () => void): boolean;
};

/** What the threads of a store know of their disk; stores on one disk share it, as none of them is to use up what another gave up. */
export type RoomFlag = Int32Array<SharedArrayBuffer>;
export const createRoomFlag = (): RoomFlag => new Int32Array(new SharedArrayBuffer(4));
/** Whether changes that add are refused, as the last one found it. */
export const isRefusing = (flag: RoomFlag): boolean => Atomics.load(flag, 0) === 1;

/** One flag for both where their folders are on one disk. */
export const createRoomFlags = (path: string, other: string): readonly [RoomFlag, RoomFlag] => {
  const deviceOf = (of: string): number | undefined => statSync(dirname(of), { throwIfNoEntry: false })?.dev;
  const flag = createRoomFlag();
  const device = deviceOf(path);
  return [flag, device !== undefined && device === deviceOf(other) ? flag : createRoomFlag()];
};

/** Opening a file takes its shared memory file, 32 KiB, and a page or two of its log; of the index beside it as well. */
const OPENING_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
const RESERVE_MODE = 0o600;

const freeBytesAt = (path: string): number => {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
};
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Whether the log of a file has to be moved into it now. Moving it can make the file grow by as much, so a log that
 * is larger than what is free could not be moved any more, and deletes would be stuck behind it.
 */
export const isShortOfRoom = (path: string): boolean => freeBytesAt(path) < sizeOf(`${path}-wal`) + OPENING_BYTES;

/** More than any single write of the engine. */
const PROBE_BYTES = 64 * 1024;

/**
 * What an error of a change means. SQLite knows a full disk, but reports a user's quota that is used up as a fault of the disk. After such
 * a fault the file is opened and checked again, and after several it is given up. A write beside the file tells which of the two it was.
 * @returns the error of the system where the quota is used up, else the given one
 */
export const nameQuota = (path: string, error: unknown): unknown => {
  if (driverCode(error) !== 'SQLITE_IOERR_WRITE') return error;
  const probe = `${path}.probe`;
  try {
    writeFileSync(probe, randomFillSync(Buffer.alloc(PROBE_BYTES)), { mode: RESERVE_MODE });
    return error;
  } catch (refused) {
    return driverCode(refused) === 'EDQUOT' ? refused : error;
  } finally {
    rmSync(probe, { force: true });
  }
};
/** Makes a change. @throws what the change throws; for a quota that is used up, the error of the system */
export const namingQuota = <T>(path: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw nameQuota(path, error);
  }
};

/** Where the reserve of a data file lies. */
const reservePath = (path: string): string => `${path}.reserve`;

/**
 * @param file.reserveBytes size of the reserve; 0 for none, so that a full disk is met when SQLite meets it
 * @param file.flag tells other threads that changes are refused
 * @param file.fold moves the log into the file, and empties it
 * @param file.unusedBytes what deletes have left unused inside the file: rows can be added there without room on the disk
 */
export const createRoom = (file: {
  readonly path: string;
  readonly reserveBytes: number;
  readonly flag: RoomFlag;
  readonly fold: () => void;
  readonly unusedBytes: () => number;
}): Room => {
  const { path, reserveBytes, flag } = file;
  const reserve = reservePath(path);
  let isFull = false;
  const setFull = (full: boolean): void => {
    isFull = full;
    Atomics.store(flag, 0, full ? 1 : 0);
  };

  const isHeld = (): boolean => sizeOf(reserve) > 0;
  const freeBytes = (): number => freeBytesAt(path);
  const giveUp = (): void => rmSync(reserve, { force: true });
  const make = (): void => {
    try {
      // Noise: file systems that compress or leave out zeros would keep no room for them.
      const piece = randomFillSync(Buffer.alloc(Math.min(PIECE_BYTES, reserveBytes)));
      const descriptor = openSync(reserve, 'w', RESERVE_MODE);
      try {
        for (let at = 0; at < reserveBytes; )
          at += writeSync(descriptor, piece, 0, Math.min(piece.length, reserveBytes - at));
      } finally {
        closeSync(descriptor);
      }
    } catch {
      giveUp(); // a part of it would be taken for all of it
    }
  };

  /** The reserve, and as much again. Less, and each write would meet the full disk by itself. */
  const hasRoom = (): boolean => freeBytes() >= (isHeld() ? reserveBytes : 2 * reserveBytes);

  const foldIfItFits = (): void => {
    try {
      file.fold();
    } catch (error) {
      if (!isDiskFull(error)) throw error; // the log stays, and what is asked next may fit all the same
    }
  };
  /** Rows fit into what deletes left unused in the file, and the disk, or the log once it is empty, has room for the log. */
  const mayReuse = (): boolean => {
    if (file.unusedBytes() < reserveBytes) return false;
    if (isHeld() || freeBytes() >= reserveBytes / 4) return true;
    foldIfItFits();
    return freeBytes() >= reserveBytes / 4;
  };
  const withReserve = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      setFull(true);
      giveUp();
      foldIfItFits();
      return work();
    }
  };

  const keep = (): void => {
    if (reserveBytes === 0 || isHeld()) return;
    // Beside a full disk the reserve is made again as soon as it fits, before another program takes its room; at other times it leaves some.
    if (freeBytes() >= (isFull ? 1 : 2) * reserveBytes) make();
  };

  return {
    open: (work) => {
      if (reserveBytes > 0 && isHeld() && freeBytes() < OPENING_BYTES) {
        setFull(true);
        giveUp();
      }
      try {
        return namingQuota(path, work);
      } catch (error) {
        if (!isDiskFull(error) || !isHeld()) throw error;
        setFull(true);
        giveUp();
        return work();
      }
    },
    add: (work) => {
      isFull ||= isRefusing(flag);
      try {
        if (!isFull || reserveBytes === 0 || hasRoom()) {
          const value = work();
          if (isFull) setFull(false);
          if (reserveBytes > 0 && isShortOfRoom(path)) foldIfItFits();
          return value;
        }
        if (mayReuse()) {
          const value = withReserve(work);
          Atomics.store(flag, 0, 0);
          return value;
        }
      } catch (error) {
        if (isDiskFull(error)) setFull(true);
        throw error;
      }
      setFull(true);
      throw Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL' });
    },
    remove: (work) => (reserveBytes === 0 ? work() : withReserve(work)),
    keep,
    isStillFull: (adds) => {
      keep();
      if (!isFull) return false;
      try {
        adds();
        return false;
      } catch {
        return true;
      }
    },
  };
};
