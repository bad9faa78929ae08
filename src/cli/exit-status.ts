/** Exit statuses other than 0, which is a stop that was asked for. */

/** The start failed: a port that is taken, a file that is in use, damaged or newer. Or the service refused, or did not answer. */
export const EXIT_START = 1;
/** A command line, a variable or a config file that cannot be used. */
export const EXIT_USAGE = 2;
/** A bug, or a store that is lost: `EX_SOFTWARE` of sysexits.h. */
export const EXIT_BROKEN = 70;
/** A run that was waited for failed or was cancelled. */
export const EXIT_RUN_FAILED = 3;
