/** Set-up of the project `without-plans`: xstate takes every transition of its tests. */
import { usePlans } from '../../../src/machines/transition.ts';

usePlans(false);
